/*
 * cupti_profiler_range.c: range profiler objects and the counter data images they fill.
 *
 *   Enable --> GetCounterDataSize, CounterDataImageInitialize --> SetConfig
 *          --> Start, launches, Stop, DecodeData --> ... --> Disable
 *
 * Automatic ranges with kernel replay only. An image is a struct ct_counter_image and then room for
 * its ranges; DecodeData appends, so that a client which puts back the image as it was after
 * CounterDataImageInitialize finds the next ranges from index 0.
 */
#include "cupti_profiler.h"

#include <cupti_range_profiler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANGES (UINT64_C(1) << 32) /* keeps sizes far from overflow */

/* CUPTI answers a disabled object with INVALID_CONTEXT. Call with ct_lock held. */
static CUptiResult check_object(const struct CUpti_RangeProfiler_Object *object)
{
    if (!object)
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (const struct CUpti_RangeProfiler_Object *o = ct_profilers; o; o = o->next)
        if (o == object)
            return CUPTI_SUCCESS;
    return CUPTI_ERROR_INVALID_CONTEXT;
}

/* ---- images ---- */

bool ct_counterHead(const uint8_t *image, size_t size, struct ct_counter_image *head)
{
    if (!image || size < sizeof(*head))
        return false;
    memcpy(head, image, sizeof(*head));
    return head->magic == CT_COUNTER_MAGIC && head->size <= size && head->count <= head->capacity &&
           head->capacity <= (head->size - sizeof(*head)) / sizeof(struct ct_range);
}

static size_t range_offset(uint64_t index)
{
    return sizeof(struct ct_counter_image) + (size_t)index * sizeof(struct ct_range);
}

bool ct_counterRange(const uint8_t *image, size_t size, size_t index, struct ct_range *range)
{
    struct ct_counter_image head;

    if (!ct_counterHead(image, size, &head) || index >= head.count)
        return false;
    memcpy(range, image + range_offset(index), sizeof(*range));
    return true;
}

CUptiResult CUPTIAPI
cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
    struct ct_metric_set metrics = {.members = {0}};

    if (result)
        return result;
    if (!pParams->pMetricNames || !pParams->numMetrics || !pParams->maxNumOfRanges ||
        pParams->maxNumOfRanges > MAX_RANGES ||
        pParams->maxNumRangeTreeNodes < pParams->maxNumOfRanges ||
        !ct_metricsAdd(&metrics, pParams->pMetricNames, pParams->numMetrics))
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&ct_lock);
    result = check_object(pParams->pRangeProfilerObject);
    if (result == CUPTI_SUCCESS) {
        pParams->pRangeProfilerObject->asked = metrics;
        pParams->pRangeProfilerObject->asked_ranges = pParams->maxNumOfRanges;
        pParams->counterDataSize = range_offset(pParams->maxNumOfRanges);
    }
    pthread_mutex_unlock(&ct_lock);
    return result;
}

static CUptiResult initialize_image(const struct CUpti_RangeProfiler_Object *object, uint8_t *image,
                                    size_t size)
{
    const struct ct_counter_image head = {.magic = CT_COUNTER_MAGIC,
                                          .size = size,
                                          .capacity = object->asked_ranges,
                                          .metrics = object->asked};

    if (!object->asked_ranges)
        return CUPTI_ERROR_INVALID_OPERATION;
    if (!image || size < range_offset(object->asked_ranges))
        return CUPTI_ERROR_INVALID_PARAMETER;
    memset(image, 0, size);
    memcpy(image, &head, sizeof(head));
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(
        pParams, CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);

    if (result)
        return result;
    pthread_mutex_lock(&ct_lock);
    result = check_object(pParams->pRangeProfilerObject);
    if (result == CUPTI_SUCCESS)
        result = initialize_image(pParams->pRangeProfilerObject, pParams->pCounterData,
                                  pParams->counterDataSize);
    pthread_mutex_unlock(&ct_lock);
    return result;
}

CUptiResult CUPTIAPI
cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
    struct ct_counter_image head;

    if (result)
        return result;
    if (!ct_counterHead(pParams->pCounterDataImage, pParams->counterDataImageSize, &head))
        return CUPTI_ERROR_INVALID_PARAMETER;
    pParams->numTotalRanges = (size_t)head.count;
    return CUPTI_SUCCESS;
}

/* The name is valid until the thread asks for the next. */
CUptiResult CUPTIAPI cuptiRangeProfilerCounterDataGetRangeInfo(
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params *pParams)
{
    static _Thread_local char name[24];
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE);
    struct ct_range range;

    if (result)
        return result;
    if (!ct_counterRange(pParams->pCounterDataImage, pParams->counterDataImageSize,
                         pParams->rangeIndex, &range))
        return CUPTI_ERROR_INVALID_PARAMETER;
    snprintf(name, sizeof(name), "%llu", (unsigned long long)range.name);
    pParams->rangeName = name;
    return CUPTI_SUCCESS;
}

/* ---- objects ---- */

