/* What-if, a graph that is replayed many times, and an event graph with the times of a replay, so
 * that every question can be asked about the run that was solved.
 */
#include "reports/replay/replay.h"

#include <stdlib.h>

#include "base/data/algorithms.h"
#include "reports/deps/lookup.h"
#include "reports/replay/solve.h"

#include "base/poison.h"

/* Of one process: in a job nobody knows what recording costs. */
static void take_recording(struct replay *replay)
{
    replay->kept = replay->changes->by_part[DEPS_RECORDING];
    replay->less = replay->kept ? &replay->deps->recording : NULL;
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
    if (!status) {
        take_recording(&replay);
        replay_run(&replay);
        status = replay_lengths(&replay, windows, lengths);
    }
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
    const struct replay replay = {.deps = replayer->deps,
                                  .order = &order,
                                  .changes = &resolved,
                                  .edits = edits,
                                  .less = replayer->less,
                                  .moments = replayer->moments};

    MP_TRY(deps_resolve(replayer->deps, NULL, &resolved));
    replayer->edits = edits;
    replay_run(&replay);
    deps_resolved_free(&resolved);
    return MP_OK;
}

static const struct deps_resolved unchanged = {.by_name = NULL};

struct replay replay_last(const struct deps_replayer *replayer)
{
    return (struct replay){.deps = replayer->deps,
                           .changes = &unchanged,
                           .edits = replayer->edits,
                           .less = replayer->less,
                           .moments = replayer->moments};
}

uint64_t deps_replayer_end(const struct deps_replayer *replayer, uint32_t activity)
{
    return replayer->moments[deps_end_point(replayer->deps, activity)];
}

uint64_t deps_replayer_host(const struct deps_replayer *replayer, uint32_t thread, uint64_t time,
                            bool ends)
{
    const struct replay replay = replay_last(replayer);

    return ends ? replay_end(&replay, thread, time) : replay_begin(&replay, thread, time);
}

void deps_replayer_windows(const struct deps_replayer *replayer, const struct deps_windows *windows,
                           struct deps_window *moved)
{
    const struct replay replay = replay_last(replayer);

    replay_windows(&replay, windows, moved);
}

/* ---- The times of a replay for the event graph ---- */

struct times {
    uint64_t begin;
    uint64_t end;
};

struct retiming {
    struct deps *deps;
    const struct replay *replay;
    struct times *activities; /* owned; the following too */
    struct times *stretches;
    uint64_t *woken; /* by wait */
};

static struct times times_of_work(const struct replay *replay, uint32_t index)
{
    const struct deps_activity *work = &replay->deps->activities[index];
    uint64_t length = replay_own_time(replay, index);
    struct times times = {.end = replay->moments[index]};

    if (work->overlapped != DEPS_NONE)
        times.begin = replay_inside_work(replay, work->overlapped, work->begin);
    else
        times.begin = times.end > length ? times.end - length : 0;
    return times;
}

/* What was in order stays so: others search in a lane by begin. */
static void keep_order(struct times *times, const struct times *before)
{
    if (before && times->begin < before->begin)
        times->begin = before->begin;
    if (times->end < times->begin)
        times->end = times->begin;
}

static void find_activities(struct retiming *retiming)
{
    const struct deps *deps = retiming->deps;
    struct times *times = retiming->activities;

    for (uint32_t i = 0; i < deps->lane_count; i++) {
        const struct deps_lane *lane = &deps->lanes[i];

        for (uint32_t at = lane->first; at < lane->first + lane->count; at++) {
            if (at < deps->host_count)
                times[at] = (struct times){retiming->replay->moments[at],
                                           retiming->replay->moments[deps->count + at]};
            else
                times[at] = times_of_work(retiming->replay, at);
            keep_order(&times[at], at > lane->first ? &times[at - 1] : NULL);
        }
    }
}

