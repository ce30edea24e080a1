/* The report that people look at: a page (page.h) with what the commands say of a trace as
 * JSON documents, and its time line (timeline.h).
 *
 * A document is what a command prints with --json, made by the same printer. They stand in a table
 * in documents.c: a new one is a line there, and the page shows it as tables by itself. One
 * that cannot be had is there as {"note": why}.
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
    uint64_t events; /* most of them in the time line */
    enum names_style style;
};

struct html_report_result {
    uint64_t events;                  /* in the time line */
    uint64_t left_out;                /* events for which there was no room */
    char warning[QUALITY_TEXT_BYTES]; /* of what is missing in the trace; empty: nothing is */
};

/* Writes the page. MP_ERR_UNSUPPORTED when miniprof was built without uPlot, MP_ERR_ARGUMENT when
 * there is no such range, MP_ERR_IO (of the trace), MP_ERR_MEMORY, MP_ERR_LIMIT: what has been
 * written is then no page. Errors of `out` are ferror's. */
enum mp_status html_report_write(FILE *out, struct mp_trace *trace,
                                 const struct html_report_options *options,
                                 struct html_report_result *result, struct mp_error *error);

#endif
