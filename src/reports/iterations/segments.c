/* Cuts what a thread does at its waits for the GPU.
 *
 *     thread     HtoD launch launch wait DtoH wait . . . HtoD launch launch wait
 *     segments   |-------------------------------|       |---------------------|
 *
 * A wait is a call that synchronises or polls, a copy to the host that its call waits for, and a
 * wait for a thread that a stream's host function woke it from. Waits for other threads are none.
 */
#include "reports/iterations/build.h"

#include "base/poison.h"

enum role { ROLE_NONE, ROLE_LAUNCH, ROLE_OUTPUT, ROLE_AWAITED_OUTPUT, ROLE_WAIT };

static enum role role_of(const struct deps *deps, const uint8_t *launched, uint32_t index)
{
    const struct deps_activity *piece = &deps->activities[index];
    uint8_t what = launched[index];

    if (piece->kind == DEPS_WAIT)
        return deps_wait_of(deps, piece)->host_function == DEPS_NONE ? ROLE_NONE : ROLE_WAIT;
    if (piece->flags & DEPS_CONTINUED)
        return ROLE_NONE;
    if (what == (ITERATIONS_LAUNCHED_COPY | ITERATIONS_LAUNCHED_AWAITED))
        return ROLE_AWAITED_OUTPUT;
    if (what)
        return what == ITERATIONS_LAUNCHED_COPY ? ROLE_OUTPUT : ROLE_LAUNCH;
    return iterations_is_wait(piece) ? ROLE_WAIT : ROLE_NONE;
}

static uint64_t end_of(const struct deps *deps, uint32_t index)
{
    const struct deps_activity *piece = &deps->activities[index];

    return piece->kind == DEPS_WAIT ? piece->end : iterations_call_end(deps, index);
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
