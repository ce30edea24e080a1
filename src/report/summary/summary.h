/* The summary as nvprof prints it, as CSV and as JSON. */
#ifndef MP_REPORT_SUMMARY_SUMMARY_H
#define MP_REPORT_SUMMARY_SUMMARY_H

#include <miniprof/trace.h>
#include <stdio.h>

#include "analyze/summary/summary.h"
#include "report/table/table.h"

/* Prints the summary of `trace`: the parts that `which` (bits of enum summary_parts, 0: both
 * groups) selects and with which it was built. If `range` is not 0, the summary says that it covers
 * this capture range. */
void print_summary(const struct report_out *out, const struct mp_trace *trace,
                   const struct summary *summary, unsigned which, uint64_t range);

/* The line `Profiling result:` and the tables below it, without the head. Text and CSV only. */
void print_summary_sections(const struct report_out *out, const struct mp_trace *trace,
                            const struct summary *summary, unsigned which);

/* The other public parts of this family. */
#include "report/summary/info.h"
#include "report/summary/merged.h"
#include "report/summary/nvtx.h"
#include "report/summary/processes.h"
#include "report/summary/unified.h"

#endif
