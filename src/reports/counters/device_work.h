/* The work of one device, while its counters are attributed to it. */
#ifndef MP_REPORTS_COUNTERS_DEVICE_WORK_H
#define MP_REPORTS_COUNTERS_DEVICE_WORK_H

#include "reports/counters/crowd.h"
#include "reports/counters/pass.h"

struct device_work {
    struct counters_pass *pass;
    uint32_t device;
    struct work_piece *pieces; /* by begin */
    size_t piece_count;
    struct crowd crowd; /* of the pieces */
    uint32_t *local;    /* by group of the pass: group of the device */
    size_t groups;      /* of the device */
    size_t first;       /* in the result */
    size_t width;       /* counters of the device */
};

/* Adds the device's groups to the result, with cells of which nothing is known, and fills in
 * `local`, which is the caller's to free. MP_OK or MP_ERR_MEMORY. */
enum mp_status device_work_group(struct device_work *work);

#endif
