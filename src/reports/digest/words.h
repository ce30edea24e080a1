/* Inside the digest's printers: sentences and names. They hold the program's text as it is; who
 * prints them replaces what must not be printed.
 */
#ifndef MP_REPORTS_DIGEST_WORDS_H
#define MP_REPORTS_DIGEST_WORDS_H

#include "reports/digest/print.h"

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

/* "iteration", "request". */
const char *digest_unit(const struct digest *digest);

/* "idle: launch-bound" */
const char *digest_part_words(enum digest_part part);

/* Of the mean latency, 0 to 100; 0 without one. */
double digest_share(const struct digest *digest, double ns);

/* "at most -125.94us, 12.3 %" */
void digest_gain(const struct advise_finding *finding, char *text, size_t size);

/* How several traces are told apart: the file's name, or what the set calls the process if two
 * files have that name. */
const char *digest_title(const struct digest_report *report, size_t index);

/* A name in at most `columns` columns: its middle is left out. A kernel's goes without "void " and
 * parameters, because template arguments tell kernels apart. Returns `text`, which has room for 4
 * bytes a column. */
const char *digest_shorten(const char *name, size_t columns, char *text, size_t size);
const char *digest_kernel_name(const char *name, size_t columns, char *text, size_t size);

#endif
