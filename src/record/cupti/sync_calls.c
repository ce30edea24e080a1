/* Turns calls that make or await dependencies, and host functions that have run, into log entries.
 * Stream handles become CUPTI's ids here, while the handles are valid.
 */
#include "record/cupti/sync_calls.h"

#include <dlfcn.h>
#include <string.h>

#include "base/data/hash.h"
#include "base/preload.h"
#include "record/core/clock.h"
#include "record/cupti/gpu.h"
#include "record/cupti/layout.h"

#include "base/poison.h"

/* ---- Host functions, which the preloaded library reports ---- */

void host_functions_open(struct gpu *gpu)
{
    struct mp_preload *preload = dlsym(RTLD_DEFAULT, MP_PRELOAD_SYMBOL);

    if (preload && preload->version == MP_PRELOAD_VERSION && preload->launching &&
        gpu->core.config.gpu == MP_SWITCH_ON)
        gpu->host_functions.preload = preload;
}

uint64_t host_functions_lost(const struct gpu *gpu)
{
    struct mp_preload *preload = gpu ? gpu->host_functions.preload : NULL;

    return preload ? atomic_load(&preload->host_functions_lost) : 0;
}

bool host_functions_by_cupti(const struct gpu *gpu)
{
    return !gpu->host_functions.preload && gpu->core.config.gpu == MP_SWITCH_ON &&
           gpu->cupti.version >= MP_CUPTI_SINCE_HOST_FUNCTIONS;
}

/* Of `take`, which gets no argument of ours. Written before the library may call it. */
static struct gpu *functions_of;

/* On the driver's thread that ran the function. What was launched while nothing was recorded has no
 * ids. */
static void take(const struct mp_preload_host_function *function)
{
    struct gpu *gpu = functions_of;
    struct call_entry entry = {
        .kind = CALL_ENTRY_HOST_FUNCTION,
        .start = function->begin,
        .end = function->end,
        .event = function->function,
        .correlation = function->correlation,
        .context = function->context,
        .stream = function->stream,
    };

    if (!core_is_recording(&gpu->core) || (!function->node && !function->correlation))
        return;
    if (function->node) {
        entry.kind = CALL_ENTRY_HOST_NODE;
        entry.correlation = 0;
        entry.context = (uint32_t)(function->node >> 32);
        entry.stream = (uint32_t)function->node;
    }
    struct call_log *log = call_log_mine(&gpu->core.logs);
    if (log && call_log_put(log, &entry))
        work_wake(&gpu->core.work);
}

void host_functions_go(struct gpu *gpu)
{
    struct mp_preload *preload = gpu->host_functions.preload;

    if (!preload)
        return;
    functions_of = gpu;
    if (mp_clock_is_virtual())
        atomic_store(&preload->clock, mp_clock_now);
    atomic_store(&preload->host_function, take);
}

/* ---- Calls ---- */

/* CUPTI passes the arguments as a struct, in order; handles have 8-byte slots. */
static uintptr_t argument(const CUpti_CallbackData *data, int number)
{
    const char *arguments = data->functionParams;
    uintptr_t value;

    memcpy(&value, arguments + (size_t)number * sizeof(value), sizeof(value));
    return value;
}

/* The handle in an argument; 0 if the call has none, or if it is not known yet. */
static uintptr_t handle(const CUpti_CallbackData *data, const struct api_watch *watch, int number)
{
    if (number < 0 || !data->functionParams)
        return 0;
    uintptr_t value = argument(data, number);
    if (!watch->indirect || !value)
        return value;
    memcpy(&value, (const void *)value, sizeof(value));
    return value;
}

/* CUPTI's id of a stream. A thread asks CUPTI at most once for each stream, until some stream comes
 * or goes and a handle may be used again. */
static uint32_t stream_id(struct gpu *gpu, struct call_log *log, CUcontext context,
                          uintptr_t stream, bool per_thread)
{
    uint32_t epoch = atomic_load_explicit(&gpu->core.logs.epoch, memory_order_acquire);
    struct stream_memo *memo = &log->memos[mp_mix64(stream) % CALL_LOG_STREAMS];

    if (memo->context == context && (uintptr_t)memo->stream == stream && memo->epoch == epoch &&
        memo->per_thread == per_thread && context)
        return memo->id;
    uint32_t id = cupti_stream_id(&gpu->cupti, context, stream, per_thread);
    if (id != CUPTI_NO_STREAM)
        *memo = (struct stream_memo){context, (const void *)stream, id, epoch, per_thread};
    return id;
}

