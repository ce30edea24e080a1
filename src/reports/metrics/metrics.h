/* The values of kernels' metrics: min, max and mean by device, kernel and metric, as in
 * nvprof's "Metric result". On request also each execution. */
#ifndef MP_REPORTS_METRICS_METRICS_H
#define MP_REPORTS_METRICS_METRICS_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/data/storage.h"
#include "base/metrics/metrics.h"
#include "base/settings/forms.h"
#include "base/status.h"
#include "profile/definitions.h"
#include "profile/names/names.h"
#include "profile/quality.h"

struct metrics_options {
    uint64_t range;                     /* id of the capture range; 0: everything */
    const struct kernel_filter *filter; /* NULL: every kernel; needed during the build only */
    enum names_style style;             /* of kernel names */
    bool each;                          /* executions too */
};

/* A metric that was asked for on a device. Texts are owned by the result's definitions; NULL when
 * the trace does not hold them. */
struct metrics_metric {
    uint64_t id;
    uint64_t device;
    const char *name;
    const char *expression;
    const char *description;
    unsigned state;   /* MP_metric_state_* */
    uint32_t unit;    /* enum metric_unit */
    bool event;       /* one of nvprof's events */
    const char *note; /* of a substitute: how it differs; NULL if that is not known */
};

/* A metric of all executions of a kernel on a device. */
struct metrics_row {
    const struct metrics_metric *metric;
    const char *kernel; /* in the wanted style */
    uint64_t invocations;
    uint64_t values; /* executions that have a value; if there are none, the next four are 0 */
    double min;
    double max;
    double mean;
    double total;
    uint32_t order; /* position of the kernel, by its first execution */
};

/* A value of one execution. */
struct metrics_value {
    const struct metrics_metric *metric;
    double value; /* may be NaN: no value */
};

/* One execution of a kernel; its values are those from `first` on. */
struct metrics_launch {
    uint64_t time;        /* ns: begin of the launching call */
    uint64_t correlation; /* CUPTI's id of it */
    uint64_t device;
    uint64_t context; /* CUPTI's ids */
    uint64_t stream;
    uint64_t invocation; /* of this kernel in the trace, from 1 */
    const char *kernel;
    size_t first;
    size_t count;
};

struct metrics_result {
    struct metrics_metric *metrics; /* in the order in which they were asked for */
    size_t metric_count;
    struct metrics_row *rows; /* by device, kernel in the order of first executions, metric */
    size_t row_count;
    struct metrics_launch *launches; /* by time; only with `each` */
    size_t launch_count;
    struct metrics_value *values;
    size_t value_count;
    bool asked; /* the recorder was to measure metrics */
    bool each;  /* as in the options */
    uint64_t range;
    size_t range_count;
    struct quality quality;
    struct definitions definitions;
    struct mp_arena names; /* of kernels */
};

/* Reads a trace. Memory grows with the number of kernel names times metrics; with `each`, with the
 * number of values. The executions of a range, and a filter's invocations, are those that were
 * profiled. MP_ERR_ARGUMENT when there is no such range, MP_ERR_IO, MP_ERR_MEMORY; the result is
 * then empty. On success metrics_free gives it back. */
enum mp_status metrics_build(struct mp_trace *trace, const struct metrics_options *options,
                             struct metrics_result *result, struct mp_error *error);

void metrics_free(struct metrics_result *result);

/* A device's name as the trace has it; NULL when it does not. */
const char *metrics_device_name(const struct metrics_result *result, uint64_t device);

#endif
