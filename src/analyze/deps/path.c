/* The critical path of a window, followed backwards: docs/dependency-analysis.md, section 5.
 *
 *     thread    |--call--|..host code..|launch|        |------wait------|
 *     stream                              ..|==kernel==|..|==kernel==|..|
 *                                        <2>          <1>            <0> return from wait
 *
 * The walk holds one moment, which only goes back. Every step adds the time between the new moment
 * and the old one to a row or a part, so their sum is the window.
 */
#include "analyze/deps/build.h"

#include "base/poison.h"

struct walk {
    const struct deps *deps;
    const struct deps_window *window;
    struct deps_result *result;
    uint64_t *critical;  /* by activity; NULL: nobody asks */
    uint64_t moment;     /* ns: everything behind it is handed out */
    uint32_t at;         /* device activity; DEPS_NONE: the walk is on a thread */
    uint32_t lane;       /* that thread, */
    uint32_t below;      /* and a piece of it that begins at that moment or later; DEPS_NONE */
    uint64_t idle_steps; /* that did not move the moment */
};

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Goes back to `until`, but not before the window's begin; returns the time in between. */
static uint64_t go_back(struct walk *walk, uint64_t until)
{
    uint64_t stop = later(until, walk->window->begin);
    uint64_t time = 0;

    if (stop < walk->moment) {
        time = walk->moment - stop;
        walk->moment = stop;
        walk->idle_steps = 0;
    } else {
        walk->idle_steps++;
    }
    return time;
}

static void give_part(struct walk *walk, enum deps_part part, uint64_t until)
{
    walk->result->parts[part] += go_back(walk, until);
}

static void give_activity(struct walk *walk, uint32_t index)
{
    const struct deps_activity *activity = &walk->deps->activities[index];
    uint64_t time = go_back(walk, activity->begin);

    walk->result->rows[activity->name].critical += time;
    if (walk->critical)
        walk->critical[index] += time;
}

static bool waited(const struct deps_activity *call)
{
    return call->bound == DEPS_SYNCHRONISATION || call->bound == DEPS_IN_EFFECT;
}

/* The last piece of the thread that began before the moment; DEPS_NONE. */
static uint32_t find_piece(const struct walk *walk)
{
    const struct deps_lane *lane = &walk->deps->lanes[walk->lane];
    uint32_t at = walk->below;

    if (at == DEPS_NONE)
        return deps_piece_before(walk->deps, lane, walk->moment);
    while (at > lane->first) {
        if (walk->deps->activities[--at].begin < walk->moment)
            return at;
    }
    return DEPS_NONE;
}

/* One step back on a thread: over host code, then to the piece before it, or to what that piece
 * waited for. */
static void step_on_thread(struct walk *walk)
{
    const struct deps *deps = walk->deps;
    uint32_t piece = find_piece(walk);
    const struct deps_activity *call;

    if (piece == DEPS_NONE || deps->activities[piece].end <= walk->window->begin) {
        give_part(walk, DEPS_HOST_CODE, walk->window->begin);
        return;
    }
    call = &deps->activities[piece];
    give_part(walk, DEPS_HOST_CODE, call->end);
    if (waited(call)) {
        give_part(walk, DEPS_RETURN, deps->activities[call->cross].end);
        walk->at = call->cross;
    } else {
        give_activity(walk, piece);
        walk->below = piece;
    }
}

static enum deps_part part_of(enum deps_reason reason)
{
    return reason == DEPS_STREAM_ORDER ? DEPS_STREAM_GAP : DEPS_DEPENDENCY_LATENCY;
}

/* One step back from a device activity to what bound it. */
static void step_on_device(struct walk *walk)
{
    const struct deps *deps = walk->deps;
    const struct deps_activity *activity = &deps->activities[walk->at];
    uint32_t to = deps_bound_to(deps, walk->at);

    give_activity(walk, walk->at);
    if (to == DEPS_NONE) {
        give_part(walk, DEPS_NO_KNOWN_CAUSE, walk->window->begin);
    } else if (activity->bound == DEPS_LAUNCH) {
        give_part(walk, DEPS_LAUNCH_LATENCY, deps->activities[to].begin);
        walk->lane = deps->activities[to].lane;
        walk->below = deps->activities[to].begin >= walk->moment ? to : DEPS_NONE;
        walk->at = DEPS_NONE;
    } else {
        give_part(walk, part_of((enum deps_reason)activity->bound), deps->activities[to].end);
        walk->at = to;
    }
}

/* The device activity of the window that ends last; DEPS_NONE. */
static uint32_t last_work(const struct deps *deps, const struct deps_window *window)
{
    uint32_t last = DEPS_NONE;

    for (uint32_t i = deps->thread_count; i < deps->lane_count; i++) {
        const struct deps_lane *lane = &deps->lanes[i];
        uint32_t at = deps_window_first(deps, lane, window);

        for (; at < lane->first + lane->count; at++) {
            if (deps->activities[at].begin > window->end)
                break;
            if (deps_in_window(window, &deps->activities[at]) &&
                (last == DEPS_NONE || deps_ends_later(deps, at, last)))
                last = at;
        }
    }
    return last;
}

static void find_end(struct walk *walk)
{
    const struct deps_window *window = walk->window;
    bool prolonged = window->end > window->host_end;

    walk->moment = window->end;
    walk->at = DEPS_NONE;
    walk->below = DEPS_NONE;
    walk->lane = deps_window_thread(walk->deps, window);
    if (prolonged || walk->lane == DEPS_NONE)
        walk->at = last_work(walk->deps, window);
    if (walk->at != DEPS_NONE && walk->deps->activities[walk->at].end < window->end)
        give_part(walk, DEPS_HOST_CODE, walk->deps->activities[walk->at].end);
}

static void follow(struct walk *walk)
{
    find_end(walk);
    while (walk->moment > walk->window->begin) {
        if (walk->at != DEPS_NONE)
            step_on_device(walk);
        else if (walk->lane != DEPS_NONE)
            step_on_thread(walk);
        else
            break;
        /* Only in a damaged trace do the times lead round in a circle. */
        if (walk->idle_steps > walk->deps->count + UINT64_C(4))
            break;
    }
    give_part(walk, DEPS_NO_KNOWN_CAUSE, walk->window->begin);
}

static void add_up_lane(const struct deps *deps, const struct deps_lane *lane,
                        const struct deps_window *window, struct deps_result *result)
{
    for (uint32_t at = deps_window_first(deps, lane, window); at < lane->first + lane->count;
         at++) {
        const struct deps_activity *activity = &deps->activities[at];
        struct deps_row *row = &result->rows[activity->name];

        if (activity->begin > window->end)
            break;
        if (!deps_in_window(window, activity))
            continue;
        if (lane->is_thread)
            row->waiting += deps_waiting(deps, activity);
        else
            row->device_waiting += deps_waiting(deps, activity);
        row->calls += !(activity->flags & DEPS_CONTINUED);
    }
}

void deps_path(const struct deps *deps, const struct deps_window *window,
               struct deps_result *result, uint64_t *critical)
{
    struct walk walk = {.deps = deps, .window = window, .result = result, .critical = critical};

    for (uint32_t i = 0; i < deps->lane_count; i++)
        add_up_lane(deps, &deps->lanes[i], window, result);
    result->window += window->end - window->begin;
    follow(&walk);
}
