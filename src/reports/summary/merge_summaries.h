/* `summary --merge` and `--side-by-side`. */
#ifndef MP_REPORTS_SUMMARY_MERGE_SUMMARIES_H
#define MP_REPORTS_SUMMARY_MERGE_SUMMARIES_H

#include <stdbool.h>

#include "reports/summary/summary.h"
#include "table/table.h"

/* Prints one summary over the traces that the arguments name; returns the exit code. */
int merge_summaries(const char *command, int count, char **arguments, struct report_out *out,
                    const struct summary_options *options, bool side_by_side);

#endif
