/*
 * schedule.c: when the device does what.
 *
 *   start = max(submission + latency, what the stream waits for + gap), or later: when the engine
 *           has a gap that is wide enough
 *   end   = start + duration            both on the 32 ns grid of an H100's timestamps
 *                                       (SIMGPU_GRID)
 *
 * A stream waits for its own last operation, for events (which raise `ready` when the wait is
 * enqueued) and, unless it is non-blocking, for the legacy default stream, which in turn waits for
 * all blocking streams. Copies in, out and within a device each have one engine for all streams of
 * the device; kernels of different streams never slow each other down, unless they are serialised:
 * then memsets and they share an engine too. Times are final at enqueue, because nothing that is
 * enqueued later can delay earlier work.
 *
 * A kernel with programmatic stream serialization behind a kernel starts `lead` before that one's
 * end. It runs for its whole duration from there, and at least until that one has ended.
 */
#include "simgpu.h"

#include <stdatomic.h>

static const uint64_t submit_latency = 1500; /* from the call's body to the device */
static const uint64_t stream_gap = 768;      /* between two operations of a stream */
static const uint64_t node_gap = 512;        /* the same between two nodes of a graph */

static _Atomic bool kernels_are_serial;

void simgpu_serialize_kernels(bool serial)
{
    atomic_store(&kernels_are_serial, serial);
}

uint64_t sg_gridRound(uint64_t ns)
{
    static _Atomic long grid;
    long step = grid;

    if (!step) {
        step = env_number("SIMGPU_GRID", 32);
        grid = step = step > 0 ? step : 32;
    }
    return (ns + (uint64_t)step - 1) / (uint64_t)step * (uint64_t)step;
}

static bool is_blocking(const struct CUstream_st *stream)
{
    return !(stream->flags & CU_STREAM_NON_BLOCKING);
}

uint64_t sg_streamReady(CUstream stream)
{
    CUcontext context = stream->context;
    uint64_t ready = stream->ready;

    if (stream == context->null_stream) {
        for (CUstream s = context->streams; s; s = s->next)
            if (is_blocking(s) && s->ready > ready)
                ready = s->ready;
    } else if (is_blocking(stream) && context->null_stream->ready > ready) {
        ready = context->null_stream->ready;
    }
    return ready;
}

uint64_t sg_contextReady(CUcontext context)
{
    uint64_t ready = 0;

    for (CUstream s = sg_nextStream(context, NULL); s; s = sg_nextStream(context, s))
        if (s->ready > ready)
            ready = s->ready;
    return ready;
}

static void plan_insert(struct sg_plan *plan, size_t at, struct sg_span span)
{
    if (plan->count == SG_COUNT(plan->busy)) {
        plan->floor = plan->busy[0].end;
        memmove(&plan->busy[0], &plan->busy[1], --plan->count * sizeof(plan->busy[0]));
        at -= at > 0;
    }
    memmove(&plan->busy[at + 1], &plan->busy[at], (plan->count++ - at) * sizeof(plan->busy[0]));
    plan->busy[at] = span;
}

/* The first gap that is wide enough. Threads reach us in the order of real time and not of virtual
 * time, so one that comes late must find the gaps that others left before their last copy. */
static struct sg_span plan_place(struct sg_plan *plan, uint64_t earliest, uint64_t duration)
{
    struct sg_span span;
    size_t at = 0;

    if (earliest < plan->floor)
        earliest = plan->floor;
    for (; at < plan->count && plan->busy[at].start < earliest + duration; at++)
        if (plan->busy[at].end > earliest)
            earliest = plan->busy[at].end;
    span = (struct sg_span){earliest, earliest + duration};
    plan_insert(plan, at, span);
    return span;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t sg_overlapStart(struct sg_span before, uint64_t lead)
{
    return before.end - before.start > lead ? before.end - lead : before.start;
}

uint64_t sg_usualLead(void)
{
    long us = env_number("SIMGPU_PDL_LEAD_US", 2);

    return (uint64_t)(us > 0 ? us : 0) * 1000;
}

uint64_t sg_streamStart(CUstream stream, uint64_t lead)
{
    uint64_t submitted = sg_now() + submit_latency + sg_recordingCost(SG_COST_START);
    uint64_t ready = sg_streamReady(stream);

    /* Nothing else that it waits for may end later. */
    if (lead && stream->kernel.end && ready == stream->kernel.end)
        return later(submitted, sg_overlapStart(stream->kernel, lead));
    return later(submitted, ready + stream_gap + sg_recordingCost(SG_COST_GAP));
}

uint64_t sg_nodeStart(uint64_t after, uint64_t overlapped)
{
    return later(sg_now() + submit_latency + sg_recordingCost(SG_COST_START),
                 later(after + node_gap + sg_recordingCost(SG_COST_GAP), overlapped));
}

struct sg_span sg_schedule(CUstream stream, enum sg_engine engine, uint64_t earliest,
                           uint64_t duration)
{
    struct sg_span span;

    earliest = sg_gridRound(earliest);
    duration = sg_gridRound(duration);
    if (engine == SG_COMPUTE && !atomic_load(&kernels_are_serial))
        span = (struct sg_span){earliest, earliest + duration};
    else
        span = plan_place(&stream->context->device->plans[engine], earliest, duration);
    if (stream->ready < span.end)
        stream->ready = span.end;
    return span;
}
