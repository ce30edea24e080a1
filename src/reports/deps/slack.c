/* Slack: how late everything could end, computed backwards from the window's end
 * (docs/dependency-analysis.md, section 6). */
#include <stdlib.h>
#include <string.h>

#include "reports/deps/lookup.h"

#include "base/poison.h"

#define UNBOUNDED UINT64_MAX

struct backward {
    const struct deps *deps;
    const struct deps_windows *windows;
    uint32_t *window_of; /* by activity, then by front; DEPS_NONE: outside all windows */
    uint64_t *latest;    /* by point: the latest moment that keeps the window's end; UNBOUNDED */
};

static uint64_t cut(const struct backward *backward, uint32_t activity, uint64_t time)
{
    uint64_t end = backward->windows->items[backward->window_of[activity]].end;

    return time < end ? time : end;
}

static void limit(struct backward *backward, uint32_t point, uint64_t latest)
{
    if (latest < backward->latest[point])
        backward->latest[point] = latest;
}

/* A wait that ends after the window: it does not have to end by then. */
static bool goes_on(const struct deps_activity *activity, const struct deps_window *window)
{
    return activity->kind == DEPS_WAIT && activity->end > window->end;
}

/* Everything in the window must have ended by its end. */
static void limit_lane(struct backward *backward, const struct deps_lane *lane, uint32_t number)
{
    const struct deps *deps = backward->deps;
    const struct deps_window *window = &backward->windows->items[number];
    uint32_t at = deps_window_first(deps, lane, window);

    for (; at < lane->first + lane->count && !deps_is_behind(deps, window, &deps->activities[at]);
         at++) {
        if (!deps_in_window(deps, window, &deps->activities[at]) ||
            goes_on(&deps->activities[at], window))
            continue;
        backward->window_of[at] = number;
        limit(backward, deps_end_point(deps, at), window->end);
    }
}

/* The path begins in this wait, which goes on: it is cut like a call. */
static void limit_cut(struct backward *backward, uint32_t last, uint32_t number)
{
    const struct deps_activity *wait = &backward->deps->activities[last];
    const struct deps_window *window = &backward->windows->items[number];

    if (!goes_on(wait, window) || wait->bound == DEPS_WOKEN ||
        !deps_in_window(backward->deps, window, wait))
        return;
    backward->window_of[last] = number;
    limit(backward, deps_end_point(backward->deps, last), window->end);
}

/* There must be time for the host code after the last call of the thread on which the window ends.
 */
static void limit_by_host(struct backward *backward, uint32_t number)
{
    const struct deps *deps = backward->deps;
    const struct deps_window *window = &backward->windows->items[number];
    uint32_t thread = deps_window_thread(deps, window);
    uint32_t last = DEPS_NONE;

    if (thread != DEPS_NONE)
        last = deps_piece_before(deps, &deps->lanes[thread], window->host_end);
    if (last != DEPS_NONE)
        limit_cut(backward, last, number);
    if (last != DEPS_NONE && backward->window_of[last] == number &&
        deps->activities[last].end < window->host_end)
        limit(backward, deps_end_point(deps, last),
              deps->activities[last].end + (window->end - window->host_end));
}

/* A front to which two windows refer belongs to the earlier one, because its activities are not
 * later. */
static void limit_front(struct backward *backward, uint32_t front, uint64_t latest, uint32_t number)
{
    const struct deps *deps = backward->deps;
    uint32_t *window = &backward->window_of[deps->count + front];
    uint32_t point = deps->count + deps->host_count + front;

    if (*window != DEPS_NONE && *window < number)
        return;
    if (*window != number)
        backward->latest[point] = UNBOUNDED;
    *window = number;
    limit(backward, point, latest);
}

/* What is awaited must have ended `lag` before `latest`. If it ended after that (clamped), the lag
 * is negative. */
static void pass_on(struct backward *backward, uint32_t reference, uint64_t latest, int64_t lag,
                    uint32_t number)
{
    uint64_t limited = latest - (uint64_t)lag;

    if (reference == DEPS_NONE)
        return;
    if (deps_is_front(reference))
        limit_front(backward, deps_front_index(reference), limited, number);
    else if (backward->window_of[reference] == number)
        limit(backward, deps_end_point(backward->deps, reference), limited);
}

static void back_from_work(struct backward *backward, uint32_t index)
{
    const struct deps *deps = backward->deps;
    const struct deps_activity *activity = &deps->activities[index];
    uint64_t begin = backward->latest[index] - (activity->end - deps_alone_from(deps, activity));
    uint32_t window = backward->window_of[index];

    if (deps_has_launch(activity) && backward->window_of[activity->launch] == window)
        limit(backward, activity->launch, begin - (uint64_t)deps_launch_lag(deps, activity));
    if (activity->own_lane != DEPS_NONE)
        pass_on(backward, activity->own_lane, begin, deps_lag(deps, activity, activity->own_lane),
                window);
    if (activity->overlapped != DEPS_NONE)
        pass_on(backward, activity->overlapped, backward->latest[index],
                (int64_t)(activity->end - deps->activities[activity->overlapped].end), window);
    if (activity->front != DEPS_NONE) {
        uint32_t best = deps_best(deps, activity->front);

        pass_on(backward, activity->front, begin, deps_lag(deps, activity, best), window);
    }
}

