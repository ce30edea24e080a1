/*
 * operation.c: what can stand in a stream or be a node of a graph, in one form for both.
 */
#include "simgpu.h"

#include <stdlib.h>
#include <string.h>

static uint64_t last_grid_id;
static uint64_t last_event_sync_id;

void sg_opRun(const struct sg_op *op)
{
    if (op->type == SG_OP_KERNEL) {
        sg_kernelRun(&op->launch);
    } else if (op->type == SG_OP_COPY) {
        memmove(op->dst, op->src, op->copy.bytes);
    } else if (op->type == SG_OP_SET && op->set_width == 1) {
        memset(op->dst, (int)op->set.value, op->set.bytes);
    } else if (op->type == SG_OP_SET) {
        for (size_t i = 0; i < op->set.bytes; i += sizeof(op->set.value))
            memcpy((char *)op->dst + i, &op->set.value, sizeof(op->set.value));
    }
}

enum sg_engine sg_opEngine(const struct sg_op *op)
{
    if (op->type != SG_OP_COPY)
        return SG_COMPUTE; /* memsets run as kernels do */
    if (op->copy.copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD)
        return SG_COPY_IN;
    return op->copy.copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? SG_COPY_OUT : SG_COPY_DEVICE;
}

/* Latency plus bytes over bandwidth, in bytes per microsecond. */
static uint64_t transfer_time(uint64_t bytes, uint64_t latency, uint64_t bytes_per_us)
{
    return latency + (uint64_t)((double)bytes * 1000.0 / (double)bytes_per_us);
}

static uint64_t copy_duration(const struct simgpu_copy *copy)
{
    bool pageable = copy->src_kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE ||
                    copy->dst_kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;

    if (copy->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP)
        return transfer_time(copy->bytes, 2000, 200000);
    if (copy->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD)
        return transfer_time(copy->bytes, 1100, 1500000);
    return pageable ? transfer_time(copy->bytes, 1400, 10000)
                    : transfer_time(copy->bytes, 1200, 25000);
}

uint64_t sg_opDuration(const struct sg_op *op, uint64_t counter, uint64_t start)
{
    if (op->type == SG_OP_KERNEL)
        return sg_kernelDuration(&op->launch, counter, start);
    if (op->type == SG_OP_COPY)
        return copy_duration(&op->copy);
    return op->type == SG_OP_SET ? transfer_time(op->set.bytes, 1000, 1000000) : 0;
}

static void fill_kernel(struct simgpu_kernel *kernel, const struct sg_launch *launch,
                        uint64_t submitted)
{
    kernel->name = launch->function->name;
    memcpy(kernel->grid, launch->grid, sizeof(kernel->grid));
    memcpy(kernel->block, launch->block, sizeof(kernel->block));
    kernel->dynamic_shared = launch->shared;
    kernel->registers = 32;
    kernel->grid_id = ++last_grid_id;
    kernel->submitted = submitted;
    kernel->launch_type = launch->launch_type;
}

void sg_opEmit(const struct sg_op *op, const struct sg_origin *origin, struct sg_span span)
{
    const struct CUstream_st *stream = origin->stream;
    struct simgpu_activity activity = {.device = (uint32_t)stream->context->device->ordinal,
                                       .context = stream->context->id,
                                       .stream = stream->id,
                                       .correlation = origin->correlation,
                                       .graph = origin->graph,
                                       .graph_node = origin->graph_node,
                                       .start = span.start,
                                       .end = span.end};

    if (op->type == SG_OP_KERNEL) {
        activity.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
        fill_kernel(&activity.kernel, &op->launch, origin->submitted);
    } else if (op->type == SG_OP_COPY) {
        activity.kind = op->copy.copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP
                            ? CUPTI_ACTIVITY_KIND_MEMCPY2
                            : CUPTI_ACTIVITY_KIND_MEMCPY;
        activity.copy = op->copy;
    } else if (op->type == SG_OP_SET) {
        activity.kind = CUPTI_ACTIVITY_KIND_MEMSET;
        activity.set = op->set;
    } else if (op->type == SG_OP_RECORD) {
        activity.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
        activity.event.event_id = op->event->id;
        activity.event.event_sync_id = op->event->sync_id;
        activity.event.device_time = span.end;
    } else if (op->type == SG_OP_HOST) {
        activity.kind = origin->graph ? SIMGPU_KIND_GRAPH_HOST_NODE : SIMGPU_KIND_HOST_LAUNCH;
        activity.thread = sg_hostThread();
    } else {
        return;
    }
    sg_emit(&activity);
}

