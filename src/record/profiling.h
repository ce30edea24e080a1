/* Metrics: each kernel is run again, as often as the counters need, before its launch returns.
 *
 *     ENTER of cuLaunchKernel    the turn is taken; CUPTI's range profiler starts
 *     the driver call            CUPTI saves memory, runs the kernel once for each pass, restores
 *     EXIT                       it stops; the values go to the writer; the turn is given back
 *
 * One launch is one range, so there is no question which kernel a value belongs to, and starting
 * and stopping cost next to nothing (below 10 us on an H100; a launch 0.1 ms with one pass, 40 ms
 * with several, whose time is CUPTI's own waiting).
 *
 * The turn is a lock that is held across a driver call, against the rule of state.h: kernels that
 * are profiled run one after the other, whichever threads launch them, or their counters would mix.
 * It exists only when MINIPROF_METRICS is set.
 *
 * Not profiled, each said once: kernels in CUDA graphs (a launch is one range for CUPTI, with
 * values of 0) and launches on several devices at once. Launches that a stream captures do not run
 * and are passed over; starting the profiler would break the capture.
 */
#ifndef MP_RECORD_PROFILING_H
#define MP_RECORD_PROFILING_H

#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/device_list.h"
#include "base/kernel_filter.h"
#include "base/map.h"
#include "record/profiler_api.h"

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
    pthread_mutex_t turn;
    /* Under the turn. */
    struct profiler_api api;
    bool api_open;
    struct profiling_session *sessions;
    struct metric_plan *plans[PROFILING_DEVICES];
    struct mp_intern kernels; /* names that were launched ... */
    uint64_t *launches;       /* ... and how often, by id less 1 */
    size_t launch_capacity;
    struct profiling_session *running; /* the session of the launch that has the turn */
    struct profiled_launch *launch;
    unsigned unflushed; /* launches of several passes since the last forced flush */
    _Atomic bool graph_was_said;
};

/* Reads the settings; a wrong one is said and switches metrics off. */
void profiling_open(struct recorder *recorder);

/* A launch on the calling thread, at ENTER and EXIT. */
void profiling_enter(struct recorder *recorder, const struct api_watch *watch,
                     CUpti_CallbackId cbid, const CUpti_CallbackData *data);
void profiling_leave(struct recorder *recorder, const CUpti_CallbackData *data);

/* Whether the calling thread is between the two. */
bool profiling_is_mine(struct recorder *recorder);

/* A graph is launched. */
void profiling_note_graph(struct recorder *recorder);

/* The context is about to be destroyed. */
void profiling_forget(struct recorder *recorder, CUcontext context);

#endif
