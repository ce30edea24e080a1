/*
 * cupti_faults.c: what real CUPTI does wrong, in the versions that do (record/cupti/quirks.def has
 * the sources), so that a client which walks into it is seen to. Where CUPTI crashes or hangs, this
 * ends the process with a line on stderr.
 */
#include "cupti_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct {
    _Atomic bool has_graph;   /* one has been instantiated */
    _Atomic bool has_work;    /* a context has been made */
    _Atomic bool late_trace;  /* GRAPH_TRACE was enabled after that */
    _Atomic bool copies;      /* MEMCPY is enabled */
    _Atomic bool peer_copies; /* MEMCPY2 is */
    _Atomic bool stopped;     /* cuProfilerStop has been called */
    _Atomic uint32_t contexts;
    _Atomic uint32_t clocks;  /* registered so far */
    _Atomic uint64_t begun;   /* when it was last registered again, in the device's time */
    _Atomic uint64_t kernels; /* records of kernels, delivered or lost */
    _Atomic uint32_t astray;  /* kernels that will have another clock's times */
} state;

static bool is_played(uint32_t first, uint32_t fixed)
{
    return ct_version() >= first && ct_version() < fixed;
}

static void crash(const char *what)
{
    fprintf(stderr, "simgpu: CUPTI %u would %s\n", ct_version(), what);
    abort();
}

void ct_faultNoBuffer(void)
{
    if (is_played(0, 27))
        crash("crash: bufferRequested gave no buffer");
}

void ct_faultSwitch(CUpti_ActivityKind kind, bool on)
{
    /* What makes it hang are launches of graphs at the same time; of 13.0 that is not known. */
    if (!on && kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && is_played(0, 130001) &&
        (is_played(130000, 130001) || (state.has_graph && !env_number("SIMGPU_DISABLE_ALONE", 0))))
        crash("hang in cuptiActivityDisable(CONCURRENT_KERNEL)");
    if (on && kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && state.has_graph)
        state.late_trace = true;
    if (kind == CUPTI_ACTIVITY_KIND_MEMCPY)
        state.copies = on;
    if (kind == CUPTI_ACTIVITY_KIND_MEMCPY2)
        state.peer_copies = on;
}

bool ct_faultLateApi(void)
{
    return state.has_work && is_played(130000, UINT32_MAX);
}

void ct_faultResource(uint32_t cbid)
{
    if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
        state.has_work = true;
        state.contexts++;
    }
    if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
        state.contexts--;
    if (cbid == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED)
        state.has_graph = true;
}

static bool is_graph_launch(uint32_t cbid)
{
    return cbid == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch ||
           cbid == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
}

void ct_faultCall(uint32_t cbid)
{
    if (cbid == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop)
        state.stopped = true;
    if (!is_graph_launch(cbid))
        return;
    if (state.late_trace && is_played(130000, UINT32_MAX))
        crash("crash: GRAPH_TRACE was enabled after the graph was instantiated");
    if (state.copies && state.peer_copies && state.contexts < 2 && is_played(27, UINT32_MAX))
        crash("make this graph fail: MEMCPY2 is enabled beside MEMCPY");
}

/* To the end, whatever signals come. */
void ct_faultSlow(const char *variable)
{
    long ms = env_number(variable, 0);
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    if (ms <= 0 || (env_number("SIMGPU_SLEEP_FROM_STOP", 0) && !state.stopped))
        return;
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

/* As many as the clock was registered again so far. */
void ct_faultClock(void)
{
    uint32_t before = state.clocks++;

    if (before)
        state.begun = simgpu_horizon_ns();
    if (env_number("SIMGPU_CLOCK_FAULT", 0))
        state.astray = before;
}

void ct_faultTimes(struct simgpu_activity *kernel)
{
    static const uint64_t apart = UINT64_C(100000000000000);

    if (!state.astray)
        return;
    state.astray--;
    kernel->start += apart;
    kernel->end += apart;
}

static bool is_of_device(uint32_t kind)
{
    return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_MEMCPY ||
           kind == CUPTI_ACTIVITY_KIND_MEMCPY2 || kind == CUPTI_ACTIVITY_KIND_MEMSET ||
           kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
}

/* Every nth kernel, without counting it. */
bool ct_faultLost(const struct simgpu_activity *activity)
{
    long every = env_number("SIMGPU_LOSE_KERNELS", 0);

    return every > 0 && activity->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
           ++state.kernels % (uint64_t)every == 0;
}

/* What it had not read when the clock was registered again has no times. */
void ct_faultUnread(struct simgpu_activity *activity)
{
    if (is_of_device(activity->kind) && activity->start < state.begun)
        activity->start = activity->end = 0;
}

/* A CUPTI that does not keep up with the device. Calls come on time. */
uint64_t ct_faultDue(const struct simgpu_activity *activity)
{
    uint64_t late = (uint64_t)env_number("SIMGPU_LATE_MS", 0) * 1000000;

    return activity->end + (is_of_device(activity->kind) ? late : 0);
}
