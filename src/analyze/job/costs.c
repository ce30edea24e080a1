/* What recording cost, found for each rank alone, and taken out of the graph of all of them: where
 * a rank that was slowed down comes earlier, the others wait less.
 */
#include <stdlib.h>

#include "analyze/job/inside.h"

#include "base/poison.h"

enum mp_status job_less_new(size_t count, struct deps_less *less)
{
    *less = (struct deps_less){.before = calloc(count + 1, sizeof *less->before),
                               .within = calloc(count + 1, sizeof *less->within),
                               .own = calloc(count + 1, sizeof *less->own)};
    return less->before && less->within && less->own ? MP_OK : MP_ERR_MEMORY;
}

void job_less_free(struct deps_less *less)
{
    free(less->before);
    free(less->within);
    free(less->own);
    *less = (struct deps_less){.before = NULL};
}

static uint64_t length_of(const struct deps_windows *windows)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < windows->count; i++)
        sum += windows->items[i].end - windows->items[i].begin;
    return sum;
}

static void move_windows(const struct deps_replayer *replayer, struct deps_windows *windows)
{
    for (size_t i = 0; windows && i < windows->count; i++)
        deps_replayer_window(replayer, &windows->items[i]);
}

enum mp_status job_undisturb(struct job *job, struct deps_windows *windows,
                             struct deps_windows *more)
{
    struct deps_replayer replayer;
    enum mp_status status;

    if (!job->deps.fronts || job->undisturbed.source == UNDISTURBED_NONE)
        return MP_OK;
    job->undisturbed.recorded = length_of(windows);
    status = deps_replayer_init(&replayer, &job->deps);
    replayer.less = &job->less;
    if (status == MP_OK)
        status = deps_replayer_run(&replayer, NULL);
    if (status == MP_OK) {
        move_windows(&replayer, windows);
        move_windows(&replayer, more);
        status = deps_retime(&job->deps, &replayer);
    }
    deps_replayer_free(&replayer);
    job->undisturbed.undisturbed = length_of(windows);
    return status;
}
