/* The options that reports have in common, and what becomes of them.
 *
 *     struct x_values { struct report_values report; bool own; };
 *     #define FIELD(name) offsetof(struct x_values, name)
 *     specs[] = {REPORT_CSV_OPTION(FIELD(report)), ..., {.name = "own", ...}};
 *     struct x_values values = {.report = REPORT_PRESET};
 *     if (!report_parse(&set, argc, argv, &values, &values.report, &out, &first, &code))
 *         return code;
 *     ...                                                  // checks of its own
 */
#ifndef MP_TOOL_COMMON_REPORT_OPTIONS_H
#define MP_TOOL_COMMON_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/options.h"
#include "model/kernels/names.h"
#include "report/table/table.h"

struct report_values {
    int format; /* enum report_format */
    uint64_t range;
    bool demangling;
    const char *unit;
};

#define REPORT_PRESET                                                                              \
    {                                                                                              \
        .format = REPORT_TEXT, .demangling = true                                                  \
    }

/* Rows of an option table; `at` is the offset of the struct report_values. */
#define REPORT_CSV_OPTION(at)                                                                      \
    {                                                                                              \
        .name = "csv", .kind = OPTION_VALUE, .value = REPORT_CSV,                                  \
        .offset = (at) + offsetof(struct report_values, format),                                   \
        .help = "comma-separated values, as nvprof --csv"                                          \
    }
#define REPORT_JSON_OPTION(at)                                                                     \
    {                                                                                              \
        .name = "json", .kind = OPTION_VALUE, .value = REPORT_JSON,                                \
        .offset = (at) + offsetof(struct report_values, format),                                   \
        .help = "a JSON document for each trace; times in ns"                                      \
    }
#define REPORT_RANGE_OPTION(at, help_)                                                             \
    {                                                                                              \
        .name = "range", .argument = "N", .kind = OPTION_NUMBER,                                   \
        .offset = (at) + offsetof(struct report_values, range), .help = (help_)                    \
    }
#define REPORT_DEMANGLING_OPTION(at)                                                               \
    {                                                                                              \
        .name = "demangling", .argument = "on|off", .kind = OPTION_SWITCH,                         \
        .offset = (at) + offsetof(struct report_values, demangling),                               \
        .help = "C++ names in readable form (default on)"                                          \
    }
#define REPORT_UNITS_OPTION(at)                                                                    \
    {                                                                                              \
        .name = "normalized-time-unit", .letter = 'u', .argument = "UNIT", .kind = OPTION_TEXT,    \
        .offset = (at) + offsetof(struct report_values, unit),                                     \
        .help = "unit of times: s, ms, us or ns; col: one for each column; auto (default): one "   \
                "for each cell, in CSV for each column"                                            \
    }

/* Opens a report to stdout as the options say; returns false after a complaint. */
bool report_out_open(const char *command, const struct report_values *values,
                     struct report_out *out);

/* Parses the command line of a report into `values`, of which `report` is a part, and opens the
 * report. *first is the first argument that is no option: a trace. Returns false if the command is
 * finished, with *code: either help was printed or there was a complaint. */
bool report_parse(const struct option_set *set, int argc, char **argv, void *values,
                  const struct report_values *report, struct report_out *out, int *first,
                  int *code);

/* Whether there are arguments besides options; false after a complaint. */
bool report_names_trace(const char *command, int arguments);

/* How names are written. */
enum names_style report_style(const struct report_values *values);

#endif
