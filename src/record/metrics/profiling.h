/* Metrics: each kernel is run again, as often as the counters need, before its launch returns.
 *
 *     ENTER of cuLaunchKernel    the profiler lock is taken; CUPTI's range profiler starts
 *     the driver call            CUPTI saves memory, runs the kernel once for each pass, restores
 *     EXIT                       it stops; the values go to the writer; the lock is released
 *
 * One launch is one range, so there is no question which kernel a value belongs to, and starting
 * and stopping cost next to nothing (below 10 us on an H100; a launch 0.1 ms with one pass, 40 ms
 * with several, whose time is CUPTI's own waiting).
 *
 * The profiler lock (profiler_lock.h) is held across a driver call, against the rule of
 * state.h: kernels that are profiled run one after the other, whichever threads launch them, or
 * their counters would mix. CUPTI counts whatever the context launches, so every launch takes the
 * lock, profiled or not, those of graphs too: a kernel that slipped in would be the range. It
 * exists only when MINIPROF_METRICS is set.
 *
 * EXIT is handled in every phase. Where it does not come (the thread is cancelled) or comes very
 * late (its kernel waits for another one), metrics are given up with a line, and the program runs
 * on.
 *
 * Not profiled: kernels in CUDA graphs (a launch is one range for CUPTI, with values of 0), which
 * is said once. Launches that a stream captures do not run and are passed over, with all others
 * while the capture lasts; starting the profiler would break it. A capture that begins waits for
 * the launch that is being profiled.
 */
#ifndef MP_RECORD_METRICS_PROFILING_H
#define MP_RECORD_METRICS_PROFILING_H

#include <cupti.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/settings/device_list.h"
#include "base/settings/kernel_filter.h"
#include "record/metrics/profiler_api.h"
#include "record/metrics/profiler_lock.h"

struct api_watch;
struct metric_plan;
struct recorder;

#define PROFILING_DEVICES 64u

struct profiling {
    /* Written before recording begins, read-only afterwards. */
    bool wanted;
    struct kernel_filter filter;
    struct device_list devices;

    _Atomic bool off; /* it does not work here, which was said */
    struct profiler_lock lock;
    /* Under the profiler lock. */
    struct profiler_api api;
    bool api_open;
    struct profiling_session *sessions;
    struct metric_plan *plans[PROFILING_DEVICES];
    struct mp_intern kernels; /* names that were launched ... */
    uint64_t *launches;       /* ... and how often, by id less 1 */
    size_t launch_count, launch_capacity;
    struct profiling_session *running; /* of the launch that is being profiled ... */
    struct profiled_launch *launch;    /* ... which is this one, or NULL */
    unsigned unflushed;                /* launches of several passes since the last forced flush */
    /* Any thread. */
    _Atomic int32_t captures_beginning;
    _Atomic bool graph_was_said;
};

/* Reads the settings; a wrong one is said and switches metrics off. */
void profiling_open(struct recorder *recorder);

/* A launch of a kernel or a graph on the calling thread, at ENTER and at EXIT. Launches inside of
 * a launch count as part of it. EXIT must be told in every phase. */
void profiling_enter(struct recorder *recorder, const struct api_watch *watch,
                     CUpti_CallbackId cbid, const CUpti_CallbackData *data);
void profiling_leave(struct recorder *recorder);

/* A stream capture, before it begins, and when it is counted in recorder.cuda.stream_captures. */
void profiling_capture_begins(struct recorder *recorder);
void profiling_capture_began(struct recorder *recorder);

/* The context is about to be destroyed. */
void profiling_forget(struct recorder *recorder, CUcontext context);

#endif
