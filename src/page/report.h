/* The HTML report: a page (page.h) that holds what the commands say about a trace as JSON
 * documents, and its timeline (timeline.h).
 *
 * A document is what a command prints with --json, made by the same printer. documents.c lists the
 * documents: a new one is a line there, and the page shows it as tables. If the trace lacks what a
 * document needs, the page has {"note": why} instead.
 */
#ifndef MP_PAGE_REPORT_H
#define MP_PAGE_REPORT_H

#include <miniprof/trace.h>
#include <stdio.h>

#include "base/status.h"
#include "profile/names/names.h"
#include "profile/quality.h"
#include "profile/set.h"

struct html_job; /* job.h */

struct html_report_options {
    uint64_t range;  /* id of a capture range; 0: everything */
    uint64_t events; /* most events in the timeline */
    enum names_style style;
    struct html_job *job; /* of which the trace is a part; NULL: none */
    size_t process;       /* which one of the set's */
};

struct html_report_result {
    uint64_t events;                  /* in the time line */
    uint64_t left_out;                /* events for which there was no room */
    char warning[QUALITY_TEXT_BYTES]; /* says what is missing in the trace; empty: nothing */
};

/* Writes the page. MP_ERR_ARGUMENT if there is no such range, MP_ERR_IO (of the trace),
 * MP_ERR_MEMORY, MP_ERR_LIMIT: after a failure the output is no complete page. Output errors are in
 * ferror(out). */
enum mp_status html_report_write(FILE *out, struct mp_trace *trace,
                                 const struct html_report_options *options,
                                 struct html_report_result *result, struct mp_error *error);

/* ---- Several processes ---- */

#define HTML_MAX_PROCESSES 64 /* the first ones */

/* Opens the trace of a process; NULL after a complaint. */
typedef struct mp_trace *html_open(void *context, const char *path);

/* Called after each process, with what html_report_write says of its part. */
typedef void html_part_written(void *context, const struct trace_process *process,
                               const struct html_report_result *result);

struct html_set_options {
    struct html_report_options report; /* events: of all processes together */
    html_open *open;
    html_part_written *written;
    void *context;
};

/* Writes a page of all processes of a set: the document `processes`, and for each process the
 * documents and the blob of its own page, their names after `p1_`, `p2_` and so on. With a job in
 * the options, its two documents (job.h).
 *
 *     {"clocks": "...", "left_out": 0,
 *      "processes": [{"process", "file", "host", "rank", "pid", "ppid", "command", "offset_ns",
 *                     "records", "whole"}, ...]}
 *
 * offset_ns, added to a process's times modulo 2^64, gives those of one clock (profile/set.h).
 * Fails as html_report_write does; *failed is then the process. MP_ERR_IO without a text in *error:
 * `open` returned NULL. */
enum mp_status html_set_write(FILE *out, const struct trace_set *set,
                              const struct html_set_options *options,
                              const struct trace_process **failed, struct mp_error *error);

#endif
