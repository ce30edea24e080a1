/* What recording costs, in one line. */
#ifndef MP_REPORTS_COMMON_RECORDING_COST_H
#define MP_REPORTS_COMMON_RECORDING_COST_H

#include <miniprof/trace.h>

#include "base/text/json.h"
#include "reports/recording_cost/recording_cost.h"
#include "table/table.h"

#define RECORDING_COST_BYTES 512

/* "Recording costs about 920us of it (13 %), ...": a sentence. NULL if nothing is known, or no
 * cost was found. The name of steps stands in it as it is. */
const char *describe_recording_cost(const struct recording_cost *cost,
                                    char text[RECORDING_COST_BYTES]);

/* A line with what a baseline says, or why it says nothing; none of a trace that has none. As JSON
 * the key "baseline". */
void print_baseline(const struct report_out *out, const struct mp_trace *trace,
                    const struct baseline *baseline);
void json_baseline(struct json_writer *json, const struct baseline *baseline);

/* A line with either, or why a baseline is missing that was asked for. `baseline` and `cost` NULL:
 * nobody has looked. */
void print_recording_cost(const struct report_out *out, const struct mp_trace *trace,
                          const struct baseline *baseline, const struct recording_cost *cost);

/* The key "recording_cost" with an object, and "baseline" if the trace has one. */
void json_recording_cost(struct json_writer *json, const struct baseline *baseline,
                         const struct recording_cost *cost);

#endif
