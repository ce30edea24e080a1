/* A digest as a screen of text, as Markdown, and as JSON (docs/report.md).
 *
 *     words.c     the sentences that text and Markdown share
 *     notes.c     what one must know to trust the numbers: keys and sentences
 *     text.c      at most DIGEST_TEXT_LINES lines of DIGEST_TEXT_COLUMNS columns
 *     markdown.c  at most two pages
 *     json.c      the document "miniprof-report/2"
 */
#ifndef MP_REPORTS_DIGEST_PRINT_H
#define MP_REPORTS_DIGEST_PRINT_H

#include <stdio.h>

#include "reports/digest/digest.h"

#define DIGEST_TEXT_LINES   40
#define DIGEST_TEXT_COLUMNS 80

/* Of one trace or several, the one at `shown` in full; nothing is owned. */
struct digest_report {
    const struct digest *digests;
    size_t count;
    size_t shown;
};

/* Several traces have a line each, above the screen. MP_ERR_MEMORY. */
enum mp_status print_digest_text(FILE *out, const struct digest_report *report);

void print_digest_markdown(FILE *out, const struct digest_report *report);
void print_digest_json(FILE *out, const struct digest_report *report);

#endif
