/* Which line a thread was in while it was in no CUDA call: the innermost function that the calls
 * before and after came from, or what samples of the thread say.
 */
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "profile/stacks/where.h"
#include "reports/deps/lookup.h"
#include "reports/iterations/iterations.h"
#include "reports/stacks/build.h"

#include "base/poison.h"

/* ---- Host code between two calls ----
 *
 * Host code belongs to the function that the calls around it came from.
 */

#define MAX_PASSED 256u /* calls without a stack that are passed over */

/* The stack of the nearest call from `at` on, up to `end`, forwards or backwards; 0: none. */
static uint32_t nearest(const struct stacks_host *host, uint32_t at, uint32_t end, int step)
{
    for (uint32_t passed = 0; at != end && passed < MAX_PASSED; at += (uint32_t)step, passed++) {
        uint64_t correlation = host->deps->activities[at].correlation;
        uint32_t stack = correlation ? call_stacks_of_call(host->stacks, correlation) : 0;

        if (stack)
            return stack;
    }
    return 0;
}

void stacks_in_front_of(const struct stacks_host *host, const struct deps_lane *lane, uint32_t next,
                        uint64_t begin, uint64_t end)
{
    uint32_t earlier = nearest(host, next - 1, lane->first - 1, -1);
    uint32_t later = nearest(host, next, lane->first + lane->count, 1);
    uint32_t stack = earlier && later ? call_stacks_between(host->stacks, earlier, later) : 0;
    uint64_t left =
        host_samples_share(host->samples, lane->id, begin, end, host->take, host->context);

    if (left)
        host->take(host->context, stack, left);
}

enum mp_status stacks_each_host(const struct stacks_host *host, const struct deps_window *window)
{
    const struct deps *deps = host->deps;
    struct deps_steps steps;

    MP_TRY(deps_path_steps(deps, window, &steps));
    for (size_t i = 0; i < steps.count; i++) {
        const struct deps_step *step = &steps.items[i];
        const struct deps_lane *lane = step->lane == DEPS_NONE ? NULL : &deps->lanes[step->lane];

        if (step->activity != DEPS_NONE || step->part != DEPS_HOST_CODE)
            continue;
        if (lane)
            stacks_in_front_of(host, lane, deps_first_from(deps, lane, step->end), step->begin,
                               step->end);
        else
            host->take(host->context, 0, step->end - step->begin);
    }
    free(steps.items);
    return MP_OK;
}

static void add_to_weights(void *context, uint32_t stack, uint64_t ns)
{
    stacks_weights_of(context, stack)->host += ns;
}

enum mp_status stacks_weigh_host(struct stacks_making *making, const struct deps_window *window)
{
    const struct stacks_host host = {making->deps, &making->result->stacks, &making->samples,
                                     add_to_weights, making};

    return stacks_each_host(&host, window);
}

/* ---- Host code by line ---- */

struct making {
    const struct deps *deps;
    struct stacks_gaps *gaps;
    uint64_t *weights; /* ns by frame, of lines by their first one; [0] unknown */
    uint32_t *first;   /* by frame: the first one of its line */
    struct host_samples samples;
    struct stacks_host host;
};

static void take_gap(void *context, uint32_t stack, uint64_t ns)
{
    struct making *making = context;
    const struct call_stacks *stacks = &making->gaps->stacks;
    uint32_t frame = call_stacks_link(stacks, stack)->frame;

    making->weights[frame < stacks->frames.count ? making->first[frame] : 0] += ns;
    making->gaps->all += ns;
}

static void add_gap(struct making *making, const struct deps_lane *lane, uint32_t next,
                    uint64_t begin, uint64_t end)
{
    if (end > begin)
        stacks_in_front_of(&making->host, lane, next, begin, end);
}

/* The first activity of a lane that ends after `time`. */
static uint32_t first_after(const struct deps *deps, const struct deps_lane *lane, uint64_t time)
{
    return (uint32_t)MP_SEARCH(lane->first, lane->first + lane->count, i,
                               deps->activities[i].end <= time);
}

