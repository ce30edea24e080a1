/* `summary` of one trace, for the commands that print it. */
#ifndef MP_TOOL_COMMON_SUMMARISE_H
#define MP_TOOL_COMMON_SUMMARISE_H

#include "analyze/summary/summary.h"
#include "report/table/table.h"

/* Prints the summary of the trace, which is called `path`, to `out`, or complains; returns the exit
 * code. */
int summarise(const char *command, struct mp_trace *trace, const char *path,
              const struct report_out *out, const struct summary_options *options);

#endif
