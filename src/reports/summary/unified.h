/* Unified memory: what moved between host and devices, and the page faults; nvprof's unified memory
 * profiling result.
 *
 * Rows of the table `unified` are counted by kind and device. A transfer to a device belongs to its
 * target, any other transfer to its source, a remote mapping to its target. Thrashing belongs to
 * the lowest device of its source, which is a set of bits. Page faults of the CPU belong to no
 * device. An id that is no defined device is the host.
 */
#ifndef MP_REPORTS_SUMMARY_UNIFIED_H
#define MP_REPORTS_SUMMARY_UNIFIED_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/status.h"
#include "profile/definitions.h"
#include "profile/quality.h"

struct unified_options {
    uint64_t range; /* id of a capture range: rows that begin in it; 0: everything */
};

enum unified_row_index {
    UNIFIED_TO_DEVICE,
    UNIFIED_TO_HOST,
    UNIFIED_DEVICE_TO_DEVICE,
    UNIFIED_GPU_FAULTS,
    UNIFIED_THRASHES,
    UNIFIED_THROTTLES,
    UNIFIED_REMOTE_MAPS,
    UNIFIED_ROWS
};

struct unified_row {
    uint64_t count; /* records: transfers, groups of faults, ... */
    uint64_t total; /* bytes; GPU_FAULTS: number of faults; THROTTLES: nothing */
    uint64_t min;   /* of one record; meaningless without records */
    uint64_t max;   /* of one record */
    double mean;    /* of one record */
    uint64_t time;  /* ns, added up */
};

struct unified_device {
    uint64_t device;  /* ordinal; UINT64_MAX: the trace does not say */
    const char *name; /* NULL: unknown; owned by the definitions */
    struct unified_row rows[UNIFIED_ROWS];
};

struct unified {
    struct unified_device *devices; /* by ordinal; those with rows */
    size_t device_count;
    uint64_t cpu_faults; /* page faults of the host */
    bool present;        /* the trace has rows of unified memory */
    size_t capture_ranges;
    struct quality quality;
    struct definitions definitions;
};

/* The device that a row of `unified` belongs to; UINT64_MAX: none that is defined. */
uint64_t unified_device(const struct definitions *definitions, uint64_t kind, uint64_t source,
                        uint64_t target);

/* Reads the trace once; memory depends on the number of devices. MP_ERR_ARGUMENT when there is no
 * such capture range, MP_ERR_IO, MP_ERR_MEMORY; the result is then empty. On success unified_free
 * gives it back.
 */
enum mp_status unified_build(struct mp_trace *trace, const struct unified_options *options,
                             struct unified *unified, struct mp_error *error);

void unified_free(struct unified *unified);

#endif
