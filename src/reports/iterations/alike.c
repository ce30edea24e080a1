/* Whether a thread does the same from wait to wait, and sometimes more.
 *
 *     decode decode prefill wait   decode decode wait   decode decode wait   decode decode wait
 *
 * That repeats after four waits, but each wait ends an iteration: at least half of the segments
 * have the same kernels, copies and sets, and the others have these and more. What copies to the
 * device is not alike with what does not: an input begins an iteration. One segment in 16 may
 * differ, such as the first one, which recording may have cut.
 */
#include <stdlib.h>

#include "base/data/hash.h"
#include "reports/iterations/build.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

#define MAX_OTHERS 16 /* one segment in so many may be unlike the others */

/* What a segment launches: how many of each kind of work, as a sum that needs no order. */
struct content {
    uint64_t sum;    /* of mixed symbols */
    uint32_t inputs; /* copies to the device */
    uint32_t count;
};

struct likeness {
    const struct iterations_finder *finder;
    uint32_t first;           /* piece of the thread */
    uint32_t *segment_of;     /* by piece of the thread: + 1; 0: none; owned */
    struct content *contents; /* by segment; owned */
    size_t count;
    struct mp_map usual; /* symbol -> how many the usual segment has */
    uint32_t *shared;    /* by segment: how many of the usual ones it has; owned */
};

static uint64_t symbol_of(const struct deps *deps, const struct deps_activity *work)
{
    uint64_t what = work->name;

    if (work->kind == DEPS_KERNEL && work->shape != DEPS_NONE)
        what = work->shape;
    if (work->kind == DEPS_COPY)
        what = deps->copies[work->copy].kind;
    return mp_mix64(what << 8 | work->kind);
}

static enum mp_status place_segments(struct likeness *likeness, uint32_t lane)
{
    const struct iterations_finder *finder = likeness->finder;
    const struct deps_lane *of = &finder->deps->lanes[lane];
    struct iterations_segments segments =
        iterations_segments_of(finder->deps, finder->result->launched, lane);
    struct iterations_segment segment;

    likeness->first = of->first;
    likeness->count = iterations_segments_count(finder, lane);
    likeness->segment_of = calloc((size_t)of->count + 1, sizeof *likeness->segment_of);
    likeness->contents = calloc(likeness->count + 1, sizeof *likeness->contents);
    likeness->shared = calloc(likeness->count + 1, sizeof *likeness->shared);
    if (!likeness->segment_of || !likeness->contents || !likeness->shared)
        return MP_ERR_MEMORY;
    for (uint32_t at = 1; iterations_segments_next(&segments, &segment); at++) {
        for (uint32_t piece = segment.first; piece < segments.at; piece++)
            likeness->segment_of[piece - of->first] = at;
    }
    return MP_OK;
}

/* The segment, + 1, that launched the work; 0: none of the thread. */
static uint32_t segment_with(const struct likeness *likeness, const struct deps_activity *work,
                             uint32_t lane)
{
    if (iterations_thread(likeness->finder->deps, work) != lane || work->kind == DEPS_HOST_FUNCTION)
        return 0;
    return likeness->segment_of[work->launch - likeness->first];
}

static void sum_contents(struct likeness *likeness, uint32_t lane)
{
    const struct deps *deps = likeness->finder->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        uint32_t segment = segment_with(likeness, work, lane);
        struct content *content = &likeness->contents[segment ? segment - 1 : 0];

        if (!segment)
            continue;
        content->sum += symbol_of(deps, work);
        content->inputs += iterations_is_copy(deps, work, MP_copy_kind_HtoD);
        content->count++;
    }
}

/* Of the contents that most segments have, one of them, if at least half do: the smallest. */
static enum mp_status find_usual(const struct likeness *likeness, const struct content **usual)
{
    struct mp_map counts = {.slots = NULL}; /* sum -> segments */
    enum mp_status status = MP_OK;

    *usual = NULL;
    for (size_t i = 0; i < likeness->count && !status; i++) {
        const struct content *content = &likeness->contents[i];
        uint32_t count = mp_map_get(&counts, content->sum);

        count = count == MP_MAP_ABSENT ? 1 : count + 1;
        status = mp_map_put(&counts, content->sum, count);
        if ((size_t)count * 2 >= likeness->count && (!*usual || content->count < (*usual)->count))
            *usual = content;
    }
    mp_map_free(&counts);
    return status;
}

static enum mp_status count_usual(struct likeness *likeness, uint32_t lane, uint32_t usual)
{
    const struct deps *deps = likeness->finder->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];
        uint64_t symbol;
        uint32_t count;

        if (segment_with(likeness, work, lane) != usual + 1)
            continue;
        symbol = symbol_of(deps, work);
        count = mp_map_get(&likeness->usual, symbol);
        MP_TRY(mp_map_put(&likeness->usual, symbol, count == MP_MAP_ABSENT ? 1 : count + 1));
    }
    return MP_OK;
}

/* Segments come one after the other in the order of launches, but work stands by stream: so the
 * usual kinds of work of one segment are counted, kind by kind, in a map of their own. */
static enum mp_status count_shared(struct likeness *likeness, uint32_t lane)
{
    const struct deps *deps = likeness->finder->deps;
    struct mp_map seen = {.slots = NULL};
    enum mp_status status = MP_OK;

    for (uint32_t i = deps->host_count; i < deps->count && !status; i++) {
        const struct deps_activity *work = &deps->activities[i];
        uint32_t segment = segment_with(likeness, work, lane);
        uint64_t symbol, key;
        uint32_t wanted, had;

        if (!segment)
            continue;
        symbol = symbol_of(deps, work);
        wanted = mp_map_get(&likeness->usual, symbol);
        if (wanted == MP_MAP_ABSENT)
            continue;
        key = symbol ^ mp_mix64(segment);
        had = mp_map_get(&seen, key);
        had = had == MP_MAP_ABSENT ? 1 : had + 1;
        likeness->shared[segment - 1] += had <= wanted;
        status = mp_map_put(&seen, key, had);
    }
    mp_map_free(&seen);
    return status;
}

static enum mp_status compare(struct likeness *likeness, uint32_t lane, bool *alike)
{
    const struct content *usual;
    size_t others = 0;

    MP_TRY(place_segments(likeness, lane));
    sum_contents(likeness, lane);
    MP_TRY(find_usual(likeness, &usual));
    if (!usual || !usual->count)
        return MP_OK;
    MP_TRY(count_usual(likeness, lane, (uint32_t)(usual - likeness->contents)));
    MP_TRY(count_shared(likeness, lane));
    for (size_t i = 0; i < likeness->count; i++)
        others +=
            likeness->shared[i] != usual->count || likeness->contents[i].inputs != usual->inputs;
    *alike = others * MAX_OTHERS <= likeness->count;
    return MP_OK;
}

enum mp_status iterations_segments_alike(const struct iterations_finder *finder, uint32_t lane,
                                         bool *alike)
{
    struct likeness likeness = {.finder = finder};
    enum mp_status status;

    *alike = false;
    status = compare(&likeness, lane, alike);
    mp_map_free(&likeness.usual);
    free(likeness.segment_of);
    free(likeness.contents);
    free(likeness.shared);
    return status;
}

size_t iterations_segments_count(const struct iterations_finder *finder, uint32_t lane)
{
    struct iterations_segments segments =
        iterations_segments_of(finder->deps, finder->result->launched, lane);
    struct iterations_segment segment;
    size_t count = 0;

    while (iterations_segments_next(&segments, &segment))
        count++;
    return count;
}
