/*
 * cupti_misc.c: versions, names, ids, attributes and the rest of the API that has no state worth
 * a file. Functions newer than the played version report CUPTI_ERROR_NOT_SUPPORTED; their symbols
 * cannot be taken away.
 */
#include "cupti_profiler.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t ct_lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t played_version;

static void read_version(void)
{
    long version = env_number("SIMGPU_CUPTI_VERSION", CUPTI_API_VERSION);

    played_version = version > 0 ? (uint32_t)version : CUPTI_API_VERSION;
}

uint32_t ct_version(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_version);
    return played_version;
}

const char *ct_versionTwo(void)
{
    return getenv("SIMGPU_CUPTI_V2");
}

void ct_attach(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;

    if (env_number("SIMGPU_TELL_CUPTI", 0) && !atomic_flag_test_and_set(&told))
        fprintf(stderr, "simgpu: CUPTI is there\n");
    __atomic_store_n(&simgpu_hooks, &ct_hooks, __ATOMIC_RELEASE);
}

void ct_detach(void)
{
    __atomic_store_n(&simgpu_hooks, NULL, __ATOMIC_RELEASE);
}

/* The driver outlives us when a client unloads libcupti. */
static void __attribute__((destructor)) on_unload(void)
{
    ct_detach();
}

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
    if (!version)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *version = ct_version();
    return CUPTI_SUCCESS;
}

/* Everything off; the next subscription or activity call attaches again. */
CUptiResult CUPTIAPI cuptiFinalize(void)
{
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    ct_detach();
    ct_activityReset();
    ct_callbackReset();
    ct_profilerReset();
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *timestamp)
{
    if (!timestamp)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *timestamp = simgpu_clock_ns();
    return CUPTI_SUCCESS;
}

/* Accepted and ignored: records carry the virtual clock, whatever clock the client has. */
CUptiResult CUPTIAPI
cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp)
{
    if (!funcTimestamp)
        return CUPTI_ERROR_INVALID_PARAMETER;
    ct_faultClock();
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
    uint32_t device;

    if (!contextId)
        return CUPTI_ERROR_INVALID_PARAMETER;
    return simgpu_context_ids(context, contextId, &device) ? CUPTI_SUCCESS
                                                           : CUPTI_ERROR_INVALID_CONTEXT;
}

CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
    uint32_t id;

    if (!deviceId)
        return CUPTI_ERROR_INVALID_PARAMETER;
    return simgpu_context_ids(context, &id, deviceId) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThreadStream,
                                        uint32_t *streamId)
{
    if (!streamId)
        return CUPTI_ERROR_INVALID_PARAMETER;
    return simgpu_stream_id(context, stream, perThreadStream != 0, streamId)
               ? CUPTI_SUCCESS
               : CUPTI_ERROR_INVALID_CONTEXT;
}

CUptiResult CUPTIAPI cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId)
{
    return cuptiGetStreamIdEx(context, stream, 0, streamId);
}

CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId)
{
    if (!node || !nodeId)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *nodeId = simgpu_graph_node_id(node);
    return *nodeId ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult CUPTIAPI cuptiGetGraphId(CUgraph graph, uint32_t *pId)
{
    if (!graph || !pId)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *pId = simgpu_graph_id(graph);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId)
{
    if (!graphExec || !pId)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!env_number("SIMGPU_GRAPHEXEC_ID", 1))
        return CUPTI_ERROR_NOT_SUPPORTED;
    *pId = simgpu_graph_exec_id(graphExec);
    return CUPTI_SUCCESS;
}

/* The three tables come from the toolkit's headers at build time (simgpu.mk); a linter that reads
 * this file alone does without them. */
