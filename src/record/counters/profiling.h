/* Metrics: each kernel is run again, as often as the counters need, before its launch returns.
 *
 *     ENTER of cuLaunchKernel    the profiler lock is taken; CUPTI's range profiler starts
 *     the driver call            CUPTI saves memory, runs the kernel once for each pass, restores
 *     EXIT                       it stops; the values go to the writer; the lock is released
 *
 * One launch is one range, so it is clear which kernel a value belongs to. Starting and stopping
 * takes less than 10 us on an H100. A launch takes 0.1 ms with one pass, and 40 ms with several,
 * nearly all of which CUPTI waits.
 *
 * A thread holds the profiler lock across a driver call, against the rule of process/recorder.h.
 * Profiled kernels run one after the other, whichever threads launch them; otherwise their counters
 * would mix. CUPTI counts whatever the context launches: a kernel that slipped in would become the
 * range. So every launch takes the lock, profiled or not, and launches of graphs too. The lock
 * exists only when MINIPROF_METRICS is set.
 *
 * EXIT is handled in every phase. It may not come (the thread is cancelled), or come very late (its
 * kernel waits for another one). Then metrics are given up with a log line, and the program runs
 * on.
 *
 * Not profiled: kernels in CUDA graphs, which is said once. To CUPTI such a launch is one range,
 * with values of 0. Also not profiled: launches that a stream captures, since they do not run, and
 * all other launches during the capture, since starting the profiler would break it. A thread that
 * begins a capture waits for the launch that is being profiled.
 */
#ifndef MP_RECORD_COUNTERS_PROFILING_H
#define MP_RECORD_COUNTERS_PROFILING_H

#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/settings/forms.h"
#include "record/counters/plan.h"
#include "record/counters/profiled.h"
#include "record/counters/profiler_api.h"

/* ---- Sessions: under the profiler lock ---- */

struct profiling_session {
    struct profiling_session *next;
    CUcontext context;
    struct metric_plan *plan; /* NULL: nothing is counted in this context */
    void *object;             /* CUPTI's */
    uint8_t *counters;        /* where CUPTI puts the values of one range ... */
    uint8_t *blank;           /* ... and the empty image that it starts from */
    size_t bytes;
};

void session_close(struct profiling_session *session);

/* ---- The profiler lock: who has the GPU's counters ----
 *
 * A thread holds it across a driver call, from ENTER to EXIT of a launch. The EXIT may never come.
 * If the thread ends in between, the next thread gets the lock. And nobody waits for it longer than
 * `patience`: two kernels that wait for each other would wait for ever.
 */

struct profiler_lock {
    pthread_mutex_t mutex;
    uint64_t patience; /* ns */
};

enum profiler_lock_answer {
    PROFILER_LOCK_TAKEN,
    PROFILER_LOCK_ABANDONED, /* taken, from a thread that ended while holding it */
    PROFILER_LOCK_LATE       /* not taken: another thread holds it for too long */
};

/* ---- Launches ---- */

struct api_watch;
struct metric_plan;
struct gpu;

#define PROFILING_DEVICES 64u

struct profiling {
    /* Written before recording begins, read-only afterwards. */
    struct kernel_filter filter;
    struct device_list devices;

    _Atomic bool off; /* metrics do not work here; this was said */
    struct profiler_lock lock;
    /* Under the profiler lock. */
    struct profiler_api api;
    bool api_open;
    struct profiling_session *sessions;
    struct metric_plan *plans[PROFILING_DEVICES];
    struct mp_intern kernels; /* names that were launched ... */
    uint64_t *launches;       /* ... and how often, by id minus 1 */
    size_t launch_count, launch_capacity;
    struct profiling_session *running; /* of the launch that is being profiled ... */
    struct profiled_launch *launch;    /* ... which is this one, or NULL */
    unsigned unflushed;                /* launches of several passes since the last forced flush */
    _Atomic bool graph_was_said;       /* any thread */

    struct profiled_store profiled; /* lock: profiled */
};

/* Reads the settings; a wrong one is said and switches metrics off. */
void profiling_open(struct profiling *profiling, struct gpu *gpu);

/* A launch of a kernel or a graph on the calling thread, at ENTER and at EXIT. Launches inside a
 * launch count as part of it. profiling_leave must be called in every phase. */
void profiling_enter(struct profiling *profiling, struct gpu *gpu, const struct api_watch *watch,
                     CUpti_CallbackId cbid, const CUpti_CallbackData *data);
void profiling_leave(struct profiling *profiling, struct gpu *gpu);

/* A stream capture is about to begin, and counts in gpu->cuda.capture_begins: waits for the
 * launch that is being profiled. */
void profiling_capture_begins(struct profiling *profiling, struct gpu *gpu);

/* The context is about to be destroyed. */
void profiling_forget(struct profiling *profiling, struct gpu *gpu, CUcontext context);

/* ---- MINIPROF_QUERY=metrics: which metrics the GPUs of this machine have, as a trace ----
 *
 * The program is one of ours (src/run/query.c). For each device it makes the primary
 * context current and calls cuProfilerStart, at which the recorder asks that device. CUPTI 13.0
 * does not answer before there is a context. At the end the program calls cuProfilerStop, which
 * completes the file.
 *
 * The trace has rows of `device` and `metric` and nothing else. With `raw` in MINIPROF_METRICS the
 * names of CUPTI's own metrics, without rollups, follow nvprof's.
 */

/* Asks the device of the current context. */
void metric_query_ask(struct profiling *profiling, struct gpu *gpu, CUcontext context);

#endif
