/* The processes of a set of traces as a table: who, where, on which GPUs, when, how much. */
#ifndef MP_REPORTS_SUMMARY_PROCESSES_H
#define MP_REPORTS_SUMMARY_PROCESSES_H

#include "profile/set.h"
#include "reports/ranks/ranks.h"
#include "table/table.h"

/* Prints warnings about incomplete traces, as far as their chunk headers tell, then the table, then
 * how the clocks relate: as far as `ranks` bound them, which may be NULL. MP_ERR_MEMORY. */
enum mp_status print_processes(const struct report_out *out, const struct trace_set *set,
                               const struct ranks *ranks);

#endif