struct sg_span sg_eventRecordAt(CUevent event, uint64_t when)
{
    event->time = sg_gridRound(when);
    event->recorded = true;
    event->capture_id = 0;
    event->sync_id = ++last_event_sync_id;
    return (struct sg_span){event->time, event->time};
}

static struct sg_span record_event(CUstream stream, CUevent event)
{
    uint64_t ready = sg_streamReady(stream);
    uint64_t soonest = sg_now() + 500; /* an idle stream still has to be told */
    struct sg_span span = sg_eventRecordAt(event, ready > soonest ? ready : soonest);

    if (stream->ready < span.end)
        stream->ready = span.end;
    return span;
}

/* The first launch of a function loads it, which the launching thread pays for. */
static void load_lazily(CUfunction function, CUstream stream)
{
    struct simgpu_activity activity = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                                       .context = stream->context->id,
                                       .correlation = sg_currentCall()->correlation};

    if (function->loaded)
        return;
    function->loaded = true;
    activity.start = sg_now();
    sg_advance(15000);
    activity.end = sg_now();
    activity.overhead.kind = CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING;
    sg_emit(&activity);
}

static struct sg_span schedule(CUstream stream, const struct sg_op *op)
{
    const struct sg_device *device = stream->context->device;
    uint64_t start = sg_streamStart(stream, op->launch.lead);
    uint64_t duration = sg_opDuration(op, (uint64_t)stream->id << 32 | stream->sequence++, start) +
                        sg_migrationTime(op, device);
    struct sg_span span;

    if (op->launch.lead && start + duration < stream->kernel.end)
        duration = stream->kernel.end - start;
    span = sg_schedule(stream, sg_opEngine(op), start, duration);
    sg_migrateIn(op, device, span.start);
    return span;
}

static struct sg_span run(CUstream stream, const struct sg_op *op)
{
    struct sg_span span;

    if (op->type == SG_OP_HOST) {
        span = sg_hostRun(&op->host, sg_gridRound(sg_streamStart(stream, 0)));
        if (stream->ready < span.end)
            stream->ready = span.end;
        return span;
    }
    sg_opRun(op);
    return op->type == SG_OP_RECORD ? record_event(stream, op->event) : schedule(stream, op);
}

struct sg_span sg_opStart(CUstream stream, struct sg_op *op, const struct sg_origin *origin)
{
    struct sg_span when = run(stream, op);

    stream->kernel = op->type == SG_OP_KERNEL ? when : (struct sg_span){0, 0};
    sg_opEmit(op, origin, when);
    sg_opFree(op);
    return when;
}

CUresult sg_submit(CUstream stream, struct sg_op *op, struct sg_span *span)
{
    struct sg_origin origin = {.stream = stream, .correlation = sg_currentCall()->correlation};
    struct sg_span when = {0, 0};
    uint32_t passes = 0;

    if (span)
        *span = when;
    if (op->type == SG_OP_KERNEL) {
        load_lazily(op->launch.function, stream);
        passes = sg_profiledPasses(stream->context);
    }
    if (stream->capture) {
        if (passes) /* waiting for the kernel breaks the capture */
            stream->capture->invalid = true;
        return sg_captureAdd(stream, op);
    }
    origin.submitted = sg_now();
    if (stream->held)
        return passes || span ? CUDA_ERROR_NOT_SUPPORTED : sg_hold(stream, op, &origin);
    if (op->type == SG_OP_VALUE)
        return sg_valuePut(stream, op, &origin);
    if (op->type == SG_OP_WAIT) {
        if (op->event->recorded && stream->ready < op->event->time)
            stream->ready = op->event->time;
        stream->kernel = when;
        return CUDA_SUCCESS;
    }
    when = sg_opStart(stream, op, &origin);
    if (passes)
        sg_profileWait(stream, when, passes);
    if (span)
        *span = when;
    return CUDA_SUCCESS;
}

CUresult sg_opClone(struct sg_op *to, const struct sg_op *from)
{
    uint32_t bytes = from->launch.function ? from->launch.function->param_bytes : 0;

    *to = *from;
    if (!from->launch.params)
        return CUDA_SUCCESS;
    to->launch.params = malloc(bytes ? bytes : 1);
    if (!to->launch.params)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(to->launch.params, from->launch.params, bytes);
    return CUDA_SUCCESS;
}

void sg_opFree(struct sg_op *op)
{
    free(op->launch.params);
    op->launch.params = NULL;
}
