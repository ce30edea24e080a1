/* What ran at the same time, by device and stream, as text, CSV and JSON. */
#ifndef MP_REPORTS_OVERLAP_PRINT_H
#define MP_REPORTS_OVERLAP_PRINT_H

#include <miniprof/trace.h>

#include "reports/overlap/overlap.h"
#include "table/table.h"

/* The whole report of `miniprof overlap`: the head, the tables of each device, the notes. If
 * `range` is not 0, the report says that it covers this capture range. */
void print_overlap(const struct report_out *out, const struct mp_trace *trace,
                   const struct overlap *overlap, uint64_t range);

#endif
