/* `miniprof fleet add` adds traces to a lake, one after the other. A run is written into a hidden
 * folder of the lake and then gets its place by one rename. So a query sees all of a run or
 * nothing, and hosts that add to one lake need no lock: of two that add the same run, the rename of
 * the second fails.
 *
 * Each trace is read as if it were alone, so its date and clock do not depend on the others.
 */
#include "export/exports.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/map.h"
#include "base/data/storage.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "export/lake/lake.h"
#include "profile/set.h"
#include "reports/ranks/ranks.h"

#include "base/poison.h"

/* ---- The traces of files and folders ---- */

struct tree_trace {
    char *path; /* owned */
    bool named; /* on the command line; else found in a folder */
};

struct tree {
    struct tree_trace *traces; /* owned */
    size_t count, capacity;
};

static int add_path(struct tree *tree, const char *command, const char *path, bool named)
{
    if (MP_RESERVE(tree->traces, tree->count, tree->capacity) == MP_OK)
        tree->traces[tree->count] = (struct tree_trace){strdup(path), named};
    if (tree->capacity <= tree->count || !tree->traces[tree->count].path) {
        complain(command, "out of memory");
        return EXIT_UNREADABLE;
    }
    tree->count++;
    return EXIT_FINE;
}

static int take_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int add_folder(struct tree *tree, const char *command, const char *folder);

static int add_entry(struct tree *tree, const char *command, const char *folder, const char *name)
{
    struct mp_buffer path = {.data = NULL};
    struct stat found;
    int code = EXIT_FINE;

    mp_buffer_append_format(&path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
                            name);
    if (mp_buffer_append_byte(&path, '\0') != MP_OK) {
        complain(command, "out of memory");
        code = EXIT_UNREADABLE;
    } else if (lstat((const char *)path.data, &found) == 0 && S_ISDIR(found.st_mode)) {
        code = add_folder(tree, command, (const char *)path.data);
    } else if (mp_text_ends_with(name, ".mpt")) {
        code = add_path(tree, command, (const char *)path.data, false);
    }
    mp_buffer_free(&path);
    return code;
}

/* A folder that cannot be read is said, and the others are searched. */
static int add_folder(struct tree *tree, const char *command, const char *folder)
{
    struct dirent **names = NULL;
    int count = scandir(folder, &names, take_visible, alphasort);
    int code = EXIT_FINE;

    if (count < 0) {
        complain(command, "cannot read the folder '%s': %s", folder, strerror(errno));
        return EXIT_FINDINGS;
    }
    for (int i = 0; i < count; i++) {
        int one = add_entry(tree, command, folder, names[i]->d_name);

        code = worse_code(code, one);
        free(names[i]);
    }
    free(names);
    return code;
}

/* Adds a file, or of a folder each *.mpt in it and below, in the order of names. Links to folders
 * and hidden names are left out. Returns an exit code, after complaints. */
static int tree_add(struct tree *tree, const char *command, const char *path)
{
    size_t before = tree->count;

    if (!trace_set_is_folder(path))
        return add_path(tree, command, path, true);
    int code = add_folder(tree, command, path);
    if (tree->count > before || code != EXIT_FINE)
        return code;
    complain(command, "no traces (*.mpt) in the folder '%s' or below", path);
    return EXIT_UNREADABLE;
}

static void tree_free(struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        free(tree->traces[i].path);
    free(tree->traces);
    *tree = (struct tree){.count = 0};
}

/* ---- The ranks of a folder ---- */

/* The traces of one folder are those of a job, whose ranks are matched once, for all of them. Each
 * still gets its date and clock alone. */

/* The job that was asked for last. Zeroed, there is none. */
struct fleet_job {
    const char *path; /* a trace of it; NULL: none */
    struct trace_set set;
    struct ranks ranks;
    bool matched; /* else `set` and `ranks` are empty */
};

static bool same_folder(const char *a, const char *b)
{
    const char *end = strrchr(a, '/'), *other = strrchr(b, '/');
    size_t bytes = end ? (size_t)(end - a) : 0;

    return bytes == (other ? (size_t)(other - b) : 0) && !memcmp(a, b, bytes);
}

/* The traces of the folder of job->path. */
static size_t list_paths(const struct fleet_job *job, const struct tree *tree, const char **paths)
{
    size_t count = 0;

    for (size_t i = 0; i < tree->count; i++) {
        if (same_folder(job->path, tree->traces[i].path))
            paths[count++] = tree->traces[i].path;
    }
    return count;
}

