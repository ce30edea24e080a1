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
#ifndef MP_REPORTS_DEPS_ORDER_H
#define MP_REPORTS_DEPS_ORDER_H

#include "reports/deps/build.h"

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
