/* What `report`, `iters` and `advise` begin with, in words and as JSON: how long an iteration
 * takes, and how much of that is recording.
 */
#ifndef MP_REPORTS_COMMON_HEADLINE_H
#define MP_REPORTS_COMMON_HEADLINE_H

#include <miniprof/trace.h>

#include "base/text/json.h"
#include "reports/iterations/iterations.h"
#include "reports/recording_cost/recording_cost.h"
#include "table/table.h"

#define HEADLINE_BYTES 512

/* "An iteration takes 1.20ms in range 1 (P50 of 50), 40.0us in range 2 (P50 of 50)", without a full
 * stop. `unit` is "iteration" or "request", whose latencies have this P50 (ns). */
const char *describe_headline(const struct iterations_headline *headline, const char *unit,
                              uint64_t latency, char text[HEADLINE_BYTES]);

/* The key "headline" with an object. */
void json_headline(struct json_writer *json, const struct iterations_headline *headline);

/* ---- What recording costs ---- */

#define RECORDING_COST_BYTES 512

/* "Recording costs about 920us of it (13 %), ...": a sentence. NULL if nothing is known, or no
 * cost was found. It has the name of steps as it is. */
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
