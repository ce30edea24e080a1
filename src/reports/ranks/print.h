/* Prints who waits for whom in NCCL: by function, by rank, by
 * cause, or each instance. */
#ifndef MP_REPORTS_RANKS_PRINT_H
#define MP_REPORTS_RANKS_PRINT_H

#include <stdbool.h>

#include "base/text/json.h"
#include "profile/set.h"
#include "reports/ranks/ranks.h"
#include "table/table.h"

struct ranks_report {
    const struct trace_set *set;
    const struct ranks *ranks;
    const struct lateness *lateness;
    const char *const *warnings; /* by process: what its trace lacks; NULL: nothing */
    bool one_clock;              /* the processes are taken to share a clock */
    bool each;                   /* a row for each instance */
};

/* How the clocks of the other hosts lie to that of the first: a line for each, or objects for an
 * array that is open. */
void print_clock_offsets(const struct report_out *out, const struct trace_set *set,
                         const struct ranks *ranks);
void json_clock_offsets(struct json_writer *json, const struct trace_set *set,
                        const struct ranks *ranks);

void print_ranks(const struct report_out *out, const struct ranks_report *report);

/* What comes before the tables of any report on matched traces: the processes, what they lack, what
 * was not matched, how the clocks were joined. As keys of a document likewise. */
void print_ranks_head(const struct report_out *out, const struct ranks_report *report);
void json_ranks_head(struct json_writer *json, const struct ranks_report *report);

#endif
