/* The summary as nvprof prints it, as CSV and as JSON. */
#ifndef MP_REPORTS_SUMMARY_PRINT_H
#define MP_REPORTS_SUMMARY_PRINT_H

#include <miniprof/trace.h>
#include <stdio.h>

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

/* The other public parts of this family. */
#include "reports/info/info.h"
#include "reports/summary/merged.h"
#include "reports/summary/nvtx.h"
#include "reports/summary/print_unified.h"
#include "reports/summary/processes.h"

#endif
