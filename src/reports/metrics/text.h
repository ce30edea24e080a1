/* Values of metrics as nvprof prints them, each in the unit of its metric. */
#ifndef MP_REPORTS_METRICS_TEXT_H
#define MP_REPORTS_METRICS_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "reports/metrics/metrics.h"
#include "table/table.h"

#define METRIC_TEXT_BYTES   64
#define METRIC_DEVICE_BYTES 160

/* In text at most 10 characters where that is possible: `1926400` counts and bytes, `25.00%`,
 * `0.910413` ratios, `10.906MB/s`; in CSV six decimals before the unit: `15.541355%`,
 * `10.906250MB/s`. A value that is not a number is `-`, in CSV empty. Returns `buffer`. */
const char *metric_text(char buffer[METRIC_TEXT_BYTES], enum metric_unit unit, double value,
                        enum report_format format, enum mp_style style);

/* `Tesla V100 (0)`, without characters that act (base/text/foreign.h). Returns `buffer`. */
const char *metric_device_text(char buffer[METRIC_DEVICE_BYTES],
                               const struct metrics_result *result, uint64_t device);

/* A line of text that comes from a trace. */
void metric_put_line(const struct report_out *out, const char *text);

#endif