#if __has_include("driver_names.inc")
static const char *const driver_names[] = {
#include "driver_names.inc"
};
static const char *const runtime_names[] = {
#include "runtime_names.inc"
};
static const struct {
    int code;
    const char *name;
} result_names[] = {
#include "result_names.inc"
};
#else
static const char *const driver_names[] = {NULL};
static const char *const runtime_names[] = {NULL};
static const struct {
    int code;
    const char *name;
} result_names[] = {{0, "CUPTI_SUCCESS"}};
#endif

CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid,
                                          const char **name)
{
    if (!name)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = NULL;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid < CT_COUNT(driver_names))
        *name = driver_names[cbid];
    else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid < CT_COUNT(runtime_names))
        *name = runtime_names[cbid];
    return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **str)
{
    if (!str)
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < CT_COUNT(result_names); i++) {
        if (result_names[i].code == (int)result) {
            *str = result_names[i].name;
            return CUPTI_SUCCESS;
        }
    }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult CUPTIAPI cuptiGetErrorMessage(CUptiResult result, const char **str)
{
    return cuptiGetResultString(result, str);
}

CUptiResult CUPTIAPI cuptiGetLastError(void)
{
    return CUPTI_SUCCESS;
}

/* Bytes, the version that introduced it, and the value; see cupti.md 2.2 for the defaults. */
static struct {
    CUpti_ActivityAttribute id;
    uint32_t bytes;
    uint32_t since;
    uint64_t value;
} attributes[] = {
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, sizeof(size_t), 0, 3200000},
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP, sizeof(size_t), 0, 8 << 20},
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, sizeof(size_t), 0, 250},
    {CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, sizeof(uint8_t), 0, 0},
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, sizeof(size_t), 0, 3},
    {CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, sizeof(uint8_t), 19, 0},
    {CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, sizeof(uint8_t), 21, 1},
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS, sizeof(size_t), 21, 16 << 20},
};

static CUptiResult find_attribute(CUpti_ActivityAttribute attr, const size_t *size,
                                  const void *value, size_t *index)
{
    if (!size || !value)
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < CT_COUNT(attributes); i++) {
        if (attributes[i].id != attr || attributes[i].since > ct_version())
            continue;
        *index = i;
        return *size < attributes[i].bytes ? CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT
                                           : CUPTI_SUCCESS;
    }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult CUPTIAPI cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize,
                                               void *value)
{
    size_t index;
    CUptiResult result = find_attribute(attr, valueSize, value, &index);

    simgpu_attributes++;
    if (result)
        return result;
    *valueSize = attributes[index].bytes;
    pthread_mutex_lock(&ct_lock);
    memcpy(value, &attributes[index].value, attributes[index].bytes);
    pthread_mutex_unlock(&ct_lock);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize,
                                               void *value)
{
    size_t index;
    CUptiResult result = find_attribute(attr, valueSize, value, &index);

    if (result)
        return result;
    pthread_mutex_lock(&ct_lock);
    memcpy(&attributes[index].value, value, attributes[index].bytes);
    if (attr == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
        ct_setZeroed(attributes[index].value != 0);
    pthread_mutex_unlock(&ct_lock);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiDeviceSupported(CUdevice dev, int *support)
{
    (void)dev;
    if (!support)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *support = 1;
    return CUPTI_SUCCESS;
}

/* Options whose effect simgpu does not model. */
CUptiResult CUPTIAPI cuptiActivityEnableLaunchAttributes(uint8_t enable)
{
    (void)enable;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnableAllocationSource(uint8_t enable)
{
    (void)enable;
    return CUPTI_SUCCESS;
}

/* Blackwell only. */
CUptiResult CUPTIAPI cuptiActivityEnableHWTrace(uint8_t enable)
{
    (void)enable;
    return CUPTI_ERROR_NOT_SUPPORTED;
}

/* Accepted, so that clients which use them run; no EXTERNAL_CORRELATION record is emitted. */
CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                            uint64_t id)
{
    (void)kind;
    (void)id;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                           uint64_t *lastId)
{
    (void)kind;
    if (lastId)
        *lastId = 0;
    return CUPTI_SUCCESS;
}
