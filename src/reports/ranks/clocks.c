/* How the clocks of hosts lie to each other, by the collectives in which everybody waits for
 * everybody: no kernel of one ends before the last one has begun.
 *
 *     ours      |----------------|          begin <= their end + offset
 *     theirs          |----------|          their begin + offset <= end
 *
 * So each instance holds the offset between two bounds, which are a transfer and a wait apart, and
 * the bounds of many instances leave little. Clocks drift, so the offset is a straight line: the
 * one that keeps farthest from all bounds. How wrong it can be is how far another line, which obeys
 * all bounds too, can be from it at either end of the recording.
 */
#include <float.h>
#include <stdlib.h>

#include "base/data/storage.h"
#include "reports/ranks/inside.h"

#include "base/poison.h"

#define MAX_DRIFT 0.0002 /* ns a ns: ten times what crystals have */
#define STEPS     200    /* of a search that leaves 2/3 each time: down to rounding */

/* What one instance says of the offset at a moment. All in ns; times since `base`. */
struct bound {
    double time, min, max;
};

struct bounds {
    struct bound *items; /* owned */
    size_t count, capacity;
};

/* The bounds of the offset at time 0 for a given drift. */
struct gap {
    double min, max;
};

static struct gap gap_at(const struct bounds *bounds, double drift)
{
    struct gap gap = {-DBL_MAX, DBL_MAX};

    for (size_t i = 0; i < bounds->count; i++) {
        const struct bound *bound = &bounds->items[i];
        double min = bound->min - drift * bound->time;
        double max = bound->max - drift * bound->time;

        gap.min = min > gap.min ? min : gap.min;
        gap.max = max < gap.max ? max : gap.max;
    }
    return gap;
}

/* What a search makes as great as it can be: concave in the drift. */
typedef double measure(const struct bounds *bounds, double drift, double time);

static double measure_width(const struct bounds *bounds, double drift, double time)
{
    struct gap gap = gap_at(bounds, drift);

    (void)time;
    return gap.max - gap.min;
}

static double measure_max(const struct bounds *bounds, double drift, double time)
{
    return gap_at(bounds, drift).max + drift * time;
}

static double measure_min(const struct bounds *bounds, double drift, double time)
{
    return -(gap_at(bounds, drift).min + drift * time);
}

/* The drift between `low` and `high` at which the measure is greatest. */
static double search_drift(const struct bounds *bounds, measure *of, double time, double low,
                           double high)
{
    for (int i = 0; i < STEPS && low < high; i++) {
        double left = low + (high - low) / 3, right = high - (high - low) / 3;

        if (of(bounds, left, time) < of(bounds, right, time))
            low = left;
        else
            high = right;
    }
    return (low + high) / 2;
}

/* The drift between `inside`, which some line has, and `outside` beyond which no line is left. */
static double search_edge(const struct bounds *bounds, double inside, double outside)
{
    for (int i = 0; i < STEPS; i++) {
        double middle = (inside + outside) / 2;

        if (measure_width(bounds, middle, 0) >= 0)
            inside = middle;
        else
            outside = middle;
    }
    return inside;
}

/* How far another line can be from this one at a time. */
static double error_at(const struct bounds *bounds, const struct ranks_clock *clock, double time,
                       double low, double high)
{
    double here = clock->offset + clock->drift * time;
    double max = measure_max(bounds, search_drift(bounds, measure_max, time, low, high), time);
    double min = -measure_min(bounds, search_drift(bounds, measure_min, time, low, high), time);

    return max - here > here - min ? max - here : here - min;
}

static void find_line(const struct bounds *bounds, struct ranks_clock *clock)
{
    double last = 0, begin, end, low, high;

    for (size_t i = 0; i < bounds->count; i++)
        last = bounds->items[i].time > last ? bounds->items[i].time : last;
    clock->known = true;
    clock->instances = bounds->count;
    clock->drift = search_drift(bounds, measure_width, 0, -MAX_DRIFT, MAX_DRIFT);
    struct gap gap = gap_at(bounds, clock->drift);
    clock->offset = (gap.min + gap.max) / 2;
    clock->possible = gap.min <= gap.max;
    if (!clock->possible)
        return;
    low = search_edge(bounds, clock->drift, -MAX_DRIFT);
    high = search_edge(bounds, clock->drift, MAX_DRIFT);
    begin = error_at(bounds, clock, 0, low, high);
    end = error_at(bounds, clock, last, low, high);
    clock->bound = begin > end ? begin : end;
}

