/* Kernels by launch shape or name, with occupancy, as text, CSV and JSON. */
#ifndef MP_REPORTS_KERNELS_PRINT_H
#define MP_REPORTS_KERNELS_PRINT_H

#include <miniprof/trace.h>

#include "reports/kernels/kernels.h"
#include "table/table.h"

/* The whole report of `miniprof kernels`: the head, the table, the notes. `options` are those with
 * which `kernels` was built. */
void print_kernels(const struct report_out *out, const struct mp_trace *trace,
                   const struct kernels *kernels, const struct kernels_options *options);

#endif
