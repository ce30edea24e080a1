/* Order that no record tells, by time (D11): a safety net for what CUDA orders and the model does
 * not know, such as kernels that wait for room on the device, or for memory that another writes.
 *
 *     thread     |launch K|  |---------------synchronise-------------|
 *     stream 1                                   |======K======|
 *     stream 2     |=============W==============|
 *                 <-- longer than any latency -->
 *
 * K begins long after all that it is known to wait for, and right after W has ended in another
 * stream of its device. (In its own stream, branches of a graph do not wait for each other.)
 * So K is taken to have waited for W. A call that synchronises, but with nothing that is known, is
 * taken to have waited for what ended last before it returned. W has ended before, so no circle
 * comes of it.
 */
#include "base/data/algorithms.h"
#include "reports/deps/build.h"
#include "reports/deps/lookup.h"

#include "base/poison.h"

/* How long after the end of W its successor begins, or the call returns: 2 us where memory orders
 * them, 25 us from one pass of a WHILE node to the next. */
#define SOON_NS 30000u

/* The last activity of the lane that began before `time`, and what it is if it ended by then. */
static uint32_t ended_in_lane(const struct deps *deps, const struct deps_lane *lane, uint64_t time)
{
    uint32_t at = deps_first_from(deps, lane, time);

    return at > lane->first && deps->activities[at - 1].end <= time ? at - 1 : DEPS_NONE;
}

/* What ended last in (`from`, `time`] in the lanes of the device of lane `but`, and not in that
 * one; in all lanes if that is DEPS_NONE. DEPS_NONE: nothing. */
static uint32_t ended_last(const struct deps *deps, uint32_t but, uint64_t from, uint64_t time)
{
    uint32_t last = DEPS_NONE;

    for (uint32_t i = deps->thread_count; i < deps->lane_count; i++) {
        const struct deps_lane *lane = &deps->lanes[i];

        if (but != DEPS_NONE && (i == but || lane->device != deps->lanes[but].device))
            continue;
        uint32_t at = ended_in_lane(deps, lane, time);
        if (at != DEPS_NONE && deps->activities[at].end > from &&
            (last == DEPS_NONE || deps_ends_later(deps, at, last)))
            last = at;
    }
    return last;
}

static enum mp_status order_work(struct deps *deps, struct deps_activity *work, uint32_t *found)
{
    if (!(work->flags & DEPS_LATE))
        return MP_OK;
    uint64_t from = work->begin - SOON_NS;
    uint32_t last = ended_last(deps, work->lane, from, work->begin);
    if (last == DEPS_NONE)
        return MP_OK;
    work->other_lane = last;
    work->reason = DEPS_BY_TIME;
    ++*found;
    return deps->fronts ? deps_join(deps, &work->front, last) : MP_OK;
}

static enum mp_status order_call(struct deps *deps, struct deps_activity *call, uint32_t *found)
{
    if (!(call->flags & DEPS_SYNCHRONISES) || (call->flags & DEPS_CONTINUES) ||
        deps_call_waits(call) || call->end - call->begin < DEPS_UNEXPLAINED_NS)
        return MP_OK;
    uint64_t from = mp_max(call->begin, call->end - SOON_NS);
    uint32_t last = ended_last(deps, DEPS_NONE, from, call->end);
    if (last == DEPS_NONE)
        return MP_OK;
    call->awaited = last;
    call->reason = DEPS_BY_TIME;
    ++*found;
    return deps->fronts ? deps_join(deps, &call->front, last) : MP_OK;
}

enum mp_status deps_order_by_time(struct deps *deps, uint32_t *found)
{
    *found = 0;
    for (uint32_t i = 0; i < deps->host_count; i++) {
        if (deps->activities[i].kind == DEPS_CALL)
            MP_TRY(order_call(deps, &deps->activities[i], found));
    }
    for (uint32_t i = deps->host_count; i < deps->count; i++)
        MP_TRY(order_work(deps, &deps->activities[i], found));
    return MP_OK;
}
