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

/* When a reference has ended in the new run. */
uint64_t replay_moment_of(const struct replay *replay, uint32_t reference);

/* The place of the window with this id, whose ids are in order; `count`: it is not among them. */
size_t replay_find_window(const struct deps_window *items, size_t count, uint64_t id);

/* What the windows of the solved run consist of: adds the time of each name on their critical
 * paths, ns, to by_name[names + 1]. A wait's return is its own. O(path + work). MP_ERR_MEMORY. */
enum mp_status replay_paths(const struct replay *replay, const struct deps_windows *windows,
                            uint64_t *by_name);

/* ---- What made a moment as late as it is ---- */

struct replay_begin {
    uint64_t moment;
    uint32_t on; /* a reference: work, a front, or part of a call; DEPS_NONE: see each function */
};

/* When device work begins, or begins to run alone. On a piece: that launched it; DEPS_NONE: on
 * nothing that is known. */
struct replay_begin replay_begin_of_work(const struct replay *replay, uint32_t index);

/* When a call or wait has all that it waits for. On a piece: what its waker did; DEPS_NONE: on its
 * own begin. */
struct replay_begin replay_begin_of_own(const struct replay *replay, uint32_t index);

/* replay_end, and the last call before that time; DEPS_NONE: there is none. */
struct replay_begin replay_host_end(const struct replay *replay, uint32_t thread, uint64_t time);

/* The last end of the window's work; *recorded is that of the recorded run. 0: it has no work. */
struct replay_begin replay_last_end(const struct replay *replay, const struct deps_window *window,
                                    uint64_t *recorded);

/* The last end of the window's calls on threads that take part, cut where the window ends. */
struct replay_begin replay_last_return(const struct replay *replay,
                                       const struct deps_window *window);

/* ---- All of it ---- */

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
