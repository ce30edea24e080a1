/* The options for how a person looks at tables: --top, --sort, --names, --color, --no-pager. Every
 * command that prints a table has them.
 *
 *     struct x_values { struct view_values view; ... };
 *     specs[] = {..., VIEW_TOP_OPTION(FIELD(view)), VIEW_OPTIONS(FIELD(view))};
 *     if (!view_open(command, &values.view, format, &out))
 *         return EXIT_USAGE;
 *
 * view_open makes stdout the screen, so it comes before whatever takes `stdout`.
 */
#ifndef MP_CLI_VIEW_OPTIONS_H
#define MP_CLI_VIEW_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "table/table.h"

struct view_values {
    uint64_t top; /* 0: all rows */
    const char *sort;
    const char *names;
    const char *color;
    bool no_pager;
};

/* Rows of an option table; `at` is the offset of the struct view_values. Commands whose analysis
 * has a number of rows of its own describe --top themselves. */
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

#endif
