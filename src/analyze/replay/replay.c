/* The recorded run as equations, solved from begin to end: docs/dependency-analysis.md, section 6.
 */
#include "analyze/replay/replay.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/deps/order.h"
#include "analyze/replay/changes.h"

#include "base/poison.h"

struct replay {
    const struct deps *deps;
    const struct deps_order *order;
    const struct deps_resolved *changes;
    const struct deps_edits *edits; /* NULL: none */
    uint64_t *moments; /* by point: work's ends, calls' begins and ends, fronts: in the new run */
};

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static const struct deps_change *part_change(const struct replay *replay, enum deps_part part)
{
    return replay->changes->by_part[part];
}

static const struct deps_change *name_change(const struct replay *replay,
                                             const struct deps_activity *activity)
{
    return replay->changes->by_name[activity->name];
}

static bool is_edited(const struct replay *replay, uint32_t index, enum deps_edit edit)
{
    return replay->edits && (replay->edits->flags[index] & edit);
}

/* Time of an activity itself in the new run. */
static uint64_t new_time(const struct replay *replay, uint32_t index, uint64_t ns)
{
    if (is_edited(replay, index, DEPS_EDIT_NO_TIME))
        return 0;
    ns = deps_changed(name_change(replay, &replay->deps->activities[index]), ns);
    if (replay->edits && is_edited(replay, index, DEPS_EDIT_SCALED))
        ns = (uint64_t)((double)ns * replay->edits->factor + 0.5);
    return ns;
}

/* When a reference has ended in the new run. */
static uint64_t moment_of(const struct replay *replay, uint32_t reference)
{
    const struct deps *deps = replay->deps;

    return replay->moments[deps_is_front(reference) ? deps_point(deps, reference)
                                                    : deps_end_point(deps, reference)];
}

static void not_before(uint64_t *begin, uint64_t moment, int64_t lag, bool no_lag,
                       const struct deps_change *change)
{
    uint64_t earliest;

    if (no_lag && lag > 0)
        lag = 0;
    earliest = lag < 0 ? moment - (uint64_t)-lag : moment + deps_changed(change, (uint64_t)lag);

    if (earliest > *begin)
        *begin = earliest;
}

static uint64_t begin_of_work(const struct replay *replay, uint32_t index)
{
    const struct deps *deps = replay->deps;
    const struct deps_activity *activity = &deps->activities[index];
    bool node = activity->flags & DEPS_NOT_ROOT;
    bool no_gap = is_edited(replay, index, DEPS_EDIT_NO_GAP);
    uint64_t begin = 0;

    if (deps_has_launch(activity))
        not_before(&begin, replay->moments[activity->launch], deps_launch_lag(deps, activity),
                   is_edited(replay, index, DEPS_EDIT_NO_LAUNCH),
                   part_change(replay, DEPS_LAUNCH_LATENCY));
    if (activity->stream_pred != DEPS_NONE)
        not_before(&begin, moment_of(replay, activity->stream_pred),
                   deps_lag(deps, activity, activity->stream_pred), no_gap,
                   part_change(replay, node ? DEPS_DEPENDENCY_LATENCY : DEPS_STREAM_GAP));
    if (activity->front != DEPS_NONE && !is_edited(replay, index, DEPS_EDIT_NO_CROSS)) {
        uint32_t best = deps_best(deps, activity->front);

        not_before(&begin, moment_of(replay, activity->front), deps_lag(deps, activity, best),
                   no_gap, part_change(replay, DEPS_DEPENDENCY_LATENCY));
    }
    return begin ? begin : activity->begin;
}

/* Time in the new run for host code of this length. */
static uint64_t new_host_code(const struct replay *replay, uint64_t ns)
{
    return ns ? deps_changed(part_change(replay, DEPS_HOST_CODE), ns) : 0;
}

/* The same for the host code before a piece. */
static uint64_t new_host_before(const struct replay *replay, uint32_t piece, uint64_t ns)
{
    uint64_t kept = 0;

    if (!is_edited(replay, piece, DEPS_EDIT_NO_HOST))
        return new_host_code(replay, ns);
    if (replay->edits && replay->edits->host_kept)
        kept = replay->edits->host_kept(replay->edits->context, piece);
    return kept < ns ? kept : ns;
}

static uint64_t begin_of_call(const struct replay *replay, uint32_t index)
{
    const struct deps *deps = replay->deps;
    uint32_t before = deps_previous_piece(deps, index);
    uint64_t gap;

    if (before == DEPS_NONE)
        return deps->activities[index].begin;
    gap = deps->activities[index].begin - deps->activities[before].end;
    return replay->moments[deps->count + before] + new_host_before(replay, index, gap);
}

