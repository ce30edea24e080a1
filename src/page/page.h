/* A page that holds documents: one HTML file that contains everything it needs.
 *
 *     struct html_page page;
 *     MP_TRY(html_page_begin(&page, out, &error));
 *     html_page_json(&page, "summary", "Summary", text, bytes);
 *     html_page_blob(&page, "events", data, size);
 *     MP_TRY(html_page_end(&page, &error));
 *
 * The parts around the documents come from src/page/html: a template, style sheets and scripts.
 * tools/dev/embed puts them together when miniprof is built. Data of a trace goes only
 * into documents, where a browser takes it for data, not for markup:
 *
 *     <script type="application/json" id="doc-summary" data-title="Summary">...</script>
 *     <script type="text/plain" id="blob-events">base64</script>
 *
 * In JSON <, > and & are written as \u003c and so on, and each character that acts
 * (base/text/foreign.h) as `?`. Numbers of more than 15 digits, which a script cannot hold exactly,
 * are written as strings. Output errors are the stream's (ferror).
 */
#ifndef MP_PAGE_PAGE_H
#define MP_PAGE_PAGE_H

#include <miniprof/status.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HTML_ID_BYTES 64

struct html_page {
    FILE *out; /* not owned */
};

/* Writes everything that stands before the documents. MP_ERR_MEMORY: then nothing is written. */
enum mp_status html_page_begin(struct html_page *page, FILE *out, struct mp_error *error);

/* Adds a JSON document. `id` is of letters, digits and _; `title` is plain text of ours. */
void html_page_json(struct html_page *page, const char *id, const char *title, const char *text,
                    size_t bytes);

/* Prints a document. */
typedef enum mp_status html_print(FILE *out, void *context);

/* Adds the document that `print` makes, under the id "PREFIXID". MP_ERR_MEMORY, or what `print`
 * returned: then nothing is added. */
enum mp_status html_page_print(struct html_page *page, const char *prefix, const char *id,
                               const char *title, html_print *print, void *context);

/* Adds bytes. */
void html_page_blob(struct html_page *page, const char *id, const uint8_t *data, size_t size);

/* Writes everything that follows the documents. MP_ERR_MEMORY: the page is not whole. */
enum mp_status html_page_end(struct html_page *page, struct mp_error *error);

/* The two encodings alone. */
void html_put_json(FILE *out, const char *text, size_t bytes);
void html_put_base64(FILE *out, const uint8_t *data, size_t size);

/* The parts around the documents: each is one zstd frame, which makes the program 0.2 MB smaller.
 */
extern const unsigned char html_assets_head[];
extern const size_t html_assets_head_bytes;
extern const unsigned char html_assets_tail[];
extern const size_t html_assets_tail_bytes;

/* The other public parts of this family. */
#include "page/diff.h"
#include "page/job.h"
#include "page/report.h"

#endif
