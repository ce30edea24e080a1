/* The recorded run as equations, solved from begin to end: docs/dependency-analysis.md, section 6.
 */
#include "reports/replay/solve.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "reports/deps/lookup.h"

#include "base/poison.h"

/* Of a part, on a lane. */
static const struct deps_change *part_change(const struct replay *replay, uint32_t lane,
                                             enum deps_part part)
{
    if (!replay->changes->by_part)
        return NULL;
    return replay->changes->by_part[replay->deps->lanes[lane].process * DEPS_PARTS + part];
}

/* Of a latency of device work. What a transfer waits for arrives without one. */
static const struct deps_change *latency_change(const struct replay *replay, uint32_t index,
                                                enum deps_part part)
{
    const struct deps_activity *work = &replay->deps->activities[index];

    return work->kind == DEPS_TRANSFER ? NULL : part_change(replay, work->lane, part);
}

static const struct deps_change *name_change(const struct replay *replay,
                                             const struct deps_activity *activity)
{
    return replay->changes->by_name ? replay->changes->by_name[activity->name] : NULL;
}

static bool is_edited(const struct replay *replay, uint32_t index, enum deps_edit edit)
{
    return replay->edits && (replay->edits->flags[index] & edit);
}

static double factor_at(const struct deps_edits *edits, uint32_t index)
{
    return edits->factor_of ? edits->factor_of(edits->context, index) : edits->factor;
}

/* ---- What is gone in every run ----
 *
 * Without what recording costs, the windows of a run whose begin stays are shorter by at most what
 * their critical path has in DEPS_RECORDING. For the path is a chain of the equations below, each
 * of which was the latest one of its point as recorded:
 *
 *     moment(end) = moment(begin) + the sum of the pieces
 *
 * In the new run each of these moments is still not before the one ahead of it plus the new piece:
 * other equations of a point can only make it later. So the sum of the new pieces is a lower bound
 * of the new window, and each piece loses what the path gives to recording there, or less:
 * both take min(cost, piece). tests/laws/replays.py has the law.
 */

static uint64_t shorter(const struct replay *replay, const uint32_t *by, uint32_t index,
                        uint64_t ns)
{
    uint64_t gone = by[index] < ns ? by[index] : ns;

    return !gone ? ns : ns - gone + (replay->kept ? deps_changed(replay->kept, gone) : 0);
}

/* Host code before a piece. */
static uint64_t less_before(const struct replay *replay, uint32_t piece, uint64_t ns)
{
    return replay->less ? shorter(replay, replay->less->before, piece, ns) : ns;
}

/* A piece's own time, or its return. */
static uint64_t less_within(const struct replay *replay, uint32_t piece, uint64_t ns)
{
    return replay->less ? shorter(replay, replay->less->within, piece, ns) : ns;
}

static int64_t launch_lag(const struct replay *replay, uint32_t index)
{
    int64_t lag = deps_launch_lag(replay->deps, &replay->deps->activities[index]);

    return lag > 0 ? (int64_t)less_before(replay, index, (uint64_t)lag) : lag;
}

static int64_t order_lag(const struct replay *replay, uint32_t index, uint32_t on)
{
    int64_t lag = deps_lag(replay->deps, &replay->deps->activities[index], on);

    return lag > 0 ? (int64_t)less_within(replay, index, (uint64_t)lag) : lag;
}

/* Time of an activity itself in the new run. */
static uint64_t new_time(const struct replay *replay, uint32_t index, uint64_t ns)
{
    if (is_edited(replay, index, DEPS_EDIT_NO_TIME))
        return 0;
    if (index >= replay->deps->host_count && replay->deps->activities[index].flags & DEPS_ARRIVES)
        return ns;
    ns = deps_changed(name_change(replay, &replay->deps->activities[index]), ns);
    if (replay->edits && is_edited(replay, index, DEPS_EDIT_SCALED))
        ns = (uint64_t)((double)ns * factor_at(replay->edits, index) + 0.5);
    return ns;
}

