/* What is inside a trace: as text, its tables as CSV, everything as JSON. */
#ifndef MP_REPORTS_INFO_INFO_H
#define MP_REPORTS_INFO_INFO_H

#include <miniprof/trace.h>

#include "reports/summary/summary.h"
#include "table/table.h"

/* Prints it. With CSV the warning goes to stderr. */
void print_info(const struct report_out *out, const struct mp_trace *trace,
                const struct contents *contents);

#endif
