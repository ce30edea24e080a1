/* How iterations are found; for iterations*.c only.
 *
 *     iterations.c          which way is taken; capture ranges; the whole trace
 *     nvtx.c     the name of NVTX ranges that are iterations
 *     graph.c    launches of one CUDA graph
 *     kernels.c  a sequence of kernels that repeats
 *     assign.c   what belongs to which
 *     measure.c  times and counts; idle.c: idle time by cause
 *     sum_up.c   statistics
 */
#ifndef MP_ANALYZE_ITERATIONS_BUILD_H
#define MP_ANALYZE_ITERATIONS_BUILD_H

#include "analyze/deps/deps.h"
#include "analyze/iterations/iterations.h"

struct iterations_finder {
    const struct deps *deps;
    struct mp_trace *trace;
    const struct iterations_options *options;
    const struct capture_range *only; /* options->range; NULL: all of the trace */
    struct iterations *result;
    size_t capacity; /* of result->items */
    struct mp_error *error;
    char none[ITERATIONS_WHY_BYTES]; /* why a way found nothing */
};

/* Appends an iteration. MP_ERR_MEMORY. */
enum mp_status iterations_add(struct iterations_finder *finder, uint64_t begin, uint64_t host_end,
                              uint32_t thread);

/* The ways. MP_OK without iterations: the way found none, and finder->none says why. Fewer than
 * `least` iterations count as none. */
enum mp_status iterations_by_nvtx(struct iterations_finder *finder, size_t least);
enum mp_status iterations_by_graph(struct iterations_finder *finder, size_t least);
enum mp_status iterations_by_kernels(struct iterations_finder *finder);

/* Notes for every call what it launched. MP_ERR_MEMORY. */
enum mp_status iterations_note_launches(const struct deps *deps, struct iterations *result);

/* Assigns every call and activity to one of result->items, which are in order, and fills in what
 * follows from that for the items. MP_ERR_MEMORY. */
enum mp_status iterations_assign(struct iterations_finder *finder);

/* ---- What several of the files need to know ---- */

/* Host lane of the call that launched it; DEPS_NONE: not in the trace. */
static inline uint32_t iterations_thread(const struct deps *deps, const struct deps_activity *work)
{
    return work->launch == DEPS_NONE ? DEPS_NONE : deps->activities[work->launch].lane;
}

/* The end of a call. */
static inline uint64_t iterations_call_end(const struct deps *deps, uint32_t call)
{
    return deps->activities[deps->activities[call].stream_pred].end;
}

/* Where an iteration begins whose first work is this one: at the launching call, or at the copies
 * to the device and sets that are launched right before it. Not before `floor`. */
uint64_t iterations_begin(const struct iterations_finder *finder, const struct deps_activity *work,
                          uint64_t floor);

/* Whether the work is in the capture range that was asked for. */
static inline bool iterations_wanted(const struct iterations_finder *finder,
                                     const struct deps_activity *work)
{
    return !finder->only || range_has_work(finder->only, work->correlation, work->begin);
}

/* The first piece of a lane that may reach beyond `time`: its index, or the lane's end. */
static inline uint32_t iterations_piece_at(const struct deps *deps, const struct deps_lane *lane,
                                           uint64_t time)
{
    uint32_t at = deps_first_from(deps, lane, time);

    return at > lane->first ? at - 1 : at;
}

/* Whether a copy is one of a kind; other activities are none. */
static inline bool iterations_is_copy(const struct deps *deps, const struct deps_activity *work,
                                      unsigned kind)
{
    return work->kind == DEPS_COPY && deps->copies[work->detail].kind == kind;
}

/* ---- Idle time, idle.c ---- */

struct iterations_idle {
    const struct deps *deps;
    const struct iterations *iterations;
    uint8_t *copy_names; /* by name: a copy call that waits by contract; owned */
};

/* MP_ERR_MEMORY; iterations_idle_free in any case. */
enum mp_status iterations_idle_init(struct iterations_idle *idle, const struct deps *deps,
                                    const struct iterations *iterations);
void iterations_idle_free(struct iterations_idle *idle);

/* A time from `begin` to `end` in which nothing runs. */
struct iterations_gap {
    uint64_t begin;
    uint64_t end;
    const struct deps_activity *before; /* the work that ended there; NULL: the iteration begins */
    const struct deps_activity *next;   /* that begins there; NULL: the iteration ends */
};

/* Adds the time of an idle gap to its causes in `values`. */
void iterations_idle_split(const struct iterations_idle *idle, const struct iteration *iteration,
                           const struct iterations_gap *gap, uint64_t *values);

#endif
