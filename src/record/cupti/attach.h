/* When CUPTI comes into the process, and in what order it is set up.
 *
 * CUPTI, once initialised, makes every launch dearer by 4 to 5 % and every launch of a graph by 2
 * to 4 %, also with nothing enabled (docs/measurements.md, section 4). So where recording waits for
 * a range MINIPROF_ATTACH can have it wait too:
 *
 *     init    with CUDA. All of the process is seen.
 *     graph   at the first stream capture or cuGraphCreate, or else when the first range begins.
 *             What is in a graph can only be seen while it is being made.
 *     range   when the first range begins.
 *
 * The calls that this depends on are noticed by libminiprof_preload.so (base/preload.h), which says
 * so before they do their work: CUPTI, attached then, sees the call itself like any other. Without
 * that library `graph` is `init`, and so is `range` where cuProfilerStart begins a range.
 *
 * There is no way back. cuptiFinalize in a process whose threads launch ends in a launch failure
 * or a hang (8 threads with graphs, H100, libcupti 13.0: docs/measurements.md), so CUPTI stays
 * after the first range.
 */
#ifndef MP_RECORD_CUPTI_ATTACH_H
#define MP_RECORD_CUPTI_ATTACH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/settings/config.h"
#include "base/status.h"

struct mp_preload;
struct recorder;

struct attach {
    enum mp_attach when;        /* read-only once recording */
    struct mp_preload *preload; /* NULL: it is not there, or nothing is asked of it */
    _Atomic bool done;          /* CUPTI is set up */
    bool failed;                /* and never will be; under range_switch */
};

/* Decides when, from the settings and what is there. After profiling_open and range_configure. */
void attach_configure(struct recorder *recorder);

/* Sets CUPTI up while CUDA starts, unless it is to come later; on failure nothing of it is left. */
enum mp_status attach_at_start(struct recorder *recorder, struct mp_error *error);

/* Recording begins: callbacks and the kinds that are always on; or the calls are awaited. */
void attach_go(struct recorder *recorder);

/* The first range begins, or a graph is made: CUPTI is set up if it is not. Through range_switch,
 * any thread. False when it cannot be: said once. */
bool attach_now(struct recorder *recorder);

#endif
