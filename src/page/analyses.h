/* The documents of a page for which an analysis must run (documents.h). HTML_MAX_... bounds the
 * length of each, whatever the trace. The document `left_out` lists what is left out, and the page
 * says so.
 */
#ifndef MP_PAGE_ANALYSES_H
#define MP_PAGE_ANALYSES_H

#include <stddef.h>
#include <stdio.h>

#include "base/status.h"
#include "page/documents.h"

#define HTML_MAX_DEVICES    64 /* of the first view */
#define HTML_MAX_ITERATIONS 10000
#define HTML_MAX_OUTLIERS   1000   /* the longest */
#define HTML_MAX_LAYERS     500    /* those that cost most */
#define HTML_MAX_WORK       10     /* names of work of a layer, by time */
#define HTML_MAX_KERNELS    1000   /* by time */
#define HTML_MAX_CALLERS    500    /* lines of the program, by time */
#define HTML_MAX_NODES      2000   /* of the tree of stacks, by their greatest share */
#define HTML_MAX_MEMORY     50     /* rows of each list */
#define HTML_MEMORY_STEPS   400    /* points of a line */
#define HTML_COUNTER_BINS   100000 /* of all counters together */
#define HTML_MAX_LINES      16     /* of memory: all devices first, then pools */

/* How many of `all` rows a document may hold; notes how many are left out. */
size_t html_at_most(struct html_material *material, const char *key, size_t max, size_t all);

/* Finds and measures the iterations. Call it after the graph was read and before anything else
 * takes memory. Fails as iterations_study does. html_iterations_free may
 * follow in any case. */
enum mp_status html_iterations_find(struct html_material *material, struct mp_error *error);
void html_iterations_free(struct html_material *material);

void html_advise(struct html_material *material);

/* What the commands of these names print; a note if the trace has nothing of it. */
enum mp_status html_print_iters(FILE *out, struct html_material *material, struct mp_error *error);
enum mp_status html_print_advise(FILE *out, struct html_material *material, struct mp_error *error);
enum mp_status html_print_layers(FILE *out, struct html_material *material, struct mp_error *error);
enum mp_status html_print_kernels(FILE *out, struct html_material *material,
                                  struct mp_error *error);
enum mp_status html_print_stacks(FILE *out, struct html_material *material, struct mp_error *error);
enum mp_status html_print_overlap(FILE *out, struct html_material *material,
                                  struct mp_error *error);
enum mp_status html_print_memory(FILE *out, struct html_material *material, struct mp_error *error);

/* The iterations one by one: {"columns": [keys of `iters --each`], "rows": [[...], ...]}. */
enum mp_status html_print_iterations(FILE *out, struct html_material *material,
                                     struct mp_error *error);

/* {"start_ns", "time_ns": [...], "lines": [{"device_name", "pool", "max_bytes": [...], "end_bytes":
 * [...]}]}: what `memory --points` prints, line by line. Times count from start_ns. Call it after
 * html_print_memory, because it shows the same analysis. */
enum mp_status html_print_memory_lines(FILE *out, struct html_material *material,
                                       struct mp_error *error);

/* {"sets": [{"device", "bins", "counters": [{"name", "unit", "source", "step", "most"}]}]}: what
 * was sampled over time; `most` is the greatest value. The values are in a blob of the same name,
 * set by set, as LEB128 numbers; a set of n bins:
 *
 *     n  begin      minus the end of the bin before, for the first minus the timeline's origin;
 *                   zigzag
 *     n  duration   ns
 *     then of each counter:
 *     n  mean       as stored (sampled_unpack): 0: unknown; else 1 + zigzag of the difference to
 *                   the last one that is known
 *     .. greatest   of bins with a mean: minus the mean
 *     .. least      of bins with a mean: the mean minus it
 */
enum mp_status html_print_counter_lines(FILE *out, struct html_material *material,
                                        struct mp_error *error);

/* Appends these columns. `origin`: of the timeline. MP_ERR_MEMORY. */
enum mp_status html_pack_counter_lines(struct mp_buffer *blob, const struct counters_lines *lines,
                                       uint64_t origin);

/* {"kernels": {"shown", "all"}, ...}; the last of all documents. */
enum mp_status html_print_left_out(FILE *out, struct html_material *material,
                                   struct mp_error *error);

#endif
