/* Inside overlap.c: the pass over a trace, and the result in the making. */
#ifndef MP_REPORTS_OVERLAP_PASS_H
#define MP_REPORTS_OVERLAP_PASS_H

#include "base/data/map.h"
#include "profile/common/tally.h"
#include "profile/dense.h"
#include "profile/merge.h"
#include "profile/ranges.h"
#include "reports/overlap/overlap.h"

/* From the first to the last activity of a capture range. */
struct overlap_window {
    uint64_t begin, end;
    bool any;
};

/* A stream that the program made. */
struct overlap_known_stream {
    uint64_t context, stream;
    bool used;
};

struct overlap_pass {
    struct overlap *overlap;
    struct mp_trace *trace;
    struct capture_ranges ranges;
    const struct capture_range *range; /* NULL: everything */
    struct summary_slots slots;        /* devices */
    struct overlap_sweep *sweeps;      /* by slot */
    size_t sweep_count, sweep_capacity;
    struct dense lanes;      /* of struct overlap_lane, by id of the stream */
    struct dense lane_slots; /* of uint32_t: slot of the device + 1, by id of the stream */
    struct dense shapes;     /* of uint8_t, by id: enum overlap_activity + 1; 0: not looked at */
    struct overlap_window *windows; /* by place of the capture range, 0 for what is before it */
    size_t window_count;
    size_t window;                      /* of the last activity */
    struct overlap_known_stream *known; /* that the program made */
    size_t known_count, known_capacity;
    struct kernel_time_pass kernels;
    struct mp_map contexts; /* CUPTI's id of a context: ordinal of its device */
};

/* Turns what the pass has seen into devices and streams. MP_OK or MP_ERR_MEMORY. */
enum mp_status overlap_finish(struct overlap_pass *pass);

#endif
