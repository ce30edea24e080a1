/* Matches the ranks of a folder once, for all of its traces that are added. Each of them still gets
 * its date and clock alone.
 */
#include "export/fleet/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "export/exports.h"

#include "base/poison.h"

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

const struct ranks *fleet_job_of(struct fleet_job *job, const struct tree *tree, const char *path,
                                 uint32_t *process)
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

void fleet_job_free(struct fleet_job *job)
{
    if (job->matched) {
        ranks_free(&job->ranks);
        trace_set_free(&job->set);
    }
    *job = (struct fleet_job){.path = NULL};
}
