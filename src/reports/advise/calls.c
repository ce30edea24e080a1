/* The calls of a thread in order, and stretches of launches among them. */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "reports/advise/build.h"
#include "reports/deps/lookup.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- What calls launch ---- */

static uint8_t launched_kind(const struct deps *deps, const struct deps_activity *work)
{
    uint8_t awaited = work->flags & DEPS_AWAITED ? ADVISE_LAUNCHED_AWAITED : 0;

    if (work->kind == DEPS_GRAPH)
        return ADVISE_LAUNCHED_GRAPH;
    if (work->kind == DEPS_COPY && deps->copies[work->copy].kind == MP_copy_kind_DtoH)
        awaited |= ADVISE_LAUNCHED_DTOH;
    if (work->flags & DEPS_NODE)
        return awaited | ADVISE_LAUNCHED_GRAPH;
    if (work->kind == DEPS_KERNEL)
        return ADVISE_LAUNCHED_KERNEL;
    if (work->kind == DEPS_COPY && deps->copies[work->copy].kind == MP_copy_kind_HtoD)
        return awaited | ADVISE_LAUNCHED_HTOD;
    return awaited & ADVISE_LAUNCHED_DTOH ? awaited : awaited | ADVISE_LAUNCHED_OTHER;
}

enum mp_status advise_note_launches(struct advise *advise)
{
    const struct deps *deps = advise->deps;

    advise->launched = calloc((size_t)deps->host_count + 1, sizeof *advise->launched);
    if (!advise->launched)
        return MP_ERR_MEMORY;
    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        const struct deps_activity *work = &deps->activities[i];

        if (work->launch != DEPS_NONE)
            advise->launched[work->launch] |= launched_kind(deps, work);
    }
    return MP_OK;
}

/* ---- Calls ---- */

/* The host code before a piece, as far as it lies in iteration `of` and that iteration is on the
 * piece's thread. False: nothing. */
static bool find_span(const struct advise *advise, uint32_t piece, uint32_t of,
                      struct advise_span *span)
{
    const struct deps *deps = advise->deps;
    const struct deps_activity *call = &deps->activities[piece];
    uint64_t begin = 0;

    if (of >= advise->iterations->count)
        return false;
    const struct iteration *iteration = &advise->iterations->items[of];
    if (iteration->thread != DEPS_NONE && iteration->thread != call->lane)
        return false;
    if (piece > deps->lanes[call->lane].first)
        begin = deps->activities[piece - 1].end;
    *span = (struct advise_span){
        .begin = begin > iteration->begin ? begin : iteration->begin,
        .end = call->begin < iteration->host_end ? call->begin : iteration->host_end,
    };
    return span->end > span->begin;
}

bool advise_next_call(const struct advise *advise, const struct deps_lane *lane, uint32_t *at,
                      struct advise_call *call)
{
    const struct deps_activity *activities = advise->deps->activities;
    struct advise_span span;

    if (*at >= lane->first + lane->count)
        return false;
    *call = (struct advise_call){.first = *at, .last = activities[*at].last_of_call};
    *at = call->last + 1;
    call->iteration = advise->iterations->of[call->first];
    call->gap = find_span(advise, call->first, call->iteration, &span) ? span.end - span.begin : 0;
    for (uint32_t i = call->first; i <= call->last; i++) {
        call->launched |= advise->launched[i];
        if (activities[i].flags & (DEPS_SYNCHRONISES | DEPS_BLOCKS | DEPS_POLLS) ||
            deps_call_waits(&activities[i]) || activities[i].kind == DEPS_WAIT)
            call->waits = true;
    }
    if (call->launched & ADVISE_LAUNCHED_AWAITED)
        call->waits = true;
    return true;
}

/* The code before a piece may begin in one iteration, pass the time between two iterations, and end
 * in the next one. */
size_t advise_host_spans(const struct advise *advise, uint32_t piece, struct advise_span spans[2])
{
    const struct deps *deps = advise->deps;
    const uint32_t *of = advise->iterations->of;
    size_t count = find_span(advise, piece, of[piece], &spans[0]);

    if (piece > deps->lanes[deps->activities[piece].lane].first && of[piece - 1] != of[piece])
        count += find_span(advise, piece, of[piece - 1], &spans[count]);
    return count;
}

uint64_t advise_host_before(const struct advise *advise, uint32_t piece)
{
    struct advise_span spans[2];
    uint64_t inside = 0;

    for (size_t i = advise_host_spans(advise, piece, spans); i-- > 0;)
        inside += spans[i].end - spans[i].begin;
    return inside;
}

