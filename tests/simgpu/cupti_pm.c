/*
 * cupti_pm.c: PM sampling. Needs headers of CUDA 12.6 or later (simgpu.mk).
 *
 *   Enable --> SetConfig --> GetCounterDataSize, CounterDataImageInitialize --> Start
 *          --> DecodeData, GetCounterDataInfo, GetSampleInfo ... --> Stop, DecodeData --> Disable
 *
 * A sample is a stretch of the virtual clock, [start + n * interval, start + (n + 1) * interval),
 * once the clock has passed it. Its values follow from what the device did then (ledger.c). The
 * hardware buffer holds SIMGPU_PM_SAMPLES samples: what does not fit is lost, and said as overflow.
 */
#include "cupti_profiler.h"

#include <cupti_pmsampling.h>
#include <cupti_profiler_target.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SYSTEM_CLOCK_MHZ 1500
#define SM_CLOCK_MHZ     1755

struct CUpti_PmSampling_Object {
    struct CUpti_PmSampling_Object *next;
    uint32_t device;
    bool configured, started, stuck; /* stuck: it kept the oldest and has overflowed */
    struct ct_metric_set metrics;
    uint64_t interval; /* ns */
    bool oldest;
    uint64_t from;    /* begin of the next sample to decode */
    uint64_t stopped; /* when; 0: it runs */
    uint32_t asked;   /* samples of an image */
};

struct pm_image {
    uint64_t magic;
    uint64_t capacity, count;
    struct ct_metric_set metrics;
};

struct pm_taken {
    uint64_t start, end;
    struct simgpu_usage usage;
};

static struct CUpti_PmSampling_Object *samplers;

/* Call with ct_lock held. */
static CUptiResult check_object(const struct CUpti_PmSampling_Object *object)
{
    for (const struct CUpti_PmSampling_Object *o = samplers; o; o = o->next)
        if (o == object)
            return CUPTI_SUCCESS;
    return CUPTI_ERROR_INVALID_PARAMETER;
}

/* ---- Values ---- */

uint32_t ct_pmPasses(const struct ct_metric_set *set)
{
    long max = env_number("SIMGPU_PM_COUNTERS", 16);
    uint32_t a_pass = max > 0 ? (uint32_t)max : 1;

    return (ct_metricsCount(set) + a_pass - 1) / a_pass;
}

bool ct_pmIsImage(const uint8_t *image, size_t size)
{
    const uint64_t magic = CT_PM_MAGIC;

    return image && size >= sizeof(struct pm_image) && memcmp(image, &magic, sizeof(magic)) == 0;
}

static double throttled(double value)
{
    return value * (double)env_number("SIMGPU_CLOCK_PERCENT", 100) / 100;
}

/* What is known by its base name; all else is the metric's position. */
static double value_of(const struct ct_metric *metric, const struct simgpu_usage *usage)
{
    const struct rule {
        const char *name;
        double value;
    } rules[] = {
        {"gr__cycles_active", usage->busy},
        {"sm__cycles_active", usage->sms},
        {"sm__warps_active_realtime", usage->occupancy},
        {"sm__inst_executed_realtime", usage->issue},
        {"sm__pipe_tensor_cycles_active_realtime", usage->tensor},
        {"dram__throughput", usage->read + usage->write},
        {"dram__read_throughput", usage->read},
        {"dram__write_throughput", usage->write},
        {"pcie__read_bytes", usage->bus_in * 1e9},
        {"pcie__write_bytes", usage->bus_out * 1e9},
        {"nvlrx__bytes", usage->nvlink_in * 1e9},
        {"nvltx__bytes", usage->nvlink_out * 1e9},
        {"gpc__cycles_elapsed", throttled(SM_CLOCK_MHZ * (100 - usage->slower) * 1e4)},
        {"sys__cycles_elapsed", SYSTEM_CLOCK_MHZ * 1e6},
    };

    for (size_t i = 0; i < CT_COUNT(rules); i++)
        if (strcmp(rules[i].name, metric->name) == 0)
            return rules[i].value;
    return metric->position;
}

