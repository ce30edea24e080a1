/* The page of `miniprof diff --html`: a comparison (reports/diff/diff.h).
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
 * `iterations` are numbers from 1 on, through all runs of the side. If a side has more than
 * HTML_DIFF_ITERATIONS iterations, they are cut into half as many stretches. Of each stretch the
 * shortest and the longest iteration are kept, so that no outlier is lost. `percentiles_ns` are
 * nearest rank, by `percents`, over all iterations.
 */
#ifndef MP_PAGE_DIFF_H
#define MP_PAGE_DIFF_H

#include <stdio.h>

#include "base/status.h"
#include "reports/diff/print.h"

#define HTML_DIFF_ITERATIONS 10000 /* points of a side in the page */
#define HTML_DIFF_POSITIONS  5000  /* kernels by position, unless all are asked for */

/* Writes the page. MP_ERR_MEMORY: after a failure the output is no complete page. Output errors are
 * in ferror(out). */
enum mp_status html_diff_write(FILE *out, const struct diff_report *report, struct mp_error *error);

/* Only the second document. MP_ERR_MEMORY. */
enum mp_status html_diff_latencies(FILE *out, const struct diff *diff, size_t positions_left_out);

#endif
