/*
 * memory.c: allocations. Device memory is host memory, remembered in a table sorted by address, so
 * that every copy can tell device, pinned and pageable memory apart as the real driver does.
 */
#include "simgpu.h"

#include <stdlib.h>
#include <string.h>

struct CUmemPoolHandle_st {
    CUmemoryPool next;
    struct sg_device *device;
    uint64_t reserved; /* high-water mark of what it holds */
    uint64_t used;
    uint64_t threshold;
};

static struct sg_allocation *allocations;
static size_t allocation_count, allocation_capacity;
static uint64_t last_serial;
static CUmemoryPool pools;

/* Index of the first allocation that starts after address. */
static size_t upper_bound(uintptr_t address)
{
    size_t low = 0, high = allocation_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (allocations[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct sg_allocation *sg_findAllocation(uintptr_t address)
{
    size_t index = upper_bound(address);
    const struct sg_allocation *found = index ? &allocations[index - 1] : NULL;

    return found && address - found->address < found->bytes ? found : NULL;
}

uint32_t sg_memoryKind(uintptr_t address)
{
    const struct sg_allocation *found = sg_findAllocation(address);

    return found ? found->kind : (uint32_t)CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
}

bool sg_isDeviceRange(CUdeviceptr address, size_t bytes)
{
    const struct sg_allocation *found = sg_findAllocation((uintptr_t)address);

    return found && bytes <= found->bytes - ((uintptr_t)address - found->address);
}

struct sg_allocation *sg_findManaged(uintptr_t address)
{
    const struct sg_allocation *found = sg_findAllocation(address);

    return found && found->kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED
               ? &allocations[found - allocations]
               : NULL;
}

struct sg_allocation *sg_nextManaged(uint64_t serial)
{
    struct sg_allocation *next = NULL;

    for (size_t i = 0; i < allocation_count; i++)
        if (allocations[i].kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED &&
            allocations[i].serial > serial && (!next || allocations[i].serial < next->serial))
            next = &allocations[i];
    return next;
}

static bool grow_table(void)
{
    size_t capacity = allocation_capacity ? allocation_capacity * 2 : 64;
    struct sg_allocation *grown = realloc(allocations, capacity * sizeof(*grown));

    if (!grown)
        return false;
    allocations = grown;
    allocation_capacity = capacity;
    return true;
}

static void emit_memory(const struct sg_allocation *a, uint32_t operation, CUstream stream)
{
    CUcontext context = sg_context();
    struct simgpu_activity activity = {.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
                                       .device = (uint32_t)context->device->ordinal,
                                       .context = context->id,
                                       .stream =
                                           stream ? stream->id : (uint32_t)CUPTI_INVALID_STREAM_ID,
                                       .correlation = sg_currentCall()->correlation};

    activity.start = activity.end = sg_now();
    activity.memory.operation = operation;
    activity.memory.kind = a->kind;
    activity.memory.address = a->address;
    activity.memory.bytes = a->bytes;
    activity.memory.async = stream != NULL;
    activity.memory.program_counter = (uintptr_t)sg_currentCall()->caller;
    if (a->pool) {
        activity.memory.pool = (uintptr_t)a->pool;
        activity.memory.pool_size = a->pool->reserved;
        activity.memory.pool_used = a->pool->used;
    }
    sg_emit(&activity);
}

/* Fresh memory is filled with a pattern, because a program must not rely on zeros. */
static CUresult allocate(void **out, size_t bytes, uint32_t kind, CUmemoryPool pool,
                         CUstream stream)
{
    struct sg_device *device = pool ? pool->device : sg_context()->device;
    void *memory;
    size_t at;

    if (!out || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (allocation_count == allocation_capacity && !grow_table())
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (bytes > SIZE_MAX / 2 || posix_memalign(&memory, 256, bytes) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(memory, 0xcd, bytes);
    at = upper_bound((uintptr_t)memory);
    memmove(&allocations[at + 1], &allocations[at],
            (allocation_count++ - at) * sizeof(*allocations));
    allocations[at] = (struct sg_allocation){.address = (uintptr_t)memory,
                                             .bytes = bytes,
                                             .kind = kind,
                                             .device = device,
                                             .pool = pool,
                                             .serial = ++last_serial};
    if (kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE)
        device->used += bytes;
    if (pool && (pool->used += bytes) > pool->reserved) {
        pool->reserved = pool->used;
        sg_advance((uint64_t)env_number("SIMGPU_POOL_NS", 0));
    }
    *out = memory;
    emit_memory(&allocations[at], CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, stream);
    return CUDA_SUCCESS;
}

static CUresult release(void *memory, uint32_t kind, CUstream stream)
{
    const struct sg_allocation *found = sg_findAllocation((uintptr_t)memory);
    size_t at;

    if (!memory && !stream)
        return CUDA_SUCCESS;
    if (!found || found->address != (uintptr_t)memory || found->kind != kind)
        return CUDA_ERROR_INVALID_VALUE;
    if (found->pool)
        found->pool->used -= found->bytes;
    if (kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE)
        found->device->used -= found->bytes;
    emit_memory(found, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, stream);
    at = (size_t)(found - allocations);
    memmove(&allocations[at], &allocations[at + 1],
            (--allocation_count - at) * sizeof(*allocations));
    free(memory);
    return CUDA_SUCCESS;
}

static CUresult allocate_device(CUdeviceptr *dptr, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    void *memory = NULL;
    CUresult result;

    if (!dptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream && stream->capture)
        return CUDA_ERROR_NOT_SUPPORTED; /* memory nodes are beyond this model */
    result = allocate(&memory, bytes, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, pool, stream);
    if (!result)
        *dptr = (CUdeviceptr)(uintptr_t)memory;
    return result;
}

SG_FUNCTION(cuMemAlloc_v2, (CUdeviceptr * dptr, size_t bytesize), dptr, bytesize)
{
    return allocate_device(dptr, bytesize, NULL, NULL);
}

SG_FUNCTION(cuMemAllocManaged, (CUdeviceptr * dptr, size_t bytesize, unsigned int flags), dptr,
            bytesize, flags)
{
    void *memory = NULL;
    CUresult result;

    if (!dptr || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    result = allocate(&memory, bytesize, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, NULL, NULL);
    if (!result)
        *dptr = (CUdeviceptr)(uintptr_t)memory;
    return result;
}

/* Waits for the whole context, as the real one does in practice. */
SG_FUNCTION(cuMemFree_v2, (CUdeviceptr dptr), dptr)
{
    bool managed = sg_findManaged((uintptr_t)dptr) != NULL;

    sg_waitUntil(sg_contextReady(sg_context()));
    return release(sg_pointer(dptr),
                   managed ? CUPTI_ACTIVITY_MEMORY_KIND_MANAGED : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                   NULL);
}

SG_FUNCTION(cuMemAllocHost_v2, (void **pp, size_t bytesize), pp, bytesize)
{
    return allocate(pp, bytesize, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, NULL, NULL);
}

SG_FUNCTION(cuMemHostAlloc, (void **pp, size_t bytesize, unsigned int Flags), pp, bytesize, Flags)
{
    (void)Flags;
    return allocate(pp, bytesize, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, NULL, NULL);
}

SG_FUNCTION(cuMemFreeHost, (void *p), p)
{
    return release(p, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, NULL);
}

SG_FUNCTION(cuMemHostGetDevicePointer_v2, (CUdeviceptr * pdptr, void *p, unsigned int Flags), pdptr,
            p, Flags)
{
    (void)Flags;
    if (!pdptr || !sg_findAllocation((uintptr_t)p))
        return CUDA_ERROR_INVALID_VALUE;
    *pdptr = (CUdeviceptr)(uintptr_t)p;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuPointerGetAttribute, (void *data, CUpointer_attribute attribute, CUdeviceptr ptr),
            data, attribute, ptr)
{
    const struct sg_allocation *found = sg_findAllocation((uintptr_t)ptr);

    if (!data || !found)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        *(unsigned *)data = found->kind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED ? CU_MEMORYTYPE_HOST
                                                                             : CU_MEMORYTYPE_DEVICE;
    else if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        *(int *)data = found->device->ordinal;
    else
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuMemAllocAsync, (CUdeviceptr * dptr, size_t bytesize, CUstream hStream), dptr,
            bytesize, hStream)
{
    CUmemoryPool pool = sg_defaultPool(sg_context()->device);

    if (!pool)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return allocate_device(dptr, bytesize, pool, sg_stream(sg_context(), hStream));
}

SG_FUNCTION(cuMemAllocFromPoolAsync,
            (CUdeviceptr * dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream), dptr,
            bytesize, pool, hStream)
{
    if (!pool)
        return CUDA_ERROR_INVALID_VALUE;
    return allocate_device(dptr, bytesize, pool, sg_stream(sg_context(), hStream));
}

SG_FUNCTION(cuMemFreeAsync, (CUdeviceptr dptr, CUstream hStream), dptr, hStream)
{
    CUstream stream = sg_stream(sg_context(), hStream);

    if (stream->capture)
        return CUDA_ERROR_NOT_SUPPORTED;
    return release(sg_pointer(dptr), CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, stream);
}

void sg_emitPool(CUmemoryPool pool, uint32_t operation, uint64_t keep)
{
    struct simgpu_activity activity = {.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL,
                                       .device = (uint32_t)pool->device->ordinal,
                                       .correlation = sg_currentCall()->correlation};

    activity.start = activity.end = sg_now();
    activity.pool.operation = operation;
    activity.pool.address = (uintptr_t)pool;
    activity.pool.size = pool->reserved;
    activity.pool.used = pool->used;
    activity.pool.keep = keep;
    activity.pool.threshold = pool->threshold;
    sg_emit(&activity);
}

static CUmemoryPool pool_new(struct sg_device *device)
{
    CUmemoryPool pool = calloc(1, sizeof(*pool));

    if (!pool)
        return NULL;
    pool->device = device;
    pool->next = pools;
    pools = pool;
    sg_emitPool(pool, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED, 0);
    return pool;
}

CUmemoryPool sg_defaultPool(struct sg_device *device)
{
    if (!device->default_pool)
        device->default_pool = pool_new(device);
    return device->default_pool;
}

static CUresult get_pool(CUmemoryPool *pool, CUdevice dev)
{
    struct sg_device *device = sg_device(dev);

    if (!pool)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    *pool = sg_defaultPool(device);
    return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

SG_FUNCTION(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool_out, CUdevice dev), pool_out, dev)
{
    return get_pool(pool_out, dev);
}

SG_FUNCTION(cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice dev), pool, dev)
{
    return get_pool(pool, dev);
}

SG_FUNCTION(cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps *poolProps), pool,
            poolProps)
{
    struct sg_device *device = poolProps ? sg_device(poolProps->location.id) : NULL;

    if (!pool || !device)
        return CUDA_ERROR_INVALID_VALUE;
    *pool = pool_new(device);
    return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* SIMGPU_POOL_NS: a wait gives back what pools hold above their thresholds. As CUPTI 13.0 does, it
 * tells of pools that give nothing back too. */
void sg_releasePools(void)
{
    long ns = env_number("SIMGPU_POOL_NS", 0);

    for (CUmemoryPool pool = ns ? pools : NULL; pool; pool = pool->next) {
        uint64_t kept = pool->used > pool->threshold ? pool->used : pool->threshold;

        if (pool->reserved > kept) {
            pool->reserved = pool->used;
            sg_advance((uint64_t)ns);
        }
        sg_emitPool(pool, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED, 0);
    }
}

SG_FUNCTION(cuMemPoolDestroy, (CUmemoryPool pool), pool)
{
    CUmemoryPool *link;

    if (!pool || pool == pool->device->default_pool || pool->used)
        return CUDA_ERROR_INVALID_VALUE;
    sg_emitPool(pool, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED, 0);
    for (link = &pools; *link != pool;)
        link = &(*link)->next;
    *link = pool->next;
    free(pool);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuMemPoolTrimTo, (CUmemoryPool pool, size_t minBytesToKeep), pool, minBytesToKeep)
{
    if (!pool)
        return CUDA_ERROR_INVALID_VALUE;
    pool->reserved = minBytesToKeep > pool->used ? minBytesToKeep : pool->used;
    sg_emitPool(pool, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED, minBytesToKeep);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuMemPoolSetAttribute, (CUmemoryPool pool, CUmemPool_attribute attr, void *value), pool,
            attr, value)
{
    if (!pool || !value)
        return CUDA_ERROR_INVALID_VALUE;
    if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        memcpy(&pool->threshold, value, sizeof(pool->threshold));
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuMemPoolGetAttribute, (CUmemoryPool pool, CUmemPool_attribute attr, void *value), pool,
            attr, value)
{
    if (!pool || !value)
        return CUDA_ERROR_INVALID_VALUE;
    if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        memcpy(value, &pool->threshold, sizeof(pool->threshold));
    else if (attr == CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
        memcpy(value, &pool->used, sizeof(pool->used));
    else if (attr == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
        memcpy(value, &pool->reserved, sizeof(pool->reserved));
    else
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}
