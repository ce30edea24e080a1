/* What reports/memory/memory.h finds, as text, CSV and JSON. Times count from the first row of
 * memory, calls or NVTX ranges in the trace, or in the capture range. */
#ifndef MP_REPORTS_MEMORY_PRINT_H
#define MP_REPORTS_MEMORY_PRINT_H

#include <miniprof/trace.h>

#include "reports/memory/memory.h"
#include "table/table.h"

/* Why there is nothing to report; NULL: there is something. Static text. */
const char *memory_why_nothing(const struct mp_trace *trace, const struct memory *memory);

/* The report; `range` is the number of the capture range, 0: everything. */
void print_memory(const struct report_out *out, const struct mp_trace *trace,
                  const struct memory *memory, uint64_t range);

/* In place of the report, how much was allocated when: at each change or, with `steps`, in this
 * many steps of equal length. JSON is a line for each row. MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status print_memory_timeline(const struct report_out *out, const struct mp_trace *trace,
                                     const struct memory *memory, uint64_t range, uint64_t steps);

/* The other public parts of this family. */
#include "reports/memory/print_allocations.h"
#include "reports/memory/tables.h"

#endif
