/* What belongs to which iteration; and how the ways add one that they have found.
 *
 *     thread 1   |--- 1 ---||--- 2 ---||--- 3 ---|        iterations
 *       calls      a  b       c    d                      a, b: 1    c, d: 2
 *     thread 2        e                                   e: 1, the only one then, unless both
 *                                                         threads wait for their own work
 *     stream            aaaa bbb  eee cccccccc  dddddd    work: as the call that launched it
 */
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "reports/deps/lookup.h"
#include "reports/iterations/build.h"
#include "trace/schema.h"

#include "base/poison.h"

#define DEVICE_BITS 64u

static uint8_t launched_kind(const struct deps *deps, const struct deps_activity *work)
{
    uint8_t awaited = work->flags & DEPS_AWAITED ? ITERATIONS_LAUNCHED_AWAITED : 0;

    if (work->kind == DEPS_SET)
        return ITERATIONS_LAUNCHED_SET;
    if (work->kind != DEPS_COPY)
        return ITERATIONS_LAUNCHED_KERNEL;
    return awaited | (iterations_is_copy(deps, work, MP_copy_kind_HtoD) ? ITERATIONS_LAUNCHED_HTOD
                                                                        : ITERATIONS_LAUNCHED_COPY);
}

enum mp_status iterations_note_launches(const struct deps *deps, struct iterations *result)
{
    result->launched = calloc((size_t)deps->host_count + 1, sizeof *result->launched);
    if (!result->launched)
        return MP_ERR_MEMORY;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (work->launch != DEPS_NONE)
            result->launched[work->launch] |= launched_kind(deps, work);
    }
    return MP_OK;
}

/* ---- Which iterations are open ---- */

struct open {
    const struct deps *deps;
    const uint8_t *independent; /* by lane; NULL: iterations are not of threads */
    const struct iterations *iterations;
    uint32_t *by_end;    /* iterations in order of host_end */
    uint64_t *end_sums;  /* of the first n of by_end: the sum of their numbers */
    uint32_t *of_thread; /* iterations thread by thread, in order */
    uint32_t *first;     /* by lane, in of_thread, and one more */
    uint32_t *stack;     /* of a thread: begun and perhaps still open */
};

static bool ends_before(const void *context, uint32_t a, uint32_t b)
{
    const struct iterations *iterations = context;

    return iterations->items[a].host_end < iterations->items[b].host_end;
}

/* A counting sort: first[t + 1] counts up from where t begins to where it ends. */
static void list_threads(struct open *open)
{
    const struct iterations *iterations = open->iterations;
    uint32_t threads = open->deps->thread_count;

    for (size_t i = 0; i < iterations->count; i++) {
        if (iterations->items[i].thread != DEPS_NONE)
            open->first[iterations->items[i].thread + 2]++;
    }
    for (uint32_t i = 1; i < threads + 2; i++)
        open->first[i] += open->first[i - 1];
    for (uint32_t i = 0; i < iterations->count; i++) {
        if (iterations->items[i].thread != DEPS_NONE)
            open->of_thread[open->first[iterations->items[i].thread + 1]++] = i;
    }
}

static enum mp_status open_init(struct open *open, const struct deps *deps,
                                const struct iterations *iterations)
{
    size_t count = iterations->count;

    *open = (struct open){.deps = deps, .iterations = iterations};
    open->by_end = calloc(count + 1, sizeof *open->by_end);
    open->end_sums = calloc(count + 1, sizeof *open->end_sums);
    open->of_thread = calloc(count + 1, sizeof *open->of_thread);
    open->stack = calloc(count + 1, sizeof *open->stack);
    open->first = calloc((size_t)deps->thread_count + 2, sizeof *open->first);
    if (!open->by_end || !open->end_sums || !open->of_thread || !open->stack || !open->first)
        return MP_ERR_MEMORY;
    list_threads(open);
    for (uint32_t i = 0; i < count; i++)
        open->by_end[i] = i;
    mp_sort(open->by_end, count, open->stack, ends_before, iterations);
    for (size_t i = 0; i < count; i++)
        open->end_sums[i + 1] = open->end_sums[i] + open->by_end[i];
    return MP_OK;
}

static void open_free(struct open *open)
{
    free(open->by_end);
    free(open->end_sums);
    free(open->of_thread);
    free(open->stack);
    free(open->first);
}