static uint64_t end_of_call(const struct replay *replay, uint32_t index)
{
    const struct deps *deps = replay->deps;
    const struct deps_activity *call = &deps->activities[index];
    uint32_t awaited = call->flags & DEPS_POLLS ? call->cross : call->front;
    bool waited = call->bound == DEPS_SYNCHRONISATION || call->bound == DEPS_IN_EFFECT;
    uint64_t own = new_time(replay, index, deps_own_time(deps, call));
    uint64_t end = replay->moments[index];

    if (is_edited(replay, index, DEPS_EDIT_NO_WAIT))
        awaited = DEPS_NONE;
    if (awaited != DEPS_NONE) {
        uint32_t best = deps_best(deps, awaited);
        uint64_t late = deps->activities[best].end > call->end
                            ? deps->activities[best].end - call->end
                            : 0; /* clamped */
        uint64_t moment = moment_of(replay, awaited) - late;

        end = moment > end ? moment : end;
    }
    if (waited)
        own = deps_changed(part_change(replay, DEPS_RETURN), own);
    return end + own;
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
        return begin_of_work(replay, index) +
               new_time(replay, index, deps->activities[index].end - deps->activities[index].begin);
    case DEPS_POINT_BEGIN:
        return begin_of_call(replay, index);
    case DEPS_POINT_END:
        return end_of_call(replay, index);
    case DEPS_POINT_FRONT:
    default:
        left = moment_of(replay, deps->fronts->items[index].left);
        right = moment_of(replay, deps->fronts->items[index].right);
        return left > right ? left : right;
    }
}

/* A moment inside a call or on its edges: as far from the call's begin as recorded, but not after
 * its end. */
static uint64_t inside_call(const struct replay *replay, uint32_t piece, uint64_t time)
{
    uint64_t moment = replay->moments[piece] + (time - replay->deps->activities[piece].begin);
    uint64_t end = replay->moments[replay->deps->count + piece];

    return time == replay->deps->activities[piece].end || moment > end ? end : moment;
}

/* Where a window that begins at `time` on a thread begins in the new run: before the next call lies
 * as much host code as recorded, with its changes applied. */
static uint64_t new_begin(const struct replay *replay, uint32_t thread, uint64_t time)
{
    const struct deps *deps = replay->deps;
    const struct deps_lane *lane = &deps->lanes[thread];
    uint32_t next = deps_first_from(deps, lane, time);
    uint64_t gap;

    if (next > lane->first && deps->activities[next - 1].end >= time)
        return inside_call(replay, next - 1, time);
    if (next == lane->first + lane->count)
        return next == lane->first
                   ? time
                   : replay->moments[deps->count + next - 1] +
                         new_host_code(replay, time - deps->activities[next - 1].end);
    gap = is_edited(replay, next, DEPS_EDIT_NO_HOST)
              ? 0
              : new_host_code(replay, deps->activities[next].begin - time);
    return replay->moments[next] > gap ? replay->moments[next] - gap : 0;
}

/* Where a window that ends at `time` ends in the new run: after the last call follows as much host
 * code as recorded, with its changes applied. */
static uint64_t new_end(const struct replay *replay, uint32_t thread, uint64_t time)
{
    const struct deps *deps = replay->deps;
    const struct deps_lane *lane = &deps->lanes[thread];
    uint32_t piece = deps_piece_before(deps, lane, time);

    if (piece == DEPS_NONE) /* no call before it: measured from the first one */
        return new_begin(replay, thread, time);
    if (deps->activities[piece].end >= time)
        return inside_call(replay, piece, time);
    if (piece + 1 < lane->first + lane->count && is_edited(replay, piece + 1, DEPS_EDIT_NO_HOST))
        return replay->moments[deps->count + piece];
    return replay->moments[deps->count + piece] +
           new_host_code(replay, time - deps->activities[piece].end);
}

/* The last end of the window's calls on other threads, as far as the calls lie in the window. */
static uint64_t last_return(const struct replay *replay, const struct deps_window *window)
{
    const struct deps *deps = replay->deps;
    uint64_t last = 0;

    for (uint32_t i = 0; i < deps->thread_count; i++) {
        uint32_t piece = deps_piece_before(deps, &deps->lanes[i], window->host_end);
        uint64_t end;

        if (piece == DEPS_NONE || !deps_in_window(window, &deps->activities[piece]))
            continue;
        end = deps->activities[piece].end;
        last = later(last,
                     inside_call(replay, piece, end < window->host_end ? end : window->host_end));
    }
    return last;
}

