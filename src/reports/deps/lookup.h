/* Questions about a finished event graph: what a reference stands for, when the dependencies of an
 * activity arrive, which activity of a lane comes next, and the points that slack and replay solve.
 * Section numbers are those of docs/dependency-analysis.md. All functions only read, except
 * deps_join: threads may share a struct deps.
 */
#ifndef MP_REPORTS_DEPS_LOOKUP_H
#define MP_REPORTS_DEPS_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "reports/deps/deps.h"

/* ---- References ---- */

/* Fronts: what later work has to wait for (docs/dependency-analysis.md, section 2).
 *
 * A reference is an activity, or a front of several activities. For the critical path only the
 * activity that ends last matters, and joining two references keeps that one. Slack and replay need
 * the others too: then a join makes a front of the two references.
 *
 *     activity 17 ──┐
 *                   ├── front 0 ──┐
 *     activity 23 ──┘             ├── front 1      best(front 1): the last end of 17, 23, 31
 *     activity 31 ────────────────┘
 */
#define DEPS_FRONT_BIT 0x80000000u

struct deps_front {
    uint32_t left; /* references */
    uint32_t right;
    uint32_t best; /* activity */
};

struct deps_fronts {
    struct deps_front *items;
    size_t count;
    size_t capacity;
    struct mp_map known; /* if `shared`: the two parts of a front -> its reference */
    bool shared;         /* the same parts make the same front */
};

/* Whether a reference stands for a front, not for an activity. */
static inline bool deps_is_front(uint32_t reference)
{
    return reference != UINT32_MAX && (reference & DEPS_FRONT_BIT);
}

static inline uint32_t deps_front_index(uint32_t reference)
{
    return reference & ~DEPS_FRONT_BIT;
}

/* The activity of a reference that ends last; DEPS_NONE of none. */
uint32_t deps_best(const struct deps *deps, uint32_t reference);

/* Makes *into a reference that stands for both references. MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status deps_join(struct deps *deps, uint32_t *into, uint32_t other);

/* ---- An activity ---- */

/* An activity that knows its times only. */
static inline struct deps_activity deps_blank(uint64_t begin, uint64_t end, uint64_t correlation)
{
    return (struct deps_activity){
        .begin = begin,
        .end = end,
        .correlation = correlation,
        .launch = DEPS_NONE,     /* or first_of_call, */
        .own_lane = DEPS_NONE,   /* last_of_call, */
        .other_lane = DEPS_NONE, /* awaited */
        .overlapped = DEPS_NONE,
        .launch_class = DEPS_NONE,
        .front = DEPS_NONE,
        .shape = DEPS_NONE, /* or copy, wait, runner */
    };
}

/* When an activity began, in the run that was recorded. */
static inline uint64_t deps_recorded_begin(const struct deps *deps,
                                           const struct deps_activity *activity)
{
    return deps->recorded ? deps->recorded[activity - deps->activities] : activity->begin;
}

/* When it was launched; if that is not known, when it began. */
static inline uint64_t deps_launched_at(const struct deps *deps, const struct deps_activity *work)
{
    return work->launch == DEPS_NONE ? work->begin : deps->activities[work->launch].begin;
}

/* Whether it stands on a thread: a call or a wait. */
static inline bool deps_is_call(const struct deps_activity *activity)
{
    return activity->kind == DEPS_CALL || activity->kind == DEPS_WAIT;
}

/* Whether a call waited for device work, so that the path goes on there. */
static inline bool deps_call_waits(const struct deps_activity *call)
{
    return call->bound == DEPS_SYNCHRONISATION || call->bound == DEPS_IN_EFFECT ||
           call->bound == DEPS_BY_TIME;
}

/* What a wait has. */
static inline const struct deps_wait *deps_wait_of(const struct deps *deps,
                                                   const struct deps_activity *wait)
{
    return &deps->waits[wait->wait];
}

/* The time at which a call or wait got what it waited for; 0: it waited for nothing. */
static inline uint64_t deps_awaited_moment(const struct deps *deps,
                                           const struct deps_activity *call)
{
    if (call->bound == DEPS_WOKEN)
        return deps_wait_of(deps, call)->woken;
    return call->awaited == DEPS_NONE ? 0 : deps->activities[call->awaited].end;
}

/* Whether `a` ends later than `b`, in the order by which fronts choose (section 2). If the ends are
 * equal, what was launched later counts as later, then the higher index. */
static inline bool deps_ends_later(const struct deps *deps, uint32_t a, uint32_t b)
{
    const struct deps_activity *x = &deps->activities[a];
    const struct deps_activity *y = &deps->activities[b];

    if (x->end != y->end)
        return x->end > y->end;
    return x->correlation != y->correlation ? x->correlation > y->correlation : a > b;
}

/* Index into deps->latencies. */
static inline unsigned deps_class(const struct deps_activity *activity)
{
    unsigned place = activity->flags & DEPS_NOT_ROOT ? 2u : activity->flags & DEPS_NODE ? 1u : 0u;

    return place * DEPS_KINDS + activity->kind;
}

/* Whether a class has enough examples for its shortest latency to be believed (section 3). */
static inline bool deps_known_well(const struct deps_latency *latency)
{
    return latency->examples >= DEPS_ENOUGH_EXAMPLES;
}

/* Whether a launch may bind it: a call of the trace launched it, and it is not inside a graph
 * launch. */
static inline bool deps_has_launch(const struct deps_activity *activity)
{
    return activity->launch != DEPS_NONE && !(activity->flags & DEPS_NOT_ROOT);
}

/* The recorded time from an awaited end to the begin of `activity`; negative where it is clamped.
 */
