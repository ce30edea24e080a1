/*
 * cupti_profiler_host.c: names of metrics, configuration images, values.
 *
 * A host object that was asked to add an unknown metric is spoilt: CUPTI 13.0 then answers
 * CUPTI_ERROR_UNKNOWN to every further metric, and crashes when its configuration is used. To free
 * it corrupts the heap there, and ends the program here.
 */
#include "cupti_profiler.h"

#include <cupti_profiler_host.h> /* includes <string>, an empty file here (simgpu.mk) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct CUpti_Profiler_Host_Object {
    CUpti_ProfilerType type;
    bool spoilt;
    bool pcie;      /* it has bytes on PCIe */
    unsigned calls; /* of ConfigAddMetrics */
    size_t names;   /* that they gave */
    struct ct_metric_set metrics;
};

static bool is_availability(const uint8_t *image)
{
    const uint64_t magic = CT_AVAILABILITY_MAGIC;

    return !image || memcmp(image, &magic, sizeof(magic)) == 0;
}

static CUptiResult check_chip(CUpti_ProfilerType type, const char *chip, const uint8_t *image)
{
    if (!chip || !is_availability(image))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (strcmp(chip, CT_CHIP) != 0)
        return CUPTI_ERROR_INVALID_CHIP_NAME;
    return type < CUPTI_PROFILER_TYPE_PROFILER_INVALID ? CUPTI_SUCCESS : CUPTI_ERROR_NOT_SUPPORTED;
}

/* This half of CUPTI works without a GPU, and without cuptiProfilerInitialize. */
CUptiResult CUPTIAPI cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);

    if (result)
        return result;
    result =
        check_chip(pParams->profilerType, pParams->pChipName, pParams->pCounterAvailabilityImage);
    if (result)
        return result;
    pParams->pHostObject = calloc(1, sizeof(*pParams->pHostObject));
    if (!pParams->pHostObject)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    pParams->pHostObject->type = pParams->profilerType;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);

    if (result)
        return result;
    if (!pParams->pHostObject)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (pParams->pHostObject->spoilt) {
        fputs("cuptiProfilerHostDeinitialize: this object refused something\n", stderr);
        abort();
    }
    free(pParams->pHostObject);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI
cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params *pParams)
{
    static const char *const chips[] = {CT_CHIP};
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE);

    if (result)
        return result;
    pParams->numChips = CT_COUNT(chips);
    pParams->ppChipNames = chips;
    return CUPTI_SUCCESS;
}

/* ---- names ---- */

CUptiResult CUPTIAPI
cuptiProfilerHostGetBaseMetrics(CUpti_Profiler_Host_GetBaseMetrics_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE);

    if (result)
        return result;
    if (!pParams->pHostObject || pParams->metricType >= CUPTI_METRIC_TYPE__COUNT)
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&ct_lock);
    pParams->ppMetricNames =
        ct_metricNames((enum ct_metric_type)pParams->metricType, &pParams->numMetrics);
    pthread_mutex_unlock(&ct_lock);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI
cuptiProfilerHostGetSubMetrics(CUpti_Profiler_Host_GetSubMetrics_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_Profiler_Host_GetSubMetrics_Params_STRUCT_SIZE);
    const struct ct_metric *metric;
    const char *suffix;

    if (result)
        return result;
    if (!pParams->pHostObject || !pParams->pMetricName)
        return CUPTI_ERROR_INVALID_PARAMETER;
    metric = ct_metricFind(pParams->pMetricName, &suffix);
    if (!metric)
        return CUPTI_ERROR_INVALID_METRIC_NAME;
    pParams->ppSubMetrics = ct_metricSuffixes(metric->type, &pParams->numOfSubmetrics);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI
cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params *pParams)
{
    static const char *const descriptions[CT_METRIC_TYPES] = {"a counter of the software GPU",
                                                              "a ratio of the software GPU",
                                                              "a throughput of the software GPU"};
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE);
    const struct ct_metric *metric;
    const char *suffix;

    if (result)
        return result;
    if (!pParams->pHostObject || !pParams->pMetricName)
        return CUPTI_ERROR_INVALID_PARAMETER;
    metric = ct_metricFind(pParams->pMetricName, &suffix);
    if (!metric)
        return CUPTI_ERROR_INVALID_METRIC_NAME;
    pParams->pDescription = descriptions[metric->type];
    pParams->pHwUnit = ct_metricUnit(metric);
    pParams->pDimUnit = ct_metricDimension(metric, suffix);
    pParams->metricType = (CUpti_MetricType)metric->type;
    return CUPTI_SUCCESS;
}

/* ---- configuration ---- */

/* In ranges, bytes on PCIe go with one other metric at most. */
static bool go_together(CUpti_Profiler_Host_Object *host, const char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        host->pcie |= strncmp(names[i], "pcie__", strlen("pcie__")) == 0;
    host->names += count;
    return host->type == CUPTI_PROFILER_TYPE_PM_SAMPLING || !host->pcie || host->names <= 2;
}

CUptiResult CUPTIAPI
cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);

    if (result)
        return result;
    if (!pParams->pHostObject || !pParams->ppMetricNames || !pParams->numMetrics)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (pParams->pHostObject->spoilt)
        return CUPTI_ERROR_UNKNOWN;
    if (!ct_metricsAdd(&pParams->pHostObject->metrics, pParams->ppMetricNames, pParams->numMetrics))
        result = CUPTI_ERROR_INVALID_PARAMETER;
    else if (!go_together(pParams->pHostObject, pParams->ppMetricNames, pParams->numMetrics))
        result = CUPTI_ERROR_NOT_SUPPORTED;
    pParams->pHostObject->spoilt = result != CUPTI_SUCCESS;
    pParams->pHostObject->calls++;
    return result;
}

