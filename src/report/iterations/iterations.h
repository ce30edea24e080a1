/* The iterations of a trace as text, CSV and JSON.
 *
 *     iterations.c  by which way they were found, the table of statistics, outliers
 *     each.c        --each: a row for each of them
 *     json.c        the JSON document
 */
#ifndef MP_REPORT_ITERATIONS_ITERATIONS_H
#define MP_REPORT_ITERATIONS_ITERATIONS_H

#include <miniprof/trace.h>

#include "analyze/iterations/iterations.h"
#include "report/table/table.h"

/* Answers to print; nothing is owned. */
struct iterations_report {
    const struct mp_trace *trace;
    const struct deps *deps;
    const struct iterations *iterations;
    const struct iteration_measures *measures; /* by iteration */
    const struct iterations_summary *summary;
    uint64_t range; /* capture range that was asked for; 0: all */
    bool each;      /* the iterations one by one; in JSON besides the statistics */
};

/* Of all of a study. */
struct iterations_report iterations_report_of(const struct mp_trace *trace, const struct deps *deps,
                                              const struct iterations_study *study);

void print_iterations(const struct report_out *out, const struct iterations_report *report);

/* The first `most` iterations, as --each has them in JSON, row by row: {"columns": ["iteration",
 * ...], "rows": [[1, ...], ...]}. */
void print_iterations_columns(FILE *out, const struct iterations_report *report, size_t most);

/* ---- Between the files ---- */

void print_iterations_each(const struct report_out *out, const struct iterations_report *report);
void print_iterations_json(FILE *out, const struct iterations_report *report);

/* How the iterations were found, in a line without a newline. */
void print_iterations_way(FILE *out, const struct iterations_report *report);

#endif
