/* Cuts what a thread does at its waits for the GPU.
 *
 *     thread     HtoD launch launch wait DtoH wait . . . HtoD launch launch wait
 *     segments   |-------------------------------|       |---------------------|
 *
 * A wait is a call that synchronises or polls, a copy to the host that its call waits for, and a
 * wait for a thread that a stream's host function woke it from. Waits for other threads are none.
 */
#include <stdlib.h>

#include "base/data/hash.h"
#include "reports/deps/lookup.h"
#include "reports/iterations/build.h"
#include "trace/schema.h"

#include "base/poison.h"

enum role { ROLE_NONE, ROLE_LAUNCH, ROLE_OUTPUT, ROLE_AWAITED_OUTPUT, ROLE_WAIT };

static enum role role_of(const struct deps *deps, const uint8_t *launched, uint32_t index)
{
    const struct deps_activity *call = &deps->activities[index];
    uint8_t what = launched[index];

    if (call->kind == DEPS_WAIT)
        return deps_wait_of(deps, call)->host_function == DEPS_NONE ? ROLE_NONE : ROLE_WAIT;
    if (call->flags & DEPS_CONTINUED)
        return ROLE_NONE;
    if (what == (ITERATIONS_LAUNCHED_COPY | ITERATIONS_LAUNCHED_AWAITED))
        return ROLE_AWAITED_OUTPUT;
    if (what)
        return what == ITERATIONS_LAUNCHED_COPY ? ROLE_OUTPUT : ROLE_LAUNCH;
    return iterations_is_wait(call) ? ROLE_WAIT : ROLE_NONE;
}

static uint64_t end_of(const struct deps *deps, uint32_t index)
{
    const struct deps_activity *call = &deps->activities[index];

    return call->kind == DEPS_WAIT ? call->end : iterations_call_end(deps, index);
}

struct iterations_segments iterations_segments_of(const struct deps *deps, const uint8_t *launched,
                                                  uint32_t lane)
{
    const struct deps_lane *of = &deps->lanes[lane];

    return (struct iterations_segments){
        .deps = deps, .launched = launched, .at = of->first, .end = of->first + of->count};
}

/* The name of a call that launches, and what it launches. */
static uint32_t letter_of(const struct iterations_segments *segments, uint32_t index)
{
    return segments->deps->activities[index].name << 5 | segments->launched[index];
}

/* FNV-1a over the letters. */
static void spell(const struct iterations_segments *segments, uint32_t index, uint32_t *symbol)
{
    *symbol = (*symbol ^ letter_of(segments, index)) * 16777619u;
}

/* The state of a segment while its thread's pieces pass by. */
struct cut {
    struct iterations_segment segment;
    bool open;        /* it has work */
    bool computes;    /* of which some is more than copies back */
    bool closed;      /* and was waited for */
    uint32_t pending; /* closed: the first of copies back that nobody waited for yet; DEPS_NONE */
    uint32_t symbol;  /* with these copies */
};

static void launch(const struct iterations_segments *segments, struct cut *cut, uint32_t index,
                   bool computes)
{
    if (!cut->open) {
        cut->segment.begin = segments->deps->activities[index].begin;
        cut->segment.first = index;
    }
    cut->open = true;
    cut->computes |= computes;
    spell(segments, index, &cut->symbol);
}

static void wait_for(const struct iterations_segments *segments, struct cut *cut, uint32_t index)
{
    cut->segment.end = end_of(segments->deps, index);
    cut->segment.symbol = cut->symbol;
    cut->segment.last = index;
    cut->closed = true;
    cut->pending = DEPS_NONE;
}

/* False: the segment ends before this piece. */
static bool take(const struct iterations_segments *segments, struct cut *cut, uint32_t index)
{
    enum role role = role_of(segments->deps, segments->launched, index);
    bool output = role == ROLE_OUTPUT || role == ROLE_AWAITED_OUTPUT;

    if (cut->closed && (role == ROLE_LAUNCH || (output && !cut->computes)))
        return false;
    if (role == ROLE_LAUNCH || output)
        launch(segments, cut, index, role == ROLE_LAUNCH);
    if (role == ROLE_OUTPUT && cut->closed && cut->pending == DEPS_NONE)
        cut->pending = index;
    if (role == ROLE_AWAITED_OUTPUT || (role == ROLE_WAIT && cut->open))
        wait_for(segments, cut, index);
    return true;
}

bool iterations_segments_next(struct iterations_segments *segments,
                              struct iterations_segment *segment)
{
    struct cut cut = {.pending = DEPS_NONE, .symbol = 2166136261u};

    while (segments->at < segments->end && take(segments, &cut, segments->at))
        segments->at++;
    if (cut.pending != DEPS_NONE)
        segments->at = cut.pending;
    *segment = cut.segment;
    return cut.closed;
}

/* ---- The end of a segment ---- */

/* Goes back to the letter before; false: there is none. */
static bool letter_before(const struct iterations_segments *segments,
                          const struct iterations_segment *segment, uint32_t *at, uint32_t *letter)
{
    while (*at > segment->first) {
        enum role role = role_of(segments->deps, segments->launched, --*at);

        if (role == ROLE_NONE || role == ROLE_WAIT)
            continue;
        *letter = letter_of(segments, *at);
        return true;
    }
    return false;
}

bool iterations_segments_end_alike(const struct iterations_segments *segments,
                                   const struct iterations_segment *cut,
                                   const struct iterations_segment *whole)
{
    uint32_t in_cut = cut->last + 1; /* the wait may be a copy, which is a letter */
    uint32_t in_whole = whole->last + 1;
    uint32_t letter, usual;

    while (letter_before(segments, cut, &in_cut, &letter)) {
        if (!letter_before(segments, whole, &in_whole, &usual) || letter != usual)
            return false;
    }
    return true;
}

/* ---- Whether a thread does the same from wait to wait, and sometimes more ----
 *
 *     decode decode prefill wait   decode decode wait   decode decode wait   decode decode wait
 *
 * That repeats after four waits, but each wait ends an iteration: at least half of the segments
 * have the same kernels, copies and sets, and the others have these and more. What copies to the
 * device is not alike with what does not: an input begins an iteration. One segment in 16 may
 * differ, such as the first one, which recording may have cut.
 */

#define MAX_OTHERS 16 /* one segment in 16 may be unlike the others */

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
        for (uint32_t call = segment.first; call < segments.at; call++)
            likeness->segment_of[call - of->first] = at;
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

        if (segment_with(likeness, work, lane) != usual + 1)
            continue;
        uint64_t symbol = symbol_of(deps, work);
        uint32_t count = mp_map_get(&likeness->usual, symbol);
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

        if (!segment)
            continue;
        uint64_t symbol = symbol_of(deps, work);
        uint32_t wanted = mp_map_get(&likeness->usual, symbol);
        if (wanted == MP_MAP_ABSENT)
            continue;
        uint64_t key = symbol ^ mp_mix64(segment);
        uint32_t had = mp_map_get(&seen, key);
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

    *alike = false;
    enum mp_status status = compare(&likeness, lane, alike);
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
