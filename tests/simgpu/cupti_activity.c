/*
 * cupti_activity.c: which activities the client wants, and the records on their way to it.
 *
 * The driver reports an activity when it is enqueued, with its final times. It waits here in a
 * heap ordered by end (then by arrival) until the virtual clock has passed its end. For a program
 * with one thread the order of delivery is thus the order of completion and repeats exactly,
 * whenever the client happens to flush.
 */
#include "cupti_profiler.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pending {
    uint64_t due;
    uint64_t sequence;
    struct simgpu_activity activity;
};

/* Also those that the headers lack. */
#define KINDS (CUPTI_ACTIVITY_KIND_COUNT > 64 ? CUPTI_ACTIVITY_KIND_COUNT : 64)

static struct {
    bool kinds[KINDS];
    bool driver_api[CT_MAX_CBID];
    bool unified[CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT];
    _Atomic bool latency_timestamps;
    _Atomic bool event_timestamps;
    _Atomic bool no_unready_syncs;
    _Atomic bool device_graphs;
    _Atomic(CUpti_ActivityThreadIdType) thread_id_type;
    struct pending *heap;
    size_t count, capacity;
    uint64_t sequence;
    uint64_t kernels; /* so far, for SIMGPU_TIMESTAMP_ZERO and _REVERSED */
} state;

bool ct_hasLatencyTimestamps(void)
{
    return state.latency_timestamps;
}

bool ct_hasEventTimestamps(void)
{
    return state.event_timestamps;
}

static bool is_before(const struct pending *a, const struct pending *b)
{
    return a->due != b->due ? a->due < b->due : a->sequence < b->sequence;
}

static void swap(struct pending *a, struct pending *b)
{
    struct pending t = *a;

    *a = *b;
    *b = t;
}

