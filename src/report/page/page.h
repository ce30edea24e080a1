/* A page that holds documents: one HTML file, with everything inside that it needs.
 *
 *     struct html_page page;
 *     MP_TRY(html_page_begin(&page, out, &error));
 *     html_page_json(&page, "summary", "Summary", text, bytes);
 *     html_page_blob(&page, "events", data, size);
 *     html_page_end(&page);
 *
 * What stands around the documents is src/report/html: a template, a style sheet, scripts and
 * uPlot, put together by tools/dev/embed when miniprof is built (assets.h). Nothing of a trace
 * goes anywhere but into documents, where a browser takes it for data, not for markup:
 *
 *     <script type="application/json" id="doc-summary" data-title="Summary">...</script>
 *     <script type="text/plain" id="blob-events">base64</script>
 *
 * In JSON <, >, & and the line separators U+2028 and U+2029 are written as \u003c and so on, and
 * numbers of more than 15 digits, which a script could not hold, as strings. Output errors are the
 * stream's (ferror).
 */
#ifndef MP_REPORT_PAGE_PAGE_H
#define MP_REPORT_PAGE_PAGE_H

#include <miniprof/status.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct html_page {
    FILE *out; /* not owned */
};

/* Whether pages can be made. MP_ERR_UNSUPPORTED, with what to do, when miniprof was built without
 * uPlot. */
enum mp_status html_page_check(struct mp_error *error);

/* Writes all that stands before the documents. Where html_page_check fails it does, too, and
 * nothing is written. */
enum mp_status html_page_begin(struct html_page *page, FILE *out, struct mp_error *error);

/* Adds a JSON document. `id` is of letters, digits and _; `title` is plain text of ours. */
void html_page_json(struct html_page *page, const char *id, const char *title, const char *text,
                    size_t bytes);

/* Adds bytes. */
void html_page_blob(struct html_page *page, const char *id, const uint8_t *data, size_t size);

void html_page_end(struct html_page *page);

/* The two encodings by themselves. */
void html_put_json(FILE *out, const char *text, size_t bytes);
void html_put_base64(FILE *out, const uint8_t *data, size_t size);

/* The rest of what this family shows to others. */
#include "report/page/diff.h"
#include "report/page/report.h"

#endif
