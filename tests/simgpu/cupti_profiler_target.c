/*
 * cupti_profiler_target.c: starting the profiler and what the device supports.
 */
#include "cupti_profiler.h"

#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <stdlib.h>
#include <string.h>

#define CUDA_12_6 24 /* CUPTI_API_VERSION that brought the range profiler */

static _Atomic bool initialized;

bool ct_profilerInitialized(void)
{
    return initialized;
}

CUptiResult ct_profilerCheck(const void *params, size_t size)
{
    size_t given;

    if (!env_number("SIMGPU_PROFILER", 1) || ct_version() < CUDA_12_6)
        return CUPTI_ERROR_NOT_SUPPORTED;
    if (!params)
        return CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(&given, params, sizeof(given));
    return given == size ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult CUPTIAPI cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(pParams, CUpti_Profiler_Initialize_Params_STRUCT_SIZE);

    if (result == CUPTI_SUCCESS)
        initialized = true;
    return result;
}

CUptiResult CUPTIAPI cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(pParams, CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE);

    if (result == CUPTI_SUCCESS)
        initialized = false;
    return result;
}

#define FIELD(name) offsetof(CUpti_Profiler_DeviceSupported_Params, name)

/* What can be wrong with a device, and what enabling the profiler then answers. */
static const struct obstacle {
    const char *name;
    size_t field;
    CUpti_Profiler_Support_Level level;
    CUptiResult refusal;
} obstacles[] = {
    {"architecture", FIELD(architecture), CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED,
     CUPTI_ERROR_NOT_SUPPORTED},
    {"sli", FIELD(sli), CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED,
     CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED},
    {"vgpu", FIELD(vGpu), CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED,
     CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED},
    {"vgpu_disabled", FIELD(vGpu), CUPTI_PROFILER_CONFIGURATION_DISABLED,
     CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES},
    {"confidential", FIELD(confidentialCompute), CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED,
     CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED},
    {"cmp", FIELD(cmp), CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED,
     CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED},
    {"wsl", FIELD(wsl), CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED,
     CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED},
};

static const struct obstacle *find_obstacle(void)
{
    const char *name = getenv("SIMGPU_PROFILER_UNSUPPORTED");

    for (size_t i = 0; name && i < CT_COUNT(obstacles); i++)
        if (strcmp(obstacles[i].name, name) == 0)
            return &obstacles[i];
    return NULL;
}

CUptiResult ct_profilerRefusal(void)
{
    const struct obstacle *obstacle = find_obstacle();

    return obstacle ? obstacle->refusal : CUPTI_SUCCESS;
}

static bool is_device(long ordinal)
{
    return ordinal >= 0 && ordinal < env_number("SIMGPU_DEVICES", 1);
}

static void support_all(CUpti_Profiler_DeviceSupported_Params *params)
{
    params->architecture = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    params->sli = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    params->vGpu = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    params->confidentialCompute = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    params->cmp = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    params->wsl = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
}

/* Of the profiling APIs there are the range profiler and PM sampling here. */
CUptiResult CUPTIAPI cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE);
    const struct obstacle *obstacle = find_obstacle();

    if (result)
        return result;
    if (!initialized)
        return CUPTI_ERROR_NOT_INITIALIZED;
    if (!is_device(pParams->cuDevice))
        return CUPTI_ERROR_INVALID_DEVICE;
    if (pParams->api >= CUPTI_PROFILER_UNKNOWN)
        return CUPTI_ERROR_INVALID_PARAMETER;
    support_all(pParams);
    if (obstacle)
        memcpy((char *)pParams + obstacle->field, &obstacle->level, sizeof(obstacle->level));
    pParams->isSupported = !obstacle && (pParams->api == CUPTI_PROFILER_RANGE_PROFILING ||
                                         pParams->api == CUPTI_PROFILER_PM_SAMPLING)
                               ? CUPTI_PROFILER_CONFIGURATION_SUPPORTED
                               : CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(pParams, CUpti_Device_GetChipName_Params_STRUCT_SIZE);
    const char *chip = getenv("SIMGPU_PROFILER_CHIP");

    if (result)
        return result;
    if (!initialized)
        return CUPTI_ERROR_NOT_INITIALIZED;
    if (pParams->deviceIndex > INT32_MAX || !is_device((long)pParams->deviceIndex))
        return CUPTI_ERROR_INVALID_DEVICE;
    pParams->pChipName = chip && *chip ? chip : CT_CHIP;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI
cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE);
    const uint64_t image = CT_AVAILABILITY_MAGIC;
    uint32_t id, device;

    if (result)
        return result;
    if (!initialized)
        return CUPTI_ERROR_NOT_INITIALIZED;
    if (!simgpu_context_ids(pParams->ctx, &id, &device))
        return CUPTI_ERROR_INVALID_CONTEXT;
    if (pParams->pCounterAvailabilityImage) {
        if (pParams->counterAvailabilityImageSize < sizeof(image))
            return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
        memcpy(pParams->pCounterAvailabilityImage, &image, sizeof(image));
    }
    pParams->counterAvailabilityImageSize = sizeof(image);
    return CUPTI_SUCCESS;
}