/* Callbacks that come while the recorder itself makes a call on this thread do not belong to the
 * application. */
static struct call_log *open_log(struct gpu *gpu)
{
    struct call_log *log = call_log_mine(&gpu->core.logs);

    return log && !log->busy ? log : NULL;
}

static void sync_calls_put(struct gpu *gpu, struct call_log *log, struct call_entry *entry)
{
    entry->answers = (uint32_t)clients_answers(gpu);
    if (call_log_put(log, entry))
        work_wake(&gpu->core.work);
}

static struct call_entry entry_of(const CUpti_CallbackData *data, uint64_t end)
{
    return (struct call_entry){
        .start = *data->correlationData,
        .end = end,
        .correlation = data->correlationId,
        .context = data->contextUid,
        .stream = CUPTI_NO_STREAM,
        .result = cupti_call_result(data),
    };
}

/* ENTER of a watched call. If the call destroys a stream, the stream's id must be asked for now. */
static void enter_sync(struct gpu *gpu, struct call_log *log, const struct api_watch *watch,
                       bool per_thread, const CUpti_CallbackData *data)
{
    if (watch->sync_kind != MP_sync_kind_stream_destroy)
        return;
    log->leaving_stream =
        stream_id(gpu, log, data->context, handle(data, watch, watch->stream), per_thread);
    atomic_fetch_add(&gpu->core.logs.epoch, 1);
}

/* A query that succeeds ends a polling loop. Its row begins with the loop, so it spans all of it.
 */
static void note_query(struct call_log *log, CUpti_CallbackId cbid, uint64_t asked,
                       struct call_entry *entry)
{
    const struct polling *last = &log->polling;

    if (last->start && last->cbid == cbid && last->handle == asked &&
        last->context == entry->context)
        entry->start = last->start;
    log->polling = (struct polling){
        .start = entry->result == CUDA_ERROR_NOT_READY ? entry->start : 0,
        .handle = asked,
        .context = entry->context,
        .cbid = cbid,
    };
}

/* Whether the stream is being captured. Then the event is recorded or awaited later, in a graph,
 * and not now. */
static bool is_captured(struct gpu *gpu, struct call_log *log, uintptr_t stream, bool per_thread,
                        uint32_t correlation)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    if (atomic_load_explicit(&gpu->cuda.stream_captures, memory_order_relaxed) <= 0 ||
        !gpu->driver.is_capturing)
        return false;
    if (!stream && per_thread)
        stream = (uintptr_t)CU_STREAM_PER_THREAD;
    if (gpu->api.all_driver) /* our call would have a row too */
        own_calls_note(&gpu->core.logs.own, correlation);
    log->busy = true;
    gpu->driver.is_capturing((CUstream)stream, &status);
    log->busy = false;
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static void leave_sync(struct gpu *gpu, struct call_log *log, const struct api_watch *watch,
                       CUpti_CallbackId cbid, bool per_thread, const CUpti_CallbackData *data,
                       uint64_t now)
{
    struct call_entry entry = entry_of(data, now);

    if (watch->success_only)
        note_query(log, cbid, handle(data, watch, watch->event < 0 ? watch->stream : watch->event),
                   &entry);
    else
        log->polling.start = 0;
    if (entry.result != CUDA_SUCCESS && (watch->success_only || watch->indirect))
        return; /* still running, or there is no handle */
    if ((watch->sync_kind == MP_sync_kind_event_record ||
         watch->sync_kind == MP_sync_kind_stream_wait_event) &&
        is_captured(gpu, log, handle(data, watch, watch->stream), per_thread, data->correlationId))
        return;
    entry.kind = CALL_ENTRY_SYNC;
    entry.detail = watch->sync_kind;
    entry.event = handle(data, watch, watch->event);
    if (watch->sync_kind == MP_sync_kind_stream_destroy)
        entry.stream = log->leaving_stream;
    else if (watch->stream >= 0)
        entry.stream =
            stream_id(gpu, log, data->context, handle(data, watch, watch->stream), per_thread);
    sync_calls_put(gpu, log, &entry);
}

static void leave_call(struct gpu *gpu, struct call_log *log, unsigned api, CUpti_CallbackId cbid,
                       const CUpti_CallbackData *data, uint64_t now)
{
    struct call_entry entry = entry_of(data, now);

    entry.kind = CALL_ENTRY_CALL;
    entry.detail = (uint8_t)api;
    entry.cbid = (uint16_t)cbid;
    sync_calls_put(gpu, log, &entry);
}

