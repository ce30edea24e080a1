/* What every report says about the quality of its data, and nvprof's line prefixes. */
#ifndef MP_REPORTS_COMMON_QUALITY_H
#define MP_REPORTS_COMMON_QUALITY_H

#include <miniprof/trace.h>

#include "base/text/json_write.h"
#include "profile/definitions.h"
#include "profile/quality.h"
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

/* `==PID== Note: ...` when kernels were run again for metrics, else nothing. */
void print_profiled_note(const struct report_out *out, const struct mp_trace *trace,
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

#endif
