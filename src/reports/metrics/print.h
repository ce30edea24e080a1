/* Metrics of kernels as nvprof prints them: "Event result:" for nvprof's events, "Metric result:"
 * for metrics. Notes below say what was measured instead, or not at all. */
#ifndef MP_REPORTS_METRICS_PRINT_H
#define MP_REPORTS_METRICS_PRINT_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/text/json.h"
#include "reports/metrics/metrics.h"
#include "table/table.h"

/* Min, max and mean by device and kernel; prints nothing if no metrics were asked for. JSON
 * is a whole document; text and CSV come without a head (print_head). */
void print_metrics(const struct report_out *out, const struct mp_trace *trace,
                   const struct metrics_result *result);

/* A row for each execution in the order of time, with a column for each metric; needs a result that
 * was built with `each`. JSON is the document of print_metrics, with executions. MP_OK or
 * MP_ERR_MEMORY. */
enum mp_status print_metrics_each(const struct report_out *out, const struct mp_trace *trace,
                                  const struct metrics_result *result);

/* What is printed instead of a missing table. */
void print_no_metrics(const struct report_out *out, const struct mp_trace *trace);

/* `==PID== NAME: measured as EXPRESSION (NOTE)` and the like: a line for each metric that is not
 * what its name says. print_metrics and print_metrics_each print these notes too. */
void print_metric_notes(const struct report_out *out, const struct mp_trace *trace,
                        const struct metrics_result *result);

#define METRIC_NOTE_BYTES 2048 /* the longest expression has a quarter */

/* The note on a metric that is not exact; an empty text if the metric is exact. Returns `text`. */
const char *metric_note(const struct metrics_metric *metric, char *text, size_t size);

/* ---- Miniprof's own CSV ---- */

/* Of each kernel and metric: min, max, mean and total. */
void print_metrics_sheet(const struct report_out *out, const struct metrics_result *result);

/* Of each launch and metric. */
void print_metrics_each_sheet(const struct report_out *out, const struct metrics_result *result);

/* The columns of struct metrics_metric, in JSON too. */
struct report_layout metrics_layout(const struct metrics_result *result);

/* ---- Values of metrics as nvprof prints them, each in the unit of its metric ---- */

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

/* ---- The JSON document of metrics.h ---- */

/* The name of a state or unit as the trace has it; "unknown" when it has none. */
const char *metric_state_name(unsigned state);
const char *metric_unit_name(enum metric_unit unit);

/* Metrics, sums by device and kernel, and executions if the result has them. */
void print_metrics_json(FILE *out, const struct mp_trace *trace,
                        const struct metrics_result *result);

/* ---- Which metrics GPUs have, in the layout of nvprof's --query-metrics and --query-events ----
 */

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