static void put_stretch(struct gpu *gpu, struct call_log *log, const struct host_stretch *stretch)
{
    sync_calls_put(gpu, log,
                   &(struct call_entry){
                       .kind = CALL_ENTRY_HOST_TIME,
                       .start = stretch->begin,
                       .end = stretch->end,
                       .event = stretch->computing,
                       .context = (uint32_t)(stretch->ready >> 32),
                       .stream = (uint32_t)stretch->ready,
                   });
}

void sync_calls_driver_call(struct gpu *gpu, const struct api_watch *watch, CUpti_CallbackId cbid,
                            const CUpti_CallbackData *data)
{
    struct call_log *log = open_log(gpu);
    uint8_t flags = cbid < API_CBIDS ? gpu->api.flags[MP_api_driver][cbid] : 0;
    bool per_thread = flags & API_PER_THREAD;
    struct host_stretch stretch;

    if (!log)
        return;
    uint64_t now = mp_clock_now();
    if (data->callbackSite == CUPTI_API_ENTER) {
        *data->correlationData = now;
        if (gpu->core.wanted.time && host_time_enter(&log->time, now, &stretch))
            put_stretch(gpu, log, &stretch);
        if (watch && gpu->api.syncs)
            enter_sync(gpu, log, watch, per_thread, data);
        return;
    }
    if (!*data->correlationData)
        return; /* switched on while the call was running */
    if (gpu->core.wanted.time)
        host_time_leave(&log->time, now);
    if (watch && gpu->api.syncs)
        leave_sync(gpu, log, watch, cbid, per_thread, data, now);
    /* A driver call inside a runtime call is no call of the application's. */
    if (atomic_load_explicit(&gpu->cupti_state.calls_by_callback, memory_order_relaxed) &&
        (flags & API_RECORD) && !log->in_runtime)
        leave_call(gpu, log, MP_api_driver, cbid, data, now);
}

static bool is_per_thread(const struct gpu *gpu, CUpti_CallbackId cbid)
{
    return cbid < API_CBIDS && (gpu->api.flags[MP_api_driver][cbid] & API_PER_THREAD);
}

/* In a capture the function becomes a node, see origins.h. */
void sync_calls_host_function(struct gpu *gpu, CUpti_CallbackId cbid,
                              const CUpti_CallbackData *data)
{
    struct mp_preload_host_function *function = gpu->host_functions.preload->launching();
    struct call_log *log = function ? open_log(gpu) : NULL;
    bool per_thread = is_per_thread(gpu, cbid);
    uintptr_t stream = log && data->functionParams ? argument(data, 0) : 0;

    if (!log || is_captured(gpu, log, stream, per_thread, data->correlationId))
        return;
    function->stream = stream_id(gpu, log, data->context, stream, per_thread);
    function->context = data->contextUid;
    function->correlation = data->correlationId;
}

void sync_calls_graph_launch(struct gpu *gpu, CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    struct call_log *log = open_log(gpu);
    uint32_t graph;

    if (!log || !data->functionParams || !*data->correlationData || cupti_call_result(data) ||
        !gpu->cupti.get_graph_exec_id ||
        gpu->cupti.get_graph_exec_id((CUgraphExec)argument(data, 0), &graph) != CUPTI_SUCCESS)
        return;
    struct call_entry entry = entry_of(data, *data->correlationData);
    entry.kind = CALL_ENTRY_GRAPH_LAUNCH;
    entry.event = graph;
    entry.stream = stream_id(gpu, log, data->context, argument(data, 1), is_per_thread(gpu, cbid));
    sync_calls_put(gpu, log, &entry);
}

/* ---- Values in memory that streams wait for or write ---- */

/* The operation of a call that is no batch. The 64-bit calls have the same arguments up to the
 * value, which fills the slot that the 32-bit ones share with the flags. */
static CUstreamBatchMemOpParams value_of(const struct api_watch *watch,
                                         const CUpti_CallbackData *data)
{
    bool wide = watch->sync_kind == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
                watch->sync_kind == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    const cuStreamWaitValue64_params *call64 = data->functionParams;
    const cuStreamWaitValue32_params *call32 = data->functionParams;
    CUstreamBatchMemOpParams value = {.operation = (CUstreamBatchMemOpType)watch->sync_kind};

    value.waitValue.address = call32->addr;
    value.waitValue.value64 = wide ? call64->value : call32->value;
    value.waitValue.flags = wide ? call64->flags : call32->flags;
    return value;
}

