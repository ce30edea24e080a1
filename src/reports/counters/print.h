/* Counters over time, of devices and of the work that ran, as text, CSV and JSON. */
#ifndef MP_REPORTS_COUNTERS_PRINT_H
#define MP_REPORTS_COUNTERS_PRINT_H

#include <miniprof/trace.h>

#include "reports/counters/counters.h"
#include "table/table.h"

/* The whole report of `miniprof counters`. `options` are those with which `result` was built. */
void print_counters(const struct report_out *out, const struct mp_trace *trace,
                    const struct counters_result *result, const struct counters_options *options);

/* The text of --by; "CUPTI", "NVML GPM"; "percent", "bytes_per_second". */
const char *counters_by_name(enum counters_by by);
const char *counters_source_name(enum sampled_by by);
const char *counters_unit_name(enum metric_unit unit);

/* ---- The two tables, of whole devices and of work ---- */

#endif
