/* The dependency analysis as nvprof prints it, as CSV and as JSON, and what goes with it: the table
 * of activities, iterations, what-if.
 *
 *     print.c       the order of the sections, the JSON document, head and notes
 *     names.c       the table of names: its rows, their order; --parts
 *     trace.c       --trace: each activity, and what bound it
 *     iterations.c  --iterations and --slowest: each row over many iterations
 *     what_if.c     --what-if and --gains
 */
#ifndef MP_REPORTS_DEPS_PRINT_H
#define MP_REPORTS_DEPS_PRINT_H

#include <miniprof/trace.h>
#include <stdio.h>

#include "base/status.h"
#include "reports/deps/deps.h"
#include "reports/job/print.h"
#include "reports/replay/replay.h"
#include "reports/stacks/stacks.h"
#include "table/table.h"

/* Answers to print; nothing is owned. */
struct deps_report {
    const struct mp_trace *trace; /* NULL: of a job */
    const struct job_report *job; /* NULL: of one process */
    const struct deps *deps;
    const struct deps_windows *windows;
    const struct deps_result *result; /* of all windows together */
    const struct stacks_gaps *gaps;   /* host code on the path by line; NULL: not looked for */
    uint64_t range;                   /* capture range that was asked for; 0: all of them */
    const char *thread;               /* whose path was asked for; NULL: not of one thread */
    bool parts;                       /* host code by line, and latencies */
    bool section;                     /* a part of nvprof's report: <Other> is one row, no notes */

    /* --trace: ns by activity; NULL: not asked for. With `section` the columns are nvprof's, and
     * `slack` is not needed. */
    const uint64_t *critical;
    const uint64_t *slack;

    /* --iterations; NULL: not asked for. The windows are then the iterations. */
    const struct deps_iterations *iterations;
    const char *iterations_name;
    size_t slowest; /* how many of them; 0: none */

    const struct deps_what_if *what_if; /* --what-if; NULL: not asked for */
    const char *const *changes;         /* as they were written */
    size_t change_count;

    const struct deps_gains *gains; /* --gains; NULL: not asked for */
    bool gains_too; /* they stand below the other tables instead of in their place */
};

/* Prints the report. MP_ERR_MEMORY: the report ends where memory ran out. */
enum mp_status print_deps(const struct report_out *out, const struct deps_report *report);

#endif