/* Barriers and flushes order nothing between streams. */
static void put_value(struct gpu *gpu, struct call_log *log, struct call_entry entry,
                      const CUstreamBatchMemOpParams *value)
{
    static const unsigned conditions = 3; /* the bits of CUstreamWaitValue_flags that are one */
    bool wide = value->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
                value->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    bool waits = value->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
                 value->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;

    if (!waits && value->operation != CU_STREAM_MEM_OP_WRITE_VALUE_32 &&
        value->operation != CU_STREAM_MEM_OP_WRITE_VALUE_64)
        return;
    entry.detail = MP_value_operation_write;
    if (waits)
        entry.detail =
            (uint8_t)(MP_value_operation_wait_geq + (value->waitValue.flags & conditions));
    entry.event = value->waitValue.address;
    entry.end = wide ? value->waitValue.value64 : value->waitValue.value;
    entry.cbid = wide ? 64 : 32;
    sync_calls_put(gpu, log, &entry);
}

void sync_calls_values(struct gpu *gpu, const struct api_watch *watch, CUpti_CallbackId cbid,
                       const CUpti_CallbackData *data)
{
    struct call_log *log = open_log(gpu);
    const cuStreamBatchMemOp_params *batch = data->functionParams;
    bool per_thread = is_per_thread(gpu, cbid);

    if (!log || !gpu->api.syncs || !batch || !*data->correlationData || cupti_call_result(data))
        return;
    struct call_entry entry = entry_of(data, 0);
    entry.kind = CALL_ENTRY_VALUE;
    /* In a capture it becomes a node of a graph. */
    if (!is_captured(gpu, log, (uintptr_t)batch->stream, per_thread, data->correlationId))
        entry.stream = stream_id(gpu, log, data->context, (uintptr_t)batch->stream, per_thread);
    if (watch->sync_kind) {
        CUstreamBatchMemOpParams value = value_of(watch, data);
        put_value(gpu, log, entry, &value);
        return;
    }
    for (unsigned i = 0; i < batch->count && batch->paramArray; i++)
        put_value(gpu, log, entry, &batch->paramArray[i]);
}

void sync_calls_end_polling(struct gpu *gpu)
{
    struct call_log *log = open_log(gpu);

    if (log)
        log->polling.start = 0;
}

void sync_calls_runtime_call(struct gpu *gpu, CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    struct call_log *log = open_log(gpu);

    if (!log || !atomic_load_explicit(&gpu->cupti_state.calls_by_callback, memory_order_relaxed))
        return;
    uint64_t now = mp_clock_now();
    if (data->callbackSite == CUPTI_API_ENTER) {
        *data->correlationData = now;
        log->in_runtime = true;
        return;
    }
    log->in_runtime = false;
    if (*data->correlationData)
        leave_call(gpu, log, MP_api_runtime, cbid, data, now);
}

/* The argument numbers in api_set.c, against CUPTI's parameter structs. */
_Static_assert(offsetof(cuStreamWaitEvent_params, hEvent) == 8, "api_watches");
_Static_assert(offsetof(cuEventRecord_params, hStream) == 8, "api_watches");
_Static_assert(offsetof(cuEventRecordWithFlags_params, hStream) == 8, "api_watches");
_Static_assert(offsetof(cuStreamCreateWithPriority_params, phStream) == 0, "api_watches");
_Static_assert(offsetof(cuEventCreate_params, phEvent) == 0, "api_watches");
_Static_assert(offsetof(cuGraphLaunch_params, hStream) == 8, "api_watches");
_Static_assert(offsetof(cuStreamBatchMemOp_params, stream) == 0 &&
                   offsetof(cuStreamWaitValue32_params, stream) == 0,
               "sync_calls_values");
_Static_assert(sizeof(cuStreamWriteValue32_params) == sizeof(cuStreamWaitValue32_params) &&
                   sizeof(cuStreamWriteValue64_params) == sizeof(cuStreamWaitValue64_params) &&
                   offsetof(cuStreamWaitValue64_params, addr) ==
                       offsetof(cuStreamWaitValue32_params, addr),
               "value_of");
_Static_assert(offsetof(CUstreamBatchMemOpParams, waitValue.value64) ==
                       offsetof(CUstreamBatchMemOpParams, writeValue.value64) &&
                   offsetof(CUstreamBatchMemOpParams, waitValue.address) ==
                       offsetof(CUstreamBatchMemOpParams, writeValue.address),
               "put_value");
_Static_assert(CU_STREAM_WAIT_VALUE_EQ ==
                       MP_value_operation_wait_eq - MP_value_operation_wait_geq &&
                   CU_STREAM_WAIT_VALUE_NOR ==
                       MP_value_operation_wait_nor - MP_value_operation_wait_geq,
               "one enumeration");
