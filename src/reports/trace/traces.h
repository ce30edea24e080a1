/* What `gpu-trace` and `api-trace` share. */
#ifndef MP_REPORTS_TRACE_TRACES_H
#define MP_REPORTS_TRACE_TRACES_H

#include <stdbool.h>

#include "cli/options.h"

struct traces_values {
    struct report_values report;
    bool merge;
    bool with_api; /* gpu-trace only */
};

#define TRACES_FIELD(name) offsetof(struct traces_values, name)

/* The options that both have. */
#define TRACES_OPTIONS                                                                             \
    REPORT_CSV_OPTION(TRACES_FIELD(report)), REPORT_JSON_OPTION(TRACES_FIELD(report)),             \
        REPORT_LINES_OPTION(TRACES_FIELD(report)),                                                 \
        REPORT_RANGE_OPTION(TRACES_FIELD(report),                                                  \
                            "only capture range N; without it, all ranges together"),              \
        {.name = "merge",                                                                          \
         .kind = OPTION_FLAG,                                                                      \
         .offset = TRACES_FIELD(merge),                                                            \
         .help = "the records of all traces in one table, in order of time on one clock"},         \
        REPORT_DEMANGLING_OPTION(TRACES_FIELD(report)), REPORT_UNITS_OPTION(TRACES_FIELD(report)), \
        REPORT_TOP_OPTION(TRACES_FIELD(report)), REPORT_VIEW_OPTIONS(TRACES_FIELD(report))

/* Parses the command line of a command with these options and prints its traces; the exit code. */
int traces_command(const struct option_set *set, bool gpu, bool api, int argc, char **argv);

#endif
