/* `summary` of one file, for the commands that print it. */
#ifndef MINIPROF_SUMMARISE_H
#define MINIPROF_SUMMARISE_H

#include "analyze/summary.h"
#include "report/table.h"

/* Prints the summary of the trace at `path` to `out`, or complains; returns the exit code. */
int summarise_file(const char *command, const char *path, const struct report_out *out,
                   const struct summary_options *options);

#endif
