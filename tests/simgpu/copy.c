/*
 * copy.c: copies and memsets.
 *
 * When the host waits: a copy to or from the host that is not called ...Async waits for its end;
 * so does an Async copy into pageable memory. An Async copy from pageable memory waits until the
 * bytes are staged. Copies within a device and memsets never make the host wait.
 */
#include "simgpu.h"

#include <string.h>

static const uint64_t staging_bytes_per_us = 10000;

static bool is_host(uint32_t kind)
{
    return kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE || kind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
}

static uint8_t copy_kind(uint32_t src, uint32_t dst)
{
    if (is_host(src))
        return is_host(dst) ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOH : CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
    return is_host(dst) ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
}

static void wait_for_copy(const struct sg_op *op, struct sg_span span, bool async)
{
    bool touches_host = is_host(op->copy.src_kind) || is_host(op->copy.dst_kind);

    if (!span.end || !touches_host)
        return;
    if (!async || op->copy.dst_kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE)
        sg_waitUntil(span.end);
    else if (op->copy.src_kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE)
        sg_advance(op->copy.bytes * 1000 / staging_bytes_per_us);
}

/* A range that starts in an allocation must end in it; other addresses are pageable memory. */
static bool is_valid(uintptr_t address, size_t bytes)
{
    return address && (!sg_findAllocation(address) || sg_isDeviceRange(address, bytes));
}

static CUresult copy(uintptr_t dst, uintptr_t src, size_t bytes, CUstream handle, bool async)
{
    CUstream stream = sg_stream(sg_context(), handle);
    struct sg_op op = {.type = SG_OP_COPY};
    struct sg_span span;
    CUresult result;

    if (!bytes)
        return CUDA_SUCCESS;
    if (!is_valid(dst, bytes) || !is_valid(src, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (!async && (result = sg_captureForbid(NULL, stream)))
        return result;
    op.dst = sg_pointer(dst);
    op.src = sg_pointer(src);
    op.copy.bytes = bytes;
    op.copy.src_kind = (uint8_t)sg_memoryKind(src);
    op.copy.dst_kind = (uint8_t)sg_memoryKind(dst);
    op.copy.copy_kind = copy_kind(op.copy.src_kind, op.copy.dst_kind);
    op.copy.async = async;
    result = sg_submit(stream, &op, &span);
    if (!result)
        wait_for_copy(&op, span, async);
    return result;
}

/* One end must be device memory, so that a wild pointer is an error and not a crash. */
static CUresult copy_checked(uintptr_t device, uintptr_t dst, uintptr_t src, size_t bytes,
                             CUstream handle, bool async)
{
    if (bytes && !sg_isDeviceRange(device, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return copy(dst, src, bytes, handle, async);
}

SG_FUNCTION(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount), dst, src, ByteCount)
{
    return copy((uintptr_t)dst, (uintptr_t)src, ByteCount, NULL, false);
}

SG_FUNCTION(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream),
            dst, src, ByteCount, hStream)
{
    return copy((uintptr_t)dst, (uintptr_t)src, ByteCount, hStream, true);
}

SG_FUNCTION(cuMemcpyHtoD_v2, (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount),
            dstDevice, srcHost, ByteCount)
{
    return copy_checked(dstDevice, dstDevice, (uintptr_t)srcHost, ByteCount, NULL, false);
}

SG_FUNCTION(cuMemcpyDtoH_v2, (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount), dstHost,
            srcDevice, ByteCount)
{
    return copy_checked(srcDevice, (uintptr_t)dstHost, srcDevice, ByteCount, NULL, false);
}

SG_FUNCTION(cuMemcpyDtoD_v2, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount),
            dstDevice, srcDevice, ByteCount)
{
    return copy_checked(dstDevice, dstDevice, srcDevice, ByteCount, NULL, false);
}

SG_FUNCTION(cuMemcpyHtoDAsync_v2,
            (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream),
            dstDevice, srcHost, ByteCount, hStream)
{
    return copy_checked(dstDevice, dstDevice, (uintptr_t)srcHost, ByteCount, hStream, true);
}

SG_FUNCTION(cuMemcpyDtoHAsync_v2,
            (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream), dstHost,
            srcDevice, ByteCount, hStream)
{
    return copy_checked(srcDevice, (uintptr_t)dstHost, srcDevice, ByteCount, hStream, true);
}

SG_FUNCTION(cuMemcpyDtoDAsync_v2,
            (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
            dstDevice, srcDevice, ByteCount, hStream)
{
    return copy_checked(dstDevice, dstDevice, srcDevice, ByteCount, hStream, true);
}

static CUresult copy_peer(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                          CUcontext src_context, size_t bytes, CUstream handle, bool async)
{
    struct sg_op op = {.type = SG_OP_COPY, .dst = sg_pointer(dst), .src = sg_pointer(src)};

    if (!dst_context || !src_context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!sg_isDeviceRange(dst, bytes) || !sg_isDeviceRange(src, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    op.copy = (struct simgpu_copy){.bytes = bytes,
                                   .copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
                                   .src_kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                   .dst_kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                   .async = async,
                                   .src_device = (uint32_t)src_context->device->ordinal,
                                   .src_context = src_context->id,
                                   .dst_device = (uint32_t)dst_context->device->ordinal,
                                   .dst_context = dst_context->id};
    return sg_submit(sg_stream(sg_context(), handle), &op, NULL);
}

SG_FUNCTION(cuMemcpyPeer,
            (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
             CUcontext srcContext, size_t ByteCount),
            dstDevice, dstContext, srcDevice, srcContext, ByteCount)
{
    return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, NULL, false);
}

SG_FUNCTION(cuMemcpyPeerAsync,
            (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
             CUcontext srcContext, size_t ByteCount, CUstream hStream),
            dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream)
{
    return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, true);
}

static CUresult set(CUdeviceptr dst, uint32_t value, unsigned width, size_t count, CUstream handle,
                    bool async)
{
    struct sg_op op = {.type = SG_OP_SET, .dst = sg_pointer(dst), .set_width = width};

    if (!count)
        return CUDA_SUCCESS;
    if (count > SIZE_MAX / width || !sg_isDeviceRange(dst, count * width))
        return CUDA_ERROR_INVALID_VALUE;
    op.set = (struct simgpu_set){.bytes = count * width,
                                 .value = value,
                                 .memory_kind = (uint16_t)sg_memoryKind((uintptr_t)dst),
                                 .async = async};
    return sg_submit(sg_stream(sg_context(), handle), &op, NULL);
}

SG_FUNCTION(cuMemsetD8_v2, (CUdeviceptr dstDevice, unsigned char uc, size_t N), dstDevice, uc, N)
{
    return set(dstDevice, uc, 1, N, NULL, false);
}

SG_FUNCTION(cuMemsetD32_v2, (CUdeviceptr dstDevice, unsigned int ui, size_t N), dstDevice, ui, N)
{
    return set(dstDevice, ui, 4, N, NULL, false);
}

SG_FUNCTION(cuMemsetD8Async, (CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream),
            dstDevice, uc, N, hStream)
{
    return set(dstDevice, uc, 1, N, hStream, true);
}

SG_FUNCTION(cuMemsetD32Async, (CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream),
            dstDevice, ui, N, hStream)
{
    return set(dstDevice, ui, 4, N, hStream, true);
}