static inline int64_t deps_distance(const struct deps_activity *activity, uint64_t awaited)
{
    return (int64_t)(activity->begin - awaited);
}

/* When dependencies arrive (section 3); UINT64_MAX when there is none. */
uint64_t deps_launch_arrival(const struct deps *deps, const struct deps_activity *activity);
uint64_t deps_arrival(const struct deps *deps, const struct deps_activity *activity, uint32_t on);

/* Of the device activities that an activity depends on, the one that can bind; DEPS_NONE. */
uint32_t deps_last_awaited(const struct deps *deps, const struct deps_activity *activity);

/* The lags of section 6, ns. All device activities that an activity waits for have the same lag:
 * what bound it to the last of them would bind it to any. */
int64_t deps_launch_lag(const struct deps *deps, const struct deps_activity *activity);
int64_t deps_lag(const struct deps *deps, const struct deps_activity *activity, uint32_t on);

/* When a device activity began to run alone: its begin, or the end of what it overlaps, but not
 * after its own end. From there on its time is its own. */
static inline uint64_t deps_alone_from(const struct deps *deps, const struct deps_activity *work)
{
    uint64_t other;

    if (work->overlapped == DEPS_NONE)
        return work->begin;
    other = deps->activities[work->overlapped].end;
    return other < work->end ? other : work->end;
}

/* The last piece that began before `time` in a thread; DEPS_NONE. */
uint32_t deps_piece_before(const struct deps *deps, const struct deps_lane *lane, uint64_t time);

/* The last piece of a call, not of a wait, that began before `time` in a thread, and not before
 * `from`; DEPS_NONE. */
uint32_t deps_call_before(const struct deps *deps, const struct deps_lane *lane, uint64_t time,
                          uint64_t from);

/* The first activity of the lane that begins at `time` or later: its index, or the lane's end. */
uint32_t deps_first_from(const struct deps *deps, const struct deps_lane *lane, uint64_t time);

/* The first activity of the lane that can belong to the window: its index, or the lane's end. None
 * belongs to it from one on for which deps_is_behind answers true. */
uint32_t deps_window_first(const struct deps *deps, const struct deps_lane *lane,
                           const struct deps_window *window);

static inline bool deps_is_behind(const struct deps *deps, const struct deps_window *window,
                                  const struct deps_activity *activity)
{
    return deps_recorded_begin(deps, activity) > window->until;
}

/* The capture range that a device activity was launched in, and its place among them; NULL. */
const struct capture_range *deps_range_of(const struct deps *deps, const struct deps_activity *work,
                                          size_t *index);

/* The thread on which the path of the window begins (section 5, 1), DEPS_NONE without calls. */
uint32_t deps_window_thread(const struct deps *deps, const struct deps_window *window);

/* Adds the host code of a thread between two moments to the parts that its stretches say. */
void deps_divide_host_code(const struct deps *deps, uint32_t lane, uint64_t begin, uint64_t end,
                           uint64_t parts[DEPS_PARTS]);

/* ---- Points ---- */

/* The points of the event graph, ordered so that each comes after all points that it depends on.
 *
 * A device activity is one point: its end follows from its begin. A call is two points, because its
 * end may wait for work that the call itself launched, and that work depends on the call's begin. A
 * front is one point.
 *
 *     0 .. count-1                       activities; a call's number stands for its begin
 *     count .. count+host_count-1        ends of calls
 *     count+host_count ..                fronts
 */
struct deps_order {
    uint32_t *points; /* owned */
    uint32_t count;
};

/* Needs deps_options.fronts. A sound trace has no circular dependencies; if a trace has, they are
 * taken in some order. MP_ERR_MEMORY. */
enum mp_status deps_order_new(const struct deps *deps, struct deps_order *order);
void deps_order_free(struct deps_order *order);

static inline uint32_t deps_end_point(const struct deps *deps, uint32_t activity)
{
    return deps_is_call(&deps->activities[activity]) ? deps->count + activity : activity;
}

/* The point of a reference. */
static inline uint32_t deps_point(const struct deps *deps, uint32_t reference)
{
    return deps_is_front(reference) ? deps->count + deps->host_count + deps_front_index(reference)
                                    : reference;
}

static inline uint32_t deps_point_count(const struct deps *deps)
{
    return deps->count + deps->host_count + (uint32_t)deps->fronts->count;
}

/* What a point is. */
enum deps_point_kind { DEPS_POINT_WORK, DEPS_POINT_BEGIN, DEPS_POINT_END, DEPS_POINT_FRONT };

static inline enum deps_point_kind deps_point_kind(const struct deps *deps, uint32_t point,
                                                   uint32_t *index)
{
    *index = point;
    if (point < deps->host_count)
        return DEPS_POINT_BEGIN;
    if (point < deps->count)
        return DEPS_POINT_WORK;
    *index = point - deps->count;
    if (*index < deps->host_count)
        return DEPS_POINT_END;
    *index -= deps->host_count;
    return DEPS_POINT_FRONT;
}

/* The piece before this one in its thread; DEPS_NONE. */
static inline uint32_t deps_previous_piece(const struct deps *deps, uint32_t piece)
{
    return piece == deps->lanes[deps->activities[piece].lane].first ? DEPS_NONE : piece - 1;
}

/* The point that a woken wait depends on: the end of what its waker did then, or DEPS_NONE. */
uint32_t deps_waker_point(const struct deps *deps, uint32_t wait);

/* A call's own time: its remaining time after the wait, ns. */
uint64_t deps_own_time(const struct deps *deps, const struct deps_activity *call);

#endif
