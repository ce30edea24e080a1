/* The command line of every subcommand, from tables.
 *
 * A command describes its options as data: name, letter, argument, help, and the field of its
 * struct that takes the value. Parsing, --help and complaints all come from the table. getopt_long
 * does the parsing. argp is not used, because it prints two-line complaints and exits with
 * other codes.
 */
#ifndef MP_CLI_OPTIONS_H
#define MP_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/command.h"
#include "profile/names/names.h"
#include "table/table.h"

enum option_kind {
    OPTION_FLAG,   /* bool: set to true */
    OPTION_VALUE,  /* int: set to `value` */
    OPTION_NUMBER, /* uint64_t: a decimal number from 1 on */
    OPTION_SWITCH, /* bool: on or off */
    OPTION_TEXT,   /* const char *: points into argv */
    OPTION_TEXTS   /* struct option_texts: as often as the option is given */
};

#define OPTION_TEXTS_MAX 32

/* The arguments of an option that may be given several times, in their order. */
struct option_texts {
    const char *items[OPTION_TEXTS_MAX]; /* point into argv */
    size_t count;
};

struct option_spec {
    const char *name;     /* without the dashes */
    const char *argument; /* what --help calls it; NULL when the option takes none */
    const char *help;     /* a phrase without a full stop */
    const char *alone;    /* OPTION_TEXT: the value without an argument; NULL: it needs one */
    size_t offset;        /* of the field in the command's struct */
    enum option_kind kind;
    int value;   /* OPTION_VALUE */
    char letter; /* 0: no short form */
    bool hidden; /* an old name: it works, and neither --help nor a suggestion names it */
};

/* The old name of an option that takes a text, for one version. */
#define OPTION_ALIAS(name_, argument_, offset_)                                                    \
    {                                                                                              \
        .name = (name_), .argument = (argument_), .kind = OPTION_TEXT, .offset = (offset_),        \
        .help = "", .hidden = true                                                                 \
    }

struct option_set {
    const char *command;  /* "summary" */
    const char *synopsis; /* "[options] TRACE..." */
    const char *purpose;  /* a sentence */
    const char *notes;    /* what --help ends with; NULL: nothing */
    const struct option_spec *specs;
    size_t count;
    bool program_follows; /* options end at the first argument that is none */
};

#define OPTIONS_MAX 56 /* of one command */

enum options_result { OPTIONS_OK, OPTIONS_DONE, OPTIONS_WRONG };

/* Fills `values`, which holds the defaults, from argv, and sets *first to the first argument that
 * is no option. OPTIONS_DONE: --help was printed; OPTIONS_WRONG: a complaint was printed. */
enum options_result options_parse(const struct option_set *set, int argc, char **argv, void *values,
                                  int *first);

/* Takes the options of a command. */
typedef void options_listener(void *context, const struct option_set *set);

/* From now on options_parse only hands the options to `listener` and says OPTIONS_DONE, so that
 * calling a command lists its options; NULL ends that. */
void options_listen(options_listener *listener, void *context);

/* Complains about options that exclude each other if they `clash`; returns true if they do not. */
bool options_agree(const char *command, bool clash, const char *complaint);

/* One option as --help prints it: broken into lines, on stdout. */
void options_print(char letter, const char *name, const char *argument, const char *help);

/* ---- How a person looks at tables ----
 *
 * --top, --sort, --names, --color, --no-pager: every command that prints a table has them.
 *
 *     struct x_values { struct view_values view; ... };
 *     specs[] = {..., VIEW_TOP_OPTION(FIELD(view)), VIEW_OPTIONS(FIELD(view))};
 *     if (!view_open(command, &values.view, format, &out))
 *         return EXIT_USAGE;
 *
 * view_open makes stdout the screen, so it comes before whatever takes `stdout`.
 */

struct view_values {
    uint64_t top; /* 0: all rows */
    const char *sort;
    const char *names;
    const char *color;
    bool no_pager;
};

