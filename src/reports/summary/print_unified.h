/* The unified memory result as nvprof prints it, as text and CSV. */
#ifndef MP_REPORTS_SUMMARY_PRINT_UNIFIED_H
#define MP_REPORTS_SUMMARY_PRINT_UNIFIED_H

#include <miniprof/trace.h>

#include "reports/summary/summary.h"
#include "table/table.h"

/* Prints `Unified Memory profiling result:`, a table for each device, and the page faults of the
 * CPU. Nothing when the trace has no rows of unified memory. */
void print_unified(const struct report_out *out, const struct mp_trace *trace,
                   const struct unified *unified);

#endif
