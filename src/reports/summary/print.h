/* The summary as nvprof prints it, as CSV and as JSON. */
#ifndef MP_REPORTS_SUMMARY_PRINT_H
#define MP_REPORTS_SUMMARY_PRINT_H

#include <miniprof/trace.h>
#include <stdio.h>

#include "profile/set.h"
#include "reports/info/info.h"
#include "reports/nvtx/nvtx.h"
#include "reports/ranks/ranks.h"
#include "reports/summary/merged.h"
#include "reports/summary/summary.h"
#include "table/table.h"

/* Prints the summary of `trace`: the parts that `which` (bits of enum summary_parts, 0: both
 * groups) selects and with which it was built. If `range` is not 0, the summary says that it covers
 * this capture range. */
void print_summary(const struct report_out *out, const struct mp_trace *trace,
                   const struct summary *summary, unsigned which, uint64_t range);

/* The line `Profiling result:` and the tables below it, without the head. Text and CSV only. */
void print_summary_sections(const struct report_out *out, const struct mp_trace *trace,
                            const struct summary *summary, unsigned which);

/* ---- The unified memory result as nvprof prints it, as text and CSV ---- */

/* Prints `Unified Memory profiling result:`, a table for each device, and the page faults of the
 * CPU. Nothing when the trace has no rows of unified memory. */
void print_unified(const struct report_out *out, const struct mp_trace *trace,
                   const struct unified *unified);

/* ---- The processes of a set of traces as a table: who, where, on which GPUs, when, how much ----
 */

/* Prints warnings about incomplete traces, as far as their chunk headers tell, then the table, then
 * how the clocks relate: as far as `ranks` bound them, which may be NULL. MP_ERR_MEMORY. */
enum mp_status print_processes(const struct report_out *out, const struct trace_set *set,
                               const struct ranks *ranks);

/* ---- What happened inside NVTX ranges: nvprof's NVTX result, as text, CSV and JSON ---- */

/* Prints `NVTX result:` and a table for each thread, domain and name, without a head. Prints
 * nothing if there are no ranges. Text and CSV only. */
void print_nvtx_result(const struct report_out *out, const struct mp_trace *trace,
                       const struct nvtx_result *result);

/* The whole report of `miniprof nvtx`: the head, the result, the notes. If `range` is not 0, the
 * report says that it covers this capture range. */
void print_nvtx(const struct report_out *out, const struct mp_trace *trace,
                const struct nvtx_result *result, uint64_t range);

/* ---- Tables of miniprof's own CSV that text prints as several, each below a title ---- */

/* What ran on each GPU; beside the summary (`which`) it is the table `devices`. */
void print_devices_sheet(const struct report_out *out, const struct summary *summary,
                         unsigned which);

/* A row for each name in each range; then the captured ranges, as the table `captured`. */
void print_nvtx_sheet(const struct report_out *out, const struct nvtx_result *result);

/* A row for each name and process. */
void print_side_by_side_sheet(const struct report_out *out, const struct merged_report *report);

#endif