uint64_t replay_moment_of(const struct replay *replay, uint32_t reference)
{
    const struct deps *deps = replay->deps;

    return replay->moments[deps_is_front(reference) ? deps_point(deps, reference)
                                                    : deps_end_point(deps, reference)];
}

static void not_before(struct replay_begin *begin, uint32_t on, uint64_t moment, int64_t lag,
                       bool no_lag, const struct deps_change *change)
{
    if (no_lag && lag > 0)
        lag = 0;
    uint64_t earliest =
        lag < 0 ? moment - (uint64_t)-lag : moment + deps_changed(change, (uint64_t)lag);

    if (earliest > begin->moment)
        *begin = (struct replay_begin){earliest, on};
}

/* How far an activity has come after `ns` of its `recorded` time if it takes `changed`. */
static uint64_t progress(uint64_t ns, uint64_t recorded, uint64_t changed)
{
    return recorded ? mp_proportion(ns, changed, recorded) : ns;
}

uint64_t replay_inside_work(const struct replay *replay, uint32_t index, uint64_t time)
{
    const struct deps_activity *work = &replay->deps->activities[index];
    uint64_t recorded = work->end - deps_alone_from(replay->deps, work);
    uint64_t end = replay->moments[index];

    if (time >= work->end)
        return end;
    uint64_t left = progress(work->end - time, recorded,
                             new_time(replay, index, replay_own_time(replay, index)));
    return end > left ? end - left : 0;
}

struct replay_begin replay_begin_of_work(const struct replay *replay, uint32_t index)
{
    const struct deps *deps = replay->deps;
    const struct deps_activity *activity = &deps->activities[index];
    bool node = activity->flags & DEPS_NOT_ROOT;
    bool no_gap = is_edited(replay, index, DEPS_EDIT_NO_GAP);
    struct replay_begin begin = {0, DEPS_NONE};

    if (deps_has_launch(activity))
        not_before(&begin, activity->launch, replay->moments[activity->launch],
                   launch_lag(replay, index), is_edited(replay, index, DEPS_EDIT_NO_LAUNCH),
                   latency_change(replay, index, DEPS_LAUNCH_LATENCY));
    if (activity->own_lane != DEPS_NONE)
        not_before(&begin, activity->own_lane, replay_moment_of(replay, activity->own_lane),
                   order_lag(replay, index, activity->own_lane), no_gap,
                   latency_change(replay, index, node ? DEPS_DEPENDENCY_LATENCY : DEPS_STREAM_GAP));
    if (activity->overlapped != DEPS_NONE &&
        (deps->activities[activity->overlapped].lane == activity->lane ||
         !is_edited(replay, index, DEPS_EDIT_NO_CROSS)))
        not_before(
            &begin, activity->overlapped,
            replay_inside_work(replay, activity->overlapped, deps_alone_from(deps, activity)), 0,
            false, NULL);
    if (activity->front != DEPS_NONE && !is_edited(replay, index, DEPS_EDIT_NO_CROSS)) {
        uint32_t best = deps_best(deps, activity->front);

        not_before(&begin, activity->front, replay_moment_of(replay, activity->front),
                   order_lag(replay, index, best), no_gap,
                   latency_change(replay, index, DEPS_DEPENDENCY_LATENCY));
    }
    return begin.moment ? begin : (struct replay_begin){activity->begin, DEPS_NONE};
}

/* Time in the new run for host code of this length. */
static uint64_t new_host_code(const struct replay *replay, uint32_t lane, uint64_t ns)
{
    return ns ? deps_changed(part_change(replay, lane, DEPS_HOST_CODE), ns) : 0;
}

