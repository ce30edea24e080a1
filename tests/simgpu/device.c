/*
 * device.c: the simulated devices, what can be asked about them, and the names of errors.
 *
 * Each device is called SimGPU and has round figures of the order of an H100's.
 */
#include "simgpu.h"

#include <stdio.h>
#include <string.h>

static const size_t device_memory = (size_t)80 << 30;

static struct sg_device devices[SG_MAX_DEVICES];

int sg_deviceCount(void)
{
    long count = env_number("SIMGPU_DEVICES", 1);

    if (count < 0)
        return 0;
    return count > SG_MAX_DEVICES ? SG_MAX_DEVICES : (int)count;
}

struct sg_device *sg_device(CUdevice ordinal)
{
    if (ordinal < 0 || ordinal >= sg_deviceCount())
        return NULL;
    devices[ordinal].ordinal = ordinal;
    return &devices[ordinal];
}

void sg_deviceUuid(int ordinal, uint8_t uuid[16])
{
    memcpy(uuid, "simgpu-device-0", 16);
    uuid[15] = (uint8_t)ordinal;
}

void sg_deviceEmit(int ordinal)
{
    struct simgpu_activity activity = {.kind = CUPTI_ACTIVITY_KIND_DEVICE,
                                       .device = (uint32_t)ordinal};

    activity.start = activity.end = sg_now();
    activity.device_info.name = "SimGPU";
    sg_deviceUuid(ordinal, activity.device_info.uuid);
    sg_emit(&activity);
}

SG_FUNCTION(cuDeviceGet, (CUdevice * device, int ordinal), device, ordinal)
{
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sg_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuDeviceGetCount, (int *count), count)
{
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = sg_deviceCount();
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuDeviceGetName, (char *name, int len, CUdevice dev), name, len, dev)
{
    if (!name || len <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sg_device(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    snprintf(name, (size_t)len, "SimGPU");
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice dev), uuid, dev)
{
    if (!uuid)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sg_device(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    sg_deviceUuid(dev, (uint8_t *)uuid->bytes);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice dev), bytes, dev)
{
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sg_device(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    *bytes = device_memory;
    return CUDA_SUCCESS;
}

static const struct {
    CUdevice_attribute attribute;
    int value;
} device_attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 2000000},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 128},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2000000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 << 20},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
};

/* Attributes that are not in the table read 0: most of them are flags for features we lack. */
SG_FUNCTION(cuDeviceGetAttribute, (int *pi, CUdevice_attribute attrib, CUdevice dev), pi, attrib,
            dev)
{
    if (!pi)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sg_device(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    *pi = 0;
    for (size_t i = 0; i < SG_COUNT(device_attributes); i++)
        if (device_attributes[i].attribute == attrib)
            *pi = device_attributes[i].value;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuDeviceComputeCapability, (int *major, int *minor, CUdevice dev), major, minor, dev)
{
    if (!major || !minor)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sg_device(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    *major = 9;
    *minor = 0;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuDeviceGetPCIBusId, (char *pciBusId, int len, CUdevice dev), pciBusId, len, dev)
{
    if (!pciBusId || len <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sg_device(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", (unsigned)dev + 1);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuDeviceCanAccessPeer, (int *canAccessPeer, CUdevice dev, CUdevice peerDev),
            canAccessPeer, dev, peerDev)
{
    if (!canAccessPeer)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sg_device(dev) || !sg_device(peerDev))
        return CUDA_ERROR_INVALID_DEVICE;
    *canAccessPeer = dev != peerDev;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuMemGetInfo_v2, (size_t * free, size_t *total), free, total)
{
    if (!free || !total)
        return CUDA_ERROR_INVALID_VALUE;
    *total = device_memory;
    *free = device_memory - sg_context()->device->used;
    return CUDA_SUCCESS;
}

/* The names come from cuda.h at build time (simgpu.mk); a linter that reads this file alone does
 * without them. */
static const struct {
    int code;
    const char *name;
} error_names[] = {
#if __has_include("error_names.inc")
#include "error_names.inc"
#else
    {0, "CUDA_SUCCESS"},
#endif
};

static const char *find_error(CUresult error)
{
    for (size_t i = 0; i < SG_COUNT(error_names); i++)
        if (error_names[i].code == (int)error)
            return error_names[i].name;
    return NULL;
}

SG_FUNCTION(cuGetErrorName, (CUresult error, const char **pStr), error, pStr)
{
    if (!pStr)
        return CUDA_ERROR_INVALID_VALUE;
    *pStr = find_error(error);
    return *pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The real driver has a sentence for each; the name says as much. */
SG_FUNCTION(cuGetErrorString, (CUresult error, const char **pStr), error, pStr)
{
    if (!pStr)
        return CUDA_ERROR_INVALID_VALUE;
    *pStr = find_error(error);
    return *pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
