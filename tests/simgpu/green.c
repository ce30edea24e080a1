/*
 * green.c: green contexts. A handle of one is the context itself, and a descriptor is the number of
 * its SMs. Kernels of different streams never slow each other down, so which SMs those are does not
 * matter.
 */
#include "simgpu.h"

#ifndef SIMGPU_LACKS_cuGreenCtxStreamCreate

#define ALIGNMENT 8u /* of a partition, SMs, as on an H100 */

static CUcontext context_of(CUgreenCtx green)
{
    CUcontext context = (CUcontext)(void *)green;

    return sg_isGreen(context) ? context : NULL;
}

static void fill_resource(CUdevResource *resource, unsigned multiprocessors)
{
    memset(resource, 0, sizeof(*resource));
    resource->type = CU_DEV_RESOURCE_TYPE_SM;
    resource->sm.smCount = multiprocessors;
}

SG_FUNCTION(cuDeviceGetDevResource,
            (CUdevice device, CUdevResource *resource, CUdevResourceType type), device, resource,
            type)
{
    if (!sg_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!resource || type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_VALUE;
    fill_resource(resource, SG_MULTIPROCESSORS);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuDevSmResourceSplitByCount,
            (CUdevResource * result, unsigned int *nbGroups, const CUdevResource *input,
             CUdevResource *remaining, unsigned int useFlags, unsigned int minCount),
            result, nbGroups, input, remaining, useFlags, minCount)
{
    unsigned size = (minCount + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    unsigned most;

    (void)useFlags;
    if (!nbGroups || !input || input->type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_VALUE;
    size = size ? size : ALIGNMENT;
    most = input->sm.smCount / size;
    *nbGroups = result && *nbGroups < most ? *nbGroups : most;
    for (unsigned i = 0; result && i < *nbGroups; i++)
        fill_resource(&result[i], size);
    if (remaining)
        fill_resource(remaining, input->sm.smCount - *nbGroups * size);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuDevResourceGenerateDesc,
            (CUdevResourceDesc * phDesc, CUdevResource *resources, unsigned int nbResources),
            phDesc, resources, nbResources)
{
    uintptr_t multiprocessors = 0;

    if (!phDesc || !resources || !nbResources)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < nbResources; i++)
        multiprocessors += resources[i].sm.smCount;
    *phDesc = (CUdevResourceDesc)multiprocessors;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuGreenCtxCreate,
            (CUgreenCtx * phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags), phCtx,
            desc, dev, flags)
{
    struct sg_device *device = sg_device(dev);
    unsigned multiprocessors = (unsigned)(uintptr_t)desc;

    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!phCtx || !multiprocessors || flags != CU_GREEN_CTX_DEFAULT_STREAM)
        return CUDA_ERROR_INVALID_VALUE;
    CUcontext primary = sg_primaryRetain(device);
    CUcontext context = primary ? sg_contextNewGreen(primary, multiprocessors) : NULL;
    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *phCtx = (CUgreenCtx)(void *)context;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuGreenCtxDestroy, (CUgreenCtx hCtx), hCtx)
{
    CUcontext context = context_of(hCtx);

    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    struct sg_device *device = context->device;
    sg_contextFree(context);
    sg_primaryRelease(device);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuGreenCtxStreamCreate,
            (CUstream * phStream, CUgreenCtx greenCtx, unsigned int flags, int priority), phStream,
            greenCtx, flags, priority)
{
    CUcontext context = context_of(greenCtx);

    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!phStream || flags != CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    *phStream = sg_streamMake(context, flags, priority);
    return *phStream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

SG_FUNCTION(cuCtxFromGreenCtx, (CUcontext * pContext, CUgreenCtx hCtx), pContext, hCtx)
{
    if (!pContext)
        return CUDA_ERROR_INVALID_VALUE;
    *pContext = context_of(hCtx);
    return *pContext ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

#endif