static void load(struct fleet_job *job, const struct tree *tree)
{
    const char **paths = calloc(tree->count, sizeof *paths);
    size_t count = paths ? list_paths(job, tree, paths) : 0;

    if (count > 1 && trace_set_open(paths, count, &job->set, NULL) == MP_OK) {
        job->matched = export_match(&job->set, &job->ranks);
        if (!job->matched)
            trace_set_free(&job->set);
    }
    free(paths);
}

static void fleet_job_free(struct fleet_job *job)
{
    if (job->matched) {
        ranks_free(&job->ranks);
        trace_set_free(&job->set);
    }
    *job = (struct fleet_job){.path = NULL};
}

/* What is known of the ranks of the trace's folder, and the trace's number there. NULL: it is the
 * only one, or nothing could be matched. */
static const struct ranks *fleet_job_of(struct fleet_job *job, const struct tree *tree,
                                        const char *path, uint32_t *process)
{
    if (!job->path || !same_folder(job->path, path)) {
        fleet_job_free(job);
        job->path = path;
        load(job, tree);
    }
    for (size_t i = 0; job->matched && i < job->set.count; i++) {
        *process = (uint32_t)i;
        if (!strcmp(job->set.processes[i].path, path))
            return &job->ranks;
    }
    return NULL;
}

/* ---- The lake ---- */

#define MAX_COMPLAINTS 10 /* runs that are there already, by name */

struct fleet {
    struct export_job *job;
    const char *part;       /* the hidden folder of the present run */
    struct mp_buffer place; /* of the present run: "runs/job=J/..." */
    struct mp_buffer from;  /* its folder in the hidden one, "LAKE/.part-XXXXXX/run" */
    struct mp_buffer to;    /* and in the lake */
    struct tree tree;
    struct fleet_job ranks;  /* of the folder of the present trace */
    struct mp_intern places; /* taken by this command */
    mode_t mode;             /* of the lake's folders */
    size_t added, there;
    int code; /* the worst so far */
};

static const char *text_of(const struct mp_buffer *buffer)
{
    return (const char *)buffer->data;
}

static int out_of_memory(struct fleet *fleet)
{
    complain(fleet->job->command, "out of memory");
    return EXIT_UNREADABLE;
}

/* The first ones by name: a night's job may find thousands. */
static int refuse(struct fleet *fleet)
{
    if (fleet->there++ < MAX_COMPLAINTS)
        complain(fleet->job->command,
                 "'%s': '%s' has %s already; -f replaces it, another --job keeps both",
                 fleet->job->processes->path, fleet->job->output, text_of(&fleet->place));
    return EXIT_USAGE;
}

/* ---- One run ---- */

static bool join(struct mp_buffer *path, const char *folder, const char *name)
{
    mp_buffer_clear(path);
    mp_buffer_append_format(path, "%s/%s", folder, name);
    return mp_buffer_append_byte(path, '\0') == MP_OK;
}

/* The old run goes into the hidden folder, which is emptied. Where a file system cannot exchange
 * two names, the run is missing for a moment. */
static bool exchange(struct fleet *fleet)
{
    struct mp_buffer old = {.data = NULL};

    if (renameat2(AT_FDCWD, text_of(&fleet->from), AT_FDCWD, text_of(&fleet->to),
                  RENAME_EXCHANGE) == 0)
        return true;
    bool done = join(&old, fleet->part, "old") && rename(text_of(&fleet->to), text_of(&old)) == 0 &&
                rename(text_of(&fleet->from), text_of(&fleet->to)) == 0;
    mp_buffer_free(&old);
    return done;
}

static int put_in_place(struct fleet *fleet)
{
    struct mp_error error = {.status = MP_OK};

    if (lake_make_folders((char *)fleet->to.data, strlen(fleet->job->output) + 1, fleet->mode,
                          &error) != MP_OK)
        return export_cannot_write(fleet->job);
    if (rename(text_of(&fleet->from), text_of(&fleet->to)) == 0)
        return EXIT_FINE;
    if (errno != EEXIST && errno != ENOTEMPTY)
        return export_cannot_write(fleet->job);
    if (!fleet->job->force)
        return refuse(fleet);
    return exchange(fleet) ? EXIT_FINE : export_cannot_write(fleet->job);
}

