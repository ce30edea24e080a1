/* Kernels that were profiled for metrics, from the thread that launched them to the file.
 *
 *     profiling.c       an application thread puts each launch with its values here
 *     counter_rows.c    the writer appends the rows of `metric` and `metric_value`
 *     decode.c          the activity record of a profiled kernel has no times (CUDA 13.0, H100).
 * Its row takes the duration from the range profiler. Its end is the return of the launching call,
 * when all passes were over
 *
 * The counter `profiled_kernels` counts such rows, and reports say what it means. Memory is
 * bounded. `dropped_metrics` counts values that found no room. If a kernel's record comes so late
 * that its times are forgotten, the kernel has no times.
 */
#ifndef MP_RECORD_COUNTERS_PROFILED_H
#define MP_RECORD_COUNTERS_PROFILED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/data/map.h"
#include "record/counters/plan.h"

#define PROFILED_MAX_WAITING 65536u /* launches that the writer has not taken */
#define PROFILED_MAX_TIMES   65536u /* launches whose records may still come: a few seconds */

/* One profiled launch. */
struct profiled_launch {
    struct profiled_launch *next;
    const struct metric_plan *plan;
    uint64_t enter; /* begin of the launching call, ns; 0: a query, which only defines metrics */
    uint64_t leave;
    uint32_t correlation;
    uint32_t context; /* CUPTI's id */
    uint32_t stream;  /* CUPTI's id */
    uint32_t device;
    const char *kernel; /* after the values */
    double values[];    /* of plan->raw */
};

struct profiled_store {
    pthread_mutex_t lock;
    /* Under the lock. */
    struct profiled_launch *first, *last; /* on their way to the writer, oldest first */
    uint32_t waiting;                     /* how many */
    /* Any thread. */
    _Atomic uint64_t lost; /* launches without values: no memory, no room */
    /* The writer's. */
    struct profiled_launch *pending, *pending_last; /* indexed, but without rows yet */
    uint64_t *correlation;                          /* the largest id met, in 64 bits */
    struct mp_map index;                            /* correlation -> position in times */
    struct profiled_time *times; /* a ring of PROFILED_MAX_TIMES, NULL before the first */
    uint64_t time_count;         /* ever kept */
    struct plan_ids *plans;      /* plans that the file has, and their ids */
    size_t plan_count, plan_capacity;
    uint32_t metric_ids;  /* given in this file */
    uint64_t rows_filled; /* kernel rows with the profiler's times; decode.c counts them */
};

void profiled_open(struct profiled_store *store);

/* ---- Any thread ---- */

/* A launch with room for the values of the plan and a copy of the kernel's name; NULL when memory
 * is out. */
struct profiled_launch *profiled_new(const struct metric_plan *plan, const char *kernel);

/* Hands the launch to the writer, which owns it from here on. If too many wait, frees the launch
 * and counts it. */
void profiled_put(struct profiled_store *store, struct profiled_launch *launch);

/* ---- The writer ---- */

/* Takes what was put, so that profiled_times knows it. */
void profiled_collect(struct profiled_store *store);

/* The oldest launch that was taken; NULL at the end. It goes to profiled_append. */
struct profiled_launch *profiled_next(struct profiled_store *store);

enum profiled_answer {
    PROFILED_NOT,   /* the launch was not profiled, or too long ago */
    PROFILED_FIRST, /* *start and *end are set: both 0 when the profiler knows no duration */
    PROFILED_AGAIN  /* a second record of the launch: it is of the profiler's own work */
};

/* Begin and end of the kernel with this correlation id. */
enum profiled_answer profiled_times(struct profiled_store *store, uint64_t correlation,
                                    uint64_t *start, uint64_t *end);

/* The file was cut: it has no metrics. */
void profiled_restart(struct profiled_store *store);

void profiled_close(struct profiled_store *store);

#endif
