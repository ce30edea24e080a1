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

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/data/storage.h"
#include "base/status.h"
#include "record/core/work.h"
#include "record/counters/profiling.h"
#include "record/counters/sampling.h"
#include "record/cupti/gpu.h"
#include "record/graphs/graphs.h"
#include "record/process/baseline.h"
#include "record/process/ctl.h"
#include "record/process/flight.h"
#include "record/process/range.h"
#include "record/process/signals.h"
#include "record/rows/recording.h"
#include "record/stacks/stacks.h"
#include "record/waits/waits.h"
#include "trace/writer.h"

/* ---- The trace file: its name, its header, its end ----
 *
 * The recorder creates the file while the application waits in cuInit, so a folder that is not
 * writable is reported at once. If a process never makes a context (a helper that only asks for the
 * number of GPUs), the recorder removes its empty file again.
 */

struct recorder;

struct trace_file {
    char path[PATH_MAX];  /* as the user wrote it, for messages */
    char place[PATH_MAX]; /* absolute: the program may change its folder */
    int fd;               /* the writer's; kept to close it in a forked child */
    dev_t device;
    ino_t inode; /* of the file that was created: only this file is ever written or removed */

    /* The flight recorder's: process/flight.h. */
    int folder; /* -1: none is open */
    dev_t folder_device;
    ino_t folder_inode;
    unsigned number; /* of the last file that was published, from 1 */
};

/* Creates the file that MINIPROF_OUTPUT names, and its folder, and starts the trace in it.
 *
 * No file is overwritten. A program that becomes another one by exec keeps its process id, so the
 * new program finds the name taken by its own earlier trace: after "a.mpt" it writes "a.2.mpt", up
 * to 99. If any other file has the name, the recorder takes the first free one of "a.1.mpt",
 * "a.2.mpt" and so on, and says so. If the name is taken by something that is not a regular file,
 * that is an error.
 */
enum mp_status output_open(struct recorder *recorder, struct mp_writer **writer,
                           struct mp_error *error);

/* Expands MINIPROF_OUTPUT into path and place. */
enum mp_status output_expand(struct recorder *recorder, struct mp_error *error);

/* The text of a header, with its NUL. MP_ERR_MEMORY or, when it is too long, MP_ERR_LIMIT. */
enum mp_status output_compose_header(struct mp_buffer *header, const struct recorder *recorder);

/* Whether the file is a trace of a process with our id: of this process, also before an exec, or of
 * an old process that had the same id. `folder`: a descriptor or AT_FDCWD. */
bool output_is_from_this_pid(int folder, const char *path);

/* Removes the file, if it is still the one that was created. */
void output_remove(const struct trace_file *output);

/* Whether `fd` still is our file. The application may have closed the number and opened another
 * file under it. */
bool output_is_open(const struct trace_file *output);

/* If `fd` is no longer our file, opens the file again. Answers the new descriptor, -1 if that
 * fails. */
int output_open_again(struct trace_file *output);

/* A second descriptor, to ask for the size once the first is closed; -1 if none can be had. */
int output_hold(const struct trace_file *output);

/* Size of the file in bytes, 0 if unknown, and whether it was removed. Closes `held`. */
uint64_t output_bytes(const struct trace_file *output, int held, bool *is_gone);

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
    struct baseline baseline;   /* the steps' thread's; atomics; lock: baseline */
    struct flight flight;       /* the flight recorder: the writer's, except slow steps */
    struct crash crash;         /* shared by the crash handler and the writer: a futex */
    struct ending ending;       /* lock: ending */

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
