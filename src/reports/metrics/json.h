/* The JSON document of metrics.h. */
#ifndef MP_REPORTS_METRICS_JSON_H
#define MP_REPORTS_METRICS_JSON_H

#include <stdio.h>

#include "base/text/json_write.h"
#include "reports/metrics/metrics.h"

/* The name of a state or unit as the trace has it; "unknown" when it has none. */
const char *metric_state_name(unsigned state);
const char *metric_unit_name(enum metric_unit unit);

/* A metric and how it can be had, an object. */
void json_metric(struct json_writer *json, const struct metrics_metric *metric);

/* Metrics, sums by device and kernel, and executions if the result has them. */
void print_metrics_json(FILE *out, const struct mp_trace *trace,
                        const struct metrics_result *result);

#endif