static CUptiResult enable(uint32_t context, struct CUpti_RangeProfiler_Object **out)
{
    struct CUpti_RangeProfiler_Object *object;

    for (object = ct_profilers; object; object = object->next)
        if (object->context == context)
            return CUPTI_ERROR_INVALID_OPERATION;
    object = calloc(1, sizeof(*object));
    if (!object)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    object->context = context;
    object->next = ct_profilers;
    ct_profilers = *out = object;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(pParams, CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
    long ordered = env_number("SIMGPU_PROFILER_ENABLE_ERROR", 0);
    uint32_t context, device;

    if (result)
        return result;
    if (!ct_profilerInitialized())
        return CUPTI_ERROR_NOT_INITIALIZED;
    if (ordered)
        return (CUptiResult)ordered;
    result = ct_profilerRefusal();
    if (result)
        return result;
    if (!simgpu_context_ids(pParams->ctx, &context, &device))
        return CUPTI_ERROR_INVALID_CONTEXT;
    ct_attach();
    pthread_mutex_lock(&ct_lock);
    result = enable(context, &pParams->pRangeProfilerObject);
    pthread_mutex_unlock(&ct_lock);
    return result;
}

CUptiResult CUPTIAPI cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(pParams, CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);

    if (result)
        return result;
    pthread_mutex_lock(&ct_lock);
    result = check_object(pParams->pRangeProfilerObject);
    if (result == CUPTI_SUCCESS)
        ct_profilerFree(pParams->pRangeProfilerObject);
    pthread_mutex_unlock(&ct_lock);
    return result;
}

static CUptiResult check_config(const CUpti_RangeProfiler_SetConfig_Params *params,
                                struct ct_config_image *config)
{
    struct ct_counter_image head;

    if (!params->pConfig || params->configSize < sizeof(*config))
        return CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(config, params->pConfig, sizeof(*config));
    if (config->magic != CT_CONFIG_MAGIC ||
        !ct_counterHead(params->pCounterDataImage, params->counterDataImageSize, &head) ||
        !ct_metricsContain(&head.metrics, &config->metrics) || !params->maxRangesPerPass ||
        params->maxRangesPerPass > MAX_RANGES || params->numNestingLevels != 1)
        return CUPTI_ERROR_INVALID_PARAMETER;
    return params->range == CUPTI_AutoRange && params->replayMode == CUPTI_KernelReplay
               ? CUPTI_SUCCESS
               : CUPTI_ERROR_NOT_SUPPORTED;
}

static CUptiResult set_config(struct CUpti_RangeProfiler_Object *object,
                              const CUpti_RangeProfiler_SetConfig_Params *params,
                              const struct ct_config_image *config)
{
    struct ct_range *ranges;

    if (object->started)
        return CUPTI_ERROR_INVALID_OPERATION;
    ranges = calloc(params->maxRangesPerPass, sizeof(*ranges));
    if (!ranges)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    free(object->ranges);
    object->ranges = ranges;
    object->count = 0;
    object->capacity = params->maxRangesPerPass;
    object->passes = (uint32_t)config->passes;
    object->image = params->pCounterDataImage;
    object->image_size = params->counterDataImageSize;
    object->configured = true;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
    struct ct_config_image config;

    if (result)
        return result;
    pthread_mutex_lock(&ct_lock);
    result = check_object(pParams->pRangeProfilerObject);
    if (result == CUPTI_SUCCESS)
        result = check_config(pParams, &config);
    if (result == CUPTI_SUCCESS)
        result = set_config(pParams->pRangeProfilerObject, pParams, &config);
    pthread_mutex_unlock(&ct_lock);
    return result;
}

CUptiResult CUPTIAPI cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(pParams, CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
    long ordered = env_number("SIMGPU_PROFILER_START_ERROR", 0);

    if (result)
        return result;
    if (ordered)
        return (CUptiResult)ordered;
    pthread_mutex_lock(&ct_lock);
    result = check_object(pParams->pRangeProfilerObject);
    if (result == CUPTI_SUCCESS) {
        struct CUpti_RangeProfiler_Object *object = pParams->pRangeProfilerObject;

        if (object->configured && !object->started)
            object->started = true;
        else
            result = CUPTI_ERROR_INVALID_OPERATION;
    }
    pthread_mutex_unlock(&ct_lock);
    return result;
}

CUptiResult CUPTIAPI cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(pParams, CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);

    if (result)
        return result;
    pthread_mutex_lock(&ct_lock);
    result = check_object(pParams->pRangeProfilerObject);
    if (result == CUPTI_SUCCESS && !pParams->pRangeProfilerObject->started)
        result = CUPTI_ERROR_INVALID_OPERATION;
    if (result == CUPTI_SUCCESS) {
        pParams->pRangeProfilerObject->started = false;
        pParams->passIndex = 0;
        pParams->targetNestingLevel = 1;
        pParams->isAllPassSubmitted = 1; /* kernel replay: each launch runs all of its passes */
    }
    pthread_mutex_unlock(&ct_lock);
    return result;
}

static CUptiResult decode(struct CUpti_RangeProfiler_Object *object)
{
    struct ct_counter_image head;

    if (!object->configured || object->started)
        return CUPTI_ERROR_INVALID_OPERATION;
    if (!ct_counterHead(object->image, object->image_size, &head))
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < object->count && head.count < head.capacity; i++, head.count++)
        memcpy(object->image + range_offset(head.count), &object->ranges[i],
               sizeof(object->ranges[i]));
    object->count = 0;
    memcpy(object->image, &head, sizeof(head));
    return CUPTI_SUCCESS;
}

/* CUPTI 13.0 counts no drops, not even of the launches that found no room. */
CUptiResult CUPTIAPI cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);

    if (result)
        return result;
    pthread_mutex_lock(&ct_lock);
    result = check_object(pParams->pRangeProfilerObject);
    if (result == CUPTI_SUCCESS)
        result = decode(pParams->pRangeProfilerObject);
    if (result == CUPTI_SUCCESS)
        pParams->numOfRangeDropped = 0;
    pthread_mutex_unlock(&ct_lock);
    return result;
}

/* Ranges of the user are not played. */
CUptiResult CUPTIAPI cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE);

    return result ? result : CUPTI_ERROR_INVALID_OPERATION;
}

CUptiResult CUPTIAPI cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(pParams, CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE);

    return result ? result : CUPTI_ERROR_INVALID_OPERATION;
}
