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

#endif
