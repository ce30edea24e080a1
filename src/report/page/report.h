/* The HTML report: a page (page.h) that holds what the commands say about a trace as JSON
 * documents, and its timeline (timeline.h).
 *
 * A document is what a command prints with --json, made by the same printer. documents.c lists the
 * documents: a new one is a line there, and the page shows it as tables. If a document cannot be
 * made, the page has {"note": why} in its place.
 */
#ifndef MP_REPORT_PAGE_REPORT_H
#define MP_REPORT_PAGE_REPORT_H

#include <miniprof/trace.h>
#include <stdio.h>

#include "base/status.h"
#include "model/kernels/names.h"
#include "model/trace/quality.h"

struct html_report_options {
    uint64_t range;  /* id of a capture range; 0: everything */
    uint64_t events; /* most events in the timeline */
    enum names_style style;
};

struct html_report_result {
    uint64_t events;                  /* in the time line */
    uint64_t left_out;                /* events for which there was no room */
    char warning[QUALITY_TEXT_BYTES]; /* says what is missing in the trace; empty: nothing */
};

/* Writes the page. MP_ERR_UNSUPPORTED if miniprof was built without uPlot, MP_ERR_ARGUMENT if there
 * is no such range, MP_ERR_IO (of the trace), MP_ERR_MEMORY, MP_ERR_LIMIT: after a failure the
 * output is no complete page. Output errors are in ferror(out). */
enum mp_status html_report_write(FILE *out, struct mp_trace *trace,
                                 const struct html_report_options *options,
                                 struct html_report_result *result, struct mp_error *error);

#endif