CUptiResult ct_pmEvaluate(const uint8_t *image, size_t index, const char *const *names,
                          size_t count, double *values)
{
    struct pm_image head;
    struct pm_taken taken;

    memcpy(&head, image, sizeof(head));
    if (index >= head.count || !names || !values)
        return CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(&taken, image + sizeof(head) + index * sizeof(taken), sizeof(taken));
    for (size_t i = 0; i < count; i++) {
        const char *suffix;
        const struct ct_metric *metric = names[i] ? ct_metricFind(names[i], &suffix) : NULL;

        if (!metric || !*suffix)
            return CUPTI_ERROR_INVALID_METRIC_NAME;
        values[i] =
            ct_metricsHave(&head.metrics, metric) ? value_of(metric, &taken.usage) : (double)NAN;
    }
    return CUPTI_SUCCESS;
}

/* ---- Objects ---- */

/* What SIMGPU_PM_ERROR, or another sampler, makes of an attempt: for device SIMGPU_PM_ERROR_DEVICE
 * only, if that is set. */
static CUptiResult ordered_error(size_t device)
{
    long which = env_number("SIMGPU_PM_ERROR_DEVICE", -1);

    return which < 0 || (size_t)which == device ? (CUptiResult)env_number("SIMGPU_PM_ERROR", 0)
                                                : CUPTI_SUCCESS;
}

static CUptiResult check_device(size_t device)
{
    if (!ct_profilerInitialized())
        return CUPTI_ERROR_NOT_INITIALIZED;
    if (device >= (size_t)env_number("SIMGPU_DEVICES", 1))
        return CUPTI_ERROR_INVALID_DEVICE;
    return ct_profilerRefusal() ? ct_profilerRefusal() : ordered_error(device);
}

CUptiResult CUPTIAPI
cuptiPmSamplingGetCounterAvailability(CUpti_PmSampling_GetCounterAvailability_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE);
    const uint64_t image = CT_AVAILABILITY_MAGIC;

    if (!result)
        result = check_device(pParams->deviceIndex);
    if (result)
        return result;
    if (pParams->pCounterAvailabilityImage) {
        if (pParams->counterAvailabilityImageSize < sizeof(image))
            return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
        memcpy(pParams->pCounterAvailabilityImage, &image, sizeof(image));
    }
    pParams->counterAvailabilityImageSize = sizeof(image);
    return CUPTI_SUCCESS;
}

static CUptiResult enable(uint32_t device, struct CUpti_PmSampling_Object **out)
{
    struct CUpti_PmSampling_Object *object;

    for (object = samplers; object; object = object->next)
        if (object->device == device)
            return CUPTI_ERROR_INVALID_OPERATION;
    object = calloc(1, sizeof(*object));
    if (!object)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    object->device = device;
    object->next = samplers;
    samplers = *out = object;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(pParams, CUpti_PmSampling_Enable_Params_STRUCT_SIZE);

    if (!result)
        result = check_device(pParams->deviceIndex);
    if (!result && env_number("SIMGPU_PM_BUSY", 0))
        result = CUPTI_ERROR_HARDWARE_BUSY; /* another process samples */
    if (result)
        return result;
    ct_faultSlow("SIMGPU_PM_SLEEP_MS");
    ct_attach();
    simgpu_ledger_keep();
    pthread_mutex_lock(&ct_lock);
    result = enable((uint32_t)pParams->deviceIndex, &pParams->pPmSamplingObject);
    pthread_mutex_unlock(&ct_lock);
    return result;
}

CUptiResult CUPTIAPI cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(pParams, CUpti_PmSampling_Disable_Params_STRUCT_SIZE);
    struct CUpti_PmSampling_Object **link = &samplers;

    if (result)
        return result;
    pthread_mutex_lock(&ct_lock);
    while (*link && *link != pParams->pPmSamplingObject)
        link = &(*link)->next;
    if (*link) {
        struct CUpti_PmSampling_Object *object = *link;

        *link = object->next;
        free(object);
    } else {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    pthread_mutex_unlock(&ct_lock);
    return result;
}

