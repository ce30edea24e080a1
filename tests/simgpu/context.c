/*
 * context.c: contexts, the per-thread stack of current ones, primary contexts.
 *
 * Each context has CUPTI-like ids: contexts count from 1 in the process, the default stream of
 * every context has id 7 and created streams count from 13, as on Linux with CUPTI 12 and 13. The
 * streams of a green context, its default stream too, count with those of its parent.
 */
#include "simgpu.h"

#include <stdlib.h>
#include <string.h>

#define STACK_DEPTH 16

enum { NULL_STREAM_ID = 7, FIRST_STREAM_ID = 13 };

struct context_stack {
    CUcontext items[STACK_DEPTH];
    unsigned depth;
};

static _Thread_local struct context_stack stack;
static CUcontext contexts;
static uint32_t last_context_id;

CUcontext sg_context(void)
{
    return stack.depth ? stack.items[stack.depth - 1] : NULL;
}

CUcontext sg_contextList(void)
{
    return contexts;
}

static bool is_context(CUcontext context)
{
    for (CUcontext c = contexts; c; c = c->next)
        if (c == context)
            return true;
    return false;
}

static void context_emit(CUcontext context)
{
    struct simgpu_activity activity = {.kind = CUPTI_ACTIVITY_KIND_CONTEXT,
                                       .device = (uint32_t)context->device->ordinal,
                                       .context = context->id,
                                       .stream = context->null_stream->id};

    activity.start = activity.end = sg_now();
    activity.context_info.parent = context->parent ? context->parent->id : 0;
    activity.context_info.multiprocessors = (uint16_t)context->multiprocessors;
    sg_emit(&activity);
}

void simgpu_dump_existing(uint32_t kind)
{
    pthread_mutex_lock(&sg_lock);
    if (kind == CUPTI_ACTIVITY_KIND_DEVICE && sg_isInitialized())
        for (int i = 0; i < sg_deviceCount(); i++)
            sg_deviceEmit(i);
    if (kind == CUPTI_ACTIVITY_KIND_CONTEXT)
        for (CUcontext c = contexts; c; c = c->next)
            context_emit(c);
    pthread_mutex_unlock(&sg_lock);
}

bool simgpu_context_ids(CUcontext context, uint32_t *id, uint32_t *device)
{
    bool known;

    if (!context)
        context = sg_context();
    pthread_mutex_lock(&sg_lock);
    known = context && is_context(context);
    if (known) {
        *id = context->id;
        *device = (uint32_t)context->device->ordinal;
    }
    pthread_mutex_unlock(&sg_lock);
    return known;
}

bool simgpu_stream_id(CUcontext context, CUstream stream, bool per_thread, uint32_t *id)
{
    bool known;

    if (!context)
        context = sg_context();
    if (!stream && per_thread)
        stream = CU_STREAM_PER_THREAD;
    pthread_mutex_lock(&sg_lock);
    known = context && is_context(context);
    if (known)
        *id = sg_stream(context, stream)->id;
    pthread_mutex_unlock(&sg_lock);
    return known;
}

void simgpu_hold(CUstream stream)
{
    CUcontext context = sg_context();

    pthread_mutex_lock(&sg_lock);
    if (context)
        sg_stream(context, stream)->ready = sg_contextReady(context);
    pthread_mutex_unlock(&sg_lock);
}

/* Gives it its id and its default stream. NULL: no memory, and it is freed. */
static CUcontext context_add(CUcontext context, uint32_t null_stream_id)
{
    CUcontext *last = &contexts;

    context->id = ++last_context_id;
    context->null_stream = sg_streamNew(context, 0, 0, null_stream_id);
    if (!context->null_stream) {
        free(context);
        return NULL;
    }
    while (*last)
        last = &(*last)->next;
    *last = context;
    context_emit(context);
    sg_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, NULL, NULL);
    return context;
}