/* Whether an earlier trace of this command has the place: -f does not mean that one. */
static bool is_fresh(struct fleet *fleet)
{
    if (!mp_intern_find(&fleet->places, fleet->place.data, fleet->place.size))
        return true;
    if (fleet->there++ < MAX_COMPLAINTS)
        complain(fleet->job->command,
                 "'%s': another of these traces is %s; add it with another --job",
                 fleet->job->processes->path, text_of(&fleet->place));
    return false;
}

/* Finds the place of the run. If it is taken, the trace need not be read. */
static int find_place(struct fleet *fleet)
{
    struct export_job *job = fleet->job;
    struct export_process process = {
        .options = &job->options, .set = job->set, .who = job->processes, .count = 1};

    process.trace = open_trace(job->command, job->processes->path);
    if (!process.trace)
        return EXIT_UNREADABLE;
    mp_buffer_clear(&fleet->place);
    lake_put_place(&process, &fleet->place);
    mp_trace_close(process.trace);
    if (mp_buffer_append_byte(&fleet->place, '\0') != MP_OK ||
        !join(&fleet->to, job->output, text_of(&fleet->place)))
        return out_of_memory(fleet);
    if (!is_fresh(fleet))
        return EXIT_USAGE;
    return !job->force && access(text_of(&fleet->to), F_OK) == 0 ? refuse(fleet) : EXIT_FINE;
}

/* Files get the access rights of the lake's folder. */
static bool share_run(const struct fleet *fleet)
{
    const char *path = text_of(&fleet->from);
    DIR *run = opendir(path);
    const struct dirent *entry;
    bool done = run != NULL;

    while (done && (entry = readdir(run)))
        if (*entry->d_name != '.')
            done = fchmodat(dirfd(run), entry->d_name, fleet->mode & 0666, 0) == 0;
    if (run)
        closedir(run);
    return done && chmod(path, fleet->mode) == 0;
}

static int write_run(void *context, const char *part)
{
    struct fleet *fleet = context;

    fleet->part = part;
    if (!join(&fleet->from, part, "run"))
        return out_of_memory(fleet);
    if (mkdir(text_of(&fleet->from), 0700) != 0)
        return export_cannot_write(fleet->job);
    int code = export_write(fleet->job, NULL, text_of(&fleet->from));
    if (code >= EXIT_USAGE)
        return code;
    if (!share_run(fleet))
        return export_cannot_write(fleet->job);
    int placed = put_in_place(fleet);
    if (placed == EXIT_FINE) {
        fleet->added++;
        if (!mp_intern_add(&fleet->places, fleet->place.data, fleet->place.size))
            return out_of_memory(fleet);
    }
    return worse_code(code, placed);
}

static int add_trace(struct fleet *fleet, const struct tree_trace *trace)
{
    struct trace_set set;
    char *path = trace->path;
    int code;

    if (!open_trace_set(fleet->job->command, 1, &path, &set, &code))
        return trace->named ? code : EXIT_FINDINGS;
    fleet->job->set = &set;
    fleet->job->processes = set.processes;
    fleet->job->count = set.count;
    int added = find_place(fleet);
    if (added == EXIT_FINE) {
        fleet->job->ranks =
            fleet_job_of(&fleet->ranks, &fleet->tree, path, &fleet->job->ranks_process);
        added = part_folder_inside(fleet->job->command, fleet->job->output, write_run, fleet);
    }
    trace_set_free(&set);
    return worse_code(code, added);
}

/* ---- All of them ---- */

static void add_all(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->tree.count; i++) {
        progress_count(i, fleet->tree.count);
        int code = add_trace(fleet, &fleet->tree.traces[i]);
        fleet->code = worse_code(fleet->code, code);
        if (fleet->job->cannot_write)
            break;
    }
    progress_end();
    if (fleet->there > MAX_COMPLAINTS)
        complain(fleet->job->command, "the lake already has %s more runs",
                 mp_count(fleet->there - MAX_COMPLAINTS).text);
}

/* DIR may be new. Returns an exit code, after complaints. */
static int open_lake(struct fleet *fleet)
{
    const struct export_job *job = fleet->job;
    struct stat found;
    bool made = mkdir(job->output, 0700) == 0;

    if ((made || errno == EEXIST) && stat(job->output, &found) == 0) {
        fleet->mode = found.st_mode & 07777;
        if (S_ISDIR(found.st_mode))
            return EXIT_FINE;
        complain(job->command, "'%s' is no folder; choose another name", job->output);
        return EXIT_USAGE;
    }
    return cannot_write(job->command, job->output);
}