static bool is_empty(const struct ct_metric_set *metrics)
{
    const struct ct_metric_set none = {.members = {0}};

    return ct_metricsContain(&none, metrics);
}

CUptiResult CUPTIAPI
cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);

    if (result)
        return result;
    if (!pParams->pHostObject)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (is_empty(&pParams->pHostObject->metrics) && !pParams->pHostObject->spoilt)
        return CUPTI_ERROR_UNKNOWN;
    pParams->configImageSize = sizeof(struct ct_config_image);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI
cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
    struct ct_config_image image = {.magic = CT_CONFIG_MAGIC};

    if (result)
        return result;
    if (!pParams->pHostObject || !pParams->pConfigImage || pParams->configImageSize < sizeof(image))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (pParams->pHostObject->spoilt || is_empty(&pParams->pHostObject->metrics))
        return CUPTI_ERROR_UNKNOWN;
    image.metrics = pParams->pHostObject->metrics;
    image.passes = pParams->pHostObject->type == CUPTI_PROFILER_TYPE_PM_SAMPLING
                       ? ct_pmPasses(&image.metrics)
                       : ct_metricsPasses(&image.metrics);
    memcpy(pParams->pConfigImage, &image, sizeof(image));
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI
cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE);
    struct ct_config_image image;

    if (result)
        return result;
    if (!pParams->pConfigImage || pParams->configImageSize < sizeof(image))
        return CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(&image, pParams->pConfigImage, sizeof(image));
    if (image.magic != CT_CONFIG_MAGIC)
        return CUPTI_ERROR_INVALID_PARAMETER;
    pParams->numOfPasses = (size_t)image.passes;
    return CUPTI_SUCCESS;
}

#ifndef SIMGPU_LACKS_cuptiProfilerHostGetMaxNumHardwareMetricsPerPass
CUptiResult CUPTIAPI cuptiProfilerHostGetMaxNumHardwareMetricsPerPass(
    CUpti_Profiler_Host_GetMaxNumHardwareMetricsPerPass_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(
        pParams, CUpti_Profiler_Host_GetMaxNumHardwareMetricsPerPass_Params_STRUCT_SIZE);

    if (result)
        return result;
    pParams->maxMetricsPerPass = CT_HARDWARE_METRICS_PER_PASS;
    return check_chip(pParams->profilerType, pParams->pChipName,
                      pParams->pCounterAvailabilityImage);
}
#endif

/* ---- values ---- */

/* The client has to free the name. */
CUptiResult CUPTIAPI cuptiProfilerHostGetRangeName(CUpti_Profiler_Host_GetRangeName_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_Profiler_Host_GetRangeName_Params_STRUCT_SIZE);
    struct ct_range range;
    char *name;

    if (result)
        return result;
    if (!ct_counterRange(pParams->pCounterDataImage, pParams->counterDataImageSize,
                         pParams->rangeIndex, &range))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (asprintf(&name, "%llu", (unsigned long long)range.name) < 0)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    pParams->pRangeName = name;
    return CUPTI_SUCCESS;
}

/* A metric that was not measured is not a number. */
static CUptiResult evaluate(const char *name, const struct ct_metric_set *measured,
                            const struct ct_range *range, double *value)
{
    const char *suffix;
    const struct ct_metric *metric = name ? ct_metricFind(name, &suffix) : NULL;

    if (!metric || !*suffix)
        return CUPTI_ERROR_INVALID_METRIC_NAME;
    *value = ct_metricsHave(measured, metric) ? ct_metricValue(metric, suffix, range) : (double)NAN;
    return CUPTI_SUCCESS;
}

/* CUPTI's own work, of the calling thread, and time in which another thread had its core. */
static void take_time(void)
{
    long work = env_number("SIMGPU_PM_EVALUATE_US", 0), wait = env_number("SIMGPU_PM_WAIT_US", 0);
    struct timespec begin, now;

    if (work > 0) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        do
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < work);
    }
    if (wait > 0)
        usleep((useconds_t)wait);
}

CUptiResult CUPTIAPI
cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
    struct ct_counter_image head;
    struct ct_range range;

    if (result)
        return result;
    take_time();
    if (ct_pmIsImage(pParams->pCounterDataImage, pParams->counterDataImageSize))
        return ct_pmEvaluate(pParams->pCounterDataImage, pParams->rangeIndex,
                             pParams->ppMetricNames, pParams->numMetrics, pParams->pMetricValues);
    if (!pParams->pHostObject || !pParams->ppMetricNames || !pParams->pMetricValues ||
        !ct_counterHead(pParams->pCounterDataImage, pParams->counterDataImageSize, &head) ||
        !ct_counterRange(pParams->pCounterDataImage, pParams->counterDataImageSize,
                         pParams->rangeIndex, &range))
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < pParams->numMetrics && !result; i++)
        result =
            evaluate(pParams->ppMetricNames[i], &head.metrics, &range, &pParams->pMetricValues[i]);
    /* What was configured in several calls is counted wrongly, and nobody says so. */
    for (size_t i = 0; i < pParams->numMetrics && !result && pParams->pHostObject->calls > 1; i++)
        if (strstr(pParams->ppMetricNames[i], "_sass_"))
            pParams->pMetricValues[i] = 0;
    return result;
}
