/* The iterations of a trace as text, CSV and JSON.
 *
 *     print.c   by which way they were found, the table of statistics, threads, --candidates; JSON
 *     each.c    --each: a row for each of them; the table of outliers
 */
#ifndef MP_REPORTS_ITERATIONS_PRINT_H
#define MP_REPORTS_ITERATIONS_PRINT_H

#include <miniprof/trace.h>

#include "reports/recording_cost/recording_cost.h"
#include "reports/stacks/print.h"
#include "reports/stacks/stacks.h"
#include "table/table.h"

struct counters_clocks;

/* Answers to print; nothing is owned. */
struct iterations_report {
    const struct mp_trace *trace;
    const struct deps *deps;
    const struct iterations *iterations;
    const struct iteration_measures *measures; /* by iteration */
    const struct iterations_summary *summary;
    const struct iterations_row *threads;        /* iterations->threads of them */
    const struct baseline *baseline;             /* NULL: not looked for */
    const struct recording_cost *recording_cost; /* NULL: likewise */
    const struct counters_clocks *clocks;        /* by iteration; NULL: none were sampled */
    const struct stacks_gaps *gaps;              /* NULL: not looked for */
    uint64_t range;                              /* capture range that was asked for; 0: all */
    uint64_t one;    /* with `each` only this iteration, from 1; 0: all */
    bool each;       /* the iterations one by one; in JSON besides the statistics */
    bool candidates; /* the table of candidates instead */
};

/* Of all of a study. */
struct iterations_report iterations_report_of(const struct mp_trace *trace, const struct deps *deps,
                                              const struct iterations_study *study);

void print_iterations(const struct report_out *out, const struct iterations_report *report);

/* The first `most` iterations, as --each has them in JSON, row by row: {"columns": ["iteration",
 * ...], "rows": [[1, ...], ...]}. */
void print_iterations_columns(FILE *out, const struct iterations_report *report, size_t max);

/* ---- Between the files ---- */

void print_iterations_each(const struct report_out *out, const struct iterations_report *report);
void json_iterations_each(struct json_writer *json, const struct iterations_report *report);

void print_iterations_outliers(const struct report_out *out,
                               const struct iterations_report *report);
void json_iterations_outliers(struct json_writer *json, const struct iterations_report *report);

/* What the table of its host code needs. */
static inline struct host_code iterations_host(const struct iterations_report *report)
{
    return (struct host_code){.trace = report->trace,
                              .gaps = report->gaps,
                              .title = "Host code of an iteration",
                              .iterations = report->iterations->count};
}

/* False: too many kernels have no times, and this rests on them. */
bool iterations_is_known(const struct iterations_report *report, enum iteration_quantity quantity);

/* How the iterations were found, in a line without a newline. */
void print_iterations_way(FILE *out, const struct iterations_report *report);

/* A line on how long an iteration takes, where the P50 of the latencies does not say that: work is
 * queued ahead, or times differ by capture range or mode. */
void print_iterations_headline(const struct report_out *out,
                               const struct iterations_report *report);

/* A line if the iterations leave much of the GPU work out. */
void print_iterations_warning(const struct report_out *out, const struct iterations_report *report);

#endif
