/* What each line of the program costs, as text, CSV and JSON. */
#ifndef MP_REPORTS_STACKS_PRINT_H
#define MP_REPORTS_STACKS_PRINT_H

#include <miniprof/trace.h>

#include "reports/stacks/stacks.h"
#include "table/table.h"

struct stacks_report {
    const struct mp_trace *trace;
    const struct stacks_result *result;
    const struct stacks_options *options;
    bool tree;
    bool all; /* the tree with what has less than a hundredth of everything */
};

/* Prints it. MP_ERR_MEMORY: a text could not be put together. */
enum mp_status print_stacks(const struct report_out *out, const struct stacks_report *report);

/* ---- Host code, for reports that have such a table ---- */

struct host_code {
    const struct mp_trace *trace;
    const struct stacks_gaps *gaps; /* NULL: there are none */
    const char *title;              /* "Host code of an iteration" */
    size_t iterations;              /* times are means of this many; 0: sums of a critical path */
};

/* Text has the first ten lines, the others all. Without any there is nothing but a sheet's heads.
 * JSON: the key `host_code`. */
void print_host_code(const struct report_out *out, const struct host_code *host);
void json_host_code(struct json_writer *json, const struct host_code *host);

#endif
