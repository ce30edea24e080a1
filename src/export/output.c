/* Where an export goes: a file, a folder, or a file for each trace, and what is there already. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/strings.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "export/exports.h"

#include "base/poison.h"

/* ---- Where it goes ---- */

static bool complain_of_length(const struct export_job *job)
{
    complain(job->command, "the name of the output is too long");
    return false;
}

/* Whether there is something that must not be lost. */
static bool may_write(const struct export_job *job, const char *path, bool folder)
{
    struct stat found;

    if (stat(path, &found) != 0)
        return true;
    if (S_ISDIR(found.st_mode) != folder && (folder || S_ISDIR(found.st_mode))) {
        complain(job->command, "'%s' is %s; choose another name with -o", path,
                 folder ? "no folder" : "a folder");
        return false;
    }
    if (job->force || (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)))
        return true;
    complain(job->command, "'%s' exists; -f replaces it", path);
    return false;
}

/* ---- Writing ---- */

static int write_file(void *context, FILE *out)
{
    return export_write(context, out, NULL);
}

/* Opens a folder inside of another; NULL: there is none. */
static DIR *open_inside(int at, const char *name)
{
    int inside = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = inside < 0 ? NULL : fdopendir(inside);

    if (!folder && inside >= 0)
        close(inside);
    return folder;
}

/* Removes files of `old` whose names end in `suffix` and that `fresh` has not; the same in every
 * folder that both have. Both may be NULL, and are closed. */
static int remove_others(DIR *old, DIR *fresh, const char *suffix)
{
    struct dirent *entry;
    int failed = 0;

    while (old && fresh && !failed && (entry = readdir(old))) {
        /* a name that is the suffix alone is somebody else's */
        if (mp_text_ends_with(entry->d_name + 1, suffix) &&
            faccessat(dirfd(fresh), entry->d_name, F_OK, 0) != 0)
            failed = unlinkat(dirfd(old), entry->d_name, 0);
        else if (strspn(entry->d_name, ".") != strlen(entry->d_name))
            failed = remove_others(open_inside(dirfd(old), entry->d_name),
                                   open_inside(dirfd(fresh), entry->d_name), suffix);
    }
    if (old)
        closedir(old);
    if (fresh)
        closedir(fresh);
    return failed;
}

static int write_folder(void *context, const char *folder)
{
    struct export_job *job = context;
    int code = export_write(job, NULL, folder);

    if (code >= EXIT_USAGE || !job->format->lazy ||
        !remove_others(opendir(job->path), opendir(folder), job->format->lazy))
        return code;
    complain(job->command, "cannot replace '%s': %s", job->path, strerror(errno));
    return EXIT_UNREADABLE;
}

static int write_one(struct export_job *job, bool folder)
{
    bool standard = !strcmp(job->path, "-");

    if (!standard && !may_write(job, job->path, folder))
        return EXIT_USAGE;
    if (folder)
        return part_folder_write(job->command, job->path, write_folder, job);
    return page_write(job->command, job->path, write_file, job);
}

/* `NAME.SUFFIX` in `folder` for a trace; `NAME-2.SUFFIX` if an earlier trace has that name. */
static bool name_in_folder(const struct export_job *job, const struct trace_set *traces,
                           size_t number, const char *folder, char path[PATH_MAX])
{
    const char *slash = strrchr(traces->processes[number].path, '/');
    const char *name = slash ? slash + 1 : traces->processes[number].path;
    char stem[PATH_MAX];
    size_t same = 0;

    for (size_t i = 0; i < number; i++) {
        const char *other = strrchr(traces->processes[i].path, '/');

        same += !strcmp(other ? other + 1 : traces->processes[i].path, name);
    }
    if (!output_stem(name, stem))
        return complain_of_length(job);
    if ((same ? snprintf(path, PATH_MAX, "%s/%s-%zu%s", folder, stem, same + 1, job->format->suffix)
              : snprintf(path, PATH_MAX, "%s/%s%s", folder, stem, job->format->suffix)) >= PATH_MAX)
        return complain_of_length(job);
    return true;
}

/* A file for each trace. */
static int write_each(struct export_job *job, const struct trace_set *traces, const char *folder)
{
    char path[PATH_MAX] = "";
    int code = EXIT_FINE;

    for (size_t i = 0; i < traces->count; i++) { /* all of them or none */
        if (!name_in_folder(job, traces, i, folder, path) || !may_write(job, path, false))
            return EXIT_USAGE;
    }
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return cannot_write(job->command, folder);
    for (size_t i = 0; i < traces->count && code < EXIT_USAGE; i++) {
        name_in_folder(job, traces, i, folder, path);
        job->processes = &traces->processes[i];
        job->count = 1;
        job->ranks_process = (uint32_t)i;
        job->path = path;
        code = worse_code(code, write_one(job, false));
    }
    return code;
}

/* Where it goes without -o; an empty path after a complaint. */
static void default_output(const struct export_job *job, const char *argument, bool each,
                           char path[PATH_MAX])
{
    char stem[PATH_MAX];
    int length;

    *path = '\0';
    if (!argument || !output_stem(argument, stem)) {
        complain(job->command, "where to? 'miniprof export --to %s -o OUT TRACE...'",
                 job->format->key);
        return;
    }
    if (each)
        length = snprintf(path, PATH_MAX, "%s-%s", stem, job->format->key);
    else if (job->table)
        length = snprintf(path, PATH_MAX, "%s.%s.%s", stem, job->table, job->format->key);
    else
        length = snprintf(path, PATH_MAX, "%s%s", stem, job->format->suffix);
    if (length >= PATH_MAX) {
        complain_of_length(job);
        *path = '\0';
    }
}

int export_set(struct export_job *job, const struct trace_set *traces, const char *argument)
{
    bool each = job->format->one_process && traces->count > 1;
    bool folder = job->format->folder && !job->table;
    char path[PATH_MAX];
    struct ranks ranks;

    if (job->output && !strcmp(job->output, "-") && (each || folder)) {
        complain(job->command, "%s writes %s; the standard output takes one file%s",
                 job->format->key, each ? "a file for each trace" : "several files",
                 folder && !job->format->lazy ? ": add --table KIND" : "");
        return EXIT_USAGE;
    }
    if (!job->output)
        default_output(job, argument, each, path);
    else if (!mp_text_copy(path, sizeof path, job->output) && !complain_of_length(job))
        return EXIT_USAGE;
    if (!*path)
        return EXIT_USAGE;
    job->set = traces;
    job->processes = traces->processes;
    job->count = traces->count;
    job->path = path;
    if (job->format->matched && traces->count > 1 && export_match(traces, &ranks))
        job->ranks = &ranks;
    int code = each ? write_each(job, traces, path) : write_one(job, folder);
    if (job->ranks)
        ranks_free(&ranks);
    job->ranks = NULL;
    if (!job->output && code < EXIT_USAGE)
        say_path(path);
    return code;
}