static void heap_push(uint64_t due, const struct simgpu_activity *activity)
{
    size_t i = state.count;

    if (state.count == state.capacity) {
        size_t capacity = state.capacity ? state.capacity * 2 : 256;
        struct pending *grown = realloc(state.heap, capacity * sizeof(*grown));

        if (!grown)
            return;
        state.heap = grown;
        state.capacity = capacity;
    }
    state.heap[state.count++] = (struct pending){due, state.sequence++, *activity};
    while (i && is_before(&state.heap[i], &state.heap[(i - 1) / 2])) {
        swap(&state.heap[i], &state.heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static void heap_pop(void)
{
    size_t i = 0;

    state.heap[0] = state.heap[--state.count];
    for (;;) {
        size_t min = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < state.count; child++)
            if (is_before(&state.heap[child], &state.heap[min]))
                min = child;
        if (min == i)
            return;
        swap(&state.heap[i], &state.heap[min]);
        i = min;
    }
}

bool ct_takeRecord(uint64_t until, struct simgpu_activity *record)
{
    bool found;

    pthread_mutex_lock(&ct_lock);
    found = state.count && state.heap[0].due <= until;
    if (found) {
        *record = state.heap[0].activity;
        heap_pop();
    }
    pthread_mutex_unlock(&ct_lock);
    return found;
}

/* Kernels come as CONCURRENT_KERNEL; with KERNEL enabled they are serialised and of that kind. */
static uint32_t told_kind(const struct simgpu_activity *a)
{
    return a->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
                   state.kinds[CUPTI_ACTIVITY_KIND_KERNEL]
               ? CUPTI_ACTIVITY_KIND_KERNEL
               : a->kind;
}

/* Graph-level tracing replaces the records of the nodes, as in CUPTI. */
static bool is_wanted(const struct simgpu_activity *a)
{
    if (a->kind == SIMGPU_KIND_DEVICE_GRAPH_TRACE)
        return state.device_graphs && state.kinds[CUPTI_ACTIVITY_KIND_GRAPH_TRACE] &&
               ct_recordSize(a->kind) && ct_hasBuffers();
    if (a->kind >= KINDS || !state.kinds[told_kind(a)] || !ct_hasBuffers())
        return false;
    if (a->kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER && !state.unified[a->unified.counter])
        return false;
    if (a->kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION && a->sync.not_ready &&
        state.no_unready_syncs)
        return false;
    return !a->graph || a->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE ||
           !state.kinds[CUPTI_ACTIVITY_KIND_GRAPH_TRACE];
}

/* Asked once: real CUPTI makes no system call for a record, and a test forbids them. A forked child
 * has no records. */
static uint32_t own_process_id(void)
{
    static _Atomic uint32_t id;

    if (!id)
        id = (uint32_t)getpid();
    return id;
}

static uint32_t own_thread_id(void)
{
    static _Thread_local uint32_t id;

    if (!id)
        id = (uint32_t)gettid();
    return id;
}

static uint32_t thread_id(void)
{
    if (state.thread_id_type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
        return own_thread_id();
    return (uint32_t)(uintptr_t)pthread_self();
}

/* The damage that real CUPTI has been seen to do, on order. */
static void damage(struct simgpu_activity *a)
{
    long zero = env_number("SIMGPU_TIMESTAMP_ZERO", 0);
    long reversed = env_number("SIMGPU_TIMESTAMP_REVERSED", 0);
    long interrupted = env_number("SIMGPU_INTERRUPTED", 0);

    if (a->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
        return;
    state.kernels++;
    if (interrupted > 0 && state.kernels == (uint64_t)interrupted)
        raise(SIGUSR1); /* with ct_lock */
    ct_faultTimes(a);
    if (zero > 0 && state.kernels % (uint64_t)zero == 0) {
        a->start = a->end = 0;
    } else if (reversed > 0 && state.kernels % (uint64_t)reversed == 0) {
        uint64_t start = a->start;

        a->start = a->end;
        a->end = start;
    }
}

static void enqueue(const struct simgpu_activity *activity, uint64_t due)
{
    struct simgpu_activity copy = *activity;

    copy.process = own_process_id();
    if (!copy.thread)
        copy.thread = thread_id();
    damage(&copy);
    copy.kind = told_kind(&copy);
    if (copy.kind == CUPTI_ACTIVITY_KIND_KERNEL && copy.graph)
        copy.start = copy.end = 0; /* as CUPTI 13.0 on an H200 */
    heap_push(due, &copy);
}

void ct_onActivity(const struct simgpu_activity *activity)
{
    struct simgpu_activity seen = *activity;

    pthread_mutex_lock(&ct_lock);
    if (ct_profile(&seen) != CT_PROFILED_BEFORE && is_wanted(&seen))
        enqueue(&seen, ct_faultDue(activity));
    pthread_mutex_unlock(&ct_lock);
}

bool ct_isApiTraced(uint32_t cbid)
{
    bool traced;

    pthread_mutex_lock(&ct_lock);
    traced = cbid < CT_MAX_CBID && state.driver_api[cbid] && ct_hasBuffers();
    pthread_mutex_unlock(&ct_lock);
    return traced;
}

void ct_emitApi(const struct simgpu_api_call *call)
{
    struct simgpu_activity activity = {.kind = CUPTI_ACTIVITY_KIND_DRIVER,
                                       .correlation = call->correlation,
                                       .start = call->start,
                                       .end = call->end};

    activity.api.cbid = call->cbid;
    activity.api.result = (uint32_t)call->result;
    pthread_mutex_lock(&ct_lock);
    enqueue(&activity, activity.end);
    pthread_mutex_unlock(&ct_lock);
}

void ct_activityReset(void)
{
    pthread_mutex_lock(&ct_lock);
    memset(state.kinds, 0, sizeof(state.kinds));
    memset(state.driver_api, 0, sizeof(state.driver_api));
    memset(state.unified, 0, sizeof(state.unified));
    pthread_mutex_unlock(&ct_lock);
    simgpu_serialize_kernels(false);
}

/* Enabled by others, not by itself. */
static bool is_dependent(CUpti_ActivityKind kind)
{
    return (uint32_t)kind == SIMGPU_KIND_DEVICE_GRAPH_TRACE;
}

/* Legacy kinds that CUPTI 13 refuses, and numbers that are no kind. */
static bool is_supported(CUpti_ActivityKind kind)
{
    return ct_recordSize(kind) || kind == CUPTI_ACTIVITY_KIND_NAME ||
           kind == CUPTI_ACTIVITY_KIND_MARKER || kind == CUPTI_ACTIVITY_KIND_MARKER_DATA ||
           kind == CUPTI_ACTIVITY_KIND_MEMORY || kind == CUPTI_ACTIVITY_KIND_MODULE ||
           kind == CUPTI_ACTIVITY_KIND_FUNCTION ||
           kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION || kind == CUPTI_ACTIVITY_KIND_JIT ||
           kind == CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API;
}

static CUptiResult set_kind(CUpti_ActivityKind kind, bool enable)
{
    if (!is_supported(kind) || is_dependent(kind))
        return CUPTI_ERROR_INVALID_KIND;
    ct_attach();
    ct_faultSwitch(kind, enable);
    pthread_mutex_lock(&ct_lock);
    simgpu_switches += kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && state.kinds[kind] != enable;
    state.kinds[kind] = enable;
    if (kind == CUPTI_ACTIVITY_KIND_DRIVER)
        memset(state.driver_api, enable, sizeof(state.driver_api));
    pthread_mutex_unlock(&ct_lock);
    if (kind == CUPTI_ACTIVITY_KIND_KERNEL)
        simgpu_serialize_kernels(enable);
    if (enable && kind == CUPTI_ACTIVITY_KIND_DEVICE)
        simgpu_dump_existing(kind);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
    return set_kind(kind, true);
}

CUptiResult CUPTIAPI cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
    CUptiResult result = set_kind(kind, true);

    if (result == CUPTI_SUCCESS && kind != CUPTI_ACTIVITY_KIND_DEVICE)
        simgpu_dump_existing(kind);
    return result;
}

CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
    ct_faultSlow("SIMGPU_DISABLE_SLEEP_MS");
    return set_kind(kind, false);
}

/* Per-context selection is not modelled: the kind is switched for all of them. */
CUptiResult CUPTIAPI cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
    return context ? set_kind(kind, true) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult CUPTIAPI cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
    return context ? set_kind(kind, false) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
    if (ct_version() < 23)
        return CUPTI_ERROR_NOT_SUPPORTED;
    if (cbid == CUPTI_DRIVER_TRACE_CBID_INVALID || cbid >= CUPTI_DRIVER_TRACE_CBID_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    ct_attach();
    pthread_mutex_lock(&ct_lock);
    state.driver_api[cbid] = enable && !ct_faultLateApi();
    pthread_mutex_unlock(&ct_lock);
    return CUPTI_SUCCESS;
}

static bool is_counter(const CUpti_ActivityUnifiedMemoryCounterConfig *config)
{
    return config->kind > CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_UNKNOWN &&
           config->kind < CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT &&
           config->scope > CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_UNKNOWN &&
           config->scope < CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_COUNT;
}

CUptiResult CUPTIAPI cuptiActivityConfigureUnifiedMemoryCounter(
    CUpti_ActivityUnifiedMemoryCounterConfig *config, uint32_t count)
{
    long refusal = env_number("SIMGPU_UNIFIED_MEMORY_ERROR", 0);

    if (!config || !count)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!simgpu_is_initialized())
        return CUPTI_ERROR_NOT_INITIALIZED;
    if (refusal)
        return (CUptiResult)refusal;
    for (uint32_t i = 0; i < count; i++)
        if (!is_counter(&config[i]))
            return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&ct_lock);
    for (uint32_t i = 0; i < count; i++)
        state.unified[config[i].kind] = config[i].enable != 0;
    pthread_mutex_unlock(&ct_lock);
    return CUPTI_SUCCESS;
}

/* There is no runtime above this driver, so there is nothing to trace. */
CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
    (void)enable;
    if (ct_version() < 23)
        return CUPTI_ERROR_NOT_SUPPORTED;
    if (cbid == CUPTI_RUNTIME_TRACE_CBID_INVALID || cbid >= CUPTI_RUNTIME_TRACE_CBID_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
    state.latency_timestamps = enable != 0;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
    if (ct_version() < 130000)
        return CUPTI_ERROR_NOT_SUPPORTED;
    state.event_timestamps = enable != 0;
    return CUPTI_SUCCESS;
}

/* Before CUDA is initialised only. */
CUptiResult CUPTIAPI cuptiActivityEnableDeviceGraph(uint8_t enable)
{
    if (simgpu_is_initialized())
        return CUPTI_ERROR_INVALID_OPERATION;
    state.device_graphs = enable != 0;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
    state.no_unready_syncs = !enable;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    if (type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE)
        return CUPTI_ERROR_NOT_SUPPORTED;
    state.thread_id_type = type;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
    if (!type)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *type = state.thread_id_type;
    return CUPTI_SUCCESS;
}
