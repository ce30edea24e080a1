/*
 * event.c: events. An event's time is when its stream gets to it.
 */
#include "simgpu.h"

#include <stdlib.h>

static uint32_t last_event_id;

SG_FUNCTION(cuEventCreate, (CUevent * phEvent, unsigned int Flags), phEvent, Flags)
{
    CUevent event;

    if (!phEvent)
        return CUDA_ERROR_INVALID_VALUE;
    event = calloc(1, sizeof(*event));
    if (!event)
        return CUDA_ERROR_OUT_OF_MEMORY;
    event->context = sg_context();
    event->id = ++last_event_id;
    event->flags = Flags;
    *phEvent = event;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuEventDestroy_v2, (CUevent hEvent), hEvent)
{
    if (!hEvent)
        return CUDA_ERROR_INVALID_HANDLE;
    free(hEvent->tail.items);
    free(hEvent);
    return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream handle, unsigned flags)
{
    CUstream stream = sg_stream(sg_context(), handle);
    struct sg_op op = {.type = SG_OP_RECORD, .event = event};

    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (sg_contextRoot(event->context) != sg_contextRoot(stream->context))
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture && !(flags & CU_EVENT_RECORD_EXTERNAL))
        return sg_captureRecord(stream, event);
    event->whole = false;
    return sg_submit(stream, &op, NULL);
}

SG_FUNCTION(cuEventRecord, (CUevent hEvent, CUstream hStream), hEvent, hStream)
{
    return event_record(hEvent, hStream, 0);
}

SG_FUNCTION(cuEventRecordWithFlags, (CUevent hEvent, CUstream hStream, unsigned int flags), hEvent,
            hStream, flags)
{
    return event_record(hEvent, hStream, flags);
}

#ifndef SIMGPU_LACKS_cuCtxRecordEvent
SG_FUNCTION(cuCtxRecordEvent, (CUcontext hCtx, CUevent hEvent), hCtx, hEvent)
{
    CUresult refused;

    if (!hCtx || !hEvent || hEvent->context != hCtx)
        return CUDA_ERROR_INVALID_HANDLE;
    refused = sg_captureForbid(hCtx, NULL);
    if (refused)
        return refused;
    hEvent->recorded = hEvent->whole = true;
    hEvent->polled = false;
    hEvent->time = sg_contextReady(hCtx);
    return CUDA_SUCCESS;
}
#endif

/* The pauses of a client that polls a context take no virtual time. So its second look finds the
 * work done, unless that has no end. */
static void poll(CUevent event)
{
    uint64_t now = sg_now();

    if (event->whole && event->polled && event->time > now && event->time - now < SG_ENDLESS / 2)
        sg_skip(event->time);
    event->polled = true;
}

SG_FUNCTION(cuEventQuery, (CUevent hEvent), hEvent)
{
    CUresult refused;
    bool busy;

    if (!hEvent)
        return CUDA_ERROR_INVALID_HANDLE;
    if (sg_eventIsCaptured(hEvent))
        return CUDA_ERROR_CAPTURED_EVENT;
    refused = sg_captureForbidUnsafe();
    if (refused)
        return refused;
    poll(hEvent);
    busy = hEvent->recorded && hEvent->time > sg_now();
    sg_emitSync(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, NULL, hEvent, sg_now(),
                busy);
    return busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

SG_FUNCTION(cuEventSynchronize, (CUevent hEvent), hEvent)
{
    uint64_t start = sg_now();

    if (!hEvent)
        return CUDA_ERROR_INVALID_HANDLE;
    if (sg_eventIsCaptured(hEvent))
        return CUDA_ERROR_CAPTURED_EVENT;
    if (hEvent->recorded)
        sg_waitUntil(hEvent->time);
    sg_emitSync(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, NULL, hEvent, start, false);
    return CUDA_SUCCESS;
}

static CUresult elapsed(float *milliseconds, CUevent start, CUevent end)
{
    uint64_t now = sg_now();

    if (!start || !end)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!milliseconds || !start->recorded || !end->recorded ||
        ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
        return CUDA_ERROR_INVALID_HANDLE;
    if (start->time > now || end->time > now)
        return CUDA_ERROR_NOT_READY;
    *milliseconds = (float)((double)(int64_t)(end->time - start->time) / 1e6);
    return CUDA_SUCCESS;
}

#ifndef SIMGPU_LACKS_cuEventElapsedTime_v2
SG_FUNCTION(cuEventElapsedTime_v2, (float *pMilliseconds, CUevent hStart, CUevent hEnd),
            pMilliseconds, hStart, hEnd)
{
    return elapsed(pMilliseconds, hStart, hEnd);
}
#endif

#ifndef cuEventElapsedTime
SG_FUNCTION(cuEventElapsedTime, (float *pMilliseconds, CUevent hStart, CUevent hEnd), pMilliseconds,
            hStart, hEnd)
{
    return elapsed(pMilliseconds, hStart, hEnd);
}
#endif