static CUcontext context_new(struct sg_device *device, unsigned flags, bool primary)
{
    CUcontext context = calloc(1, sizeof(*context));

    if (!context)
        return NULL;
    context->device = device;
    context->flags = flags;
    context->primary = primary;
    context->multiprocessors = SG_MULTIPROCESSORS;
    context->next_stream_id = FIRST_STREAM_ID;
    return context_add(context, NULL_STREAM_ID);
}

CUcontext sg_contextNewGreen(CUcontext parent, unsigned multiprocessors)
{
    CUcontext context = calloc(1, sizeof(*context));

    if (!context)
        return NULL;
    context->device = parent->device;
    context->parent = parent;
    context->multiprocessors = multiprocessors;
    return context_add(context, parent->next_stream_id++);
}

CUstream sg_nextStream(CUcontext context, CUstream after)
{
    if (after && after->next)
        return after->next;
    for (CUcontext c = after ? after->context->next : contexts; c; c = c->next)
        if ((c == context || c->parent == context) && c->streams)
            return c->streams;
    return NULL;
}

bool sg_isGreen(CUcontext context)
{
    return context && is_context(context) && context->parent;
}

static void stack_forget(CUcontext context)
{
    while (stack.depth && stack.items[stack.depth - 1] == context)
        stack.depth--;
}

static CUcontext first_green(CUcontext parent)
{
    for (CUcontext c = contexts; c; c = c->next)
        if (c->parent == parent)
            return c;
    return NULL;
}

static void context_end(CUcontext context)
{
    CUcontext *link = &contexts;

    sg_waitUntil(sg_contextReady(context));
    sg_resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context, NULL, NULL);
    while (*link && *link != context)
        link = &(*link)->next;
    if (*link)
        *link = context->next;
    while (context->streams)
        sg_streamFree(context->streams);
    stack_forget(context);
    free(context);
}

void sg_contextFree(CUcontext context)
{
    for (CUcontext green; (green = first_green(context));)
        context_end(green);
    context_end(context);
}

static CUresult stack_push(CUcontext context)
{
    if (stack.depth == STACK_DEPTH)
        return CUDA_ERROR_INVALID_VALUE;
    stack.items[stack.depth++] = context;
    return CUDA_SUCCESS;
}

static CUresult context_create(CUcontext *pctx, unsigned flags, CUdevice dev)
{
    struct sg_device *device = sg_device(dev);
    CUcontext context;

    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    context = context_new(device, flags, false);
    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pctx = context;
    return stack_push(context);
}

SG_FUNCTION(cuCtxCreate_v2, (CUcontext * pctx, unsigned int flags, CUdevice dev), pctx, flags, dev)
{
    return context_create(pctx, flags, dev);
}

#ifndef SIMGPU_LACKS_cuCtxCreate_v4
SG_FUNCTION(cuCtxCreate_v4,
            (CUcontext * pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags,
             CUdevice dev),
            pctx, ctxCreateParams, flags, dev)
{
    (void)ctxCreateParams;
    return context_create(pctx, flags, dev);
}
#endif

