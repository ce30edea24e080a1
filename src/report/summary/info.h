/* What is inside a trace: as text, its tables as CSV, everything as JSON. */
#ifndef MP_REPORT_SUMMARY_INFO_H
#define MP_REPORT_SUMMARY_INFO_H

#include <miniprof/trace.h>

#include "analyze/summary/summary.h"
#include "report/table/table.h"

/* Prints it. With CSV the warning goes to stderr. */
void print_info(const struct report_out *out, const struct mp_trace *trace,
                const struct contents *contents);

#endif
