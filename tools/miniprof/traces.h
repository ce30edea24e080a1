/* What `gpu-trace` and `api-trace` share. */
#ifndef MINIPROF_TRACES_H
#define MINIPROF_TRACES_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"

struct traces_values {
    int format; /* enum report_format */
    uint64_t range;
    const char *units;
    bool demangling;
    bool merge;
    bool with_api; /* gpu-trace only */
};

#define TRACES_FIELD(name) offsetof(struct traces_values, name)

/* The options that both have. */
#define TRACES_OPTIONS                                                                             \
    {.name = "csv",                                                                                \
     .kind = OPTION_VALUE,                                                                         \
     .value = REPORT_CSV,                                                                          \
     .offset = TRACES_FIELD(format),                                                               \
     .help = "comma-separated values, as nvprof --csv"},                                           \
        {.name = "json",                                                                           \
         .kind = OPTION_VALUE,                                                                     \
         .value = REPORT_JSON,                                                                     \
         .offset = TRACES_FIELD(format),                                                           \
         .help = "a JSON document for each trace; times in ns of the recorder's clock"},           \
        {.name = "range",                                                                          \
         .argument = "N",                                                                          \
         .kind = OPTION_NUMBER,                                                                    \
         .offset = TRACES_FIELD(range),                                                            \
         .help = "only capture range N; without it, all ranges together"},                         \
        {.name = "merge",                                                                          \
         .kind = OPTION_FLAG,                                                                      \
         .offset = TRACES_FIELD(merge),                                                            \
         .help = "the records of all traces in one table, in order of time on one clock"},         \
        {.name = "demangling",                                                                     \
         .argument = "on|off",                                                                     \
         .kind = OPTION_SWITCH,                                                                    \
         .offset = TRACES_FIELD(demangling),                                                       \
         .help = "C++ names in readable form (default on)"},                                       \
    {                                                                                              \
        .name = "normalized-time-unit", .argument = "UNIT", .kind = OPTION_TEXT,                   \
        .offset = TRACES_FIELD(units), .letter = 'u',                                              \
        .help = "unit of times: s, ms, us or ns; col: one for each column; auto (default): one "   \
                "for each cell, in CSV for each column"                                            \
    }

/* Parses the command line of a command with these options and prints its traces; the exit code. */
int traces_command(const struct option_set *set, bool gpu, bool api, int argc, char **argv);

#endif
