/*
 * mapping.c: virtual memory. Addresses are host memory from the start; what is mapped where is not
 * looked at. Only the times of the calls and the records of memory matter.
 */
#include "simgpu.h"

#include <stdlib.h>

SG_FUNCTION(cuMemGetAllocationGranularity,
            (size_t * granularity, const CUmemAllocationProp *prop,
             CUmemAllocationGranularity_flags option),
            granularity, prop, option)
{
    if (!granularity || !prop)
        return CUDA_ERROR_INVALID_VALUE;
    (void)option;
    *granularity = 2 << 20;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuMemAddressReserve,
            (CUdeviceptr * ptr, size_t size, size_t alignment, CUdeviceptr addr,
             unsigned long long flags),
            ptr, size, alignment, addr, flags)
{
    void *memory;

    (void)alignment;
    (void)addr;
    (void)flags;
    if (!ptr || !size || posix_memalign(&memory, 4096, size) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    *ptr = (CUdeviceptr)(uintptr_t)memory;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuMemAddressFree, (CUdeviceptr ptr, size_t size), ptr, size)
{
    (void)size;
    free(sg_pointer(ptr));
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuMemCreate,
            (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp *prop,
             unsigned long long flags),
            handle, size, prop, flags)
{
    static CUmemGenericAllocationHandle last;

    (void)flags;
    if (!handle || !size || !prop)
        return CUDA_ERROR_INVALID_VALUE;
    *handle = ++last;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuMemRelease, (CUmemGenericAllocationHandle handle), handle)
{
    return handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SG_FUNCTION(cuMemMap,
            (CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
             unsigned long long flags),
            ptr, size, offset, handle, flags)
{
    (void)offset;
    (void)flags;
    return ptr && size && handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SG_FUNCTION(cuMemSetAccess,
            (CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count), ptr, size,
            desc, count)
{
    return ptr && size && desc && count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SG_FUNCTION(cuMemUnmap, (CUdeviceptr ptr, size_t size), ptr, size)
{
    return ptr && size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