/* How many of the iterations have begun at `time`, or ended. */
static size_t count_until(const struct open *open, uint64_t time, bool ends)
{
    const struct iteration *items = open->iterations->items;

    return MP_SEARCH(0, open->iterations->count, i,
                     (ends ? items[open->by_end[i]].host_end : items[i].begin) <= time);
}

/* The iteration that is open at that time, if it is the only one: the numbers of those that have
 * begun, added up, minus the numbers of those that have ended. */
static uint32_t only_open(const struct open *open, uint64_t time)
{
    size_t begun = count_until(open, time, false);
    size_t ended = count_until(open, time, true);

    if (begun != ended + 1)
        return DEPS_NONE;
    return (uint32_t)((uint64_t)begun * (begun - 1) / 2 - open->end_sums[ended]);
}

/* ---- Calls ---- */

/* Where a thread's calls stand among its iterations. */
struct cursor {
    uint32_t next;  /* in of_thread */
    uint32_t end;   /* there */
    uint32_t depth; /* of the stack */
};

/* The iteration of the thread that began last and is still open at that time; DEPS_NONE. Times must
 * not run backwards. */
static uint32_t own_open(struct open *open, struct cursor *cursor, uint64_t time)
{
    const struct iteration *items = open->iterations->items;

    while (cursor->next < cursor->end && items[open->of_thread[cursor->next]].begin <= time)
        open->stack[cursor->depth++] = open->of_thread[cursor->next++];
    while (cursor->depth && items[open->stack[cursor->depth - 1]].host_end <= time)
        cursor->depth--;
    return cursor->depth ? open->stack[cursor->depth - 1] : DEPS_NONE;
}

/* The only iteration that is open, unless it and the call are of threads that each wait for their
 * own work. */
static uint32_t only_open_for(const struct open *open, uint32_t lane, uint64_t time)
{
    uint32_t found = only_open(open, time);
    uint32_t thread = found == DEPS_NONE ? DEPS_NONE : open->iterations->items[found].thread;

    if (thread == DEPS_NONE || !open->independent)
        return found;
    return open->independent[lane] && open->independent[thread] ? DEPS_NONE : found;
}

static void assign_calls(struct open *open, uint32_t lane, uint32_t *of)
{
    const struct deps *deps = open->deps;
    uint32_t first = deps->lanes[lane].first;
    struct cursor cursor = {open->first[lane], open->first[lane + 1], 0};

    for (uint32_t i = first; i < first + deps->lanes[lane].count; i++) {
        const struct deps_activity *call = &deps->activities[i];

        if (call->flags & DEPS_CONTINUED) {
            of[i] = of[call->first_of_call];
            continue;
        }
        of[i] = own_open(open, &cursor, call->begin);
        if (of[i] == DEPS_NONE)
            of[i] = only_open_for(open, lane, call->begin);
    }
}

/* ---- Work ---- */

/* Work whose call is not known: by the capture range if iterations are capture ranges, else by its
 * begin. */
static uint32_t unlaunched(const struct open *open, const struct iterations_finder *finder,
                           const struct deps_activity *work)
{
    enum iterations_way way = open->iterations->way;
    size_t index;

    if (way != ITERATIONS_RANGES && !finder->only)
        return only_open(open, work->begin);
    if (finder->only && !iterations_wanted(finder, work))
        return DEPS_NONE;
    if (way == ITERATIONS_WHOLE || (way == ITERATIONS_RANGES && finder->only))
        return 0;
    if (way != ITERATIONS_RANGES)
        return only_open(open, work->begin);
    return deps_range_of(open->deps, work, &index) && index < open->iterations->count
               ? (uint32_t)index
               : DEPS_NONE;
}

static void assign_all(struct open *open, const struct iterations_finder *finder, uint32_t *of)
{
    const struct deps *deps = open->deps;

    for (uint32_t lane = 0; lane < deps->thread_count; lane++)
        assign_calls(open, lane, of);
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        of[i] = work->launch == DEPS_NONE ? unlaunched(open, finder, work) : of[work->launch];
    }
}

/* ---- What follows for the iterations ---- */

/* A bit for each device; beyond the 63rd they share one. */
static enum mp_status number_devices(const struct deps *deps, struct iterations *result)
{
    struct mp_map slots = {.slots = NULL};
    enum mp_status status = MP_OK;

