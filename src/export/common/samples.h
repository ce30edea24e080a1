/* What was sampled of counters over time, for exports: it comes from a pass of its own, beside the
 * rows.
 */
#ifndef MP_EXPORT_COMMON_SAMPLES_H
#define MP_EXPORT_COMMON_SAMPLES_H

#include "base/metrics/sampled.h"
#include "export/common/format.h"

#define EXPORT_COUNTER_BYTES 200u

/* A counter was `value` from start to end. */
struct export_sample {
    uint64_t counter; /* the trace's number of it, from 1 */
    uint64_t device;
    const char *name; /* valid UTF-8, EXPORT_COUNTER_BYTES at most; "sm_active", or CUPTI's */
    enum metric_unit unit;
    uint64_t start, end; /* ns of the recorder's clock */
    double value;        /* finite */
};

typedef enum mp_status export_take_sample(void *context, const struct export_sample *sample);

/* Delivers the samples of the process as its options choose: one capture range, some iterations and
 * devices. What was counted comes if it lies there as a whole; a reading of NVML comes cut to that
 * time. Ends with what is not MP_OK. MP_ERR_IO, MP_ERR_MEMORY, with a text in *error. */
enum mp_status export_samples(const struct export_process *process, export_take_sample *take,
                              void *context, struct mp_error *error);

#endif
