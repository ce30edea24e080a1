/* Inside the summaries: tables of miniprof's own CSV that text prints as several, each below a
 * title. Here the title is a column. */
#ifndef MP_REPORTS_SUMMARY_SHEETS_H
#define MP_REPORTS_SUMMARY_SHEETS_H

#include "reports/summary/merged.h"
#include "reports/summary/nvtx.h"
#include "reports/summary/print.h"

/* What ran on each GPU; beside the summary (`which`) it is the table `devices`. */
void print_devices_sheet(const struct report_out *out, const struct summary *summary,
                         unsigned which);

/* A row for each name in each range; then the captured ranges, as the table `captured`. */
void print_nvtx_sheet(const struct report_out *out, const struct nvtx_result *result);

/* A row for each name and process. */
void print_side_by_side_sheet(const struct report_out *out, const struct merged_report *report);

#endif
