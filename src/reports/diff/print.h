/* A comparison of two sides as text, CSV and JSON.
 *
 *     print.c            the sides, latency, quantities, kernels, layers; the JSON document
 *     positions_table.c  kernels by position
 *
 * For its page see page/diff.h.
 */
#ifndef MP_REPORTS_DIFF_PRINT_H
#define MP_REPORTS_DIFF_PRINT_H

#include <stdbool.h>

#include "reports/diff/diff.h"
#include "table/table.h"

/* Answers to print; nothing is owned. */
struct diff_report {
    const struct diff *diff;
    bool fail_above; /* whether `allowed` was asked for */
    double allowed;  /* percent */
    bool all;        /* text: also rows that did not change */
    bool positions;  /* all kernels by position, not only what changed */
    size_t max;      /* JSON: of the kernels by position, the first ones; 0: all */
};

void print_diff(const struct report_out *out, const struct diff_report *report);

/* What is printed beside a page: warnings about incomplete traces, and the verdict. */
void print_diff_verdict(FILE *out, const struct diff_report *report);

/* ---- Between the files ---- */

void print_diff_positions(const struct report_out *out, const struct diff_report *report);
void json_diff_pairs(struct json_writer *json, const struct diff_report *report);
void print_diff_json(FILE *out, const struct diff_report *report);

#endif
