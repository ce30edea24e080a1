/* What still ran, or waited, when the program ended: work without times that the last flush brought
 * (the counter `running_at_end`). Its begin is not known. It began after its launch and after
 * earlier work of its stream.
 */
#ifndef MP_REPORTS_SUMMARY_RUNNING_H
#define MP_REPORTS_SUMMARY_RUNNING_H

#include <miniprof/trace.h>

#include "base/status.h"

#define MAX_RUNNING 16u

struct running_work {
    char *name;      /* owned */
    unsigned source; /* enum activity_kind */
    uint64_t id;     /* of its name there */
    uint64_t stream; /* id in the trace */
    uint64_t correlation;
    uint64_t launched;   /* ns; 0: the call is not in the trace */
    uint64_t not_before; /* ns; 0: nothing is known */
};

struct running {
    struct running_work items[MAX_RUNNING]; /* the last in the file, in its order */
    uint32_t count;
};

/* Reads at most `most` of them. MP_ERR_IO, MP_ERR_MEMORY, with a text in *error. running_free gives
 * back in any case. */
enum mp_status running_build(struct mp_trace *trace, uint64_t max, struct running *running,
                             struct mp_error *error);

void running_free(struct running *running);

#endif
