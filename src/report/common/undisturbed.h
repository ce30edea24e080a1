/* What recording costs, in one line: measured, or else estimated. */
#ifndef MP_REPORT_COMMON_UNDISTURBED_H
#define MP_REPORT_COMMON_UNDISTURBED_H

#include <miniprof/trace.h>

#include "analyze/undisturbed/undisturbed.h"
#include "base/text/json_write.h"
#include "report/table/table.h"

#define UNDISTURBED_BYTES 256

/* "recorded 2.83ms, without recording 2.05ms: estimated ...". NULL if nothing
 * changes. */
const char *describe_undisturbed(const struct undisturbed *undisturbed,
                                 char text[UNDISTURBED_BYTES]);

/* A line with that, or with what the baseline says. `baseline` and `undisturbed` NULL: not looked
 * for. */
void print_undisturbed(const struct report_out *out, const struct mp_trace *trace,
                       const struct baseline *baseline, const struct undisturbed *undisturbed);

/* The keys "baseline", for a trace that has one, and "undisturbed" with an object. */
void json_undisturbed(struct json_writer *json, const struct baseline *baseline,
                      const struct undisturbed *undisturbed);

#endif