uint64_t advise_host_kept(const void *context, uint32_t piece)
{
    const struct advise *advise = context;
    const struct deps_activity *call = &advise->deps->activities[piece];
    uint64_t inside = advise_host_before(advise, piece);

    if (piece == advise->deps->lanes[call->lane].first || call->begin <= call[-1].end)
        return 0;
    uint64_t gap = call->begin - call[-1].end;
    return inside < gap ? gap - inside : 0;
}

void advise_edit_call(struct advise *advise, const struct advise_call *call, unsigned edits)
{
    for (uint32_t i = call->first; i <= call->last; i++)
        advise->edits[i] |= (uint8_t)edits;
}

uint64_t advise_call_time(const struct advise *advise, const struct advise_call *call)
{
    const struct deps_activity *activities = advise->deps->activities;

    return activities[call->last].end - activities[call->first].begin;
}

uint64_t advise_own_time(const struct advise *advise, const struct advise_call *call)
{
    uint64_t sum = 0;

    for (uint32_t i = call->first; i <= call->last; i++)
        sum += deps_own_time(advise->deps, &advise->deps->activities[i]);
    return sum;
}

uint32_t advise_step_of(const struct advise *advise, uint32_t piece)
{
    const struct iterations *iterations = advise->iterations;
    uint64_t begin = advise->deps->activities[piece].begin;

    if (iterations->of[piece] != DEPS_NONE || iterations->way == ITERATIONS_REQUESTS)
        return iterations->of[piece];
    size_t next = MP_SEARCH(0, iterations->count, i, iterations->items[i].begin <= begin);
    return next && next < iterations->count ? (uint32_t)next : DEPS_NONE;
}

const char *advise_call_name(const struct advise *advise, const struct advise_call *call)
{
    return deps_name(advise->deps, &advise->deps->activities[call->first]);
}

/* ---- Stretches of launches ---- */

struct stretch {
    uint32_t iteration;
    uint32_t last; /* piece of the last launch; DEPS_NONE: no stretch */
};

/* Whether the call ends a stretch that began before it. */
static bool cuts(const struct stretch *stretch, const struct advise_call *call, bool with_graphs)
{
    return call->waits || call->iteration == DEPS_NONE || call->iteration != stretch->iteration ||
           call->gap > ADVISE_MAX_LAUNCH_GAP ||
           (!with_graphs && (call->launched & ADVISE_LAUNCHED_GRAPH));
}

static void mark_lane(const struct advise *advise, const struct deps_lane *lane, bool with_graphs,
                      uint8_t *marks, uint8_t mark)
{
    struct stretch stretch = {.last = DEPS_NONE};
    struct advise_call call;

    for (uint32_t at = lane->first; advise_next_call(advise, lane, &at, &call);) {
        bool begins = !call.waits && (with_graphs || !(call.launched & ADVISE_LAUNCHED_GRAPH));

        if (cuts(&stretch, &call, with_graphs))
            stretch.last = DEPS_NONE;
        if (!call.launched || !begins)
            continue;
        for (uint32_t i = stretch.last; i != DEPS_NONE && ++i <= call.last;)
            marks[i] |= mark;
        stretch = (struct stretch){call.iteration, call.last};
    }
}

void advise_mark_launches(const struct advise *advise, bool with_graphs, uint8_t *marks,
                          uint8_t mark)
{
    for (uint32_t i = 0; i < advise->deps->thread_count; i++)
        mark_lane(advise, &advise->deps->lanes[i], with_graphs, marks, mark);
}

void advise_edit_gone(struct advise *advise, uint32_t index)
{
    advise->edits[index] |= DEPS_EDIT_NO_TIME | DEPS_EDIT_NO_LAUNCH | DEPS_EDIT_NO_GAP;
    advise_edit_launch(advise, index);
}

void advise_edit_operator(struct advise *advise, uint32_t index)
{
    const struct deps_activity *work = &advise->deps->activities[index];

    if (work->launch != DEPS_NONE && !(work->flags & DEPS_NODE) &&
        advise_host_before(advise, work->launch) <= ADVISE_MAX_LAUNCH_GAP)
        advise->edits[work->launch] |= DEPS_EDIT_NO_HOST;
    advise_edit_launch(advise, index);
}

void advise_edit_launch(struct advise *advise, uint32_t index)
{
    const struct deps_activity *activities = advise->deps->activities;
    const struct deps_activity *work = &activities[index];

    if (work->launch == DEPS_NONE || work->flags & DEPS_NODE)
        return;
    for (uint32_t call = work->launch; call <= activities[work->launch].last_of_call; call++)
        advise->edits[call] |= DEPS_EDIT_NO_TIME;
}