/* What woke a wait must have come so far by `latest`. */
static void back_to_waker(struct backward *backward, uint32_t index, uint64_t latest)
{
    const struct deps *deps = backward->deps;
    uint64_t woken = deps_wait_of(deps, &deps->activities[index])->woken;
    uint32_t by = deps_bound_to(deps, index);

    if (by == DEPS_NONE || backward->window_of[by] != backward->window_of[index])
        return;
    const struct deps_activity *waker = &deps->activities[by];
    if (deps_is_call(waker) && woken < waker->end) /* inside the call */
        limit(backward, by, latest - (woken - waker->begin));
    else
        limit(backward, deps_end_point(deps, by), latest + waker->end - woken);
}

static void back_from_end(struct backward *backward, uint32_t index)
{
    const struct deps *deps = backward->deps;
    const struct deps_activity *call = &deps->activities[index];
    uint32_t awaited = call->flags & DEPS_POLLS ? call->awaited : call->front;
    uint64_t shift =
        call->end - cut(backward, index, call->end); /* of a call that the window cuts */
    uint64_t own = deps_own_time(deps, call);
    uint64_t latest = backward->latest[deps->count + index] + shift;
    int64_t early = 0; /* the awaited end lies after the return: clamped */

    if (call->bound == DEPS_WOKEN)
        back_to_waker(backward, index, latest - own);
    if (awaited != DEPS_NONE) {
        uint32_t best = deps_best(deps, awaited);

        if (deps->activities[best].end > call->end)
            early = (int64_t)(deps->activities[best].end - call->end);
        pass_on(backward, awaited, latest - own, -early, backward->window_of[index]);
    }
    limit(backward, index, latest - own);
}

static void back_from_begin(struct backward *backward, uint32_t index)
{
    const struct deps *deps = backward->deps;
    uint32_t before = deps_previous_piece(deps, index);

    if (before != DEPS_NONE && backward->window_of[before] == backward->window_of[index])
        limit(backward, deps->count + before,
              backward->latest[index] -
                  (deps->activities[index].begin - deps->activities[before].end));
}

static void back_from(struct backward *backward, uint32_t point)
{
    const struct deps *deps = backward->deps;
    uint32_t index;
    enum deps_point_kind kind = deps_point_kind(deps, point, &index);

    if (backward->latest[point] == UNBOUNDED ||
        (kind != DEPS_POINT_FRONT && backward->window_of[index] == DEPS_NONE))
        return;
    if (kind == DEPS_POINT_WORK) {
        back_from_work(backward, index);
    } else if (kind == DEPS_POINT_END) {
        back_from_end(backward, index);
    } else if (kind == DEPS_POINT_BEGIN) {
        back_from_begin(backward, index);
    } else {
        const struct deps_front *front = &deps->fronts->items[index];

        uint32_t window = backward->window_of[deps->count + index];

        pass_on(backward, front->left, backward->latest[point], 0, window);
        pass_on(backward, front->right, backward->latest[point], 0, window);
    }
}

static void fill_slack(const struct backward *backward, uint64_t *slack)
{
    const struct deps *deps = backward->deps;

    for (uint32_t i = 0; i < deps->count; i++) {
        uint64_t latest = backward->latest[deps_end_point(deps, i)];

        if (backward->window_of[i] == DEPS_NONE)
            continue;
        uint64_t end = cut(backward, i, deps->activities[i].end);
        slack[i] = latest > end ? latest - end : 0;
    }
}

static void go_backward(struct backward *backward, const struct deps_order *order)
{
    const struct deps *deps = backward->deps;

    for (uint32_t number = 0; number < backward->windows->count; number++) {
        for (uint32_t lane = 0; lane < deps->lane_count; lane++)
            limit_lane(backward, &deps->lanes[lane], number);
        limit_by_host(backward, number);
    }
    for (uint32_t i = order->count; i-- > 0;)
        back_from(backward, order->points[i]);
}

enum mp_status deps_slack(const struct deps *deps, const struct deps_windows *windows,
                          uint64_t *slack)
{
    size_t points = deps_point_count(deps);
    size_t owners = deps->count + deps->fronts->count;
    struct backward backward = {.deps = deps, .windows = windows};
    enum mp_status status = MP_ERR_MEMORY;
    struct deps_order order;

    MP_TRY(deps_order_new(deps, &order));
    backward.latest = malloc((points + 1) * sizeof *backward.latest);
    backward.window_of = malloc((owners + 1) * sizeof *backward.window_of);
    if (backward.latest && backward.window_of) {
        /* UNBOUNDED and DEPS_NONE. */
        memset(backward.latest, 0xff, points * sizeof *backward.latest);
        memset(backward.window_of, 0xff, owners * sizeof *backward.window_of);
        go_backward(&backward, &order);
        fill_slack(&backward, slack);
        status = MP_OK;
    }
    deps_order_free(&order);
    free(backward.window_of);
    free(backward.latest);
    return status;
}
