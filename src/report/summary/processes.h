/* The processes of a set of traces as a table: who, where, on which GPUs, when, how much. */
#ifndef MP_REPORT_SUMMARY_PROCESSES_H
#define MP_REPORT_SUMMARY_PROCESSES_H

#include "analyze/ranks/ranks.h"
#include "model/trace/set.h"
#include "report/table/table.h"

/* Prints warnings about incomplete traces, as far as their chunk headers tell, then the table, then
 * how the clocks relate: as far as `ranks` bound them, which may be NULL. MP_ERR_MEMORY. */
enum mp_status print_processes(const struct report_out *out, const struct trace_set *set,
                               const struct ranks *ranks);

#endif