/* What lies between the calls of the iteration's thread; waits outside of CUDA are host code. */
static void add_iteration(struct making *making, const struct iteration *iteration)
{
    const struct deps_lane *lane = &making->deps->lanes[iteration->thread];
    uint32_t end = lane->first + lane->count;
    uint64_t from = iteration->begin;
    uint32_t at = first_after(making->deps, lane, iteration->begin);

    for (; at < end && making->deps->activities[at].begin < iteration->host_end; at++) {
        const struct deps_activity *activity = &making->deps->activities[at];

        if (activity->kind == DEPS_WAIT)
            continue;
        add_gap(making, lane, at, from, activity->begin);
        from = activity->end > from ? activity->end : from;
    }
    add_gap(making, lane, at, from, iteration->host_end);
}

MP_COMPARE(by_time, struct stacks_gap_row, MP_ORDER(b->ns, a->ns) ?: MP_ORDER(a->frame, b->frame));

static enum mp_status begin(struct making *making, struct mp_trace *trace, struct mp_error *error)
{
    struct stacks_gaps *gaps = making->gaps;

    *gaps = (struct stacks_gaps){.count = 0};
    making->host =
        (struct stacks_host){making->deps, &gaps->stacks, &making->samples, take_gap, making};
    MP_TRY(call_stacks_load(&gaps->stacks, trace, error));
    MP_TRY(host_samples_load(&making->samples, trace, error));
    size_t frames = gaps->stacks.frames.count;
    making->weights = calloc(frames + 1, sizeof *making->weights);
    gaps->rows = calloc(frames + 1, sizeof *gaps->rows);
    making->first = alike_lines(&gaps->stacks);
    return making->weights && gaps->rows && making->first
               ? MP_OK
               : mp_error_set(error, MP_ERR_MEMORY, "out of memory");
}

static void end(struct making *making)
{
    host_samples_free(&making->samples);
    free(making->weights);
    free(making->first);
}

static void list_rows(struct making *making)
{
    struct stacks_gaps *gaps = making->gaps;

    for (uint32_t i = 0; i < gaps->stacks.frames.count || !i; i++)
        if (making->weights[i])
            gaps->rows[gaps->count++] = (struct stacks_gap_row){i, making->weights[i]};
    qsort(gaps->rows, gaps->count, sizeof *gaps->rows, by_time);
}

enum mp_status stacks_gaps_build(struct mp_trace *trace, const struct deps *deps,
                                 const struct iterations *iterations, struct stacks_gaps *gaps,
                                 struct mp_error *error)
{
    struct making making = {.deps = deps, .gaps = gaps};
    enum mp_status status = begin(&making, trace, error);

    if (!status && call_stacks_has_any(&gaps->stacks)) {
        for (size_t i = 0; i < iterations->count; i++)
            if (iterations->items[i].thread != DEPS_NONE)
                add_iteration(&making, &iterations->items[i]);
        list_rows(&making);
    }
    end(&making);
    return status;
}

enum mp_status stacks_gaps_of_paths(struct mp_trace *trace, const struct deps *deps,
                                    const struct deps_windows *windows, struct stacks_gaps *gaps,
                                    struct mp_error *error)
{
    struct making making = {.deps = deps, .gaps = gaps};
    enum mp_status status = begin(&making, trace, error);

    if (!status && call_stacks_has_any(&gaps->stacks)) {
        for (size_t i = 0; !status && i < windows->count; i++)
            status = stacks_each_host(&making.host, &windows->items[i]);
        if (status)
            mp_error_set(error, status, "out of memory");
        list_rows(&making);
    }
    end(&making);
    return status;
}

void stacks_gaps_free(struct stacks_gaps *gaps)
{
    call_stacks_free(&gaps->stacks);
    free(gaps->rows);
    *gaps = (struct stacks_gaps){.count = 0};
}
