/* What every report says about the quality of its data, and nvprof's line prefixes. */
#ifndef MP_REPORTS_COMMON_QUALITY_H
#define MP_REPORTS_COMMON_QUALITY_H

#include <miniprof/trace.h>

#include "base/text/json.h"
#include "profile/common/kernel_time.h"
#include "profile/definitions.h"
#include "profile/quality.h"
#include "profile/set.h"
#include "table/table.h"

/* `==PID== ` of the profiled process; `======== ` if the trace does not state it, for an import,
 * and for several processes (`trace` NULL). */
void print_prefix(const struct report_out *out, const struct mp_trace *trace);

/* A line for people with the prefix, in which no name acts (base/text/foreign.h); without its
 * newline. */
__attribute__((format(printf, 3, 4))) void print_note(const struct report_out *out,
                                                      const struct mp_trace *trace,
                                                      const char *format, ...);

/* `Device "TITAN V (0)"`; a device of UINT64_MAX is not known. */
void print_device_name(FILE *out, const char *name, uint64_t device);

/* The same prefix for a line that stands between CSV rows, so that CSV readers can skip the line.
 * Prints nothing in text, and in nvprof's own reports. */
void print_csv_prefix(const struct report_out *out, const struct mp_trace *trace);

/* The program's command line if the trace has it, else its file; NULL when it has neither. */
const char *command_of(const struct mp_trace *trace);

/* `==PID== Warning: ...` if the data is incomplete, else nothing. */
void print_warning(const struct report_out *out, const struct mp_trace *trace,
                   const struct quality *quality);

/* `==PID== Note: ...` when a share of the steps was not recorded, else nothing. */
void print_baseline_note(const struct report_out *out, const struct mp_trace *trace,
                         const struct quality *quality);

/* `==PID== Note: ...` when another client had CUPTI's callbacks, else nothing. */
void print_callbacks_note(const struct report_out *out, const struct mp_trace *trace,
                          const struct quality *quality);

/* `==PID== No WHAT: WHY.`, where a conclusion would stand, but for the gap. */
void print_gap(const struct report_out *out, const struct mp_trace *trace,
               const struct quality_gap *gap, const char *what);

/* The head of every report: warning and notes, the program. If `range` is not 0, also that the
 * report covers one of `range_count` capture ranges. */
void print_head(const struct report_out *out, const struct mp_trace *trace,
                const struct quality *quality, uint64_t range, size_t range_count);

/* The same as the first keys of a document: pid, command, ranges, range, quality. For a trace of
 * the flight recorder `flight` comes before `quality`. */
void json_head(struct json_writer *json, const struct mp_trace *trace,
               const struct quality *quality, const struct definitions *definitions, uint64_t range,
               size_t range_count);

/* The value of the key "quality": `whole`, what is missing, and the recorder's own counters. */
void json_quality(struct json_writer *json, const struct quality *quality,
                  const struct definitions *definitions);

/* What a report says of a trace that the flight recorder wrote: docs/trace-format.md, section 3. */

/* `==PID== Note: ...` with the trigger and the time that the trace covers; nothing for any other
 * trace. What the header does not state is left out. */
void print_flight_note(const struct report_out *out, const struct mp_trace *trace);

/* The key "flight" with the same as an object; no key for any other trace. */
void json_flight(struct json_writer *json, const struct mp_trace *trace);

/* By how much kernel times add up beyond the time in which kernels run, as a line and as JSON. */

/* `==PID== Note: kernel times add up to ...` if they exceed the busy time by more than 1 %, else
 * nothing. `trace` NULL: of several processes. */
void print_kernel_time(const struct report_out *out, const struct mp_trace *trace,
                       const struct kernel_time *time);

/* The key "kernel_time": total_ns, busy_ns, beyond_busy_ns, within_streams_ns, between_streams_ns;
 * null if nothing is known. */
void json_kernel_time(struct json_writer *json, const struct kernel_time *time);

/* ---- What reports over several processes say about the processes ---- */

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