    result->device_slots = calloc((size_t)deps->lane_count + 1, sizeof *result->device_slots);
    if (!result->device_slots)
        return MP_ERR_MEMORY;
    for (uint32_t i = deps->thread_count; i < deps->lane_count && !status; i++) {
        uint32_t slot = mp_map_get(&slots, deps->lanes[i].device);

        if (slot == MP_MAP_ABSENT) {
            slot = slots.count < DEVICE_BITS ? slots.count : DEVICE_BITS - 1;
            status = mp_map_put(&slots, deps->lanes[i].device, slot);
        }
        result->device_slots[i] = (uint8_t)slot;
    }
    mp_map_free(&slots);
    return status;
}

static enum mp_status count_threads(const struct deps *deps, struct iterations *result)
{
    uint8_t *seen = calloc((size_t)deps->thread_count + 1, sizeof *seen);

    if (!seen)
        return MP_ERR_MEMORY;
    result->threads = 0;
    for (size_t i = 0; i < result->count; i++) {
        uint32_t thread = result->items[i].thread;

        thread = thread == DEPS_NONE ? deps->thread_count : thread;
        result->threads += !seen[thread];
        seen[thread] = 1;
    }
    free(seen);
    return MP_OK;
}

static void find_ends(const struct deps *deps, struct iterations *result)
{
    for (size_t i = 0; i < result->count; i++)
        result->items[i].end = result->items[i].host_end;
    for (uint32_t i = deps->host_count; i < deps->count && result->way != ITERATIONS_REQUESTS;
         i++) {
        if (result->of[i] == DEPS_NONE)
            continue;
        struct iteration *iteration = &result->items[result->of[i]];
        iteration->end = mp_max(iteration->end, deps->activities[i].end);
    }
    for (size_t i = 0; i + 1 < result->count; i++) {
        struct iteration *iteration = &result->items[i];

        iteration->pipelined = result->items[i + 1].begin < iteration->end;
        result->pipelined += iteration->pipelined;
    }
}

static void complete(const struct deps *deps, struct iterations *result)
{
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (result->of[i] == DEPS_NONE)
            result->outside++;
        else
            result->items[result->of[i]].devices |=
                UINT64_C(1) << result->device_slots[deps->activities[i].lane];
    }
    for (uint32_t i = 0; i < deps->host_count; i++) {
        if (result->launched[i] && result->of[i] != DEPS_NONE)
            result->items[result->of[i]].launches++;
    }
    find_ends(deps, result);
}

/* How much of the GPU work belongs to iterations. */
static void find_coverage(struct iterations_finder *finder)
{
    const struct deps *deps = finder->deps;
    struct iterations *result = finder->result;
    uint64_t covered = 0;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (result->of[i] != DEPS_NONE && work->kind != DEPS_HOST_FUNCTION &&
            iterations_wanted(finder, work))
            covered += work->end - work->begin;
    }
    result->coverage = finder->load.total ? (double)covered / (double)finder->load.total : 0;
    if (result->chosen < result->candidate_count) {
        result->candidates[result->chosen].coverage = result->coverage;
        result->candidates[result->chosen].count = result->count;
    }
}

enum mp_status iterations_assign(struct iterations_finder *finder)
{
    const struct deps *deps = finder->deps;
    struct iterations *result = finder->result;
    bool all = result->way == ITERATIONS_WHOLE && !ranges_count(&deps->profile->ranges);
    struct open open;

    MP_TRY(number_devices(deps, result));
    MP_TRY(count_threads(deps, result));
    result->of = calloc((size_t)deps->count + 1, sizeof *result->of); /* all 0: the first one */
    if (!result->of)
        return MP_ERR_MEMORY;
    enum mp_status status = open_init(&open, deps, result);
    if (result->way != ITERATIONS_RANGES && result->way != ITERATIONS_WHOLE)
        open.independent = finder->load.independent;
    if (!status && !all)
        assign_all(&open, finder, result->of);
    open_free(&open);
    if (!status) {
        complete(deps, result);
        find_coverage(finder);
    }
    return status;
}

/* ---- An iteration that was found ----
 *
 * Where it begins, and adding it to the result.
 */

