/* The driver and CUPTI, as this process uses them: their functions, what is switched on in them and
 * what they have reported. Everything above this folder that deals with the GPU gets it as an
 * argument.
 */
#ifndef MP_RECORD_CUPTI_GPU_H
#define MP_RECORD_CUPTI_GPU_H

#include "record/core/core.h"
#include "record/cupti/activity.h"
#include "record/cupti/api_set.h"
#include "record/cupti/attach.h"
#include "record/cupti/buffers.h"
#include "record/cupti/clients.h"
#include "record/cupti/contexts.h"
#include "record/cupti/cupti_api.h"
#include "record/cupti/flush.h"
#include "record/cupti/subscriber.h"
#include "record/cupti/sync_calls.h"

/* What the process has done with CUDA. The application's threads write this in CUPTI's callbacks;
 * so does the thread that attaches CUPTI late. The writer and the thread of the last flush read it
 * too. The list of contexts has a lock; the rest is atomic. */
struct cuda_state {
    _Atomic bool ready;            /* cuInit has finished */
    _Atomic bool context_made;     /* the process has had a context */
    _Atomic bool several_contexts; /* it has had two at a time */
    _Atomic bool exit_again;       /* either has just come: the exit handler is to be registered
                                      again (process/lifecycle.h) */
    _Atomic bool graph_met;        /* the preloaded library has met a call that makes a graph */
    _Atomic bool ever_captured;    /* a stream capture has begun, ever */
    struct context_list contexts;
    struct earlier_work earlier;         /* a lock, and one atomic */
    _Atomic int32_t stream_captures;     /* captures under way, as CUPTI's callbacks say */
    _Atomic int32_t captures_reported;   /* the same, as the preloaded library says */
    _Atomic int32_t capture_begins;      /* calls under way that begin a capture */
    _Atomic uint32_t capture_breakers;   /* calls of ours under way that would break a capture */
    _Atomic uint32_t captured_until;     /* correlation id of the call that last ended a capture */
    _Atomic uint64_t device_graphs;      /* executable graphs that the device may launch */
    _Atomic uint64_t conditional_graphs; /* and those with conditional nodes */
    _Atomic bool busy_at_end;            /* the last flush did not wait for all work */
    _Atomic uint64_t device_launchers;   /* loaded modules whose kernels launch kernels */
};

/* What is switched on in CUPTI. Any thread reads this. One thread at a time writes it: the one that
 * starts the recording, or the one that switches kinds (process/range.h). No lock guards it, since
 * that lock would be held across calls into CUPTI. */
struct cupti_state {
    CUpti_SubscriberHandle subscriber; /* attach.h says when */
    _Atomic bool callbacks_taken;    /* another client keeps them; we use activity records alone */
    _Atomic bool calls_by_callback;  /* rows of `call` come from callbacks, not CUPTI's records */
    _Atomic bool buffers_readable;   /* PER_THREAD_ACTIVITY_BUFFER reads back as it was set */
    _Atomic bool unified_ready;      /* CUPTI has agreed to count unified memory */
    _Atomic bool left_on;            /* kinds stay on only because another client may need them */
    _Atomic uint64_t answers_then;   /* for `left_on`: clients_answers when the range began */
    _Atomic uint64_t renewed_at;     /* when a range last began by registering everything again */
    _Atomic uint64_t registered_at;  /* when everything was last registered again */
    _Atomic uint64_t answers_before; /* clients_answers before that; written first */
    _Atomic uint64_t clocks;         /* how often our clock was registered again */
    _Atomic uint64_t errors;         /* errors that CUPTI reported in callbacks; any thread */
    _Atomic uint64_t forced_exits;   /* how often the last flush did not return in time */
    /* When callbacks began to log the calls instead of CUPTI's records; 0: they do not, or have
     * done so from the start. */
    _Atomic uint64_t calls_end;
    /* cuptiActivityFlushAll may be called. The thread that starts the recording sets this; the one
     * that ends the recording clears it. */
    _Atomic bool flush_allowed;
};

struct gpu {
    struct core core;

    /* InitializeInjection writes these while STARTING; any thread reads them afterwards. */
    struct driver_api driver;
    struct cupti_api cupti;
    struct api_set api;

    /* Shared by the application's threads, the flusher and the writer; each part says how. */
    struct buffer_pool pool; /* lock: pool */
    struct cuda_state cuda;
    struct cupti_state cupti_state;
    struct attach attach;   /* under `switching` of the ranges */
    struct clients clients; /* the flusher's, read by others */
    struct overlaps overlaps;
    struct host_functions host_functions;
    struct flusher flusher; /* futexes */
    struct clock_renewal clock_renewal;
};

/* Whether CUPTI may be called. Any thread. */
static inline bool attach_is_done(const struct gpu *gpu)
{
    return atomic_load_explicit(&gpu->attach.done, memory_order_acquire);
}

/* Whether CUPTI may be flushed now: only after it has asked for a buffer, not during the last
 * flush, and not while another client has CUPTI. Any thread. */
static inline bool flusher_may_flush(const struct gpu *gpu)
{
    return atomic_load(&gpu->cupti_state.flush_allowed) && atomic_load(&gpu->pool.requested) &&
           !atomic_load(&gpu->clients.taken);
}

/* How often CUPTI has asked for a buffer or given one back. Any thread. */
static inline uint64_t clients_answers(const struct gpu *gpu)
{
    return atomic_load(&gpu->pool.requested) + atomic_load(&gpu->pool.completed);
}

#endif
