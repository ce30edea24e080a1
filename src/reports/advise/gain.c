/* What a change gains an iteration, by replay.
 *
 *     iterations   |--- 1 ---|   |--- 2 ---|            |--- 1 -|  |- 2 -|
 *     steps        |<--- 1 -->|<---- 2 --->|     ->     |<- 1 ->|<-- 2 ->|
 *
 * Steps go from end to end, so they are also correct where iterations overlap: a pipeline gains
 * throughput, while its latencies may even grow. The step of a request is its own: from its begin
 * to where its thread has the result, whatever other threads do.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/advise/build.h"

#include "base/poison.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Where each iteration ends in the last replay. */
static void find_ends(const struct advise *advise, uint64_t *ends)
{
    const struct deps *deps = advise->deps;
    const struct iterations *iterations = advise->iterations;

    memset(ends, 0, iterations->count * sizeof *ends);
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        uint32_t of = iterations->of[i];

        if (of != DEPS_NONE)
            ends[of] = later(ends[of], deps_replayer_end(&advise->replayer, i));
    }
    for (size_t i = 0; i < iterations->count; i++) {
        const struct iteration *iteration = &iterations->items[i];

        if (iteration->thread != DEPS_NONE)
            ends[i] = later(ends[i], deps_replayer_host(&advise->replayer, iteration->thread,
                                                        iteration->host_end, true));
        else if (!ends[i])
            ends[i] = iteration->end;
    }
}

static bool has_requests(const struct advise *advise)
{
    return advise->iterations->way == ITERATIONS_REQUESTS;
}

static void find_requests(const struct advise *advise, uint64_t *steps)
{
    for (size_t i = 0; i < advise->iterations->count; i++) {
        const struct iteration *request = &advise->iterations->items[i];
        uint64_t begin =
            deps_replayer_host(&advise->replayer, request->thread, request->begin, false);
        uint64_t end =
            deps_replayer_host(&advise->replayer, request->thread, request->host_end, true);

        steps[i] = end > begin ? end - begin : 0;
    }
}

static void find_steps(const struct advise *advise, uint64_t *steps)
{
    const struct iterations *iterations = advise->iterations;
    const struct iteration *first = &iterations->items[0];
    uint64_t before = first->begin;

    if (has_requests(advise)) {
        find_requests(advise, steps);
        return;
    }
    find_ends(advise, steps);
    if (first->thread != DEPS_NONE)
        before = deps_replayer_host(&advise->replayer, first->thread, first->begin, false);
    for (size_t i = 0; i < iterations->count; i++) {
        uint64_t end = later(steps[i], before);

        steps[i] = end - before;
        before = end;
    }
}

/* P50 and mean of the steps of what counts. */
static enum mp_status find_usual_step(struct advise *advise)
{
    uint64_t *values = calloc(advise->judged + 1, sizeof *values);
    struct statistics steps;
    size_t count = 0;

    if (!values)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < advise->iterations->count; i++) {
        if (advise->regular[i])
            values[count++] = advise->before[i];
    }
    steps = statistics_of(values, count);
    advise->step = steps.p50;
    advise->mean = (uint64_t)steps.mean;
    free(values);
    return MP_OK;
}

enum mp_status advise_gain_init(struct advise *advise)
{
    size_t count = advise->iterations->count;

    advise->before = calloc(count + 1, sizeof *advise->before);
    advise->after = calloc(count + 1, sizeof *advise->after);
    if (!advise->before || !advise->after)
        return MP_ERR_MEMORY;
    MP_TRY(deps_replayer_init(&advise->replayer, advise->deps));
    MP_TRY(deps_replayer_run(&advise->replayer, NULL));
    find_steps(advise, advise->before);
    return find_usual_step(advise);
}

void advise_gain_free(struct advise *advise)
{
    free(advise->before);
    free(advise->after);
    deps_replayer_free(&advise->replayer);
}

enum mp_status advise_replay(struct advise *advise, uint64_t *gain)
{
    const struct deps_edits edits = {
        .flags = advise->edits,
        .factor = advise->factor,
        .factor_of = advise->factor_of,
        .host_kept = advise_host_kept,
        .context = advise,
    };
    uint64_t before = 0;
    uint64_t after = 0;

    MP_TRY(deps_replayer_run(&advise->replayer, &edits));
    find_steps(advise, advise->after);
    for (size_t i = 0; i < advise->iterations->count; i++) {
        if (!advise->regular[i])
            continue;
        before += advise->before[i];
        after += advise->after[i];
    }
    *gain = after < before ? (before - after) / advise->judged : 0;
    return MP_OK;
}

uint64_t advise_usual_gain(const struct advise *advise, uint64_t gain)
{
    double share;

    if (gain <= advise->step)
        return gain;
    share = gain < advise->mean ? (double)gain / (double)advise->mean : 1;
    return (uint64_t)(share * (double)advise->step);
}
