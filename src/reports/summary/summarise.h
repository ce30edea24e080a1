/* `summary` of one trace, for the commands that print it. */
#ifndef MP_REPORTS_SUMMARY_SUMMARISE_H
#define MP_REPORTS_SUMMARY_SUMMARISE_H

#include "cli/traces.h"
#include "reports/summary/summary.h"
#include "table/table.h"

struct summarising {
    struct report_out out;
    struct summary_options options;
};

/* Prints the summary of a trace; `context` is a struct summarising. */
trace_report summarise;

#endif
