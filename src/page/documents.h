/* The documents of a page about a trace: what a command prints with --json, made by the same
 * printer, and the JSON part of the timeline.
 */
#ifndef MP_PAGE_DOCUMENTS_H
#define MP_PAGE_DOCUMENTS_H

#include <miniprof/trace.h>
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

#endif
