/*
 * stream.c: streams, and what it means to wait for one.
 */
#include "simgpu.h"

#include <stdlib.h>

/* CUPTI names the parent of a green context, as seen with 13.0 on an H100. */
static void stream_emit(const struct CUstream_st *stream)
{
    struct simgpu_activity activity = {.kind = CUPTI_ACTIVITY_KIND_STREAM,
                                       .context = sg_contextRoot(stream->context)->id,
                                       .stream = stream->id,
                                       .correlation = sg_currentCall()->correlation};

    activity.start = activity.end = sg_now();
    activity.stream_info.priority = (uint32_t)stream->priority;
    if (stream == stream->context->null_stream)
        activity.stream_info.flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL;
    else if (stream->flags & CU_STREAM_NON_BLOCKING)
        activity.stream_info.flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
    else
        activity.stream_info.flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
    sg_emit(&activity);
}

CUstream sg_streamNew(CUcontext context, unsigned flags, int priority, uint32_t id)
{
    CUstream stream = calloc(1, sizeof(*stream));
    CUstream *last = &context->streams;

    if (!stream)
        return NULL;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = id;
    while (*last)
        last = &(*last)->next;
    *last = stream;
    return stream;
}

void sg_streamFree(CUstream stream)
{
    CUstream *link = &stream->context->streams;

    while (*link && *link != stream)
        link = &(*link)->next;
    if (*link)
        *link = stream->next;
    free(stream->tail.items);
    free(stream);
}

/* The per-thread default stream is made on first use and behaves as a blocking stream. */
static CUstream per_thread_stream(CUcontext context)
{
    CUstream stream;

    for (CUstream s = context->streams; s; s = s->next)
        if (s->per_thread && pthread_equal(s->owner, pthread_self()))
            return s;
    stream = sg_streamNew(context, 0, 0, sg_contextRoot(context)->next_stream_id++);
    if (!stream)
        return context->null_stream;
    stream->per_thread = true;
    stream->owner = pthread_self();
    return stream;
}

CUstream sg_stream(CUcontext context, CUstream handle)
{
    if (!handle || handle == CU_STREAM_LEGACY)
        return context->null_stream;
    return handle == CU_STREAM_PER_THREAD ? per_thread_stream(context) : handle;
}

void sg_emitSync(uint32_t type, CUstream stream, CUevent event, uint64_t start, bool not_ready)
{
    struct simgpu_activity activity = {.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                       .correlation = sg_currentCall()->correlation};
    CUcontext context = stream ? stream->context : event ? event->context : sg_context();

    activity.context = context->id;
    activity.stream = stream ? stream->id : (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    activity.start = start;
    activity.end = sg_now();
    activity.sync.type = type;
    activity.sync.event_id = event ? event->id : (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    activity.sync.event_sync_id = event ? event->sync_id : 0;
    activity.sync.result = not_ready ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
    activity.sync.not_ready = not_ready;
    sg_emit(&activity);
}

CUstream sg_streamMake(CUcontext context, unsigned flags, int priority)
{
    CUcontext root = sg_contextRoot(context);
    CUstream stream = sg_streamNew(context, flags, priority, root->next_stream_id);

    if (!stream)
        return NULL;
    root->next_stream_id++;
    stream_emit(stream);
    sg_resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, root, stream, NULL);
    return stream;
}

static CUresult stream_create(CUstream *out, unsigned flags, int priority)
{
    if (!out || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
        return CUDA_ERROR_INVALID_VALUE;
    *out = sg_streamMake(sg_context(), flags, priority);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

SG_FUNCTION(cuStreamCreate, (CUstream * phStream, unsigned int Flags), phStream, Flags)
{
    return stream_create(phStream, Flags, 0);
}

SG_FUNCTION(cuStreamCreateWithPriority, (CUstream * phStream, unsigned int flags, int priority),
            phStream, flags, priority)
{
    if (priority > 0)
        priority = 0;
    return stream_create(phStream, flags, priority < -5 ? -5 : priority);
}

SG_FUNCTION(cuStreamDestroy_v2, (CUstream hStream), hStream)
{
    if (!hStream || hStream == CU_STREAM_LEGACY || hStream == CU_STREAM_PER_THREAD)
        return CUDA_ERROR_INVALID_HANDLE;
    if (hStream->capture)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (hStream->held)
        return CUDA_ERROR_NOT_SUPPORTED;
    sg_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, hStream->context, hStream, NULL);
    /* The real driver lets the work finish without its stream; its end must not be forgotten
     * by a later wait for the whole context or by the legacy default stream. */
    if (hStream->context->null_stream->ready < hStream->ready)
        hStream->context->null_stream->ready = hStream->ready;
    sg_streamFree(hStream);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuStreamGetPriority, (CUstream hStream, int *priority), hStream, priority)
{
    if (!priority)
        return CUDA_ERROR_INVALID_VALUE;
    *priority = sg_stream(sg_context(), hStream)->priority;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuStreamGetFlags, (CUstream hStream, unsigned int *flags), hStream, flags)
{
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = sg_stream(sg_context(), hStream)->flags;
    return CUDA_SUCCESS;
}

#ifndef SIMGPU_LACKS_cuStreamGetId
SG_FUNCTION(cuStreamGetId, (CUstream hStream, unsigned long long *streamId), hStream, streamId)
{
    if (!streamId)
        return CUDA_ERROR_INVALID_VALUE;
    *streamId = sg_stream(sg_context(), hStream)->id;
    return CUDA_SUCCESS;
}
#endif

SG_FUNCTION(cuStreamGetCtx, (CUstream hStream, CUcontext *pctx), hStream, pctx)
{
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    *pctx = sg_stream(sg_context(), hStream)->context;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuStreamQuery, (CUstream hStream), hStream)
{
    CUstream stream = sg_stream(sg_context(), hStream);
    CUresult refused = sg_captureForbid(NULL, stream);
    bool busy;

    if (!refused)
        refused = sg_heldForbid(NULL, stream);
    if (refused)
        return refused;
    busy = sg_streamReady(stream) > sg_now();
    sg_emitSync(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, stream, NULL, sg_now(),
                busy);
    return busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

SG_FUNCTION(cuStreamSynchronize, (CUstream hStream), hStream)
{
    CUstream stream = sg_stream(sg_context(), hStream);
    uint64_t start = sg_now();
    CUresult refused = sg_captureForbid(NULL, stream);

    if (!refused)
        refused = sg_heldForbid(NULL, stream);
    if (refused)
        return refused;
    sg_waitUntil(sg_streamReady(stream));
    sg_emitSync(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, stream, NULL, start, false);
    sg_releasePools();
    sg_notifySynchronized(CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, stream->context, hStream);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuStreamWaitEvent, (CUstream hStream, CUevent hEvent, unsigned int Flags), hStream,
            hEvent, Flags)
{
    CUstream stream = sg_stream(sg_context(), hStream);
    uint64_t now = sg_now();
    struct sg_op op = {.type = SG_OP_WAIT, .event = hEvent};
    CUresult result;

    (void)Flags;
    if (!hEvent)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture && !sg_eventIsCaptured(hEvent))
        return (Flags & CU_EVENT_WAIT_EXTERNAL) ? sg_captureAdd(stream, &op)
                                                : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    if (sg_eventIsCaptured(hEvent))
        return sg_captureWait(stream, hEvent);
    result = sg_submit(stream, &op, NULL);
    if (result == CUDA_SUCCESS)
        sg_emitSync(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, stream, hEvent, now,
                    false);
    return result;
}
