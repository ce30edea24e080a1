/* Memory that the program allocated and freed, by kind of memory and device: the rows of table
 * `memory` added up. For more detail see memory.h. */
#ifndef MP_REPORTS_MEMORY_ALLOCATIONS_H
#define MP_REPORTS_MEMORY_ALLOCATIONS_H

#include <miniprof/trace.h>

#include "base/status.h"
#include "profile/definitions.h"
#include "profile/quality.h"
#include "reports/memory/replay.h"

struct allocations_options {
    uint64_t range; /* id of a capture range: what happens in it; 0: everything */
};

struct allocations_row {
    uint64_t kind;    /* of the enumeration memory_kind */
    uint64_t device;  /* ordinal; UINT64_MAX for memory of the host */
    const char *name; /* of the device; NULL: unknown; owned by the definitions */
    uint64_t allocations;
    uint64_t frees;
    uint64_t bytes; /* allocated, added up */
    uint64_t peak; /* greatest number of bytes allocated at the same time, counting only allocations
                      in the trace */
    uint64_t peak_time; /* ns, when it was first reached; 0: nothing was allocated */
    uint64_t kept;      /* bytes allocated and not freed */
    uint64_t
        unknown; /* frees of memory whose allocation is not in the trace; not counted in `peak` */
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

/* ---- For code that replays the events for other purposes too ---- */

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