/* ---- The bounds ---- */

struct extent {
    int64_t last_begin, first_end; /* ns since the set's first record */
    bool present;
};

static void widen(struct extent *extent, const struct op *op, uint64_t base)
{
    int64_t begin = (int64_t)(op->start - base), end = (int64_t)(op->end - base);

    extent->last_begin =
        !extent->present || begin > extent->last_begin ? begin : extent->last_begin;
    extent->first_end = !extent->present || end < extent->first_end ? end : extent->first_end;
    extent->present = true;
}

static enum mp_status add_bound(struct bounds *bounds, const struct extent *ours,
                                const struct extent *theirs)
{
    MP_TRY(MP_RESERVE(bounds->items, bounds->count, bounds->capacity));
    bounds->items[bounds->count++] =
        (struct bound){.time = (double)theirs->last_begin,
                       .min = (double)(ours->last_begin - theirs->first_end),
                       .max = (double)(ours->first_end - theirs->last_begin)};
    return MP_OK;
}

/* What an instance says of a clock. */
static enum mp_status take_instance(const struct ranks *ranks, const struct trace_set *set,
                                    size_t first, size_t count, size_t clock, struct bounds *bounds)
{
    struct extent ours = {0}, theirs = {0};

    for (size_t i = first; i < first + count; i++) {
        size_t number = set->processes[ranks->ops[i].process].clock_number;

        if (number == 0)
            widen(&ours, &ranks->ops[i], set->first_time);
        else if (number == clock)
            widen(&theirs, &ranks->ops[i], set->first_time);
    }
    return ours.present && theirs.present ? add_bound(bounds, &ours, &theirs) : MP_OK;
}

static enum mp_status find_bounds(const struct ranks *ranks, const struct trace_set *set,
                                  size_t clock, struct bounds *bounds)
{
    for (size_t first = 0; first < ranks->op_count;) {
        size_t count = ranks_instance_ops(ranks, first);
        const struct op *op = &ranks->ops[first];

        if (op->from == RANKS_NONE && ranks_is_synchronous(ranks_function(ranks, op->function)))
            MP_TRY(take_instance(ranks, set, first, count, clock, bounds));
        first += count;
    }
    return MP_OK;
}

/* What the clock of a process is behind at `time`, which is in ns since 1970. */
static uint64_t correction(const struct ranks *ranks, const struct trace_set *set, uint32_t process,
                           uint64_t time)
{
    const struct ranks_clock *clock = &ranks->clocks[set->processes[process].clock_number];
    double offset = clock->offset + clock->drift * (double)(int64_t)(time - set->first_time);

    return clock->known ? (uint64_t)(int64_t)(offset < 0 ? offset - 0.5 : offset + 0.5) : 0;
}

uint64_t ranks_moment(const struct ranks *ranks, const struct trace_set *set, uint32_t process,
                      uint64_t time)
{
    time += set->processes[process].offset;
    return time + correction(ranks, set, process, time);
}

static void move_times(struct ranks *ranks, const struct trace_set *set)
{
    for (size_t i = 0; i < ranks->op_count; i++) {
        struct op *op = &ranks->ops[i];
        uint64_t whole = correction(ranks, set, op->process, op->start);

        op->start += whole;
        op->end += whole;
    }
}

enum mp_status ranks_align(struct ranks *ranks, const struct trace_set *set)
{
    ranks->clocks = calloc(set->clock_count + 1, sizeof *ranks->clocks);
    if (!ranks->clocks)
        return MP_ERR_MEMORY;
    ranks->clock_count = set->clock_count;
    for (size_t clock = 1; clock < set->clock_count; clock++) {
        struct bounds bounds = {0};
        enum mp_status status = find_bounds(ranks, set, clock, &bounds);

        if (status == MP_OK && bounds.count)
            find_line(&bounds, &ranks->clocks[clock]);
        free(bounds.items);
        MP_TRY(status);
    }
    move_times(ranks, set);
    return MP_OK;
}
