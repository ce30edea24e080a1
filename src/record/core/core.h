/* What every part of the recorder needs: the settings, the phase, the threads of ours, the writer's
 * queue and the logs of the application's threads. The parts get it as an argument; the
 * recorder holds it (process/recorder.h).
 *
 *     phase    IDLE -> STARTING -> RECORDING -> FINISHING -> INERT
 *              Changed by compare-and-swap, so exactly one thread starts and one finishes. INERT is
 *              final. A failure, and the fork handler in a child, set it directly. Callbacks do
 *              nothing unless RECORDING; completed buffers are accepted until INERT.
 */
#ifndef MP_RECORD_CORE_CORE_H
#define MP_RECORD_CORE_CORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/process.h"
#include "base/settings/config.h"
#include "record/core/call_log.h"
#include "record/core/thread.h"
#include "record/core/work.h"

enum recorder_phase { PHASE_IDLE, PHASE_STARTING, PHASE_RECORDING, PHASE_FINISHING, PHASE_INERT };

/* What this process records, besides the settings. The thread that starts the recording writes
 * this; afterwards any thread reads it. */
struct wanted {
    bool nothing;     /* MINIPROF_CHILDREN, setuid */
    bool lazy;        /* nothing is enabled outside of capture ranges */
    bool by_profiler; /* cuProfilerStart and Stop begin and end capture ranges */
    bool edges;       /* the edges of graphs */
    bool paths;       /* and the NVTX ranges in which their nodes are made */
    bool time;        /* how the kernel divided the time between calls */
    bool stacks;      /* who made a call */
    bool metrics;     /* counters of each kernel: every launch takes the profiler lock */
    bool baseline;    /* some steps are not recorded, to compare with */
};

struct core {
    /* InitializeInjection writes these while STARTING; any thread reads them afterwards. */
    struct mp_config config;
    struct wanted wanted;
    pid_t pid;
    uint64_t begin_time; /* when recording began, ns of the trace's clock */

    /* Any thread; each part says how. */
    _Atomic int phase;
    _Atomic bool enabled; /* the kinds of CUPTI's records that cost something are on */
    _Atomic bool paused;  /* a range is open and paused: nothing is recorded (range_pause) */
    struct own_threads threads;
    struct work_queue work; /* lock: work */
    struct call_logs logs;  /* locks: logs, own calls */
};

static inline int core_phase(const struct core *core)
{
    return atomic_load_explicit(&core->phase, memory_order_acquire);
}

static inline bool core_is_recording(const struct core *core)
{
    return __builtin_expect(core_phase(core) == PHASE_RECORDING, 1);
}

/* Whether a range is open and paused. Any thread. */
static inline bool core_is_paused(const struct core *core)
{
    return atomic_load_explicit(&core->paused, memory_order_relaxed);
}

/* Whether this is the process in which the recorder began. A child that was made without fork
 * handlers is not, if it can tell its id. Any thread, also in a signal handler. */
static inline bool core_is_of_process(const struct core *core)
{
    pid_t pid = mp_process_id();

    return pid < 0 || pid == core->pid;
}

#endif
