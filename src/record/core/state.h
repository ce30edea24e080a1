/* The recorder: all mutable state of libminiprof.so in one struct, and who may touch which part.
 *
 * Four modules keep state of their own, because they work before the recorder exists or without it:
 * clock.c (a function pointer), the NVTX handler, which runs before CUDA is loaded, base/log, and
 * base/settings/time_limits.c (the divisor of tests).
 *
 *     threads         the application's own, in callbacks of CUPTI and NVTX
 *                     one of CUPTI's, in bufferCompleted
 *                     the writer ("miniprof"), from InitializeInjection to the end
 *                     the flusher ("miniprof-flush"): it makes the calls into CUPTI that may hang,
 *                     also those at the end of a capture range
 *                     with MINIPROF_SAMPLE one that samples counters ("miniprof-sample")
 *                     one more for the last flush
 *                     one that calls exit, once all threads of the application have ended
 *
 *     phase    IDLE -> STARTING -> RECORDING -> FINISHING -> INERT
 *              Changed by compare-and-swap, so exactly one thread starts and one finishes. INERT is
 *              final. A failure, and the fork handler in a child, set it directly. Callbacks do
 *              nothing unless RECORDING; completed buffers are accepted until INERT.
 *
 * Our locks: work, pool, logs, contexts, edges, origins, host nodes, profiled, sampling, samples,
 * stacks, ending, ranges. Each covers a few instructions. None is held across a call into CUPTI or
 * the driver. None is taken inside another, with one exception: `work` is taken inside `ranges`, so
 * that marks are queued in the order of the events that they report.
 *
 * MINIPROF_METRICS adds the profiler lock. It follows none of these rules: profiling.h.
 */
#ifndef MP_RECORD_CORE_STATE_H
#define MP_RECORD_CORE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "record/core/flusher.h"
#include "record/core/jobs.h"
#include "record/core/output.h"
#include "record/core/thread.h"
#include "record/core/throttle.h"
#include "record/cupti/activity.h"
#include "record/cupti/attach.h"
#include "record/cupti/clients.h"
#include "record/cupti/contexts.h"
#include "record/cupti/host_functions.h"
#include "record/data/recording.h"
#include "record/flight/flight.h"
#include "record/gaps/gaps.h"
#include "record/graphs/host_nodes.h"
#include "record/graphs/origins.h"
#include "record/graphs/overlaps.h"
#include "record/metrics/profiled.h"
#include "record/metrics/profiling.h"
#include "record/process/crash.h"
#include "record/process/ctl.h"
#include "record/ranges/baseline.h"
#include "record/ranges/earlier.h"
#include "record/ranges/range.h"
#include "record/sampling/sampling.h"
#include "record/stacks/stacks.h"
#include "record/waits/waits.h"

enum recorder_phase { PHASE_IDLE, PHASE_STARTING, PHASE_RECORDING, PHASE_FINISHING, PHASE_INERT };

/* What this process records, besides the settings. The thread that starts the recording writes
 * this; afterwards any thread reads it. */
struct wanted {
    bool nothing; /* MINIPROF_CHILDREN, setuid */
    bool edges;   /* the edges of graphs */
    bool paths;   /* and the NVTX ranges in which their nodes are made */
    bool time;    /* how the kernel divided the time between calls */
};

/* What the process has done with CUDA. The application's threads write this in CUPTI's callbacks;
 * so does the thread that attaches CUPTI late. The writer and the thread of the last flush read it
 * too. The list of contexts has a lock; the rest is atomic. */
struct cuda_state {
    _Atomic bool ready;            /* cuInit has finished */
    _Atomic bool context_made;     /* the process has had a context */
    _Atomic bool several_contexts; /* it has had two at a time */
    _Atomic bool graph_met;        /* the preloaded library has told of a call that makes a graph */
    _Atomic bool ever_captured;    /* a stream capture has begun, ever */
    struct context_list contexts;
    _Atomic int32_t stream_captures;     /* captures under way, as CUPTI's callbacks say */
    _Atomic int32_t captures_told;       /* the same, as the preloaded library says */
    _Atomic int32_t capture_begins;      /* calls under way that begin a capture */
    _Atomic uint32_t capture_breakers;   /* calls of ours under way that would break a capture */
    _Atomic uint32_t captured_until;     /* correlation id of the call that last ended a capture */
    _Atomic uint64_t device_graphs;      /* executable graphs that the device may launch */
    _Atomic uint64_t conditional_graphs; /* and those with conditional nodes */
    _Atomic bool busy_at_end;            /* the last flush did not wait for all work */
    _Atomic uint64_t device_launchers;   /* loaded modules whose kernels launch kernels */
};

/* What is switched on in CUPTI. Any thread reads this. One thread at a time writes it: the one that
 * starts the recording, or the one that switches kinds (ranges/switch.h). No lock guards it, since
 * that lock would be held across calls into CUPTI. */
struct cupti_state {
    CUpti_SubscriberHandle subscriber; /* attach.h says when */
    _Atomic bool callbacks_taken;    /* another client keeps them; we use activity records alone */
    _Atomic bool enabled;            /* the kinds that cost something are on */
    _Atomic bool calls_by_callback;  /* rows of `call` come from callbacks, not CUPTI's records */
    _Atomic bool buffers_told;       /* PER_THREAD_ACTIVITY_BUFFER reads back as it was set */
    _Atomic bool unified_ready;      /* CUPTI has agreed to count unified memory */
    _Atomic bool left_on;            /* kinds stay on only because another client may need them */
    _Atomic uint64_t answers_then;   /* for `left_on`: clients_answers when the range began */
    _Atomic uint64_t renewed_at;     /* when a range last began by registering everything again */
    _Atomic uint64_t registered_at;  /* when everything was last registered again */
    _Atomic uint64_t answers_before; /* clients_answers before that; written first */
    _Atomic uint64_t clocks;         /* how often our clock was registered again */
    _Atomic uint64_t errors;         /* errors that CUPTI reported in callbacks; any thread */
    /* cuptiActivityFlushAll may be called. The thread that starts the recording sets this; the one
     * that ends the recording clears it. */
    _Atomic bool flush_allowed;
};

