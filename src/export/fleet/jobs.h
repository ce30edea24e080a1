/* Inside of fleet: the traces of one folder are those of a job, whose ranks are matched. */
#ifndef MP_EXPORT_FLEET_JOBS_H
#define MP_EXPORT_FLEET_JOBS_H

#include "export/fleet/tree.h"
#include "reports/ranks/ranks.h"

/* The job that was asked for last. Zeroed, there is none. */
struct fleet_job {
    const char *path; /* a trace of it; NULL: none */
    struct trace_set set;
    struct ranks ranks;
    bool matched; /* else `set` and `ranks` are empty */
};

/* What is known of the ranks of the trace's folder, and the trace's number there. NULL: it is the
 * only one, or nothing could be matched. */
const struct ranks *fleet_job_of(struct fleet_job *job, const struct tree *tree, const char *path,
                                 uint32_t *process);

void fleet_job_free(struct fleet_job *job);

#endif
