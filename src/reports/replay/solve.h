/* The recorded run as equations, one for each point of the event graph; inside the family. */
#ifndef MP_REPORTS_REPLAY_SOLVE_H
#define MP_REPORTS_REPLAY_SOLVE_H

#include "reports/deps/deps.h"
#include "reports/deps/lookup.h"
#include "reports/replay/replay.h"

struct replay {
    const struct deps *deps;
    const struct deps_order *order;
    const struct deps_resolved *changes;
    const struct deps_edits *edits; /* NULL: none */
    const struct deps_less *less;   /* what is gone; NULL: nothing */
    const struct deps_change *kept; /* and what becomes of it; NULL: nothing remains */
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

/* Where windows lie in the new run, into moved[windows->count], which may be windows->items. */
void replay_windows(const struct replay *replay, const struct deps_windows *windows,
                    struct deps_window *moved);

/* How long they are there, ns, into lengths[windows->count]. MP_ERR_MEMORY. */
enum mp_status replay_lengths(const struct replay *replay, const struct deps_windows *windows,
                              uint64_t *lengths);

/* ---- Changes, looked up by what they change ---- */

struct deps_resolved {
    const struct deps_change **by_name; /* NULL: as recorded; owned */
    const struct deps_change **by_part; /* by process, then part; NULL: as recorded; owned */
};

/* The last change of each name and part. MP_ERR_MEMORY. deps_resolved_free gives it back. */
enum mp_status deps_resolve(const struct deps *deps, const struct deps_changes *changes,
                            struct deps_resolved *resolved);
void deps_resolved_free(struct deps_resolved *resolved);

#endif
