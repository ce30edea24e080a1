/* What each call launched, from the event graph, so that flows begin at calls that launched
 * something and an NVTX range can be shown on the streams on which its work ran.
 *
 *     calls   | 0 | 1 | 2 |          first  0 0 2 5
 *     work    | a b | c d e |        call 1 launched a and b, call 2 launched c, d and e
 *
 * The calls of a thread stand together in the graph, in order of time; so does, here, all that a
 * thread launched in a stretch of time.
 */
#ifndef MP_EXPORT_KINETO_LAUNCHED_H
#define MP_EXPORT_KINETO_LAUNCHED_H

#include "base/data/map.h"
#include "base/status.h"
#include "reports/deps/deps.h"

/* Zeroed, it knows of nothing. */
struct kineto_launched {
    const struct deps *deps;            /* not owned; NULL: nothing is known */
    uint32_t *first;                    /* by call's piece, and one more; owned */
    uint32_t *work;                     /* activities; owned */
    struct mp_map threads;              /* the trace's number -> lane */
    struct kineto_projected *projected; /* by lane; owned */
};

/* What lies on one stream. */
struct kineto_projected {
    uint64_t begin; /* ns; of the first work */
    uint64_t end;   /* of the last; 0: nothing */
};

/* MP_ERR_MEMORY; kineto_launched_free is due in any case. `deps` must live as long. */
enum mp_status kineto_launched_build(struct kineto_launched *launched, const struct deps *deps);
void kineto_launched_free(struct kineto_launched *launched);

/* Whether the call, an activity of the graph, launched anything. */
bool kineto_launched_any(const struct kineto_launched *launched, uint32_t call);

/* Fills in `projected` with the work that a thread launched by calls that began in a stretch of
 * time. Returns false if there is none. */
bool kineto_launched_project(struct kineto_launched *launched, uint64_t thread, uint64_t begin,
                             uint64_t end);

#endif