/* The same for the host code before a piece. */
static uint64_t new_host_before(const struct replay *replay, uint32_t piece, uint64_t ns)
{
    uint64_t kept = 0;

    ns = less_before(replay, piece, ns);
    if (!is_edited(replay, piece, DEPS_EDIT_NO_HOST))
        return new_host_code(replay, replay->deps->activities[piece].lane, ns);
    if (replay->edits && replay->edits->host_kept)
        kept = replay->edits->host_kept(replay->edits->context, piece);
    return kept < ns ? kept : ns;
}

static uint64_t begin_of_call(const struct replay *replay, uint32_t index)
{
    const struct deps *deps = replay->deps;
    uint32_t before = deps_previous_piece(deps, index);

    if (before == DEPS_NONE)
        return deps->activities[index].begin;
    uint64_t gap = deps->activities[index].begin - deps->activities[before].end;
    return replay->moments[deps->count + before] + new_host_before(replay, index, gap);
}

/* A moment inside a call or on its edges: as far from the call's begin as recorded, but not after
 * its end. */
static uint64_t inside_call(const struct replay *replay, uint32_t piece, uint64_t time)
{
    uint64_t moment = replay->moments[piece] + (time - replay->deps->activities[piece].begin);
    uint64_t end = replay->moments[replay->deps->count + piece];

    return time == replay->deps->activities[piece].end || moment > end ? end : moment;
}

uint64_t replay_wake_moment(const struct replay *replay, uint32_t index)
{
    const struct deps *deps = replay->deps;
    uint64_t woken = deps_wait_of(deps, &deps->activities[index])->woken;
    uint32_t by = deps_bound_to(deps, index);

    if (by == DEPS_NONE)
        return woken;
    if (!deps_is_call(&deps->activities[by]))
        return replay_inside_work(replay, by, woken);
    if (woken <= deps->activities[by].end)
        return inside_call(replay, by, woken);
    return replay->moments[deps->count + by] +
           new_host_code(replay, deps->activities[by].lane, woken - deps->activities[by].end);
}

/* The time of a call after all that it waits for. */
static uint64_t own_time_of_call(const struct replay *replay, uint32_t index)
{
    const struct deps_activity *call = &replay->deps->activities[index];
    uint64_t own =
        new_time(replay, index, less_within(replay, index, deps_own_time(replay->deps, call)));

    if (call->bound == DEPS_WOKEN || deps_call_waits(call))
        own = deps_changed(part_change(replay, call->lane, DEPS_RETURN), own);
    return own;
}

struct replay_begin replay_begin_of_own(const struct replay *replay, uint32_t index)
{
    const struct deps *deps = replay->deps;
    const struct deps_activity *call = &deps->activities[index];
    uint32_t awaited = call->flags & DEPS_POLLS ? call->awaited : call->front;
    struct replay_begin begin = {replay->moments[index], DEPS_NONE};

    if (is_edited(replay, index, DEPS_EDIT_NO_WAIT))
        return begin;
    if (awaited != DEPS_NONE) {
        uint32_t best = deps_best(deps, awaited);
        uint64_t late = deps->activities[best].end > call->end
                            ? deps->activities[best].end - call->end
                            : 0; /* clamped */

        not_before(&begin, awaited, replay_moment_of(replay, awaited), -(int64_t)late, false, NULL);
    }
    if (call->bound == DEPS_WOKEN)
        not_before(&begin, deps_bound_to(deps, index), replay_wake_moment(replay, index), 0, false,
                   NULL);
    return begin;
}

uint64_t replay_own_time(const struct replay *replay, uint32_t index)
{
    const struct deps_activity *work = &replay->deps->activities[index];
    uint64_t own = work->end - deps_alone_from(replay->deps, work);

    return replay->less ? shorter(replay, replay->less->own, index, own) : own;
}