/* `miniprof fleet add`: adds the traces of `count` files and folders, with the folders below, to
 * the lake job->output, each by one rename. What is there already is refused unless job->force.
 * Prints how many were added; returns the exit code, after complaints. */
static int fleet_add(struct export_job *job, int count, char **arguments)
{
    struct fleet fleet = {.job = job, .code = EXIT_FINE};

    job->path = job->output;
    job->own_progress = true;
    for (int i = 0; i < count; i++) {
        int code = tree_add(&fleet.tree, job->command, arguments[i]);

        fleet.code = worse_code(fleet.code, code);
    }
    int opened = fleet.tree.count ? open_lake(&fleet) : EXIT_FINE;
    fleet.code = opened > fleet.code ? opened : fleet.code;
    if (fleet.tree.count && opened == EXIT_FINE) {
        add_all(&fleet);
        printf("%s of %s traces added to ", mp_count(fleet.added).text,
               mp_count(fleet.tree.count).text);
        say_path(job->output);
    }
    fleet_job_free(&fleet.ranks);
    mp_intern_free(&fleet.places);
    mp_buffer_free(&fleet.place);
    mp_buffer_free(&fleet.from);
    mp_buffer_free(&fleet.to);
    tree_free(&fleet.tree);
    return fleet.code;
}

/* ---- The command ---- */

struct fleet_values {
    struct report_values report;
    const char *job;
    bool events;
    bool force;
};

#define FIELD(name) offsetof(struct fleet_values, name)
static const struct option_spec specs[] = {
    {.name = "job",
     .argument = "NAME",
     .kind = OPTION_TEXT,
     .offset = FIELD(job),
     .help = "the job of the traces; default: the program's name"},
    {.name = "events",
     .kind = OPTION_FLAG,
     .offset = FIELD(events),
     .help = "tables with a row for each kernel, copy, call and range too"},
    {.name = "force",
     .letter = 'f',
     .kind = OPTION_FLAG,
     .offset = FIELD(force),
     .help = "replace runs that the lake already has"},
    REPORT_DEMANGLING_OPTION(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "fleet",
    .synopsis = "add [options] DIR TRACE|FOLDER...",
    .purpose = "Adds traces to a lake: the folder DIR, with Parquet files for DuckDB, ClickHouse "
               "and others. Folders are searched for *.mpt with all folders in them.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole and the rest was added, or a file of a "
             "folder is no trace, 2 wrong usage or a run is there already, 3 a trace cannot be "
             "read or DIR not written.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

/* A name that is the same in the path and in the tables. */
static bool job_is_plain(const char *job)
{
    size_t length = job ? strspn(job, ".") : 0;
    bool plain = job && job[length];

    if (!job)
        return true;
    for (length = 0; job[length] && plain; length++)
        plain = lake_is_plain(job[length]);
    return options_agree(set.command, !plain || length > LAKE_MAX_NAME,
                         "--job takes letters, digits and . _ -, at most 127 of them");
}

static bool arguments_agree(int count, char **arguments)
{
    if (!count || strcmp(arguments[0], "add") != 0) {
        complain(set.command,
                 count ? "'%s' is no action; 'miniprof fleet add DIR TRACE...'"
                       : "what to do? 'miniprof fleet add DIR TRACE...'%s",
                 count ? arguments[0] : "");
        return false;
    }
    return options_agree(set.command, count < 2,
                         "to which folder? 'miniprof fleet add DIR TRACE...'") &&
           options_agree(set.command, count < 3, "which traces? 'miniprof fleet add DIR TRACE...'");
}

int cmd_fleet(int argc, char **argv)
{
    struct fleet_values values = {.report = REPORT_PRESET};
    struct export_job job = {.command = set.command, .format = &export_parquet};
    int first;
    enum options_result result = options_parse(&set, argc, argv, &values, &first);

    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    if (!arguments_agree(argc - first, argv + first) || !job_is_plain(values.job))
        return EXIT_USAGE;
    job.output = argv[first + 1];
    job.force = values.force;
    job.options.analyses = true;
    job.options.one_run = true;
    job.options.events = values.events;
    job.options.job = values.job;
    job.options.style = report_style(&values.report);
    return fleet_add(&job, argc - first - 2, argv + first + 2);
}
