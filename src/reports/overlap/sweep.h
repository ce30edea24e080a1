/* What runs at the same time on one device: a sweep over its activities in order of begin.
 *
 *     kernel   |=====1=====|      |==2==|
 *     HtoD          |====3====|
 *     which    |k   |k+H   |H|     |k    |      each piece of time goes to the set that runs in it
 *
 * An activity runs from its begin up to, not including, its end. After its end nothing is kept of
 * it: memory is 24 bytes for each activity that runs at the same time, and 48 bytes a stream.
 */
#ifndef MP_REPORTS_OVERLAP_SWEEP_H
#define MP_REPORTS_OVERLAP_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum overlap_activity {
    OVERLAP_KERNEL, /* those that compute, and whole graph launches */
    OVERLAP_HTOD,   /* copies from the host to the device, arrays included */
    OVERLAP_DTOH,
    OVERLAP_COPY, /* all others but those between devices */
    OVERLAP_SET,
    OVERLAP_COMMUNICATION, /* kernels by name (profile/names/kernel_rules.def), copies between
                              devices */
    OVERLAP_ACTIVITIES
};

#define OVERLAP_SETS   (1u << OVERLAP_ACTIVITIES) /* bit i: enum overlap_activity i runs */
#define OVERLAP_LEVELS 4                          /* 1, 2, 3, and 4 or more at once */

/* All times in ns. */
struct overlap_times {
    uint64_t by_set[OVERLAP_SETS];      /* in which just these run; [0] stays 0 */
    uint64_t twice[OVERLAP_ACTIVITIES]; /* in which two of it or more run */
    uint64_t kernels[OVERLAP_LEVELS];   /* in which so many kernels run */
    uint64_t calls[OVERLAP_ACTIVITIES];
    uint64_t total[OVERLAP_ACTIVITIES]; /* durations added up; stays at the greatest number */
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

/* Zeroed it is empty; lanes are the caller's, and may move between calls. */
struct overlap_sweep {
    struct overlap_times times;
    uint64_t clock;
    struct overlap_running *heap; /* owned; by end, the first one on top */
    size_t count, capacity;
    uint32_t running[OVERLAP_ACTIVITIES];
    uint32_t lanes; /* in which something runs */
    uint32_t lane;  /* exclusive or of the running streams' lanes: with one stream, its lane */
};

/* Adds an activity; `lane` is its place in `lanes`. Activities come in order of begin. If one
 * begins earlier than the last one added (a forged file), it counts from that one's begin. MP_OK or
 * MP_ERR_MEMORY. */
enum mp_status overlap_sweep_add(struct overlap_sweep *sweep, struct overlap_lane *lanes,
                                 enum overlap_activity activity, uint32_t lane, uint64_t begin,
                                 uint64_t end);

/* Ends all activities that still run, and gives the heap back. Times and lanes are then complete.
 */
void overlap_sweep_end(struct overlap_sweep *sweep, struct overlap_lane *lanes);

#endif
