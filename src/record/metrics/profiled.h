/* Kernels that were profiled for metrics, from the thread that launched them to the file.
 *
 *     profiling.c       an application thread puts each launch with its values here
 *     profiled_rows.c   the writer appends the rows of `metric` and `metric_value`
 *     decode.c          the kernel's activity record comes without times while a kernel is
 *                       profiled (CUDA 13.0, H100): its row takes the duration that the profiler
 *                       measured, and ends when the launching call returned, which is when all
 *                       passes were over
 *
 * The number of such rows is the counter `profiled_kernels`, and reports say what it means. What is
 * kept is bounded, and what finds no room is counted: values in `dropped_metrics`, and a kernel
 * that comes so late that its times are forgotten is one without times.
 */
#ifndef MP_RECORD_METRICS_PROFILED_H
#define MP_RECORD_METRICS_PROFILED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"
#include "record/metrics/plan.h"

#define PROFILED_MOST_WAITING 65536u /* launches that the writer has not taken */
#define PROFILED_MOST_TIMES   65536u /* launches whose activity records may still come: seconds */

struct decoder;

/* One profiled launch. */
struct profiled_launch {
    struct profiled_launch *next;
    const struct metric_plan *plan;
    uint64_t enter; /* ns: of the launching call; 0: of a query, which only defines metrics */
    uint64_t leave;
    uint32_t correlation;
    uint32_t context; /* CUPTI's id */
    uint32_t stream;  /* CUPTI's id */
    uint32_t device;
    const char *kernel; /* behind the values */
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
    struct profiled_launch *pending, *pending_last; /* indexed, their rows not written */
    struct decoder *decoder;                        /* which knows correlation ids in 64 bits */
    struct mp_map index;                            /* correlation -> position in times */
    struct profiled_time *times; /* a ring of PROFILED_MOST_TIMES, NULL before the first */
    uint64_t time_count;         /* ever kept */
    struct plan_ids *plans;      /* those that the file has, and their ids */
    size_t plan_count, plan_capacity;
    uint32_t metric_ids;  /* given in this file */
    uint64_t rows_filled; /* kernel rows with times of the profiler: counted in decode.c */
};

void profiled_open(struct profiled_store *store);

/* ---- Any thread ---- */

/* A launch with room for the values of the plan and a copy of the kernel's name; NULL when memory
 * is out. */
struct profiled_launch *profiled_new(const struct metric_plan *plan, const char *kernel);

/* Hands it to the writer, which owns it from here on; frees it and counts it when too many wait. */
void profiled_put(struct profiled_store *store, struct profiled_launch *launch);

/* ---- The writer ---- */

/* Takes what was put, so that profiled_times knows it. */
void profiled_collect(struct profiled_store *store);

/* The oldest launch that was taken; NULL at the end. It goes to profiled_append. */
struct profiled_launch *profiled_next(struct profiled_store *store);

enum profiled_answer {
    PROFILED_NOT,   /* the launch was not profiled, or long ago */
    PROFILED_FIRST, /* *start and *end are set: both 0 when the profiler knows no duration */
    PROFILED_AGAIN  /* its record has come before: this one is of the profiler's own work */
};

/* Begin and end of the kernel with this correlation id. */
enum profiled_answer profiled_times(struct profiled_store *store, uint64_t correlation,
                                    uint64_t *start, uint64_t *end);

/* The file was cut: it has no metrics. */
void profiled_restart(struct profiled_store *store);

void profiled_close(struct profiled_store *store);

#endif
