/* Where the time goes, by name: nvprof's summary of a trace.
 *
 * Two groups: what ran on the GPUs (kernels by name, copies by direction, sets, whole graphs), and
 * what the host called (runtime and driver in one list, without version suffixes). Rows come by
 * total time, then by name; percentages are of their group.
 */
#ifndef MP_ANALYZE_SUMMARY_H
#define MP_ANALYZE_SUMMARY_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/map.h"
#include "base/status.h"
#include "model/definitions.h"
#include "model/quality.h"

struct summary_options {
    uint64_t range; /* id of the capture range to summarise; 0: everything */
    bool demangle;  /* C++ names in readable form */
};

struct summary_row {
    const char *name; /* owned by the group */
    uint64_t calls;
    uint64_t total; /* ns */
    uint64_t least;
    uint64_t greatest;
    double mean;    /* ns */
    double percent; /* of the group's total */
};

struct summary_group {
    struct mp_intern names;
    struct summary_row *rows;
    size_t row_count;
    uint64_t total; /* ns */
};

enum summary_group_index { SUMMARY_GPU, SUMMARY_API, SUMMARY_GROUPS };

struct summary {
    struct summary_group groups[SUMMARY_GROUPS];
    struct quality quality;
    struct definitions definitions;
    size_t range_count;
};

/* Summarises a trace in one pass (a short second one over the capture ranges comes before it);
 * memory goes with the number of names, not of rows. Damaged parts are left out, see
 * summary->quality. MP_ERR_ARGUMENT when there is no such range, MP_ERR_IO, MP_ERR_MEMORY; the
 * summary is then empty. On success summary_free gives it back. */
enum mp_status summary_build(struct mp_trace *trace, const struct summary_options *options,
                             struct summary *summary, struct mp_error *error);

void summary_free(struct summary *summary);

#endif