/* A wait that nobody known ended keeps its distance from its begin. */
static void find_wakes(struct retiming *retiming)
{
    const struct deps *deps = retiming->deps;

    for (uint32_t i = 0; i < deps->host_count; i++) {
        const struct deps_activity *wait = &deps->activities[i];

        if (wait->kind != DEPS_WAIT)
            continue;
        uint64_t woken = deps_wait_of(deps, wait)->woken;
        if (wait->bound == DEPS_WOKEN)
            woken = replay_wake_moment(retiming->replay, i);
        else if (woken)
            woken += retiming->activities[i].begin - wait->begin;
        retiming->woken[wait->wait] = woken;
    }
}

static void find_stretches(struct retiming *retiming)
{
    const struct deps *deps = retiming->deps;

    for (size_t i = 0; i < deps->stretch_count; i++) {
        const struct deps_stretch *stretch = &deps->stretches[i];
        struct times *times = &retiming->stretches[i];

        times->begin = replay_begin(retiming->replay, stretch->lane, stretch->begin);
        times->end = replay_end(retiming->replay, stretch->lane, stretch->end);
        keep_order(times, i && deps->stretches[i - 1].lane == stretch->lane ? times - 1 : NULL);
    }
}

static enum mp_status find_times(struct retiming *retiming)
{
    const struct deps *deps = retiming->deps;

    retiming->activities = calloc((size_t)deps->count + 1, sizeof *retiming->activities);
    retiming->stretches = calloc(deps->stretch_count + 1, sizeof *retiming->stretches);
    retiming->woken = calloc(deps->wait_count + 1, sizeof *retiming->woken);
    if (!retiming->activities || !retiming->stretches || !retiming->woken)
        return MP_ERR_MEMORY;
    find_activities(retiming);
    find_wakes(retiming);
    find_stretches(retiming);
    return MP_OK;
}

static void set_times(struct retiming *retiming)
{
    struct deps *deps = retiming->deps;

    for (uint32_t i = 0; i < deps->count; i++) {
        deps->activities[i].begin = retiming->activities[i].begin;
        deps->activities[i].end = retiming->activities[i].end;
    }
    for (size_t i = 0; i < deps->wait_count; i++)
        deps->waits[i].woken = retiming->woken[i];
    for (size_t i = 0; i < deps->stretch_count; i++) {
        deps->stretches[i].begin = retiming->stretches[i].begin;
        deps->stretches[i].end = retiming->stretches[i].end;
    }
}

/* Of several activities that one waits for, another may be the last one now. */
static void choose_last(struct deps *deps)
{
    for (size_t i = 0; i < deps->fronts->count; i++) {
        struct deps_front *front = &deps->fronts->items[i];
        uint32_t left = deps_best(deps, front->left);
        uint32_t right = deps_best(deps, front->right);

        front->best = left == right || deps_ends_later(deps, left, right) ? left : right;
    }
    for (uint32_t i = 0; i < deps->count; i++) {
        struct deps_activity *activity = &deps->activities[i];

        if (activity->front == DEPS_NONE || activity->flags & DEPS_POLLS)
            continue;
        uint32_t best = deps_best(deps, activity->front);
        if (!deps_is_call(activity) && activity->flags & DEPS_NOT_ROOT &&
            deps->activities[best].lane == activity->lane)
            activity->own_lane = best;
        else if (!deps_is_call(activity))
            activity->other_lane = best;
        else
            activity->awaited = best;
    }
}

/* Notes the begins that were recorded, once. */
static enum mp_status keep_recorded(struct deps *deps)
{
    if (deps->recorded)
        return MP_OK;
    deps->recorded = calloc((size_t)deps->count + 1, sizeof *deps->recorded);
    if (!deps->recorded)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < deps->count; i++)
        deps->recorded[i] = deps->activities[i].begin;
    return MP_OK;
}

enum mp_status deps_retime(struct deps *deps, const struct deps_replayer *replayer)
{
    const struct replay replay = replay_last(replayer);
    struct retiming retiming = {.deps = deps, .replay = &replay};
    enum mp_status status = find_times(&retiming);

    if (!status)
        status = keep_recorded(deps);
    if (!status) {
        set_times(&retiming);
        choose_last(deps);
        status = deps_bind(deps);
    }
    free(retiming.activities);
    free(retiming.stretches);
    free(retiming.woken);
    return status;
}