static uint64_t solve(const struct replay *replay, uint32_t point)
{
    const struct deps *deps = replay->deps;
    uint32_t index;
    enum deps_point_kind kind = deps_point_kind(deps, point, &index);
    uint64_t left;
    uint64_t right;

    switch (kind) {
    case DEPS_POINT_WORK:
        return replay_begin_of_work(replay, index).moment +
               new_time(replay, index, replay_own_time(replay, index));
    case DEPS_POINT_BEGIN:
        return begin_of_call(replay, index);
    case DEPS_POINT_END:
        return replay_begin_of_own(replay, index).moment + own_time_of_call(replay, index);
    case DEPS_POINT_FRONT:
    default:
        left = replay_moment_of(replay, deps->fronts->items[index].left);
        right = replay_moment_of(replay, deps->fronts->items[index].right);
        return left > right ? left : right;
    }
}

/* Where a window that begins at `time` on a thread begins in the new run: before the next call lies
 * as much host code as recorded, with its changes applied. */
uint64_t replay_begin(const struct replay *replay, uint32_t thread, uint64_t time)
{
    const struct deps *deps = replay->deps;
    const struct deps_lane *lane = &deps->lanes[thread];
    uint32_t next = deps_first_from(deps, lane, time);

    if (next > lane->first && deps->activities[next - 1].end >= time)
        return inside_call(replay, next - 1, time);
    if (next == lane->first + lane->count)
        return next == lane->first
                   ? time
                   : replay->moments[deps->count + next - 1] +
                         new_host_code(replay, thread, time - deps->activities[next - 1].end);
    uint64_t gap =
        is_edited(replay, next, DEPS_EDIT_NO_HOST)
            ? 0
            : new_host_code(replay, thread,
                            less_before(replay, next, deps->activities[next].begin - time));
    return replay->moments[next] > gap ? replay->moments[next] - gap : 0;
}

/* Where a window that ends at `time` ends in the new run: after the last call follows as much host
 * code as recorded, with its changes applied. */
uint64_t replay_end(const struct replay *replay, uint32_t thread, uint64_t time)
{
    const struct deps *deps = replay->deps;
    const struct deps_lane *lane = &deps->lanes[thread];
    uint32_t piece = deps_piece_before(deps, lane, time);

    if (piece == DEPS_NONE) /* no call before it: measured from the first one */
        return replay_begin(replay, thread, time);
    if (deps->activities[piece].end >= time)
        return inside_call(replay, piece, time);
    if (piece + 1 < lane->first + lane->count && is_edited(replay, piece + 1, DEPS_EDIT_NO_HOST))
        return replay->moments[deps->count + piece];
    uint64_t moment = replay->moments[deps->count + piece] +
                      new_host_code(replay, thread, time - deps->activities[piece].end);
    if (replay->less && piece + 1 < lane->first + lane->count &&
        moment > replay->moments[piece + 1]) /* the cost of a call lies right before it */
        return replay->moments[piece + 1];
    return moment;
}

struct replay_begin replay_host_end(const struct replay *replay, uint32_t thread, uint64_t time)
{
    return (struct replay_begin){
        replay_end(replay, thread, time),
        deps_piece_before(replay->deps, &replay->deps->lanes[thread], time)};
}

/* Notes the later of two. */
static void note_last(struct replay_begin *last, uint64_t moment, uint32_t on)
{
    if (moment > last->moment)
        *last = (struct replay_begin){moment, on};
}

struct replay_begin replay_last_return(const struct replay *replay,
                                       const struct deps_window *window)
{
    const struct deps *deps = replay->deps;
    struct replay_begin last = {0, DEPS_NONE};

    for (uint32_t i = 0; i < deps->thread_count; i++) {
        uint32_t piece = deps_call_before(deps, &deps->lanes[i], window->host_end, window->begin);

        if (piece == DEPS_NONE || !deps->lanes[i].takes_part ||
            !deps_in_window(deps, window, &deps->activities[piece]))
            continue;
        uint64_t end = deps->activities[piece].end;
        note_last(&last,
                  inside_call(replay, piece, end < window->host_end ? end : window->host_end),
                  piece);
    }
    return last;
}