static CUptiResult set_config(struct CUpti_PmSampling_Object *object,
                              const CUpti_PmSampling_SetConfig_Params *params)
{
    struct ct_config_image config;
    bool cycles = params->triggerMode == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL;
    bool oldest =
        params->hwBufferAppendMode == CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;

    if (!params->pConfig || params->configSize < sizeof(config) || !params->samplingInterval)
        return CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(&config, params->pConfig, sizeof(config));
    if (config.magic != CT_CONFIG_MAGIC)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (config.passes != 1 || (!cycles && env_number("SIMGPU_PM_CYCLES_ONLY", 0)) ||
        (!oldest && env_number("SIMGPU_PM_OLDEST_ONLY", 0)))
        return CUPTI_ERROR_NOT_SUPPORTED;
    if (object->started)
        return CUPTI_ERROR_INVALID_OPERATION;
    object->metrics = config.metrics;
    object->interval =
        cycles ? params->samplingInterval * 1000 / SYSTEM_CLOCK_MHZ : params->samplingInterval;
    object->oldest = oldest;
    object->configured = true;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(pParams, CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE);

    if (result)
        return result;
    pthread_mutex_lock(&ct_lock);
    result = check_object(pParams->pPmSamplingObject);
    if (!result)
        result = set_config(pParams->pPmSamplingObject, pParams);
    pthread_mutex_unlock(&ct_lock);
    return result;
}

/* ---- Images ---- */

CUptiResult CUPTIAPI
cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE);
    struct ct_metric_set metrics = {.members = {0}};

    if (result)
        return result;
    if (!pParams->maxSamples || !pParams->pMetricNames ||
        !ct_metricsAdd(&metrics, pParams->pMetricNames, pParams->numMetrics))
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&ct_lock);
    result = check_object(pParams->pPmSamplingObject);
    if (!result) {
        pParams->pPmSamplingObject->asked = pParams->maxSamples;
        pParams->counterDataSize =
            sizeof(struct pm_image) + pParams->maxSamples * sizeof(struct pm_taken);
    }
    pthread_mutex_unlock(&ct_lock);
    return result;
}

CUptiResult CUPTIAPI cuptiPmSamplingCounterDataImageInitialize(
    CUpti_PmSampling_CounterDataImage_Initialize_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE);
    struct pm_image head = {.magic = CT_PM_MAGIC};

    if (result)
        return result;
    pthread_mutex_lock(&ct_lock);
    result = check_object(pParams->pPmSamplingObject);
    if (!result) {
        head.capacity = pParams->pPmSamplingObject->asked;
        head.metrics = pParams->pPmSamplingObject->metrics;
        if (!pParams->pCounterData ||
            pParams->counterDataSize < sizeof(head) + head.capacity * sizeof(struct pm_taken))
            result = CUPTI_ERROR_INVALID_PARAMETER;
        else
            memcpy(pParams->pCounterData, &head, sizeof(head));
    }
    pthread_mutex_unlock(&ct_lock);
    return result;
}

CUptiResult CUPTIAPI
cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE);
    struct pm_image head;

    if (result)
        return result;
    if (!ct_pmIsImage(pParams->pCounterDataImage, pParams->counterDataImageSize))
        return CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(&head, pParams->pCounterDataImage, sizeof(head));
    pParams->numTotalSamples = (size_t)head.capacity;
    pParams->numPopulatedSamples = pParams->numCompletedSamples = (size_t)head.count;
    return CUPTI_SUCCESS;
}

/* With SIMGPU_PM_CLOCK=day the times are those of the day, as far as the virtual clock was from it
 * when it was first asked for. */
static uint64_t client_time(uint64_t time)
{
    static uint64_t ahead;
    const char *clock = getenv("SIMGPU_PM_CLOCK");
    struct timespec now;

    if (!clock || strcmp(clock, "day") != 0)
        return time;
    if (!ahead) {
        clock_gettime(CLOCK_REALTIME, &now);
        ahead = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - simgpu_horizon_ns();
    }
    return time + ahead;
}

