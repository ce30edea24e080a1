/* `summary` of one trace, for the commands that print it. */
#ifndef MP_TOOL_COMMON_SUMMARISE_H
#define MP_TOOL_COMMON_SUMMARISE_H

#include "analyze/summary/summary.h"
#include "common/trace_args.h"
#include "report/table/table.h"

struct summarising {
    struct report_out out;
    struct summary_options options;
};

/* Prints the summary of a trace; `context` is a struct summarising. */
trace_report summarise;

#endif
