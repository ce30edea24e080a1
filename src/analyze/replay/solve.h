/* The recorded run as equations, one for each point of the event graph; inside the family. */
#ifndef MP_ANALYZE_REPLAY_SOLVE_H
#define MP_ANALYZE_REPLAY_SOLVE_H

#include "analyze/deps/order.h"
#include "analyze/replay/changes.h"
#include "analyze/replay/replay.h"

struct replay {
    const struct deps *deps;
    const struct deps_order *order;
    const struct deps_resolved *changes;
    const struct deps_edits *edits; /* NULL: none */
    const struct deps_less *less;   /* NULL: none */
    uint64_t *moments; /* by point: work's ends, calls' begins and ends, fronts: in the new run */
};

/* Solves all points in their order; then the functions below answer. */
void replay_run(const struct replay *replay);

/* The last run of a replayer, to ask about. */
struct replay replay_last(const struct deps_replayer *replayer);

/* Where a window that begins, or ends, at `time` on a thread does so in the new run. */
uint64_t replay_begin(const struct replay *replay, uint32_t thread, uint64_t time);
uint64_t replay_end(const struct replay *replay, uint32_t thread, uint64_t time);

/* A moment inside device work, in the new run: at the same place of the work's own time. */
uint64_t replay_inside_work(const struct replay *replay, uint32_t index, uint64_t time);

/* The time of work in which it runs alone, before changes. */
uint64_t replay_own_time(const struct replay *replay, uint32_t index);

/* When a wait is woken in the new run. */
uint64_t replay_wake_moment(const struct replay *replay, uint32_t index);

/* Moves a window to where it lies in the new run. */
void replay_window(const struct replay *replay, struct deps_window *window);

/* How long it is there, ns. */
static inline uint64_t replay_length(const struct replay *replay, struct deps_window window)
{
    replay_window(replay, &window);
    return window.end - window.begin;
}

#endif
