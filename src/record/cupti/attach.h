/* When CUPTI comes into the process, and in what order it is set up.
 *
 * Once initialised, CUPTI makes every launch 4 to 5 % slower and every launch of a graph 2 to 4 %,
 * even with nothing enabled (docs/measurements.md, section 4). So where the recording waits for a
 * range, MINIPROF_ATTACH can delay CUPTI too:
 *
 *     init    with CUDA. The recorder sees all of the process.
 *     graph   at the first stream capture or cuGraphCreate; without either, when the first range
 *             begins. The contents of a graph can only be seen while it is made.
 *     range   when the first range begins.
 *
 * libminiprof_preload.so (base/preload.h) notices the calls that this depends on and reports them
 * before they do their work. CUPTI is attached then, so it sees the call itself like any other.
 * Without that library `graph` means `init`, and so does `range` if cuProfilerStart begins a range.
 *
 * Some clients stay CUPTI's subscriber but record only in sessions. With such a client the
 * recorder uses CUPTI's activity records alone, also for calls. The preloaded library reports
 * cuProfilerStart and Stop, and the driver is asked for contexts. Synchronisation, stacks, the
 * contents of graphs and takeovers by other clients are then not known.
 *
 * CUPTI stays after the first range. In a process whose threads launch, cuptiFinalize ends in a
 * launch failure or a hang (8 threads with graphs, H100, libcupti 13.0: docs/measurements.md).
 */
#ifndef MP_RECORD_CUPTI_ATTACH_H
#define MP_RECORD_CUPTI_ATTACH_H

#include <cupti.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/settings/config.h"
#include "base/status.h"
#include "record/cupti/subscriber.h"

struct mp_preload;
struct gpu;

/* What CUPTI calls back on the application's threads. */
struct attach_calls {
    CUpti_CallbackFunc on_callback;
    void *userdata;
};

struct attach {
    struct attach_calls calls;  /* read-only once recording */
    enum mp_attach when;        /* read-only once recording */
    struct mp_preload *preload; /* NULL: not loaded */
    _Atomic bool done;          /* CUPTI is set up */
    bool failed;                /* CUPTI could not be set up; under range_switch */
    bool refused;            /* another client that may leave has CUPTI; the message was printed */
    enum client_habit other; /* when that client has CUPTI */
    bool missed;             /* attaching late was tried */
};

/* Decides when to attach, from the settings and from what is loaded. After profiling_open and
 * range_configure. */
void attach_configure(struct gpu *gpu, const struct attach_calls *calls);

/* Sets CUPTI up while CUDA starts, unless it is to come later. On failure everything is undone. */
enum mp_status attach_at_start(struct gpu *gpu, struct mp_error *error);

/* Recording begins: switches on the callbacks and the kinds that are always on, if CUPTI is there
 * already. */
void attach_go(struct gpu *gpu);

/* Whether the preloaded library is to tell of calls that CUPTI does not tell of. */
bool attach_needs_preload(const struct gpu *gpu);

/* A range begins, or a graph is made: sets CUPTI up if it is not. False when that fails, which is
 * said; where the GPU was busy for MP_TIME_ATTACH_IDLE, or another client had CUPTI that will leave
 * it, the next range tries again. Through range_switch, any thread. */
bool attach_now(struct gpu *gpu);

/* Without callbacks: asks the driver which contexts exist now. Any thread. */
void attach_find_contexts(struct gpu *gpu);

#endif
