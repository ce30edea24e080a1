/* Which line an iteration's thread was in while it was in no CUDA call: the innermost function that
 * the calls before and after came from. Calls without a stack are passed over. Samples of the
 * thread say it of the time that they stand for.
 */
#include <stdlib.h>

#include "analyze/iterations/iterations.h"
#include "analyze/stacks/stacks.h"
#include "model/stacks/host_samples.h"
#include "model/stacks/where.h"

#include "base/poison.h"

#define MOST_PASSED 256u /* calls without a stack that are passed over */

struct making {
    const struct deps *deps;
    struct stacks_gaps *gaps;
    struct host_samples samples;
    uint64_t *weights; /* ns by frame; [0] unknown */
};

/* The stack of the nearest call from `at` on, up to `end`, forwards or backwards; 0: none. */
static uint32_t nearest(const struct making *making, uint32_t at, uint32_t end, int step)
{
    for (uint32_t passed = 0; at != end && passed < MOST_PASSED; at += (uint32_t)step, passed++) {
        uint64_t correlation = making->deps->activities[at].correlation;
        uint32_t stack = correlation ? call_stacks_of_call(&making->gaps->stacks, correlation) : 0;

        if (stack)
            return stack;
    }
    return 0;
}

/* Time in the innermost function of a stack; 0: unknown. */
static void add_time(void *context, uint32_t stack, uint64_t ns)
{
    struct making *making = context;
    const struct call_stacks *stacks = &making->gaps->stacks;
    uint32_t frame = call_stacks_link(stacks, stack)->frame;

    making->weights[frame < stacks->frames.count ? frame : 0] += ns;
}

static void add_gap(struct making *making, const struct deps_lane *lane, uint32_t next,
                    uint64_t begin, uint64_t end)
{
    const struct call_stacks *stacks = &making->gaps->stacks;
    uint32_t earlier, later, stack;
    uint64_t left;

    if (end <= begin)
        return;
    earlier = nearest(making, next - 1, lane->first - 1, -1);
    later = nearest(making, next, lane->first + lane->count, 1);
    stack = earlier && later ? call_stacks_between(stacks, earlier, later) : 0;
    left = host_samples_share(&making->samples, lane->id, begin, end, add_time, making);
    add_time(making, stack, left);
    making->gaps->all += end - begin;
}

/* The first piece of a lane that ends after `time`. */
static uint32_t first_after(const struct deps *deps, const struct deps_lane *lane, uint64_t time)
{
    uint32_t low = lane->first;
    uint32_t high = lane->first + lane->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (deps->activities[middle].end <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What lies between the calls of the iteration's thread; waits outside of CUDA are host code. */
static void add_iteration(struct making *making, const struct iteration *iteration)
{
    const struct deps_lane *lane = &making->deps->lanes[iteration->thread];
    uint32_t end = lane->first + lane->count;
    uint64_t from = iteration->begin;
    uint32_t at = first_after(making->deps, lane, iteration->begin);

    for (; at < end && making->deps->activities[at].begin < iteration->host_end; at++) {
        const struct deps_activity *piece = &making->deps->activities[at];

        if (piece->kind == DEPS_WAIT)
            continue;
        add_gap(making, lane, at, from, piece->begin);
        from = piece->end > from ? piece->end : from;
    }
    add_gap(making, lane, at, from, iteration->host_end);
}

static int by_time(const void *a, const void *b)
{
    const struct stacks_gap_row *x = a;
    const struct stacks_gap_row *y = b;

    return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1)
                          : (x->frame > y->frame) - (x->frame < y->frame);
}

static enum mp_status sum_up(struct making *making, const struct iterations *iterations)
{
    struct stacks_gaps *gaps = making->gaps;
    size_t frames = gaps->stacks.frames.count;

    making->weights = calloc(frames + 1, sizeof *making->weights);
    gaps->rows = calloc(frames + 1, sizeof *gaps->rows);
    if (!making->weights || !gaps->rows)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < iterations->count; i++)
        if (iterations->items[i].thread != DEPS_NONE)
            add_iteration(making, &iterations->items[i]);
    for (uint32_t i = 0; i < frames || !i; i++)
        if (making->weights[i])
            gaps->rows[gaps->count++] = (struct stacks_gap_row){i, making->weights[i]};
    qsort(gaps->rows, gaps->count, sizeof *gaps->rows, by_time);
    return MP_OK;
}

enum mp_status stacks_gaps_build(struct mp_trace *trace, const struct deps *deps,
                                 const struct iterations *iterations, struct stacks_gaps *gaps,
                                 struct mp_error *error)
{
    struct making making = {.deps = deps, .gaps = gaps};
    enum mp_status status;

    *gaps = (struct stacks_gaps){.count = 0};
    MP_TRY(call_stacks_load(&gaps->stacks, trace, error));
    if (!call_stacks_has_any(&gaps->stacks))
        return MP_OK;
    status = host_samples_load(&making.samples, trace, error);
    if (!status && sum_up(&making, iterations))
        status = mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    host_samples_free(&making.samples);
    free(making.weights);
    return status;
}

void stacks_gaps_free(struct stacks_gaps *gaps)
{
    call_stacks_free(&gaps->stacks);
    free(gaps->rows);
    *gaps = (struct stacks_gaps){.count = 0};
}