CUptiResult CUPTIAPI
cuptiPmSamplingCounterDataGetSampleInfo(CUpti_PmSampling_CounterData_GetSampleInfo_Params *pParams)
{
    CUptiResult result =
        ct_profilerCheck(pParams, CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE);
    struct pm_image head;
    struct pm_taken taken;

    if (result)
        return result;
    if (!ct_pmIsImage(pParams->pCounterDataImage, pParams->counterDataImageSize))
        return CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(&head, pParams->pCounterDataImage, sizeof(head));
    if (pParams->sampleIndex >= head.count)
        return CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(&taken, pParams->pCounterDataImage + sizeof(head) + pParams->sampleIndex * sizeof(taken),
           sizeof(taken));
    pParams->startTimestamp = client_time(taken.start);
    pParams->endTimestamp = client_time(taken.end);
    return CUPTI_SUCCESS;
}

/* ---- Sampling ---- */

CUptiResult CUPTIAPI cuptiPmSamplingStart(CUpti_PmSampling_Start_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(pParams, CUpti_PmSampling_Start_Params_STRUCT_SIZE);
    struct CUpti_PmSampling_Object *object;

    if (result)
        return result;
    pthread_mutex_lock(&ct_lock);
    object = pParams->pPmSamplingObject;
    result = check_object(object);
    if (!result && (!object->configured || object->started))
        result = CUPTI_ERROR_INVALID_OPERATION;
    if (!result) {
        object->started = true;
        object->stuck = false;
        object->stopped = 0;
        object->from = simgpu_horizon_ns();
    }
    pthread_mutex_unlock(&ct_lock);
    return result;
}

CUptiResult CUPTIAPI cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(pParams, CUpti_PmSampling_Stop_Params_STRUCT_SIZE);

    if (result)
        return result;
    pthread_mutex_lock(&ct_lock);
    result = check_object(pParams->pPmSamplingObject);
    if (!result && !pParams->pPmSamplingObject->started)
        result = CUPTI_ERROR_INVALID_OPERATION;
    if (!result) {
        pParams->pPmSamplingObject->started = false;
        pParams->pPmSamplingObject->stopped = simgpu_horizon_ns();
    }
    pthread_mutex_unlock(&ct_lock);
    return result;
}

/* What does not fit into the hardware buffer is lost: the oldest, or the latest and all that
 * follows. True if something was. */
static bool overflow(struct CUpti_PmSampling_Object *object, uint64_t *until)
{
    long max = env_number("SIMGPU_PM_SAMPLES", 65536);
    uint64_t waiting = *until > object->from ? (*until - object->from) / object->interval : 0;

    if (max <= 0 || waiting <= (uint64_t)max)
        return false;
    if (object->oldest) {
        *until = object->from + (uint64_t)max * object->interval;
        object->stuck = true;
    } else {
        object->from += (waiting - (uint64_t)max) * object->interval;
    }
    return true;
}

static CUptiResult decode(struct CUpti_PmSampling_Object *object,
                          CUpti_PmSampling_DecodeData_Params *params)
{
    uint64_t until = object->stopped ? object->stopped : simgpu_horizon_ns();
    struct pm_image head;

    if (!ct_pmIsImage(params->pCounterDataImage, params->counterDataImageSize))
        return CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(&head, params->pCounterDataImage, sizeof(head));
    params->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
    params->overflow = 0;
    if (object->stuck)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    params->overflow = overflow(object, &until);
    while (object->from + object->interval <= until) {
        struct pm_taken taken = {.start = object->from, .end = object->from + object->interval};

        if (head.count == head.capacity) {
            params->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
            break;
        }
        taken.usage = simgpu_usage(object->device, taken.start, taken.end);
        memcpy(params->pCounterDataImage + sizeof(head) + head.count++ * sizeof(taken), &taken,
               sizeof(taken));
        object->from = taken.end;
    }
    memcpy(params->pCounterDataImage, &head, sizeof(head));
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *pParams)
{
    CUptiResult result = ct_profilerCheck(pParams, CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE);

    if (result)
        return result;
    pthread_mutex_lock(&ct_lock);
    result = check_object(pParams->pPmSamplingObject);
    if (!result && !pParams->pPmSamplingObject->configured)
        result = CUPTI_ERROR_INVALID_OPERATION;
    if (!result)
        result = decode(pParams->pPmSamplingObject, pParams);
    pthread_mutex_unlock(&ct_lock);
    return result;
}
