/* A sweep over one device. Time advances to each begin and end; the stretch in between counts for
 * whatever runs at that moment. A heap holds the ends of what runs.
 */
#include "reports/overlap/overlap.h"

#include <stdlib.h>

#include "base/data/storage.h"

#include "base/poison.h"

struct overlap_running {
    uint64_t end;
    uint32_t lane;
    enum overlap_activity activity;
};

/* ---- Which ends next ---- */

static enum mp_status sweep_push(struct overlap_sweep *sweep, struct overlap_running item)
{
    size_t at;

    if (sweep->count >= UINT32_MAX)
        return MP_ERR_MEMORY;
    MP_TRY(mp_reserve((void **)&sweep->heap, sweep->count, &sweep->capacity, sizeof item));
    for (at = sweep->count++; at; at = (at - 1) / 2) {
        if (sweep->heap[(at - 1) / 2].end <= item.end)
            break;
        sweep->heap[at] = sweep->heap[(at - 1) / 2];
    }
    sweep->heap[at] = item;
    return MP_OK;
}

static struct overlap_running sweep_pop(struct overlap_sweep *sweep)
{
    struct overlap_running first = sweep->heap[0];
    struct overlap_running last = sweep->heap[--sweep->count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= sweep->count)
            break;
        if (child + 1 < sweep->count && sweep->heap[child + 1].end < sweep->heap[child].end)
            child++;
        if (last.end <= sweep->heap[child].end)
            break;
        sweep->heap[at] = sweep->heap[child];
        at = child;
    }
    if (sweep->count)
        sweep->heap[at] = last;
    return first;
}

/* ---- Time passes ---- */

static void pass_kernels(struct overlap_sweep *sweep, uint64_t ns)
{
    uint32_t kernels = sweep->running[OVERLAP_KERNEL];

    if (!kernels)
        return;
    sweep->times.kernels[kernels < OVERLAP_LEVELS ? kernels - 1 : OVERLAP_LEVELS - 1] += ns;
    if (kernels > sweep->times.peak_kernels)
        sweep->times.peak_kernels = kernels;
}

static void sweep_advance(struct overlap_sweep *sweep, struct overlap_lane *lanes, uint64_t to)
{
    uint64_t ns = to - sweep->clock;
    unsigned set = 0;

    sweep->clock = to;
    if (!ns || !sweep->count)
        return;
    for (int i = 0; i < OVERLAP_ACTIVITIES; i++) {
        set |= (unsigned)(sweep->running[i] != 0) << i;
        if (sweep->running[i] > 1)
            sweep->times.twice[i] += ns;
    }
    sweep->times.by_set[set] += ns;
    pass_kernels(sweep, ns);
    if (sweep->lanes == 1)
        lanes[sweep->lane].alone += ns;
}

static void begin_lane(struct overlap_sweep *sweep, struct overlap_lane *lanes, uint32_t index)
{
    struct overlap_lane *lane = &lanes[index];

    lane->calls++;
    if (lane->running++)
        return;
    lane->begun = sweep->clock;
    sweep->lanes++;
    sweep->lane ^= index;
}

static void end_lane(struct overlap_sweep *sweep, struct overlap_lane *lanes, uint32_t index)
{
    struct overlap_lane *lane = &lanes[index];

    if (--lane->running)
        return;
    lane->busy += sweep->clock - lane->begun;
    sweep->lanes--;
    sweep->lane ^= index;
}

/* Ends everything that ends up to `time`, and moves to that time. */
static void go_to(struct overlap_sweep *sweep, struct overlap_lane *lanes, uint64_t time)
{
    while (sweep->count && sweep->heap[0].end <= time) {
        sweep_advance(sweep, lanes, sweep->heap[0].end);
        struct overlap_running ended = sweep_pop(sweep);
        sweep->running[ended.activity]--;
        end_lane(sweep, lanes, ended.lane);
    }
    sweep_advance(sweep, lanes, time);
}

static enum mp_status add_now(struct overlap_sweep *sweep, struct overlap_lane *lanes,
                              enum overlap_activity activity, uint32_t lane, uint64_t begin,
                              uint64_t end)
{
    uint64_t *total = &sweep->times.total[activity];

    begin = begin < sweep->clock ? sweep->clock : begin;
    end = end < begin ? begin : end;
    go_to(sweep, lanes, begin);
    MP_TRY(sweep_push(sweep, (struct overlap_running){end, lane, activity}));
    sweep->running[activity]++;
    sweep->times.calls[activity]++;
    *total = end - begin < UINT64_MAX - *total ? *total + (end - begin) : UINT64_MAX;
    begin_lane(sweep, lanes, lane);
    return MP_OK;
}

/* Adds what begins later than another one, but not after `time`. */
static enum mp_status add_later_ones(struct overlap_sweep *sweep, struct overlap_lane *lanes,
                                     uint64_t time)
{
    while (sweep->later_count) {
        size_t first = 0;

        for (size_t i = 1; i < sweep->later_count; i++) {
            if (sweep->later[i].begin < sweep->later[first].begin)
                first = i;
        }
        const struct overlap_later later = sweep->later[first];
        if (later.begin > time)
            break;
        sweep->later[first] = sweep->later[--sweep->later_count];
        MP_TRY(add_now(sweep, lanes, later.activity, later.lane, later.begin, later.end));
        lanes[later.lane].calls--;
    }
    return MP_OK;
}

enum mp_status overlap_sweep_add(struct overlap_sweep *sweep, struct overlap_lane *lanes,
                                 enum overlap_activity activity, uint32_t lane, uint64_t begin,
                                 uint64_t end)
{
    MP_TRY(add_later_ones(sweep, lanes, begin));
    return add_now(sweep, lanes, activity, lane, begin, end);
}

enum mp_status overlap_sweep_add_later(struct overlap_sweep *sweep, struct overlap_later later)
{
    MP_TRY(MP_RESERVE(sweep->later, sweep->later_count, sweep->later_capacity));
    sweep->later[sweep->later_count++] = later;
    return MP_OK;
}

enum mp_status overlap_sweep_end(struct overlap_sweep *sweep, struct overlap_lane *lanes)
{
    enum mp_status status = add_later_ones(sweep, lanes, UINT64_MAX);

    while (sweep->count)
        go_to(sweep, lanes, sweep->heap[0].end);
    free(sweep->heap);
    free(sweep->later);
    sweep->heap = NULL;
    sweep->later = NULL;
    sweep->capacity = sweep->later_capacity = 0;
    return status;
}

/* ---- Questions about the times ---- */

uint64_t overlap_time(const struct overlap_times *times, unsigned all, unsigned any, unsigned none)
{
    uint64_t ns = 0;

    for (unsigned set = 1; set < OVERLAP_SETS; set++) {
        if ((set & all) == all && (!any || set & any) && !(set & none))
            ns += times->by_set[set];
    }
    return ns;
}

double overlap_mean_kernels(const struct overlap_times *times)
{
    uint64_t busy = overlap_time(times, 1u << OVERLAP_KERNEL, 0, 0);

    return busy ? (double)times->total[OVERLAP_KERNEL] / (double)busy : 0;
}
