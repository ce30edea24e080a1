/* The documents of a page that analyses of their own fill (documents.h). Each is as long as
 * HTML_MOST_... allows at most, whatever the trace: what is left out stands in the document
 * `left_out`, and the page says it.
 */
#ifndef MP_REPORT_PAGE_ANALYSES_H
#define MP_REPORT_PAGE_ANALYSES_H

#include <stddef.h>
#include <stdio.h>

#include "base/status.h"
#include "report/page/documents.h"

#define HTML_MOST_DEVICES    64 /* of the first view */
#define HTML_MOST_ITERATIONS 10000
#define HTML_MOST_OUTLIERS   1000 /* the longest */
#define HTML_MOST_LAYERS     500  /* those that cost most */
#define HTML_MOST_WORK       10   /* names of work of a layer, by time */
#define HTML_MOST_KERNELS    1000 /* by time */
#define HTML_MOST_MEMORY     50   /* rows of each list */
#define HTML_MEMORY_STEPS    400  /* points of a line */
#define HTML_MOST_LINES      16   /* of memory: all devices first, then pools */

/* Of `all` rows those that a document may hold; notes what is left out. */
size_t html_at_most(struct html_material *material, const char *key, size_t most, size_t all);

/* Finds the iterations, measures them, and what is to say of them; after the graph was read, and
 * before anything else takes memory. The errors of iterations_study. html_iterations_free may
 * follow in any case. */
enum mp_status html_iterations_find(struct html_material *material, struct mp_error *error);
void html_iterations_free(struct html_material *material);

/* What the commands of these names print. Where there is nothing of that in the trace, a note. */
enum mp_status html_print_iters(FILE *out, struct html_material *material, struct mp_error *error);
enum mp_status html_print_advise(FILE *out, struct html_material *material, struct mp_error *error);
enum mp_status html_print_layers(FILE *out, struct html_material *material, struct mp_error *error);
enum mp_status html_print_kernels(FILE *out, struct html_material *material,
                                  struct mp_error *error);
enum mp_status html_print_overlap(FILE *out, struct html_material *material,
                                  struct mp_error *error);
enum mp_status html_print_memory(FILE *out, struct html_material *material, struct mp_error *error);

/* The iterations one by one: {"columns": [keys of `iters --each`], "rows": [[...], ...]}. */
enum mp_status html_print_iterations(FILE *out, struct html_material *material,
                                     struct mp_error *error);

/* {"start_ns", "time_ns": [...], "lines": [{"device_name", "pool", "max_bytes": [...],
 * "end_bytes": [...]}]}: `memory --points`, line by line; times are from start_ns on. Behind
 * html_print_memory, whose analysis it shows too. */
enum mp_status html_print_memory_lines(FILE *out, struct html_material *material,
                                       struct mp_error *error);

/* {"kernels": {"shown", "all"}, ...}; the last of all documents. */
enum mp_status html_print_left_out(FILE *out, struct html_material *material,
                                   struct mp_error *error);

#endif
