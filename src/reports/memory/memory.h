/* Where memory goes: the greatest amount that was allocated at the same time on each device and in
 * each pool, and what it consisted of; what was not freed; and what repeated allocating and freeing
 * costs (docs/memory.md defines every number).
 *
 * Pinned and pageable memory is the host's; all other memory is the device's. Variables of modules
 * (`device_static`, `managed_static`) cannot be freed by the program. They count in peaks, but
 * neither as not freed nor as churn.
 */
#ifndef MP_REPORTS_MEMORY_MEMORY_H
#define MP_REPORTS_MEMORY_MEMORY_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "profile/common/statistics.h"
#include "profile/definitions.h"
#include "profile/quality.h"
#include "reports/memory/events.h"

struct nvtx_ranges; /* profile/nvtx/ranges.h */

struct memory_options {
    uint64_t range;        /* id of a capture range: what happens in it; 0: everything */
    const char *iteration; /* only churn inside the NVTX ranges of this name; NULL: all churn */
    const struct nvtx_ranges *ranges; /* of the iterations, by begin, instead; NULL: by name */
    size_t top;                       /* rows of each list */
};

/* Where in the program; texts are the definitions'. */
struct memory_source {
    const char *function; /* with its version suffix; NULL: unknown */
    const char *domain;   /* of the NVTX range; NULL: the default one, or no range */
    const char *range;    /* innermost NVTX range of the calling thread, `<unnamed>`; NULL: none */
};

/* What was allocated in a device or pool. */
struct memory_totals {
    uint64_t allocations;
    uint64_t frees;     /* of allocations that lay there, as far as known */
    uint64_t unknown;   /* of these, frees of memory allocated before the recording */
    uint64_t bytes;     /* allocated, added up */
    uint64_t live;      /* bytes allocated and not freed, at the end */
    uint64_t peak;      /* greatest number of these */
    uint64_t peak_time; /* ns, when it was first reached; 0: never allocated */
};

/* An allocation that was alive at a peak. */
struct memory_alive {
    uint64_t address;
    uint64_t bytes;
    uint64_t time;        /* ns, of its allocation */
    uint64_t correlation; /* of the call; 0: unknown */
    uint64_t kind;        /* enum mp_memory_kind */
    uint64_t thread;      /* the trace's number; 0: unknown */
    struct memory_source source;
};

/* A device; the host is the last one. */
struct memory_device {
    uint64_t device;  /* ordinal, MEMORY_HOST */
    const char *name; /* NULL: unknown */
    struct memory_totals totals;
    uint32_t peak_event;        /* MEMORY_NONE */
    uint64_t alive_count;       /* allocations at the peak */
    struct memory_alive *alive; /* the largest of them, largest first; owned */
    size_t alive_shown;
};

/* A pool and what lay in it, in the order in which they appeared. */
struct memory_pool_row {
    const struct memory_pool *pool; /* of the events */
    struct memory_totals totals;
};

/* Allocations of one size from one place that were not freed. */
struct memory_kept {
    struct memory_source source;
    uint64_t size;  /* bytes of each */
    uint64_t count; /* allocations */
    uint64_t bytes; /* size * count */
};

/* What one place in the program allocated, and what became of it; times in ns. */
struct memory_churn {
    struct memory_source source; /* of the allocations; of the sum of all: nothing */
    uint64_t allocations;
    uint64_t frees;       /* frees of memory allocated there, whoever freed it */
    uint64_t bytes;       /* allocated, added up */
    uint64_t freed_bytes; /* given back, as far as known */
    uint64_t pairs;  /* allocations of this place that were freed; with `iteration`, freed in the
                        iteration in which they were made */
    double lifetime; /* of these pairs, added up */
    uint64_t allocate_ns; /* in calls that allocated */
    uint64_t free_ns;     /* in calls that freed */
};

/* Statistics over all iterations, including those without allocations. */
struct memory_iterations {
    size_t count;
    size_t unfinished;             /* ranges without begin or end in the trace: left out */
    size_t busy;                   /* iterations with an allocation or a release */
    struct statistics allocations; /* counts */
    struct statistics frees;       /* counts */
    struct statistics bytes;       /* allocated */
    struct statistics freed_bytes;
    struct statistics call_ns; /* in calls that allocate or free */
};

struct memory {
    struct definitions definitions;
    struct quality quality;
    size_t capture_ranges;
    struct memory_events events;
    struct allocations_row *kinds; /* by device, then by kind */
    size_t kind_count;
    struct memory_device *devices;
    size_t device_count;
    struct memory_pool_row *pools;
    size_t pool_count;
    struct memory_kept *kept; /* the most bytes first, at most `top` */
    size_t kept_shown, kept_groups;
    uint64_t kept_count; /* allocations not freed */
    uint64_t kept_bytes;
    struct memory_churn churn;    /* of all places */
    struct memory_churn *sources; /* the most time in calls first, at most `top` */
    size_t source_shown, source_count;
    const char *iteration; /* of the options */
    bool by_way;           /* it is no NVTX range, but how iterations were found */
    struct memory_iterations iterations;
};

