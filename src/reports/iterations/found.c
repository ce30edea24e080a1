/* What graph.c, kernels.c and the other ways do with an iteration that they have found: where it
 * begins, and adding it to the result.
 */
#include "base/data/storage.h"
#include "reports/iterations/build.h"

#include "base/poison.h"

uint64_t iterations_range_end(const struct iterations_finder *finder, uint64_t time)
{
    const struct capture_range *range = ranges_at(&finder->deps->ranges, time);

    return range ? range->end_time : UINT64_MAX;
}

enum mp_status iterations_add(struct iterations_finder *finder, uint64_t begin, uint64_t own_end,
                              uint64_t host_end, uint32_t thread)
{
    struct iterations *result = finder->result;
    const struct capture_range *range = ranges_at(&finder->deps->ranges, begin);
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
    MP_TRY(mp_reserve((void **)&result->items, result->count, &finder->capacity,
                      sizeof *result->items));
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
        const struct deps_activity *piece = &deps->activities[at];
        uint8_t launched = finder->result->launched[at] & (uint8_t)~ITERATIONS_LAUNCHED_AWAITED;

        if (piece->begin < floor || (launched & (uint8_t)~feeds) ||
            (piece->flags & (DEPS_SYNCHRONISES | DEPS_BLOCKS | DEPS_POLLS)))
            break;
        if (launched)
            begin = piece->begin;
    }
    return begin;
}
