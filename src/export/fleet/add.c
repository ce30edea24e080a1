/* Adds traces to a lake, one after the other. A run is written into a hidden folder of the lake and
 * then gets its place by one rename. So a query sees all of a run or nothing, and hosts that add to
 * one lake need no lock: of two that add the same run, the rename of the second fails.
 *
 * Each trace is read as if it were alone, so its date and clock do not depend on the others.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/buffer.h"
#include "base/data/map.h"
#include "base/text/units.h"
#include "cli/command.h"
#include "cli/endings.h"
#include "cli/part_folder.h"
#include "cli/progress.h"
#include "cli/trace_args.h"
#include "export/fleet/fleet.h"
#include "export/fleet/jobs.h"
#include "export/fleet/tree.h"
#include "export/lake/lake.h"

#include "base/poison.h"

#define MAX_TOLD 10 /* runs that are there already, by name */

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
    if (fleet->there++ < MAX_TOLD)
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
    bool done;

    if (renameat2(AT_FDCWD, text_of(&fleet->from), AT_FDCWD, text_of(&fleet->to),
                  RENAME_EXCHANGE) == 0)
        return true;
    done = join(&old, fleet->part, "old") && rename(text_of(&fleet->to), text_of(&old)) == 0 &&
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
    if (fleet->there++ < MAX_TOLD)
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
    int code, placed;

    fleet->part = part;
    if (!join(&fleet->from, part, "run"))
        return out_of_memory(fleet);
    if (mkdir(text_of(&fleet->from), 0700) != 0)
        return export_cannot_write(fleet->job);
    code = export_write(fleet->job, NULL, text_of(&fleet->from));
    if (code >= EXIT_USAGE)
        return code;
    if (!share_run(fleet))
        return export_cannot_write(fleet->job);
    placed = put_in_place(fleet);
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
    int code, added;

    if (!open_trace_set(fleet->job->command, 1, &path, &set, &code))
        return trace->named ? code : EXIT_FINDINGS;
    fleet->job->set = &set;
    fleet->job->processes = set.processes;
    fleet->job->count = set.count;
    added = find_place(fleet);
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
        int code;

        progress_count(i, fleet->tree.count);
        code = add_trace(fleet, &fleet->tree.traces[i]);
        fleet->code = worse_code(fleet->code, code);
        if (fleet->job->cannot_write)
            break;
    }
    progress_end();
    if (fleet->there > MAX_TOLD)
        complain(fleet->job->command, "%s more runs are there already",
                 mp_count(fleet->there - MAX_TOLD).text);
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

int fleet_add(struct export_job *job, int count, char **arguments)
{
    struct fleet fleet = {.job = job, .code = EXIT_FINE};
    int opened;

    job->path = job->output;
    job->own_progress = true;
    for (int i = 0; i < count; i++) {
        int code = tree_add(&fleet.tree, job->command, arguments[i]);

        fleet.code = worse_code(fleet.code, code);
    }
    opened = fleet.tree.count ? open_lake(&fleet) : EXIT_FINE;
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
