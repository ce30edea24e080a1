/* What ran at the same time on each device: copies, kernels, communication, by device and stream.
 * docs/kernels.md defines every number.
 *
 * It is found by a sweep over the activities of a device in order of begin:
 *
 *     kernel   |=====1=====|      |==2==|
 *     HtoD          |====3====|
 *     which    |k   |k+H   |H|     |k    |      each part of time goes to the set that runs in it
 *
 * An activity runs from its begin up to, not including, its end. After its end nothing is kept of
 * it: memory is 24 bytes for each activity that runs at the same time, and 48 bytes a stream.
 */
#ifndef MP_REPORTS_OVERLAP_OVERLAP_H
#define MP_REPORTS_OVERLAP_OVERLAP_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "profile/common/kernel_time.h"
#include "profile/profile.h"
#include "table/table.h"

enum overlap_activity {
    OVERLAP_KERNEL, /* those that compute, and whole graph launches */
    OVERLAP_HTOD,   /* copies from the host to the device, arrays included */
    OVERLAP_DTOH,
    OVERLAP_COPY, /* all others but those between devices */
    OVERLAP_SET,
    OVERLAP_COMMUNICATION, /* kernels by name (profile/names/kernel_rules.def), copies between
                              devices */
    OVERLAP_PEERS, /* kernels of NCCL that wait for those of other ranks, if that is known: no work.
                      The stream is busy */
    OVERLAP_ACTIVITIES
};

#define OVERLAP_SETS   (1u << OVERLAP_ACTIVITIES) /* bit i: enum overlap_activity i runs */
#define OVERLAP_LEVELS 4                          /* 1, 2, 3, and 4 or more at once */

/* All times in ns. */
struct overlap_times {
    uint64_t by_set[OVERLAP_SETS];      /* in which just these run; [0] stays 0 */
    uint64_t twice[OVERLAP_ACTIVITIES]; /* in which two of it or more run */
    uint64_t kernels[OVERLAP_LEVELS];   /* in which 1, 2, 3, or more kernels run */
    uint64_t calls[OVERLAP_ACTIVITIES];
    uint64_t total[OVERLAP_ACTIVITIES]; /* durations added up; at most UINT64_MAX */
    uint64_t peak_kernels;              /* at once, for 1 ns or longer */
};

struct overlap_lane {
    uint64_t calls;
    uint64_t busy;  /* ns in which any activity of the stream runs */
    uint64_t alone; /* of these, ns in which no other stream of the device runs anything */
    uint64_t begun; /* the sweep's own, as the next */
    uint32_t running;
};

struct overlap_running;

/* What begins later than the activity that was added with it. */
struct overlap_later {
    uint64_t begin, end;
    uint32_t lane;
    enum overlap_activity activity;
};

/* Zeroed it is empty; lanes are the caller's, and may move between calls. */
struct overlap_sweep {
    struct overlap_times times;
    uint64_t clock;
    struct overlap_running *heap; /* owned; by end, the first one on top */
    size_t count, capacity;
    struct overlap_later *later; /* owned; in no order, for there are few */
    size_t later_count, later_capacity;
    uint32_t running[OVERLAP_ACTIVITIES];
    uint32_t lanes; /* in which something runs */
    uint32_t lane;  /* XOR of the running streams' lanes: with one stream, its lane */
};

/* Adds an activity; `lane` is its place in `lanes`. Activities come in order of begin. If one
 * begins earlier than the last one added (a forged file), it counts from that one's begin. MP_OK or
 * MP_ERR_MEMORY. */
enum mp_status overlap_sweep_add(struct overlap_sweep *sweep, struct overlap_lane *lanes,
                                 enum overlap_activity activity, uint32_t lane, uint64_t begin,
                                 uint64_t end);

/* Notes an activity that begins later than the one that was added last, with which it is one call
 * of its lane. It is added before the first one that begins after it. MP_ERR_MEMORY. */
enum mp_status overlap_sweep_add_later(struct overlap_sweep *sweep, struct overlap_later later);

/* Ends all activities that still run, and gives the memory back. Times and lanes are then complete.
 * MP_ERR_MEMORY. */
enum mp_status overlap_sweep_end(struct overlap_sweep *sweep, struct overlap_lane *lanes);

struct overlap_options {
    uint64_t range; /* id of a capture range: what was launched in it; 0: everything */
    const struct peer_waits *peers; /* of the trace; NULL: not known */
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
    uint64_t idle;                  /* the rest of the window; of that, */
    uint64_t idle_peers;            /* kernels of NCCL wait for peers */
    struct overlap_stream *streams; /* by busy time, most first, then by context and stream */
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
        migrations;   /* rows of unified memory: they are on no stream, so they are not counted */
    bool knows_peers; /* how long kernels of NCCL wait */
    bool recorded;    /* work of the GPUs was to be recorded */
    struct profile *profile; /* of the trace; the caller's */
    struct quality quality;  /* the profile's, whose arrays it shares, and rows left out */
};

/* ns in which all activities of the set `all` run, none of the set `none`, and at least one of
 * `any` (unless `any` is empty). Sets are bits of enum overlap_activity. */
uint64_t overlap_time(const struct overlap_times *times, unsigned all, unsigned any, unsigned none);

/* Copies that are neither kernels nor communication. */
#define OVERLAP_COPIES (1u << OVERLAP_HTOD | 1u << OVERLAP_DTOH | 1u << OVERLAP_COPY)

/* All that is work. */
#define OVERLAP_WORK (OVERLAP_SETS - 1 - (1u << OVERLAP_PEERS))

/* Mean number of kernels at the same time, over the time in which at least one runs; 0 without
 * kernels. */
double overlap_mean_kernels(const struct overlap_times *times);

/* Reads the streams, then the activities in order of time. Memory depends on the chunks that
 * overlap in time (profile/merge.h) and on the streams, not on the rows. MP_ERR_ARGUMENT when
 * there is no such capture range, MP_ERR_IO, MP_ERR_MEMORY; the result is then empty. On success
 * overlap_free gives it back. */
enum mp_status overlap_build(struct profile *profile, const struct overlap_options *options,
                             struct overlap *overlap, struct mp_error *error);

void overlap_free(struct overlap *overlap);

/* The whole report of `miniprof overlap`: the head, the tables of each device, the notes. If
 * `range` is not 0, the report says that it covers this capture range. */
void print_overlap(const struct report_out *out, const struct mp_trace *trace,
                   const struct overlap *overlap, uint64_t range);

#endif
