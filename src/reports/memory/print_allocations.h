/* Allocations in nvprof's layout, as text and CSV. nvprof itself kept them in its file only
 * (--track-memory-allocations with -o); the table is ours. */
#ifndef MP_REPORTS_MEMORY_PRINT_ALLOCATIONS_H
#define MP_REPORTS_MEMORY_PRINT_ALLOCATIONS_H

#include <miniprof/trace.h>

#include "reports/memory/memory.h"
#include "table/table.h"

/* Prints `Memory allocation result:` and the table; nothing when nothing was allocated or freed. */
void print_allocations(const struct report_out *out, const struct mp_trace *trace,
                       const struct allocations *allocations);

#endif