/* The last end of the window's work, in the new run and as recorded; 0 if it has no work. */
static uint64_t last_end(const struct replay *replay, const struct deps_window *window,
                         uint64_t *recorded)
{
    const struct deps *deps = replay->deps;
    uint64_t last = 0;

    *recorded = 0;
    for (uint32_t i = deps->thread_count; i < deps->lane_count; i++) {
        const struct deps_lane *lane = &deps->lanes[i];
        uint32_t at = deps_window_first(deps, lane, window);

        for (; at < lane->first + lane->count && deps->activities[at].begin <= window->end; at++) {
            if (!deps_in_window(window, &deps->activities[at]))
                continue;
            last = later(last, replay->moments[at]);
            *recorded = later(*recorded, deps->activities[at].end);
        }
    }
    return last;
}

static uint64_t new_length(const struct replay *replay, const struct deps_window *window)
{
    const struct deps *deps = replay->deps;
    uint32_t thread = deps_window_thread(deps, window);
    bool is_iteration = !window->range && window->id;
    uint64_t begin = window->begin;
    uint64_t end = window->end;

    if (thread != DEPS_NONE) {
        begin = new_begin(replay, thread, window->begin);
        end = new_end(replay, thread, window->host_end);
    }
    /* An iteration ends where its NVTX range ends, even if work still runs. */
    if (!is_iteration) {
        uint64_t recorded;
        uint64_t work = last_end(replay, window, &recorded);

        if (thread ==
            DEPS_NONE) /* without any call: the same distance from the last work as recorded */
            end = work + (recorded < window->end ? window->end - recorded : 0);
        end = later(later(work, end), last_return(replay, window));
    }
    return end > begin ? end - begin : 0;
}

static void replay_run(const struct replay *replay, const struct deps_windows *windows,
                       uint64_t *lengths)
{
    memset(replay->moments, 0, deps_point_count(replay->deps) * sizeof *replay->moments);
    for (uint32_t i = 0; i < replay->order->count; i++) {
        uint32_t point = replay->order->points[i];
        replay->moments[point] = solve(replay, point);
    }
    for (size_t i = 0; i < windows->count; i++)
        lengths[i] = new_length(replay, &windows->items[i]);
}

enum mp_status deps_replay(const struct deps *deps, const struct deps_changes *changes,
                           const struct deps_windows *windows, uint64_t *lengths)
{
    struct deps_resolved resolved = {.by_name = NULL};
    struct deps_order order = {.points = NULL};
    struct replay replay = {.deps = deps, .order = &order, .changes = &resolved};
    enum mp_status status = deps_resolve(deps, changes, &resolved);

    if (!status)
        status = deps_order_new(deps, &order);
    if (!status) {
        replay.moments = malloc((deps_point_count(deps) + (size_t)1) * sizeof *replay.moments);
        status = replay.moments ? MP_OK : MP_ERR_MEMORY;
    }
    if (!status)
        replay_run(&replay, windows, lengths);
    free(replay.moments);
    deps_order_free(&order);
    deps_resolved_free(&resolved);
    return status;
}

/* ---- Again and again ---- */

enum mp_status deps_replayer_init(struct deps_replayer *replayer, const struct deps *deps)
{
    struct deps_order order;
    enum mp_status status = deps_order_new(deps, &order);

    *replayer = (struct deps_replayer){.deps = deps};
    if (status)
        return status;
    replayer->points = order.points;
    replayer->point_count = order.count;
    replayer->moments = malloc((deps_point_count(deps) + (size_t)1) * sizeof *replayer->moments);
    return replayer->moments ? MP_OK : MP_ERR_MEMORY;
}

void deps_replayer_free(struct deps_replayer *replayer)
{
    free(replayer->points);
    free(replayer->moments);
    *replayer = (struct deps_replayer){.points = NULL};
}

enum mp_status deps_replayer_run(struct deps_replayer *replayer, const struct deps_edits *edits)
{
    struct deps_order order = {replayer->points, replayer->point_count};
    struct deps_resolved resolved;
    const struct replay replay = {replayer->deps, &order, &resolved, edits, replayer->moments};
    const struct deps_windows none = {.count = 0};

    MP_TRY(deps_resolve(replayer->deps, NULL, &resolved));
    replayer->edits = edits;
    replay_run(&replay, &none, NULL);
    deps_resolved_free(&resolved);
    return MP_OK;
}

