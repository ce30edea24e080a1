/* The work of one device: who shares its time, and which groups it has. */
#include "reports/counters/pass.h"

#include <math.h>
#include <stdlib.h>

#include "base/data/algorithms.h"

#include "base/poison.h"

/* ---- Time, divided among the work that runs at once ----
 *
 * The number of spans that run changes at their begins and ends only. From one of these moments to
 * the next, the share of a span grows evenly:
 *
 *     spans    aaaaaaaa
 *                  bbbbbbbb
 *     times    0   4   8   12
 *     parts    0   4   6   10
 */

/* The next moment at which a span begins or ends. */
static void add_moment(struct concurrency *concurrency, uint64_t time, size_t running)
{
    double part = 0;

    if (concurrency->count) {
        part = concurrency->parts[concurrency->count - 1];
        if (running)
            part += (double)(time - concurrency->times[concurrency->count - 1]) / (double)running;
    }
    concurrency->times[concurrency->count] = time;
    concurrency->parts[concurrency->count++] = part;
}

enum mp_status concurrency_build(struct concurrency *concurrency, const struct work_span *spans,
                                 size_t count)
{
    uint64_t *ends = calloc(count + 1, sizeof *ends);
    size_t begun = 0, ended = 0;

    concurrency->times = reallocarray(NULL, 2 * count + 1, sizeof *concurrency->times);
    concurrency->parts = reallocarray(NULL, 2 * count + 1, sizeof *concurrency->parts);
    concurrency->count = 0;
    if (!ends || !concurrency->times || !concurrency->parts) {
        free(ends);
        return MP_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        ends[i] = spans[i].end;
    mp_sort_u64(ends, count);
    while (ended < count) {
        if (begun < count && spans[begun].start <= ends[ended]) {
            add_moment(concurrency, spans[begun].start, begun - ended);
            begun++;
        } else {
            add_moment(concurrency, ends[ended], begun - ended);
            ended++;
        }
    }
    free(ends);
    return MP_OK;
}

static double part_until(const struct concurrency *concurrency, uint64_t time)
{
    size_t low = MP_SEARCH(0, concurrency->count, i, concurrency->times[i] <= time);

    if (!low || low == concurrency->count)
        return low ? concurrency->parts[low - 1] : 0;
    double share = (double)(time - concurrency->times[low - 1]) /
                   (double)(concurrency->times[low] - concurrency->times[low - 1]);
    return concurrency->parts[low - 1] +
           share * (concurrency->parts[low] - concurrency->parts[low - 1]);
}

double concurrency_part(const struct concurrency *concurrency, uint64_t from, uint64_t to)
{
    return to > from ? part_until(concurrency, to) - part_until(concurrency, from) : 0;
}

void concurrency_free(struct concurrency *concurrency)
{
    free(concurrency->times);
    free(concurrency->parts);
    *concurrency = (struct concurrency){.times = NULL};
}

/* ---- Groups ----
 *
 * Those with most time, with nothing and all others before them.
 */

struct tally {
    uint32_t group;
    bool is_cause;
    uint64_t time, calls;
};

MP_COMPARE(tally_order, struct tally,
           MP_ORDER(b->is_cause, a->is_cause) ?: MP_ORDER(b->time, a->time) ?:
           MP_ORDER(a->group, b->group));

static struct counters_group *add_group(struct device_work *work, const char *name)
{
    struct counters_result *result = work->pass->result;
    struct counters_group *group = &result->groups[result->group_count++];

    *group =
        (struct counters_group){.device = work->device, .name = name, .cells = result->cell_count};
    for (size_t i = 0; i < work->width; i++)
        result->cells[result->cell_count++] =
            (struct counters_cell){.mean = (double)NAN, .error = (double)NAN};
    work->groups++;
    return group;
}

/* Room for the device's groups and their cells. */
static enum mp_status reserve_groups(struct device_work *work)
{
    struct counters_result *result = work->pass->result;
    size_t groups = work->pass->name_count + 2;
    struct counters_group *grown;
    struct counters_cell *cells;

    if (groups > COUNTERS_MAX_GROUPS)
        groups = COUNTERS_MAX_GROUPS;
    work->width = 0;
    for (size_t i = 0; i < result->counter_count; i++)
        work->width += result->counters[i].device == work->device;
    grown = reallocarray(result->groups, result->group_count + groups, sizeof *grown);
    if (!grown)
        return MP_ERR_MEMORY;
    result->groups = grown;
    cells = reallocarray(result->cells, result->cell_count + groups * work->width, sizeof *cells);
    if (!cells)
        return MP_ERR_MEMORY;
    result->cells = cells;
    return MP_OK;
}

/* The device's groups: nothing, all others, and those with most time. */
static void make_groups(struct device_work *work, struct tally *tallies, size_t count)
{
    work->first = work->pass->result->group_count;
    struct counters_group *idle = add_group(work, NULL);
    idle->idle = true;
    struct counters_group *others = add_group(work, NULL);
    for (size_t i = 0; i < count; i++) {
        struct counters_group *group = others;

        if (!tallies[i].time)
            continue;
        work->local[tallies[i].group] = COUNTERS_OTHERS;
        if (work->groups < COUNTERS_MAX_GROUPS) {
            work->local[tallies[i].group] = (uint32_t)work->groups;
            group = add_group(work, work->pass->names[tallies[i].group]);
            group->is_cause = tallies[i].is_cause;
        }
        group->time += tallies[i].time;
        group->calls += tallies[i].calls;
    }
}

enum mp_status device_work_group(struct device_work *work)
{
    size_t count = work->pass->name_count;
    struct tally *tallies = calloc(count + 1, sizeof *tallies);

    work->local = calloc(count + 1, sizeof *work->local);
    if (!tallies || !work->local || reserve_groups(work)) {
        free(tallies);
        return MP_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        tallies[i] = (struct tally){.group = (uint32_t)i, .is_cause = i < work->pass->cause_count};
    for (size_t i = 0; i < work->span_count; i++) {
        tallies[work->spans[i].group].time += work->spans[i].end - work->spans[i].start;
        tallies[work->spans[i].group].calls++;
    }
    qsort(tallies, count, sizeof *tallies, tally_order);
    make_groups(work, tallies, count);
    free(tallies);
    return MP_OK;
}
