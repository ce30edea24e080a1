/* The unified memory result as nvprof prints it, as text and CSV. */
#ifndef MP_REPORT_SUMMARY_UNIFIED_H
#define MP_REPORT_SUMMARY_UNIFIED_H

#include <miniprof/trace.h>

#include "analyze/summary/summary.h"
#include "report/table/table.h"

/* Prints `Unified Memory profiling result:`, a table for each device, and the page faults of the
 * CPU. Nothing when the trace has no rows of unified memory. */
void print_unified(const struct report_out *out, const struct mp_trace *trace,
                   const struct unified *unified);

#endif
