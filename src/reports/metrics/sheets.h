/* Inside the metrics report: miniprof's own CSV. A row has one value and its unit, because metrics
 * differ in their units. */
#ifndef MP_REPORTS_METRICS_SHEETS_H
#define MP_REPORTS_METRICS_SHEETS_H

#include "reports/metrics/metrics.h"
#include "table/table.h"

/* Of each kernel and metric: least, greatest, mean and total. */
void print_metrics_sheet(const struct report_out *out, const struct metrics_result *result);

/* Of each launch and metric. */
void print_metrics_each_sheet(const struct report_out *out, const struct metrics_result *result);

/* What the GPUs have: the header row. Rows are struct metrics_metric. */
void metrics_sheet_list_begin(struct report_table *table, const struct report_out *out,
                              const struct metrics_result *result);

#endif
