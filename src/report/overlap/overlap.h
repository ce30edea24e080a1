/* What ran at the same time, by device and stream, as text, CSV and JSON. */
#ifndef MP_REPORT_OVERLAP_OVERLAP_H
#define MP_REPORT_OVERLAP_OVERLAP_H

#include <miniprof/trace.h>

#include "analyze/overlap/overlap.h"
#include "report/table/table.h"

/* The whole report of `miniprof overlap`: the head, the tables of each device, the notes. If
 * `range` is not 0, the report says that it covers this capture range. */
void print_overlap(const struct report_out *out, const struct mp_trace *trace,
                   const struct overlap *overlap, uint64_t range);

#endif