uint64_t deps_replayer_end(const struct deps_replayer *replayer, uint32_t activity)
{
    return replayer->moments[deps_end_point(replayer->deps, activity)];
}

uint64_t deps_replayer_host(const struct deps_replayer *replayer, uint32_t thread, uint64_t time,
                            bool ends)
{
    const struct deps_resolved unchanged = {.by_name = NULL};
    const struct replay replay = {replayer->deps, NULL, &unchanged, replayer->edits,
                                  replayer->moments};

    return ends ? new_end(&replay, thread, time) : new_begin(&replay, thread, time);
}

/* ---- What would gain most ---- */

static uint64_t sum(const uint64_t *lengths, size_t count)
{
    uint64_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += lengths[i];
    return total;
}

static int compare_gains(const void *left, const void *right)
{
    const struct deps_gain *a = left;
    const struct deps_gain *b = right;

    if (a->gain != b->gain)
        return a->gain < b->gain ? 1 : -1;
    return (a->name > b->name) - (a->name < b->name);
}

/* Keeps the `most` greatest gains, greatest first. */
static void insert(struct deps_gain *gains, size_t most, size_t *found,
                   const struct deps_gain *gain)
{
    size_t at;

    if (*found == most && gains[most - 1].gain >= gain->gain)
        return;
    if (*found < most)
        (*found)++;
    for (at = *found - 1; at && gains[at - 1].gain < gain->gain; at--)
        gains[at] = gains[at - 1];
    gains[at] = *gain;
}

/* Halves one name after the other. No name gains more than list_candidates estimates, so names with
 * a smaller estimate need not be tried. */
static void try_names(struct replay *replay, const struct deps_windows *windows, uint64_t *lengths,
                      struct deps_gain *candidates, size_t count, struct deps_gain *gains,
                      size_t most, size_t *found)
{
    static const struct deps_change half = {.kind = DEPS_SCALE, .factor = 0.5};
    const struct deps_change **by_name = replay->changes->by_name;
    uint64_t before;

    replay_run(replay, windows, lengths);
    before = sum(lengths, windows->count);
    for (size_t i = 0; i < count; i++) {
        uint64_t after;

        if (*found == most && candidates[i].gain < gains[most - 1].gain)
            break;
        by_name[candidates[i].name] = &half;
        replay_run(replay, windows, lengths);
        by_name[candidates[i].name] = NULL;
        after = sum(lengths, windows->count);
        candidates[i].gain = after < before ? before - after : 0;
        insert(gains, most, found, &candidates[i]);
    }
}

/* The names on the path, *count of them, greatest possible gain first: half of the name's time on
 * the path. For a call that waits, this time includes the return from the wait. */
static struct deps_gain *list_candidates(const struct deps_result *result, size_t *count)
{
    struct deps_gain *candidates = calloc(result->row_count + (size_t)1, sizeof *candidates);

    *count = 0;
    for (uint32_t name = 1; candidates && name < result->row_count; name++) {
        const struct deps_row *row = &result->rows[name];
        uint64_t on_path = row->critical + (row->waiting ? result->parts[DEPS_RETURN] : 0);

        if (on_path)
            candidates[(*count)++] = (struct deps_gain){
                .name = name, .critical = row->critical, .gain = on_path - on_path / 2};
    }
    if (candidates && *count)
        qsort(candidates, *count, sizeof *candidates, compare_gains);
    return candidates;
}

enum mp_status deps_top_gains(const struct deps *deps, const struct deps_windows *windows,
                              const struct deps_result *result, struct deps_gain *gains,
                              size_t most, size_t *found)
{
    struct deps_resolved resolved = {.by_name = NULL};
    struct deps_order order = {.points = NULL};
    struct replay replay = {.deps = deps, .order = &order, .changes = &resolved};
    uint64_t *lengths = calloc(windows->count + 1, sizeof *lengths);
    size_t count;
    struct deps_gain *candidates = list_candidates(result, &count);
    enum mp_status status = deps_resolve(deps, NULL, &resolved);

    *found = 0;
    if (!status)
        status = deps_order_new(deps, &order);
    if (!status)
        replay.moments = malloc((deps_point_count(deps) + (size_t)1) * sizeof *replay.moments);
    if (!replay.moments || !candidates || !lengths)
        status = MP_ERR_MEMORY;
    else if (most)
        try_names(&replay, windows, lengths, candidates, count, gains, most, found);
    free(replay.moments);
    free(candidates);
    free(lengths);
    deps_order_free(&order);
    deps_resolved_free(&resolved);
    return status;
}
