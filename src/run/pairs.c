/* `miniprof run --pairs=N`: the program without the recorder and with it, in turn, so that a
 * machine that gets slower gets slower for both. A run without it has the preloaded library only,
 * which leaves marks of the program's steps.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/command.h"
#include "reports/recording_cost/baseline.h"
#include "run/run.h"

#include "base/poison.h"

/* ---- Runs ---- */

struct one_run {
    unsigned number, of;
    char marks[PATH_MAX], traces[PATH_MAX];
};

static bool make_folder(struct one_run *run, const char *folder)
{
    snprintf(run->marks, sizeof run->marks, "%.4000s/%u", folder, run->number);
    snprintf(run->traces, sizeof run->traces, "%.4000s/%u/%%p.mpt", folder, run->number);
    return mkdir(run->marks, 0700) == 0;
}

static int start_run(struct launch *launch, char **argv, struct one_run *run, const char *folder,
                     struct child *child)
{
    struct launch this = *launch;

    if (!make_folder(run, folder))
        return -1;
    this.steps = run->marks;
    this.compares = true;
    this.bare = run->number % 2 == 1;
    this.output = run->number == run->of ? NULL : run->traces;
    *child = (struct child){.mask = NULL};
    complain("run", "run %u of %u, %s", run->number, run->of, this.bare ? "bare" : "recorded");
    return launch_run(&this, argv, child);
}

static bool has_trace(const char *folder)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    bool found = false;

    while (entries && !found && (entry = readdir(entries)))
        found = strstr(entry->d_name, ".mpt") != NULL;
    if (entries)
        closedir(entries);
    return found;
}

/* Why nothing runs after this one, or NULL. */
static const char *end_of_runs(const struct one_run *run, const struct child *child)
{
    if (child->signalled)
        return "a signal ended this run";
    if (run->number == 2 && run->number < run->of && !has_trace(run->marks))
        return "this run wrote no trace: the program made no CUDA calls, or its messages above say "
               "why not";
    return NULL;
}

int pairs_run(struct launch *launch, char **argv, unsigned pairs, const char *folder,
              struct child *child, bool *finished)
{
    struct one_run run = {.of = 2 * pairs};
    int first_code = 0;

    for (*finished = false; run.number < run.of;) {
        run.number++;
        if (start_run(launch, argv, &run, folder, child) != 0)
            return -1;
        if (child->start_errno)
            return 0;
        const char *end = end_of_runs(&run, child);
        if (end) {
            complain("run", "%s; there is no comparison", end);
            return 0;
        }
        if (run.number == 1)
            first_code = child->exit_code;
        else if (child->exit_code != first_code)
            complain("run", "run %u ended with exit code %d, run 1 with %d", run.number,
                     child->exit_code, first_code);
    }
    *finished = true;
    return 0;
}

/* ---- What they left ---- */

void pairs_keep(const char *trace, const char *folder, unsigned pairs)
{
    const struct kept_runs runs = {folder, pairs ? 2 * pairs : 1, pairs != 0};
    struct kept_steps kept;
    struct mp_error error;

    if (steps_keep(trace, &runs, &kept, &error) != MP_OK) {
        complain("run", "%s has no comparison: %s", trace, error.text);
        return;
    }
    if (!pairs)
        return;
    if (kept.why_not)
        complain("run", "%s has no comparison: %s; --step=NAME or NVTX ranges make steps", trace,
                 kept.why_not);
    else if (kept.runs_without)
        complain("run", "%u of %u runs made no such steps: the program differs from run to run",
                 kept.runs_without, runs.count);
}

/* Files, and folders with files. */
static void empty(const char *folder, bool folders_too)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    char path[PATH_MAX];

    while (entries && (entry = readdir(entries))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (length >= (int)sizeof path || unlink(path) == 0 || !folders_too)
            continue;
        empty(path, false);
        rmdir(path);
    }
    if (entries)
        closedir(entries);
}

void pairs_remove(const char *folder)
{
    empty(folder, true);
    rmdir(folder);
}
