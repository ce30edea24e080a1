/* What ran at the same time on each device: copies, kernels, communication, by device and stream.
 * docs/kernels.md defines every number.
 */
#ifndef MP_REPORTS_OVERLAP_OVERLAP_H
#define MP_REPORTS_OVERLAP_OVERLAP_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/status.h"
#include "profile/common/kernel_time.h"
#include "profile/definitions.h"
#include "profile/quality.h"
#include "reports/overlap/sweep.h"

struct overlap_options {
    uint64_t range; /* id of a capture range: what was launched in it; 0: everything */
};

struct overlap_stream {
    uint64_t stream;     /* CUPTI's id */
    uint64_t context;    /* CUPTI's id */
    bool defined;        /* the two */
    uint64_t calls;      /* activities */
    uint64_t busy;       /* ns in which any activity of the stream runs */
    uint64_t overlapped; /* of these, ns in which another stream of the device runs something */
    double share;        /* percent of the busy times of all streams of the device, added up */
};

struct overlap_device {
    uint64_t device;  /* ordinal; UINT64_MAX: the trace does not say */
    const char *name; /* NULL: unknown; owned by the definitions */
    struct overlap_times times;
    uint64_t busy;                  /* ns in which anything runs */
    uint64_t idle;                  /* the rest of the window */
    struct overlap_stream *streams; /* by busy time, greatest first, then by context and stream */
    size_t stream_count;
    uint64_t *unused; /* CUPTI's ids of streams that the program made and that ran nothing */
    size_t unused_count;
};

struct overlap {
    struct overlap_device *devices; /* by ordinal; those on which anything ran */
    size_t device_count;
    /* ns from the first begin of an activity to the last end, on any device, for each capture
     * range. Time in several ranges counts once. */
    uint64_t window;
    size_t windows;             /* capture ranges with activities, or 1 */
    struct kernel_time kernels; /* OVERLAP_KERNEL, and NCCL's kernels */
    uint64_t graph_launches;    /* recorded as wholes, counted as kernels */
    uint64_t
        migrations; /* rows of unified memory: they are on no stream, so they are not counted */
    bool recorded;  /* work of the GPUs was to be recorded */
    size_t capture_ranges;
    struct quality quality;
    struct definitions definitions;
};

/* ns in which all activities of the set `all` run, none of the set `none`, and at least one of
 * `any` (unless `any` is empty). Sets are bits of enum overlap_activity. */
uint64_t overlap_time(const struct overlap_times *times, unsigned all, unsigned any, unsigned none);

/* Copies that are neither kernels nor communication. */
#define OVERLAP_COPIES (1u << OVERLAP_HTOD | 1u << OVERLAP_DTOH | 1u << OVERLAP_COPY)

/* Mean number of kernels at the same time, over the time in which at least one runs; 0 without
 * kernels. */
double overlap_mean_kernels(const struct overlap_times *times);

/* Reads the definitions, then the activities in order of time. Memory depends on the chunks that
 * overlap in time (profile/merge.h) and on the streams, not on the rows. MP_ERR_ARGUMENT when
 * there is no such capture range, MP_ERR_IO, MP_ERR_MEMORY; the result is then empty. On success
 * overlap_free gives it back. */
enum mp_status overlap_build(struct mp_trace *trace, const struct overlap_options *options,
                             struct overlap *overlap, struct mp_error *error);

void overlap_free(struct overlap *overlap);

#endif