uint64_t iterations_range_end(const struct iterations_finder *finder, uint64_t time)
{
    const struct capture_range *range = ranges_at(&finder->deps->profile->ranges, time);

    return range ? range->end_time : UINT64_MAX;
}

enum mp_status iterations_add(struct iterations_finder *finder, uint64_t begin, uint64_t own_end,
                              uint64_t host_end, uint32_t thread)
{
    struct iterations *result = finder->result;
    const struct capture_range *range = ranges_at(&finder->deps->profile->ranges, begin);
    uint64_t limit = range ? range->end_time : UINT64_MAX;

    if (result->count >= DEPS_NONE)
        return MP_ERR_LIMIT;
    finder->left_out = own_end > limit;
    result->unfinished += finder->left_out;
    if (finder->left_out)
        return MP_OK;
    host_end = host_end < limit ? host_end : limit;
    if (!result->count || result->items[result->count - 1].thread != thread ||
        range != finder->range)
        finder->thread_first = result->count;
    finder->range = range;
    MP_TRY(MP_RESERVE(result->items, result->count, finder->capacity));
    result->items[result->count++] = (struct iteration){
        .begin = begin, .host_end = host_end > begin ? host_end : begin, .thread = thread};
    return MP_OK;
}

void iterations_last_until(struct iterations_finder *finder, uint64_t begin)
{
    struct iterations *result = finder->result;
    struct iteration *last = result->count ? &result->items[result->count - 1] : NULL;

    if (last && !finder->left_out && begin <= iterations_range_end(finder, last->begin))
        last->host_end = begin;
}

/* Half more than the mean from begin to begin: one that ends later waits for something else. */
static uint64_t latest_end(const struct iterations_finder *finder, uint32_t thread, uint64_t begin)
{
    const struct iterations *result = finder->result;
    size_t count = result->count - finder->thread_first;
    uint64_t first = begin;

    if (result->count && result->items[result->count - 1].thread == thread)
        first = result->items[finder->thread_first].begin;
    return first < begin ? begin + (begin - first) / count * 3 / 2 : UINT64_MAX;
}

/* Segments do not overlap, so a call inside of the one that was found last has the same wait. */
static void find_wait(struct iterations_finder *finder, uint32_t call)
{
    const struct deps *deps = finder->deps;
    const struct deps_lane *lane = &deps->lanes[deps->activities[call].lane];
    struct iterations_wait *awaited = &finder->awaited;
    struct iterations_segments segments =
        iterations_segments_of(deps, finder->result->launched, deps->activities[call].lane);
    struct iterations_segment segment;

    if (awaited->first <= call && call <= awaited->last && awaited->last)
        return;
    segments.at = call;
    *awaited = (struct iterations_wait){call, lane->first + lane->count - 1, 0};
    if (iterations_segments_next(&segments, &segment))
        *awaited = (struct iterations_wait){call, segment.last, segment.end};
}

uint64_t iterations_awaited(struct iterations_finder *finder, uint64_t begin, uint32_t call,
                            uint64_t limit)
{
    const struct deps_activity *activities = finder->deps->activities;
    const struct iterations_wait *awaited = &finder->awaited;

    find_wait(finder, call);
    if (awaited->end && activities[awaited->last].begin < limit &&
        awaited->end <= latest_end(finder, activities[call].lane, begin))
        return awaited->end;
    return iterations_call_end(finder->deps, call);
}

uint64_t iterations_begin(const struct iterations_finder *finder, const struct deps_activity *work,
                          uint64_t floor)
{
    static const uint8_t feeds = ITERATIONS_LAUNCHED_HTOD | ITERATIONS_LAUNCHED_SET;
    const struct deps *deps = finder->deps;
    uint64_t begin = deps_launched_at(deps, work);

    if (work->launch == DEPS_NONE)
        return begin;
    for (uint32_t at = work->launch;
         at-- > deps->lanes[deps->activities[work->launch].lane].first;) {
        const struct deps_activity *call = &deps->activities[at];
        uint8_t launched = finder->result->launched[at] & (uint8_t)~ITERATIONS_LAUNCHED_AWAITED;

        if (call->begin < floor || (launched & (uint8_t)~feeds) ||
            (call->flags & (DEPS_SYNCHRONISES | DEPS_BLOCKS | DEPS_POLLS)))
            break;
        if (launched)
            begin = call->begin;
    }
    return begin;
}