SG_FUNCTION(cuCtxDestroy_v2, (CUcontext ctx), ctx)
{
    if (!ctx || !is_context(ctx) || ctx->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    sg_contextFree(ctx);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuCtxSetCurrent, (CUcontext ctx), ctx)
{
    if (ctx && !is_context(ctx))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (stack.depth)
        stack.depth--;
    return ctx ? stack_push(ctx) : CUDA_SUCCESS;
}

SG_FUNCTION(cuCtxGetCurrent, (CUcontext * pctx), pctx)
{
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    *pctx = sg_context();
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuCtxPushCurrent_v2, (CUcontext ctx), ctx)
{
    return ctx && is_context(ctx) ? stack_push(ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

SG_FUNCTION(cuCtxPopCurrent_v2, (CUcontext * pctx), pctx)
{
    if (!stack.depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (pctx)
        *pctx = sg_context();
    stack.depth--;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuCtxGetDevice, (CUdevice * device), device)
{
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = sg_context()->device->ordinal;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuCtxGetFlags, (unsigned int *flags), flags)
{
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = sg_context()->flags;
    return CUDA_SUCCESS;
}

#ifndef SIMGPU_LACKS_cuCtxGetId
SG_FUNCTION(cuCtxGetId, (CUcontext ctx, unsigned long long *ctxId), ctx, ctxId)
{
    if (!ctx)
        ctx = sg_context();
    if (!ctx || !is_context(ctx))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!ctxId)
        return CUDA_ERROR_INVALID_VALUE;
    *ctxId = ctx->id;
    return CUDA_SUCCESS;
}
#endif

SG_FUNCTION(cuCtxGetApiVersion, (CUcontext ctx, unsigned int *version), ctx, version)
{
    (void)ctx;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = 3020;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuCtxGetStreamPriorityRange, (int *leastPriority, int *greatestPriority), leastPriority,
            greatestPriority)
{
    if (leastPriority)
        *leastPriority = 0;
    if (greatestPriority)
        *greatestPriority = -5;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuCtxGetLimit, (size_t * pvalue, CUlimit limit), pvalue, limit)
{
    (void)limit;
    if (!pvalue)
        return CUDA_ERROR_INVALID_VALUE;
    *pvalue = 0;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuCtxSetLimit, (CUlimit limit, size_t value), limit, value)
{
    (void)limit;
    (void)value;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuCtxEnablePeerAccess, (CUcontext peerContext, unsigned int Flags), peerContext, Flags)
{
    (void)Flags;
    return is_context(peerContext) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUcontext sg_primaryRetain(struct sg_device *device)
{
    if (!device->primary)
        device->primary = context_new(device, device->primary_flags, true);
    device->primary_refs += device->primary != NULL;
    return device->primary;
}

SG_FUNCTION(cuDevicePrimaryCtxRetain, (CUcontext * pctx, CUdevice dev), pctx, dev)
{
    struct sg_device *device = sg_device(dev);

    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    *pctx = sg_primaryRetain(device);
    return *pctx ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void primary_destroy(struct sg_device *device)
{
    CUcontext context = device->primary;

    device->primary = NULL;
    device->primary_refs = 0;
    if (context)
        sg_contextFree(context);
}

void sg_primaryRelease(struct sg_device *device)
{
    if (device->primary_refs && --device->primary_refs == 0)
        primary_destroy(device);
}

SG_FUNCTION(cuDevicePrimaryCtxRelease_v2, (CUdevice dev), dev)
{
    struct sg_device *device = sg_device(dev);

    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!device->primary_refs)
        return CUDA_ERROR_INVALID_CONTEXT;
    sg_primaryRelease(device);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuDevicePrimaryCtxReset_v2, (CUdevice dev), dev)
{
    struct sg_device *device = sg_device(dev);

    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    primary_destroy(device);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuDevicePrimaryCtxSetFlags_v2, (CUdevice dev, unsigned int flags), dev, flags)
{
    struct sg_device *device = sg_device(dev);

    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    device->primary_flags = flags;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuDevicePrimaryCtxGetState, (CUdevice dev, unsigned int *flags, int *active), dev,
            flags, active)
{
    struct sg_device *device = sg_device(dev);

    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!flags || !active)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = device->primary_flags;
    *active = device->primary != NULL;
    return CUDA_SUCCESS;
}

void simgpu_wait_for_work(void)
{
    pthread_mutex_lock(&sg_lock);
    for (CUcontext c = contexts; c; c = c->next)
        if (sg_contextReady(c) > sg_now())
            sg_waitUntil(sg_contextReady(c));
    pthread_mutex_unlock(&sg_lock);
}

SG_FUNCTION0(cuCtxSynchronize)
{
    CUcontext context = sg_context();
    uint64_t start = sg_now();
    CUresult refused = sg_captureForbid(context, NULL);

    if (!refused)
        refused = sg_heldForbid(context, NULL);
    if (refused)
        return refused;
    sg_waitUntil(sg_contextReady(context));
    sg_emitSync(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, NULL, NULL, start, false);
    sg_notifySynchronized(CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED, context, NULL);
    if (!sg_isInCallback()) /* a client's call is no use of memory by the program */
        sg_migrateBack();
    return CUDA_SUCCESS;
}
