/* How a person looks at tables: on a terminal of some width, sorted by a column, the first rows of
 * them only. struct report_out refers to a view; without one a table is printed row by row as wide
 * as it is, which is what pipes and files get.
 *
 * With a view a table keeps its rows until report_end, or until there are too many: then it knows
 * how wide each column is. Columns that do not fit are left out, those with the largest `drop`
 * first, of equal ones the rightmost; the view remembers their titles for a last line.
 */
#ifndef MP_TABLE_VIEW_H
#define MP_TABLE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define REPORT_TITLES_BYTES 1024
#define REPORT_MIN_NAME     16 /* columns of a name in prose, however narrow the terminal is */

/* Different titles of columns, "Time, Calls"; those for which there is no room are not in it. */
struct report_titles {
    char text[REPORT_TITLES_BYTES];
    size_t bytes;
    bool full;
};

struct report_view {
    unsigned width;      /* of the terminal, characters; 0: no terminal, lines of any length */
    unsigned name_width; /* without a terminal, the width of names; 0: any */
    bool whole_names;    /* on a terminal too */
    bool colour;
    uint64_t top;     /* rows of each table, and of each part of one; 0: all */
    const char *sort; /* title or key of a column, perhaps with '-' before it; NULL: no other order
                         than that of the report */

    /* Written while tables are printed. */
    bool sorted;                   /* some table has the column */
    struct report_titles titles;   /* of the tables, if `sort` is set */
    struct report_titles left_out; /* of columns that did not fit */
};

/* Adds a title unless it is there already. */
void report_titles_add(struct report_titles *titles, const char *title);

/* Whether text is laid out for a person: fitted, coloured or with short names. */
bool report_view_lays_out(const struct report_view *view);

/* Characters that a line of prose may have: those of the terminal, or `usual` without one. */
unsigned report_view_line(const struct report_view *view, unsigned usual);

/* ---- Names ---- */

/* Columns of a terminal that a text takes: wide characters take two, combining ones none. */
size_t report_columns_of(const char *text, size_t bytes);

/* A text of at most `width` columns, at least 4: if it is longer its middle becomes "...". Returns
 * `text` itself or `buffer`, of which *bytes bytes count. */
const char *report_shorten(const char *text, size_t *bytes, size_t width, char *buffer,
                           size_t buffer_bytes);

/* Prints a name in a line of prose, of which `taken` columns are taken by other words; without a
 * terminal as it is. Makes it visible as foreign_put does. */
void report_put_name(FILE *out, const struct report_view *view, size_t taken, const char *name);

#define REPORT_SHORTENED_BYTES 2048 /* enough for any terminal's line */

/* ---- The few colours of a terminal ---- */

/* Each tone is one of ANSI's attributes or first eight colours, which every colour scheme of a
 * terminal has. */
enum report_tone {
    REPORT_TONE_PLAIN,
    REPORT_TONE_TITLE,  /* headers and names of parts: bold */
    REPORT_TONE_STRONG, /* a tenth of all or more: bold */
    REPORT_TONE_QUIET,  /* notes, and rows of under one percent: faint */
    REPORT_TONE_BAD,    /* slower, not whole: red */
    REPORT_TONE_GOOD,   /* faster: green */
    REPORT_TONE_WARNING /* yellow */
};

/* Nothing is printed without a view, without colours, and for REPORT_TONE_PLAIN. */
void report_tone_begin(FILE *out, const struct report_view *view, enum report_tone tone);
void report_tone_end(FILE *out, const struct report_view *view, enum report_tone tone);

/* The escape sequences themselves. */
const char *report_tone_text(enum report_tone tone);
#define REPORT_TONE_OFF "\033[0m"

/* The tone of a word that is a verdict: "slower", "faster"; else plain. */
enum report_tone report_tone_of_word(const char *word, size_t bytes);

#endif
