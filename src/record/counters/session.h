/* The counters of one context: a range profiler object of CUPTI's, for one range at a time.
 *
 * Not thread-safe: profiling.c has one lock for all.
 */
#ifndef MP_RECORD_COUNTERS_SESSION_H
#define MP_RECORD_COUNTERS_SESSION_H

#include "record/counters/plan.h"

struct profiling_session {
    struct profiling_session *next;
    CUcontext context;
    struct metric_plan *plan; /* NULL: nothing is counted in this context */
    void *object;             /* CUPTI's */
    uint8_t *counters;        /* where CUPTI puts the values of one range ... */
    uint8_t *blank;           /* ... and the empty image that it starts from */
    size_t bytes;
};

/* `plan`, which is not owned, may be NULL. MP_ERR_UNSUPPORTED with the reason, MP_ERR_MEMORY; *made
 * is then NULL. */
enum mp_status session_open(struct profiling_session **made, struct metric_plan *plan,
                            CUcontext context, struct mp_error *error);

void session_close(struct profiling_session *session);

/* The next launch in the context is the range. */
enum mp_status session_start(const struct profiling_session *session, struct mp_error *error);

enum mp_status session_stop(const struct profiling_session *session, struct mp_error *error);

/* The values of the range that was stopped, one for each raw metric of the plan; *found is false
 * when there was none: the launch failed. */
enum mp_status session_read(const struct profiling_session *session, double *values, bool *found,
                            struct mp_error *error);

#endif