/* Reads the trace twice (definitions, then rows), with `iteration` three times. O(n log n) for n
 * rows of `memory`; memory as events.h and replay.h say. MP_ERR_ARGUMENT: no such
 * capture range, or no NVTX range of that name (the message lists some); MP_ERR_IO, MP_ERR_MEMORY,
 * MP_ERR_LIMIT; the result is then empty. On success memory_free gives it back. */
enum mp_status memory_build(struct mp_trace *trace, const struct memory_options *options,
                            struct memory *memory, struct mp_error *error);

void memory_free(struct memory *memory);

/* Where a site is, in words. */
struct memory_source memory_source_of(const struct memory *memory, const struct memory_site *site);

/* Whether the program can free memory of this kind. */
bool memory_can_be_freed(uint64_t kind);

/* ---- The time line ---- */

/* Bytes of a device, or of a pool, at a moment or during a step. */
struct memory_point {
    uint64_t time; /* ns of the recorder's clock */
    uint64_t device;
    const struct memory_pool *pool; /* NULL: all of the device */
    uint64_t kind;                  /* of the one change; not for steps */
    int64_t change;                 /* bytes; not for steps */
    uint64_t live;                  /* bytes, after the change or at the end of the step */
    uint64_t pool_live;             /* bytes in the pool after the change; not for steps */
    uint64_t min;                   /* during the step */
    uint64_t max;
};

typedef void memory_take_point(void *context, const struct memory_point *point);

/* Passes a point for each change to the callback, in order of time. MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status memory_each_change(const struct memory *memory, memory_take_point *take,
                                  void *context);

/* Cuts the time from the first to the last change into `steps` equal steps, and passes a point for
 * each step and device, and for each step and pool. MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status memory_each_step(const struct memory *memory, uint64_t steps,
                                memory_take_point *take, void *context);

/* ---- Between the files ---- */

/* In the order of their names; as strcmp. */
int memory_compare_sources(const struct memory_source *a, const struct memory_source *b);

/* Churn; with `options->iteration`, that of the iterations. */
enum mp_status memory_add_churn(struct memory *memory, struct mp_trace *trace,
                                const struct memory_options *options,
                                const struct capture_range *range, struct mp_error *error);

/* ---- Allocations by kind of memory and device: the counts that nvprof has ---- */

struct allocations_options {
    uint64_t range; /* id of a capture range: what happens in it; 0: everything */
};

struct allocations_row {
    uint64_t kind;    /* of the enumeration memory_kind */
    uint64_t device;  /* ordinal; UINT64_MAX for memory of the host */
    const char *name; /* of the device; NULL: unknown; owned by the definitions */
    uint64_t allocations;
    uint64_t frees;
    uint64_t bytes;     /* allocated, added up */
    uint64_t peak;      /* max bytes allocated at the same time, by allocations in the trace */
    uint64_t peak_time; /* ns, when it was first reached; 0: nothing was allocated */
    uint64_t kept;      /* bytes allocated and not freed */
    uint64_t unknown;   /* frees without their allocation in the trace; not counted in `peak` */
};

struct allocations {
    struct allocations_row *rows; /* by device, the host last, then by kind */
    size_t row_count;
    size_t capture_ranges;
    struct quality quality;
    struct definitions definitions;
};

/* Reads the trace once; memory goes with the rows of `memory` (events.h). MP_ERR_ARGUMENT
 * when there is no such capture range, MP_ERR_IO, MP_ERR_MEMORY, MP_ERR_LIMIT; the result is then
 * empty. On success allocations_free gives it back. */
enum mp_status allocations_build(struct mp_trace *trace, const struct allocations_options *options,
                                 struct allocations *allocations, struct mp_error *error);

void allocations_free(struct allocations *allocations);

/* For code that replays the events for other purposes too. */
struct allocations_counting {
    const struct memory_events *events;
    struct allocations_row *rows; /* owned until allocations_counting_end gives them away */
    size_t row_count, row_capacity;
    uint32_t *row_of; /* by place; owned */
};

/* Makes a row for each kind and device that occurs. MP_ERR_MEMORY; to be ended in any case. */
enum mp_status allocations_counting_begin(struct allocations_counting *counting,
                                          const struct memory_events *events,
                                          const struct definitions *definitions);

/* Counts a change in. */
void allocations_count(struct allocations_counting *counting, const struct memory_change *change);

/* The rows in their order, *count of them, which the caller frees. The struct is then empty. */
struct allocations_row *allocations_counting_end(struct allocations_counting *counting,
                                                 size_t *count);

#endif
