/* The documents of a page about a trace: what a command prints with --json, made by the same
 * printer, and what of the time line is JSON.
 */
#ifndef MP_REPORT_HTML_DOCUMENTS_H
#define MP_REPORT_HTML_DOCUMENTS_H

#include <miniprof/trace.h>
#include <stdio.h>

#include "analyze/deps.h"
#include "analyze/timeline.h"
#include "base/status.h"
#include "model/names.h"
#include "report/html_timeline.h"

/* What documents are made of; html_report.c owns it. The event graph is read once, for all of them
 * that need it. */
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
};

/* `id` as html_page_json has it. `print` returns MP_OK, or why there is no such document, with or
 * without words in *error; what it printed is then of no use. */
struct html_document {
    const char *id;
    const char *title;
    enum mp_status (*print)(FILE *out, struct html_material *material, struct mp_error *error);
};

/* In the order in which the page offers them; `overview` and `timeline` have views of their own. */
extern const struct html_document html_documents[];
extern const size_t html_document_count;

#endif
