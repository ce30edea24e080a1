/* The recorder: all mutable state of libminiprof.so in one struct, and who may touch which part.
 *
 * Some modules keep state themselves, because they work before the recorder exists or without it:
 * clock.c (a function pointer), the NVTX handler, which runs before CUDA is loaded, base/log, and
 * base/settings/config.c (the divisor of tests).
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
 * Our locks: work, pool, logs, contexts, edges, origins, host nodes, profiled, sampling, samples,
 * stacks, ending, ranges. Each covers a few instructions. None is held across a call into CUPTI or
 * the driver. None is taken inside another, with one exception: `work` is taken inside `ranges`, so
 * that marks are queued in the order of the events that they report.
 *
 * MINIPROF_METRICS adds the profiler lock. It follows none of these rules: profiling.h.
 */
#ifndef MP_RECORD_PROCESS_RECORDER_H
#define MP_RECORD_PROCESS_RECORDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "record/core/work.h"
#include "record/counters/profiling.h"
#include "record/counters/sampling.h"
#include "record/cupti/gpu.h"
#include "record/graphs/graphs.h"
#include "record/process/baseline.h"
#include "record/process/ctl.h"
#include "record/process/flight.h"
#include "record/process/output.h"
#include "record/process/range.h"
#include "record/process/signals.h"
#include "record/rows/recording.h"
#include "record/stacks/stacks.h"
#include "record/waits/waits.h"

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
};

struct recorder {
    struct gpu gpu;             /* with the core of all parts */
    struct stacks stacks;       /* tables of the threads; lock: stacks */
    struct graphs graphs;       /* locks: edges, origins, host nodes */
    struct profiling profiling; /* metrics, with the profiler lock (profiling.h); lock: profiled */
    struct sampling sampling;   /* locks: sampling, samples; the rest is its thread's */
    struct waits waits;         /* a ring without a lock, which the writer empties */
    struct trace_file output;   /* the writer opens its file again */
    struct ranges ranges;       /* lock: ranges */
    struct earlier_work earlier;
    struct baseline baseline; /* the steps' thread's; atomics; lock: baseline */
    struct flight flight;     /* the flight recorder: the writer's, except slow steps */
    struct crash crash;       /* shared by the crash handler and the writer: a futex */
    struct ending ending;     /* lock: ending */

    /* The writer's alone while it runs. */
    struct recording recording;
    struct throttle throttle;
    struct ctl ctl;
    pthread_t writer; /* read by any thread */
};

/* The recorder that `gpu` is in. */
static inline struct recorder *recorder_of(struct gpu *gpu)
{
    return (struct recorder *)(void *)((char *)gpu - offsetof(struct recorder, gpu));
}

/* The recorder. Entry points of this folder that get no pointer (atexit, signal and fork handlers)
 * find it here. All other code is handed a pointer to the part that it needs. */
extern struct recorder *const mp_recorder;

#endif