/* The end of the recording, and how threads wait for it. The signal handler writes `signal` and
 * `signal_time`, the writer `closed`, the thread of the last flush `flushed`, a thread that exits
 * in a handler `in_handler` and `abandoned`. The thread that ends the recording
 * (lifecycle_claim_end) writes the rest. Any thread reads all of it. */
struct ending {
    pthread_mutex_t lock;         /* of `flushed` and `closed` */
    pthread_cond_t changed;       /* `flushed` or `closed` was set; on CLOCK_MONOTONIC */
    bool flushed;                 /* the last flush has returned, or there is none to wait for */
    bool closed;                  /* the file is complete */
    _Atomic pid_t flusher;        /* the thread of the last flush; 0 until it runs */
    _Atomic pid_t writer;         /* the writer, likewise */
    _Atomic int signal;           /* SIGINT or SIGTERM, if one has come; raised again at the end */
    _Atomic uint64_t signal_time; /* when it came, ns of CLOCK_MONOTONIC, not the trace's clock */
    _Atomic bool stop;            /* the writer is to close the file */
    _Atomic bool in_handler;      /* exit was called in a signal handler: the writer is to finish */
    _Atomic bool abandoned;       /* nobody waits for the last flush any more */
    _Atomic uint64_t end_time;    /* of the open range, set before `stop` */
    _Atomic uint64_t forced_exits; /* how often the last flush did not return in time */
};

struct recorder {
    /* InitializeInjection writes these while STARTING; any thread reads them afterwards. */
    struct mp_config config;
    struct driver_api driver;
    struct cupti_api cupti;
    struct api_set api;
    struct output output; /* the writer opens its file again */
    pid_t pid;
    struct wanted wanted;
    struct jobs jobs;

    /* Shared by the application's threads, the flusher and the writer; each part says how. */
    _Atomic int phase;
    struct own_threads threads;
    struct buffer_pool pool;        /* lock: pool */
    struct work_queue work;         /* lock: work */
    struct call_logs logs;          /* lock: logs */
    struct edge_store edges;        /* lock: edges */
    struct origins origins;         /* lock: origins */
    struct profiling profiling;     /* metrics, with the profiler lock (profiling.h) */
    struct profiled_store profiled; /* lock: profiled */
    struct sampling sampling;       /* locks: sampling, samples; the rest is its thread's */
    struct cuda_state cuda;
    struct cupti_state cupti_state;
    struct attach attach; /* under `switching` of the ranges */
    struct ranges ranges; /* lock: ranges */
    struct earlier_work earlier;
    struct baseline baseline; /* the steps' thread's; atomics; lock: baseline */
    struct stacks stacks;     /* tables of the threads; lock: stacks */
    struct gaps gaps;         /* atomics, and rings without a lock */
    struct waits waits;       /* a ring without a lock, which the writer empties */
    struct clients clients;   /* the flusher's, read by others */
    struct overlaps overlaps;
    struct host_functions host_functions;
    struct host_nodes host_nodes; /* lock: host nodes */
    struct flusher flusher;       /* futexes */
    struct flight flight;         /* the flight recorder: the writer's, except slow steps */
    struct crash crash;           /* shared by the crash handler and the writer: a futex */
    struct ending ending;         /* lock: ending */

    /* The writer's alone while it runs. */
    struct recording recording;
    struct throttle throttle;
    struct ctl ctl;
    pthread_t writer; /* read by any thread */
};

/* The recorder. Entry points that get no pointer (bufferRequested, atexit, signal and fork
 * handlers) find it here. All other code is handed a pointer. */
extern struct recorder *const mp_recorder;

static inline int recorder_phase(const struct recorder *recorder)
{
    return atomic_load_explicit(&recorder->phase, memory_order_acquire);
}

static inline bool recorder_is_recording(const struct recorder *recorder)
{
    return __builtin_expect(recorder_phase(recorder) == PHASE_RECORDING, 1);
}

/* Whether this is the process in which the recorder began. A child that was made without fork
 * handlers is not, as far as it can tell its id. Any thread, also in a signal handler. */
bool recorder_is_of_process(const struct recorder *recorder);

/* Whether CUPTI may be called. Any thread. */
static inline bool attach_is_done(const struct recorder *recorder)
{
    return atomic_load_explicit(&recorder->attach.done, memory_order_acquire);
}

/* Whether CUPTI may be flushed now: only after it has asked for a buffer, not during the last
 * flush, and not while another client has CUPTI. Any thread. */
static inline bool flusher_may_flush(const struct recorder *recorder)
{
    return atomic_load(&recorder->cupti_state.flush_allowed) &&
           atomic_load(&recorder->pool.requested) && !atomic_load(&recorder->clients.taken);
}

/* How often CUPTI has asked for a buffer or given one back. Any thread. */
static inline uint64_t clients_answers(const struct recorder *recorder)
{
    return atomic_load(&recorder->pool.requested) + atomic_load(&recorder->pool.completed);
}

#endif