/* Rows of an option table; `at` is the offset of the struct view_values. Commands whose analysis
 * chooses its number of rows describe --top themselves. */
#define VIEW_TOP_OPTION(at)                                                                        \
    {                                                                                              \
        .name = "top", .argument = "N", .kind = OPTION_NUMBER,                                     \
        .offset = (at) + offsetof(struct view_values, top),                                        \
        .help = "the first N rows of each table, and of each part of one"                          \
    }
#define VIEW_OPTIONS(at)                                                                           \
    {                                                                                              \
        .name = "sort",                                                                            \
        .argument = "COLUMN",                                                                      \
        .kind = OPTION_TEXT,                                                                       \
        .offset = (at) + offsetof(struct view_values, sort),                                       \
        .help = "sort rows by this column: numbers descending, names ascending; -COLUMN reverses " \
                "the order",                                                                       \
    },                                                                                             \
        {.name = "names",                                                                          \
         .argument = "full|short",                                                                 \
         .kind = OPTION_TEXT,                                                                      \
         .offset = (at) + offsetof(struct view_values, names),                                     \
         .help = "whole names, or as many letters as fit (default on a terminal)"},                \
        {.name = "color",                                                                          \
         .argument = "auto|always|never",                                                          \
         .kind = OPTION_TEXT,                                                                      \
         .offset = (at) + offsetof(struct view_values, color),                                     \
         .help = "colours (default auto: on a terminal, unless NO_COLOR is set)"},                 \
    {                                                                                              \
        .name = "no-pager", .kind = OPTION_FLAG,                                                   \
        .offset = (at) + offsetof(struct view_values, no_pager),                                   \
        .help = "print without $PAGER or less, however long the output is"                         \
    }

/* Looks at the terminal and the options: sets out->file and, unless output is as it is without a
 * terminal, out->view. False after a complaint. */
bool view_open(const char *command, const struct view_values *values, enum report_format format,
               struct report_out *out);

/* Sets the number of rows for a command that describes --top itself. */
void view_top(struct report_out *out, uint64_t top);

/* The same for a command that prints no table: lines are broken where the terminal needs it. */
void view_open_lines(void);

/* The same for a report on stderr: sets out->view; out->file stays. */
void view_open_stderr(struct report_out *out);

/* Says what columns were left out, complains of --sort if no table has the column, and ends the
 * screen. Returns the exit code; sets *written to false if output was lost. */
int view_close(int code, bool *written);

/* ---- What reports have in common, and what becomes of it ----
 *
 *     struct x_values { struct report_values report; bool own; };
 *     #define FIELD(name) offsetof(struct x_values, name)
 *     specs[] = {REPORT_CSV_OPTION(FIELD(report)), ..., {.name = "own", ...}};
 *     struct x_values values = {.report = REPORT_PRESET};
 *     if (!report_parse(&set, argc, argv, &values, &values.report, &out, &first, &code))
 *         return code;
 *     ...                                                  // its own checks
 */

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
    struct report_out out; /* with report_command: where the report goes */
};

#define REPORT_PRESET                                                                              \
    {                                                                                              \
        .format = REPORT_TEXT, .demangling = true                                                  \
    }

/* The notes of most reports. */
#define REPORT_EXIT_CODES                                                                          \
    "Exit code: 0 fine, 1 a trace is not whole (its first line says why), 2 wrong usage, 3 a "     \
    "trace cannot be read."

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

/* A whole command that reports each of its traces: parses the command line, `check`s what it says
 * (NULL, or false after a complaint), and calls `print` with `values` and each trace. Returns the
 * exit code. */
int report_command(const struct option_set *set, int argc, char **argv, void *values,
                   struct report_values *report, bool (*check)(void *values), trace_report *print);

/* How names are written. */
enum names_style report_style(const struct report_values *values);

#endif
