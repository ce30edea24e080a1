/* The documents of a page about a trace: what a command prints with --json, made by the same
 * printer, and the JSON part of the timeline.
 *
 * For some of them an analysis must run. HTML_MAX_... bounds the length of each list, whatever the
 * trace. The document `left_out` lists what is left out, and the page says so.
 */
#ifndef MP_PAGE_DOCUMENTS_H
#define MP_PAGE_DOCUMENTS_H

#include <miniprof/trace.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"
#include "page/timeline.h"
#include "page/timeline/timeline.h"
#include "profile/names/names.h"
#include "reports/advise/advise.h"
#include "reports/counters/counters.h"
#include "reports/deps/deps.h"
#include "reports/memory/memory.h"
#include "reports/recording_cost/recording_cost.h"

/* That a document holds `shown` of `all` rows. */
struct html_left_out {
    const char *key;
    uint64_t shown;
    uint64_t all;
};

#define HTML_LEFT_OUT 12

/* What documents are made from; report.c owns it. The event graph is read once for all of them. */
struct html_material {
    struct mp_trace *trace;
    uint64_t range; /* id of a capture range; 0: everything */
    enum names_style style;
    const struct peer_waits *peers; /* of the trace, in a job; NULL: not known */
    struct deps deps;
    struct deps_windows windows;
    struct deps_result result;
    uint64_t *critical; /* by activity, ns */
    struct timeline timeline;
    struct html_kinds kinds;
    struct iterations_study study;
    struct baseline baseline;
    struct recording_cost recording_cost;
    struct advice advice;
    struct mp_error no_advice; /* why there is no advice; MP_OK: there is */
    struct memory memory;      /* valid from the memory document on */
    struct mp_error no_memory; /* why `memory` is empty although asked for; MP_OK: it is not */
    struct counters_lines counters;
    struct html_left_out left_out[HTML_LEFT_OUT];
    size_t left_out_count;
};

/* `id` as in html_page_json. `print` returns MP_OK. If there is no such document it returns why,
 * with or without a text in *error; what it has printed is then useless. */
struct html_document {
    const char *id;
    const char *title;
    enum mp_status (*print)(FILE *out, struct html_material *material, struct mp_error *error);
    bool needs_times; /* else there is a note where work is missing (quality_gap) */
};

/* {"note": text}: instead of a document. */
void html_print_note(FILE *out, const char *text);

/* What the page's first view needs and no command prints: the busy times of each device. */
enum mp_status html_print_overview(FILE *out, struct html_material *material,
                                   struct mp_error *error);

/* In the order in which the page offers them; some have no view of their own (main.js). */
extern const struct html_document html_documents[];
extern const size_t html_document_count;

/* ---- Documents for which an analysis must run ---- */

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
