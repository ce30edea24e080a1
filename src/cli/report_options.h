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
#ifndef MP_CLI_REPORT_OPTIONS_H
#define MP_CLI_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "cli/view_options.h"
#include "profile/names/names.h"
#include "table/table.h"

struct report_values {
    int format;        /* enum report_format */
    bool lines;        /* JSON: a document a line */
    const char *table; /* CSV: which of the report's tables; NULL: its main one */
    uint64_t range;
    bool demangling;
    bool as_recorded; /* accepted; all times are */
    const char *unit;
    struct report_sheet sheet;       /* CSV: where its rows go */
    struct json_documents documents; /* JSON: where several documents go */
    struct view_values view;
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
        .help = "comma-separated values for scripts: one header row, times in ns, sizes in bytes"  \
    }
#define REPORT_TABLE_OPTION(at, tables_)                                                           \
    {                                                                                              \
        .name = "table", .argument = "NAME", .kind = OPTION_TEXT,                                  \
        .offset = (at) + offsetof(struct report_values, table),                                    \
        .help = "with --csv: another table of the report: " tables_                                \
    }
#define REPORT_JSON_OPTION(at)                                                                     \
    {                                                                                              \
        .name = "json", .kind = OPTION_VALUE, .value = REPORT_JSON,                                \
        .offset = (at) + offsetof(struct report_values, format),                                   \
        .help = "a JSON document, of several traces an array of them; times in ns"                 \
    }
#define REPORT_LINES_OPTION(at)                                                                    \
    {                                                                                              \
        .name = "jsonl", .kind = OPTION_FLAG,                                                      \
        .offset = (at) + offsetof(struct report_values, lines),                                    \
        .help = "the same, each document on one line"                                              \
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
#define REPORT_AS_RECORDED_OPTION(at)                                                              \
    {                                                                                              \
        .name = "as-recorded", .kind = OPTION_FLAG,                                                \
        .offset = (at) + offsetof(struct report_values, as_recorded), .help = "", .hidden = true   \
    }
#define REPORT_UNITS_OPTION(at)                                                                    \
    {.name = "unit",                                                                               \
     .letter = 'u',                                                                                \
     .argument = "UNIT",                                                                           \
     .kind = OPTION_TEXT,                                                                          \
     .offset = (at) + offsetof(struct report_values, unit),                                        \
     .help = "unit of times in text: s, ms, us or ns; col: one for each column; auto "             \
             "(default): one for each cell"},                                                      \
        OPTION_ALIAS("normalized-time-unit", "UNIT", (at) + offsetof(struct report_values, unit))

#define REPORT_TOP_OPTION(at)   VIEW_TOP_OPTION((at) + offsetof(struct report_values, view))
#define REPORT_VIEW_OPTIONS(at) VIEW_OPTIONS((at) + offsetof(struct report_values, view))

/* Opens a report to stdout as the options say; returns false after a complaint. `values` must
 * outlive it. */
bool report_out_open(const char *command, struct report_values *values, struct report_out *out);

/* Parses the command line of a report into `values`, of which `report` is a part, and opens the
 * report. *first is the first argument that is no option: a trace. Returns false if the command is
 * finished, with *code: either help was printed or there was a complaint. */
bool report_parse(const struct option_set *set, int argc, char **argv, void *values,
                  struct report_values *report, struct report_out *out, int *first, int *code);

/* How names are written. */
enum names_style report_style(const struct report_values *values);

#endif
