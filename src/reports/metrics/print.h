/* Metrics of kernels as nvprof prints them: "Event result:" for nvprof's events, "Metric result:"
 * for metrics. Notes below say what was measured instead, or not at all. */
#ifndef MP_REPORTS_METRICS_PRINT_H
#define MP_REPORTS_METRICS_PRINT_H

#include <miniprof/trace.h>

#include "reports/metrics/metrics.h"
#include "table/table.h"

/* Least, greatest and mean by device and kernel; prints nothing if no metrics were asked for. JSON
 * is a document of its own; text and CSV come without a head (print_head). */
void print_metrics(const struct report_out *out, const struct mp_trace *trace,
                   const struct metrics_result *result);

/* A row for each execution in the order of time, with a column for each metric; needs a result that
 * was built with `each`. JSON is the document of print_metrics, with executions. MP_OK or
 * MP_ERR_MEMORY. */
enum mp_status print_metrics_each(const struct report_out *out, const struct mp_trace *trace,
                                  const struct metrics_result *result);

/* What is printed in place of a missing table. */
void print_no_metrics(const struct report_out *out, const struct mp_trace *trace);

/* `==PID== NAME: measured as EXPRESSION (NOTE)` and the like: a line for each metric that is not
 * what its name says. print_metrics and print_metrics_each print these notes too. */
void print_metric_notes(const struct report_out *out, const struct mp_trace *trace,
                        const struct metrics_result *result);

/* The note on a metric that is not exact; an empty text if the metric is exact. Returns `text`. */
const char *metric_note(const struct metrics_metric *metric, char *text, size_t size);

/* The other public parts of this family. */
#include "reports/metrics/list.h"

#endif
