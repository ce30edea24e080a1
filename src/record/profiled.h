/* Kernels that were profiled for metrics, from the thread that launched them to the file.
 *
 *     profiling.c   an application thread puts each launch with the values of its metrics here
 *     recording.c   the writer appends the rows of `metric` and `metric_value`
 *     decode.c      the kernel's activity record comes without times while a kernel is profiled
 *                   (CUDA 13.0, H100): its row takes the duration that the profiler measured, and
 *                   ends when the launching call returned, which is when all passes were over
 *
 * The number of such rows is the counter `profiled_kernels`, and reports say what it means.
 */
#ifndef MP_RECORD_PROFILED_H
#define MP_RECORD_PROFILED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "record/metric_plan.h"

struct recording;

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
    /* The writer's. */
    struct profiled_launch *pending, *pending_last; /* indexed, their rows not written */
    struct mp_map index;                            /* correlation -> position in times */
    struct profiled_time *times;
    size_t time_count, time_capacity;
    struct plan_ids *plans; /* those that the file has, and their ids */
    size_t plan_count, plan_capacity;
    uint32_t metric_ids;  /* given in this file */
    uint64_t rows_filled; /* kernel rows with times of the profiler: counted in decode.c */
};

void profiled_open(struct profiled_store *store);

/* ---- Any thread ---- */

/* A launch with room for the values of the plan and a copy of the kernel's name; NULL when memory
 * is out. */
struct profiled_launch *profiled_new(const struct metric_plan *plan, const char *kernel);

/* Hands it to the writer, which owns it from here on. */
void profiled_put(struct profiled_store *store, struct profiled_launch *launch);

/* ---- The writer ---- */

/* Takes what was put, so that profiled_times knows it. */
void profiled_collect(struct profiled_store *store);

/* The oldest launch that was taken; NULL at the end. It goes to profiled_append. */
struct profiled_launch *profiled_next(struct profiled_store *store);

/* Appends the rows of a launch if it is kept, and frees it. */
void profiled_append(struct profiled_store *store, struct recording *recording,
                     struct profiled_launch *launch);

/* The metrics of a plan as rows, once for each file; answers the id of the first, 0 for none. */
uint32_t profiled_define(struct profiled_store *store, struct recording *recording,
                         const struct metric_plan *plan);

/* Begin and end of a kernel whose record has none; false for one that was not profiled. Each is
 * answered once: further records of the same launch are the profiler's own work. */
bool profiled_times(struct profiled_store *store, uint32_t correlation, uint64_t *start,
                    uint64_t *end);

/* The file was cut: it has no metrics. */
void profiled_restart(struct profiled_store *store);

void profiled_close(struct profiled_store *store);

#endif
