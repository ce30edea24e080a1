/* Which metrics GPUs have, in the layout of nvprof's --query-metrics and --query-events. */
#ifndef MP_REPORTS_METRICS_LIST_H
#define MP_REPORTS_METRICS_LIST_H

#include "reports/metrics/metrics.h"
#include "table/table.h"

enum metric_list {
    METRIC_LIST_METRICS, /* nvprof's metrics */
    METRIC_LIST_EVENTS,  /* nvprof's events */
    METRIC_LIST_RAW,     /* CUPTI's own */
    METRIC_LIST_SAMPLING /* counters of MINIPROF_SAMPLE */
};

/* Prints one list from a trace that answers a query. If a metric is not exactly what its name says,
 * the line below its description says what it is instead. */
void print_metric_list(const struct report_out *out, const struct metrics_result *result,
                       enum metric_list list);

#endif