struct replay_begin replay_last_end(const struct replay *replay, const struct deps_window *window,
                                    uint64_t *recorded)
{
    const struct deps *deps = replay->deps;
    struct replay_begin last = {0, DEPS_NONE};

    *recorded = 0;
    for (uint32_t i = deps->thread_count; i < deps->lane_count; i++) {
        const struct deps_lane *lane = &deps->lanes[i];
        uint32_t at = deps_window_first(deps, lane, window);

        for (;
             at < lane->first + lane->count && !deps_is_behind(deps, window, &deps->activities[at]);
             at++) {
            if (!deps_in_window(deps, window, &deps->activities[at]))
                continue;
            note_last(&last, replay->moments[at], at);
            *recorded = mp_max(*recorded, deps->activities[at].end);
        }
    }
    return last;
}

/* Leaves out the work that keeps an iteration from ending (deps_windows.of). */
static void move_window(const struct replay *replay, struct deps_window *window)
{
    const struct deps *deps = replay->deps;
    const struct deps_window recorded = *window;
    uint32_t thread = deps_window_thread(deps, window);
    bool is_iteration = !window->range && window->id;

    if (thread != DEPS_NONE) {
        if (!window->fixed_begin)
            window->begin = replay_begin(replay, thread, recorded.begin);
        window->host_end = replay_end(replay, thread, recorded.host_end);
    }
    window->end = window->host_end;
    if (!is_iteration) {
        uint64_t work_end;
        uint64_t work = replay_last_end(replay, &recorded, &work_end).moment;

        if (thread ==
            DEPS_NONE) /* without any call: the same distance from the last work as recorded */
            window->end = work + (work_end < recorded.end ? recorded.end - work_end : 0);
        window->end =
            mp_max(mp_max(work, window->end), replay_last_return(replay, &recorded).moment);
    }
    window->host_end = mp_max(window->host_end, window->begin);
    window->end = mp_max(window->end, window->begin);
}

size_t replay_find_window(const struct deps_window *items, size_t count, uint64_t id)
{
    size_t at = MP_SEARCH(0, count, i, items[i].id < id);

    return at < count && items[at].id == id ? at : count;
}

/* Iterations last until their work has ended. */
static void prolong(const struct replay *replay, const struct deps_windows *windows,
                    struct deps_window *moved)
{
    const struct deps *deps = replay->deps;

    for (uint32_t i = deps->host_count; i < deps->count; i++) {
        if (windows->of[i] == DEPS_NONE)
            continue;
        size_t at = replay_find_window(moved, windows->count, (uint64_t)windows->of[i] + 1);
        if (at < windows->count)
            moved[at].end = mp_max(moved[at].end, replay->moments[i]);
    }
}

void replay_windows(const struct replay *replay, const struct deps_windows *windows,
                    struct deps_window *moved)
{
    for (size_t i = 0; i < windows->count; i++) {
        moved[i] = windows->items[i];
        move_window(replay, &moved[i]);
    }
    if (windows->of)
        prolong(replay, windows, moved);
}

enum mp_status replay_lengths(const struct replay *replay, const struct deps_windows *windows,
                              uint64_t *lengths)
{
    struct deps_window *moved = calloc(windows->count + 1, sizeof *moved);

    if (!moved)
        return MP_ERR_MEMORY;
    replay_windows(replay, windows, moved);
    for (size_t i = 0; i < windows->count; i++)
        lengths[i] = moved[i].end - moved[i].begin;
    free(moved);
    return MP_OK;
}

void replay_run(const struct replay *replay)
{
    memset(replay->moments, 0, deps_point_count(replay->deps) * sizeof *replay->moments);
    for (uint32_t i = 0; i < replay->order->count; i++) {
        uint32_t point = replay->order->points[i];
        replay->moments[point] = solve(replay, point);
    }
}
