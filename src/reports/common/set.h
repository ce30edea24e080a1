/* What reports over several processes say about the processes. */
#ifndef MP_REPORTS_COMMON_SET_H
#define MP_REPORTS_COMMON_SET_H

#include "base/text/json_write.h"
#include "profile/quality.h"
#include "profile/set.h"
#include "table/table.h"

/* `======== Warning: rank 3: ...`: the data of a process is incomplete. */
void print_process_warning(const struct report_out *out, const struct trace_process *process,
                           const char *warning);

/* Prints, as lines, what quality_describe says about a process's data, and whether kernels were run
 * again for metrics. Prints nothing if all is well. */
void print_process_quality(const struct report_out *out, const struct trace_process *process,
                           const struct quality *quality);

/* The number of processes and a line for each: what it is called in the report, host, process id,
 * program. */
void print_set_head(const struct report_out *out, const struct trace_set *set);

/* `======== Note: ...`: how accurately times of several processes can be compared. */
void print_set_clocks(const struct report_out *out, const struct trace_set *set);

/* Keys of an object: process, file, host, rank, pid, ppid, command. */
void json_process(struct json_writer *json, const struct trace_process *process);

#endif
