/* Host code by the line of the program that it was in, for reports that have such a table. */
#ifndef MP_REPORTS_COMMON_HOST_CODE_H
#define MP_REPORTS_COMMON_HOST_CODE_H

#include <miniprof/trace.h>

#include "reports/stacks/stacks.h"
#include "table/table.h"

struct host_code {
    const struct mp_trace *trace;
    const struct stacks_gaps *gaps; /* NULL: there are none */
    const char *title;              /* "Host code of an iteration" */
    size_t iterations;              /* times are means of so many; 0: sums of a critical path */
};

/* Text has the first ten lines, the others all. Without any there is nothing but a sheet's heads.
 * JSON: the key `host_code`. */
void print_host_code(const struct report_out *out, const struct host_code *host);
void json_host_code(struct json_writer *json, const struct host_code *host);

#endif
