/* A digest as a screen of text, as Markdown, and as JSON (docs/report.md).
 *
 *     words.c     the sentences that text and Markdown share, and the notes with their keys
 *     text.c      at most DIGEST_TEXT_LINES lines of DIGEST_TEXT_COLUMNS columns
 *     markdown.c  at most two pages
 *     json.c      the document "miniprof-report/2"
 */
#ifndef MP_REPORTS_DIGEST_PRINT_H
#define MP_REPORTS_DIGEST_PRINT_H

#include <stdio.h>

#include "reports/digest/digest.h"
#include "reports/job/print.h"

#define DIGEST_TEXT_LINES   40
#define DIGEST_TEXT_COLUMNS 80

/* Of one trace or several, the one at `shown` in full; nothing is owned. */
struct digest_report {
    const struct digest *digests;
    size_t count;
    size_t shown;
    const struct job_answer *job; /* that the traces are ranks of; NULL: they are not, or it is not
                                     known */
    bool shows_late;              /* the one at `shown` is the job's late rank */
};

/* Several traces have a line each, above the screen. MP_ERR_MEMORY. */
enum mp_status print_digest_text(FILE *out, const struct digest_report *report);

void print_digest_markdown(FILE *out, const struct digest_report *report);
void print_digest_json(FILE *out, const struct digest_report *report);

/* ---- Sentences and names, for the printers alone ----
 *
 * They hold the program's text as it is; who prints them replaces what must not be printed.
 */

#define DIGEST_LINE_BYTES 1024

struct digest_line {
    const char *key; /* static */
    char text[DIGEST_LINE_BYTES];
};

#define DIGEST_ANSWERS 4
#define DIGEST_FACTS   5
#define DIGEST_NOTES   13

/* What one wants to know first: the latency, where it goes, the first finding. Returns how many;
 * none without GPU work: then the first note is the answer. */
size_t digest_answers(const struct digest *digest, struct digest_line lines[DIGEST_ANSWERS]);

/* What was recorded. The names of the program and of ranges are cut to `columns`; 0: they are not.
 */
size_t digest_facts(const struct digest *digest, size_t columns,
                    struct digest_line lines[DIGEST_FACTS]);

/* What one must know to trust the numbers, with the keys of JSON. */
size_t digest_notes(const struct digest *digest, struct digest_line lines[DIGEST_NOTES]);

/* "idle: launch-bound" */
const char *digest_part_words(enum digest_part part);

/* Of the mean latency, 0 to 100; 0 without one. */
double digest_share(const struct digest *digest, double ns);

/* "at most -125.94us, 12.3 %" */
void digest_gain(const struct advise_finding *finding, char *text, size_t size);

/* How several traces are distinguished: the file's name, or what the set calls the process if two
 * files have that name. */
const char *digest_title(const struct digest_report *report, size_t index);

/* A name in at most `columns` columns: its middle is left out. A kernel's goes without "void " and
 * parameters, because template arguments tell kernels apart. Returns `text`, which has room for 4
 * bytes a column. */
const char *digest_shorten(const char *name, size_t columns, char *text, size_t size);
const char *digest_kernel_name(const char *name, size_t columns, char *text, size_t size);

#endif
