/* What happened inside NVTX ranges: nvprof's NVTX result, as text, CSV and JSON. */
#ifndef MP_REPORTS_SUMMARY_NVTX_H
#define MP_REPORTS_SUMMARY_NVTX_H

#include <miniprof/trace.h>

#include "reports/nvtx/nvtx.h"
#include "table/table.h"

/* Prints `NVTX result:` and a table for each thread, domain and name, without a head. Prints
 * nothing if there are no ranges. Text and CSV only. */
void print_nvtx_result(const struct report_out *out, const struct mp_trace *trace,
                       const struct nvtx_result *result);

/* The whole report of `miniprof nvtx`: the head, the result, the notes. If `range` is not 0, the
 * report says that it covers this capture range. */
void print_nvtx(const struct report_out *out, const struct mp_trace *trace,
                const struct nvtx_result *result, uint64_t range);

#endif
