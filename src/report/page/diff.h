/* The page of `miniprof diff --html`: a comparison (analyze/diff/diff.h) to look at.
 *
 *     document "diff"       what `miniprof diff --json` says
 *     document "latencies"  what its charts need besides: each iteration's latency, and percentiles
 *
 *     {
 *         "percents": [0, 1, ..., 99, 99.1, ..., 100],
 *         "a": {"count": 200, "iterations": [1, 2, ...], "latencies_ns": [...],
 *               "percentiles_ns": [...]},
 *         "b": {...},
 *         "positions_left_out": 0
 *     }
 *
 * `iterations` are numbers from 1 on, through all runs of the side. Of more than
 * HTML_DIFF_ITERATIONS the shortest and the longest of each of half as many stretches are there, so
 * that no outlier is lost. `percentiles_ns` are nearest rank, by `percents`, and of all iterations.
 */
#ifndef MP_REPORT_PAGE_DIFF_H
#define MP_REPORT_PAGE_DIFF_H

#include <stdio.h>

#include "base/status.h"
#include "report/diff/diff.h"

#define HTML_DIFF_ITERATIONS 10000 /* points of a side in the page */
#define HTML_DIFF_POSITIONS  5000  /* kernels by position, unless all are asked for */

/* Writes the page. MP_ERR_UNSUPPORTED (html_page_check), MP_ERR_MEMORY: what has been written is
 * then no page. Errors of `out` are ferror's. */
enum mp_status html_diff_write(FILE *out, const struct diff_report *report, struct mp_error *error);

/* The second document by itself. MP_ERR_MEMORY. */
enum mp_status html_diff_latencies(FILE *out, const struct diff *diff, size_t positions_left_out);

#endif
