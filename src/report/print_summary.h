/* The summary as nvprof prints it, as CSV and as JSON. */
#ifndef MP_REPORT_PRINT_SUMMARY_H
#define MP_REPORT_PRINT_SUMMARY_H

#include <miniprof/trace.h>
#include <stdio.h>

#include "analyze/summary.h"
#include "report/table.h"

/* Prints the summary of `trace`; with `range` not 0, says that it is one of the capture range. */
void print_summary(const struct report_out *out, const struct mp_trace *trace,
                   const struct summary *summary, uint64_t range);

#endif
