/* Metrics of kernels as nvprof prints them: "Event result:" for what were events, "Metric result:"
 * for metrics, and below what was measured instead or not at all. */
#ifndef MP_REPORT_METRICS_METRICS_H
#define MP_REPORT_METRICS_METRICS_H

#include <miniprof/trace.h>

#include "analyze/metrics/metrics.h"
#include "report/table/table.h"

/* Least, greatest and mean by device and kernel; nothing when no metrics were asked for. JSON is a
 * document of its own; text and CSV are without a head (print_head). */
void print_metrics(const struct report_out *out, const struct mp_trace *trace,
                   const struct metrics_result *result);

/* Each execution in the order of time with a column for each metric; the result was built with
 * `each`. In JSON the same document as print_metrics, with executions. MP_OK or MP_ERR_MEMORY. */
enum mp_status print_metrics_each(const struct report_out *out, const struct mp_trace *trace,
                                  const struct metrics_result *result);

/* What stands where there is no table. */
void print_no_metrics(const struct report_out *out, const struct mp_trace *trace);

/* `==PID== NAME: measured as EXPRESSION (NOTE)` and the like, a line for each metric that is not
 * what its name says; part of both. */
void print_metric_notes(const struct report_out *out, const struct mp_trace *trace,
                        const struct metrics_result *result);

/* What is to be said of a metric that is not exact; an empty text when it is. Returns `text`. */
const char *metric_note(const struct metrics_metric *metric, char *text, size_t size);

/* The rest of what this family shows to others. */
#include "report/metrics/list.h"

#endif
