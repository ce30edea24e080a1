/* By how much kernel times add up beyond the time in which kernels run.
 *
 *     stream 7   |====1====|                 total    durations added up: 10 + 10 + 8 = 28
 *                     |====2====|            streams  15 of stream 7, 8 of stream 8: 23
 *     stream 8      |===3====|               busy     a kernel runs on the device: 15
 *
 * Kernels of one stream overlap with programmatic dependent launch and in branches of a CUDA graph:
 * total - streams. Kernels of several streams: streams - busy.
 *
 * The sums are made in order of begin, which is mostly that of the rows in a file. Where they do
 * not, they wait until no earlier one can come: the chunk headers say when the later chunks begin.
 * Memory is 24 bytes for each row that waits, 16 bytes a stream, and 8 bytes a chunk.
 */
#ifndef MP_PROFILE_COMMON_KERNEL_TIME_H
#define MP_PROFILE_COMMON_KERNEL_TIME_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "profile/common/tally.h"
#include "profile/definitions.h"
#include "profile/dense.h"
#include "profile/ranges.h"

/* All times in ns; they stop at UINT64_MAX. */
struct kernel_time {
    uint64_t total;   /* durations added up */
    uint64_t streams; /* in which a stream runs a kernel, added up over the streams */
    uint64_t busy;    /* in which a device runs a kernel, added up over the devices */
    uint64_t devices; /* that ran kernels */
    bool known;       /* false: nothing was looked at, or the file's order is forged */
};

struct kernel_time_pass {
    const struct definitions *definitions; /* of streams; not owned */
    struct kernel_time sums;
    struct summary_slots slots;
    uint64_t ends[SUMMARY_MAX_DEVICES]; /* by slot: the device is busy up to here at least */
    struct dense lanes;                 /* by the id of the stream */
    uint64_t *reached; /* by place of a chunk: from it on, none begins earlier; owned */
    size_t chunk_count, chunk_capacity, chunk;
    uint64_t summed;                /* no row that begins earlier may come */
    struct kernel_waiting *waiting; /* rows; owned */
    size_t count, capacity;
    size_t due;      /* how many are looked at */
    uint32_t *order; /* for sorting; owned */
    size_t order_capacity;
};

/* Sets up; allocates nothing. Ids of streams stay below `limit`. */
void kernel_time_begin(struct kernel_time_pass *pass, const struct definitions *definitions,
                       size_t limit);

void kernel_time_free(struct kernel_time_pass *pass);

/* Reads the headers of the chunks of kernels, for kernel_time_take. MP_ERR_IO, MP_ERR_MEMORY. */
enum mp_status kernel_time_expect(struct kernel_time_pass *pass, struct mp_trace *trace,
                                  struct mp_error *error);

/* What kernel_time_take needs of the table kernel. */
uint32_t kernel_time_columns(const struct capture_range *range);

/* Takes a batch of the table kernel, in the order of the file; with a range, what belongs to it.
 * Rows without a begin, and those that end before they begin, are left out. MP_ERR_MEMORY. */
enum mp_status kernel_time_take(struct kernel_time_pass *pass, const struct mp_batch *batch,
                                const struct capture_range *range);

/* Adds one kernel. They come in order of begin, or nothing is known. MP_ERR_MEMORY. */
enum mp_status kernel_time_next(struct kernel_time_pass *pass, uint64_t stream, uint64_t begin,
                                uint64_t duration);

/* Sums up what is left; pass->sums is then complete. MP_ERR_MEMORY. */
enum mp_status kernel_time_end(struct kernel_time_pass *pass);

/* Adds those of another process, whose devices count as others; known if both are. */
void kernel_time_merge(struct kernel_time *into, const struct kernel_time *from);

#endif
