/* Inside of counters.c: the two tables, of whole devices and of work. */
#ifndef MP_REPORTS_COUNTERS_TABLES_H
#define MP_REPORTS_COUNTERS_TABLES_H

#include "reports/counters/counters.h"
#include "reports/counters/print.h"
#include "table/table.h"

/* One device's counters; UINT64_MAX: of all devices, with a column that says which. */
void counters_print_devices(const struct report_out *out, struct json_writer *json,
                            const struct counters_result *result, uint64_t device);

/* What ran on one device: in text a row for each group with its most telling counters, otherwise a
 * row for each group and counter. */
void counters_print_work(const struct report_out *out, struct json_writer *json,
                         const struct counters_result *result, uint64_t device,
                         enum counters_by by);

const char *counters_device_name(const struct counters_result *result, uint64_t device);

#endif
