/* Where the time goes, by name: nvprof's summary of a trace.
 *
 * There are two groups. The first is what ran on the GPUs: kernels by name, copies by direction,
 * sets, whole graphs, what unified memory moved; for all GPUs together or for each one. The second
 * is what the host called: runtime and driver in one list, without version suffixes. Rows are
 * sorted by total time, then by name; percentages are of their group.
 */
#ifndef MP_REPORTS_SUMMARY_SUMMARY_H
#define MP_REPORTS_SUMMARY_SUMMARY_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/activity.h"
#include "profile/common/called_from.h"
#include "profile/common/kernel_time.h"
#include "profile/common/tally.h"
#include "profile/definitions.h"
#include "profile/quality.h"

struct summary_row {
    const char *name;   /* not owned */
    struct tally tally; /* with it rows of several traces add up exactly */
    double mean;        /* ns */
    double deviation;   /* ns: tally_deviation */
    double percent;     /* of the group's total */
};

/* Fills a row from a tally that has calls. */
void summary_row_fill(struct summary_row *row, const char *name, const struct tally *tally,
                      uint64_t group_total);

/* Sorts as nvprof does: most time first, then by name. */
void summary_rows_sort(struct summary_row *rows, size_t count);

/* Which parts of a summary are wanted: bits. */
enum summary_parts {
    SUMMARY_PART_GPU = 1,
    SUMMARY_PART_API = 2,
    SUMMARY_PART_PER_GPU = 4, /* GPU activities of each device separately */
    SUMMARY_PARTS_BOTH = SUMMARY_PART_GPU | SUMMARY_PART_API
};

struct summary_options {
    uint64_t range; /* id of the capture range to summarise; 0: everything */
    enum names_style style;
    unsigned parts;    /* of enum summary_parts; 0: SUMMARY_PARTS_BOTH */
    enum called_by by; /* rows are split by who called; not with SUMMARY_PART_PER_GPU */
    const struct capture_ranges *ranges; /* of the trace; NULL: they are read */
    bool no_kernel_time;
};

struct summary_group {
    struct mp_intern names; /* of the rows, from 1 */
    struct summary_row *rows;
    size_t row_count;
    uint64_t total; /* ns */
};

/* Makes the rows of a group from their tallies, which are by number of the name. MP_ERR_MEMORY. */
enum mp_status summary_group_fill(struct summary_group *group, const struct dense *tallies);

void summary_group_free(struct summary_group *group);

/* GPU activities of one device. */
struct summary_device {
    uint64_t device;  /* ordinal; UINT64_MAX: the trace does not say */
    const char *name; /* NULL: unknown; owned by the definitions */
    struct summary_group group;
};

struct summary {
    struct summary_group groups[SUMMARY_GROUPS];
    struct summary_device *devices; /* by ordinal; with SUMMARY_PART_PER_GPU only */
    size_t device_count;
    bool recorded[SUMMARY_GROUPS]; /* whether the recorder was to record this group */
    struct kernel_time kernels;    /* not known unless GPU activities are wanted */
    struct quality quality;
    struct definitions definitions;
    size_t range_count;
};

/* Summarises a trace in one pass, after a short pass over the capture ranges. Memory depends on the
 * number of names, not of rows. Damaged parts are left out, see summary->quality. MP_ERR_ARGUMENT
 * when there is no such range, MP_ERR_IO, MP_ERR_MEMORY; the summary is then empty. On success
 * summary_free gives it back. */
enum mp_status summary_build(struct mp_trace *trace, const struct summary_options *options,
                             struct summary *summary, struct mp_error *error);

void summary_free(struct summary *summary);

/* The other public parts of this family. */
#include "reports/summary/unified.h"

#endif
