/* Inside the table printer and beside it: the few colours of a terminal. Each tone is one of ANSI's
 * attributes or first eight colours, which every colour scheme of a terminal has. */
#ifndef MP_TABLE_PALETTE_H
#define MP_TABLE_PALETTE_H

#include <stdio.h>

#include "table/view.h"

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
