/*
 * api.c: what every driver function does before and after its body.
 *
 *   enter: next correlation id, ENTER callback, host cost, big lock, checks
 *   exit:  unlock, EXIT callback and API record (both in libcupti)
 *
 * Calls that a client makes from inside one of its callbacks are called back and traced like any
 * other, with the correlation id of the call around them: so does CUPTI 13.0 (seen on an H200).
 */
#include "simgpu.h"

#include <stdatomic.h>
#include <string.h>

#define API_DEPTH 8 /* a body that calls a callback that calls the driver, and so on */

pthread_mutex_t sg_lock = PTHREAD_MUTEX_INITIALIZER;
const struct simgpu_hooks *simgpu_hooks;
_Atomic uint64_t simgpu_flushes_begun, simgpu_flushes_ended, simgpu_switches;
_Atomic uint64_t simgpu_buffers_out;
_Atomic uint64_t simgpu_attributes, simgpu_profiled, simgpu_readings;
void *_Atomic simgpu_buffer_client;

struct api_info {
    uint32_t cbid;
    uint32_t cost;
    enum sg_need need;
};

#define BARE SG_BARE
#define INIT SG_INIT
#define CTX  SG_CTX
static const struct api_info api_info[SG_API_COUNT] = {
#define SIMGPU_API(name, cost, need) {CUPTI_DRIVER_TRACE_CBID_##name, cost, need},
#include "api.def"
#undef SIMGPU_API
};

const char *const sg_apiName[SG_API_COUNT] = {
#define SIMGPU_API(name, cost, need) #name,
#include "api.def"
#undef SIMGPU_API
};

void *const sg_apiAddress[SG_API_COUNT] = {
#define SIMGPU_API(name, cost, need) (void *)name,
#include "api.def"
#undef SIMGPU_API
};

struct api_thread {
    struct simgpu_api_call *open[API_DEPTH];
    unsigned depth;
    unsigned in_callback;
};

static _Thread_local struct api_thread api_thread;
static _Atomic uint32_t last_correlation;
static pthread_once_t correlation_once = PTHREAD_ONCE_INIT;

static const struct simgpu_hooks *get_hooks(void)
{
    return __atomic_load_n(&simgpu_hooks, __ATOMIC_ACQUIRE);
}

static CUresult check_need(enum sg_need need)
{
    if (sg_isHostThread())
        return CUDA_ERROR_NOT_PERMITTED;
    if (need == SG_BARE)
        return CUDA_SUCCESS;
    if (sg_isForked() || !sg_isInitialized())
        return CUDA_ERROR_NOT_INITIALIZED;
    return need == SG_CTX && !sg_context() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

static void call_client(void (*hook)(struct simgpu_api_call *), struct simgpu_api_call *call)
{
    api_thread.in_callback++;
    hook(call);
    api_thread.in_callback--;
}

static void begin_correlations(void)
{
    atomic_store(&last_correlation, (uint32_t)env_number("SIMGPU_CORRELATION", 1) - 1);
}

/* 0 means none, also after 2^32 calls. */
static uint32_t next_correlation(void)
{
    uint32_t next;

    pthread_once(&correlation_once, begin_correlations);
    do
        next = atomic_fetch_add(&last_correlation, 1) + 1;
    while (!next);
    return next;
}

bool sg_callEnter(struct simgpu_api_call *call, enum sg_api_index index, const void *params)
{
    const struct api_info *info = &api_info[index];
    const struct simgpu_hooks *hooks = get_hooks();
    struct api_thread *thread = &api_thread;

    memset(call, 0, sizeof(*call));
    sg_clockInCall(true);
    call->cbid = info->cbid;
    call->name = sg_apiName[index];
    call->params = params;
    sg_advance(sg_recordingCost(SG_COST_AROUND) / 2);
    call->start = sg_now();
    call->context = sg_context();
    call->context_uid = call->context ? call->context->id : 0;
    if (thread->depth == API_DEPTH) {
        call->result = CUDA_ERROR_UNKNOWN;
        return false;
    }
    call->correlation =
        thread->in_callback ? thread->open[thread->depth - 1]->correlation : next_correlation();
    thread->open[thread->depth++] = call;
    call->symbol = sg_launchedName(index, params);
    if (hooks) {
        call->entered = true;
        call_client(hooks->api_enter, call);
    }
    sg_advance(info->cost + sg_recordingCost(SG_COST_IN));
    pthread_mutex_lock(&sg_lock);
    call->result = check_need(info->need);
    if (call->result == CUDA_SUCCESS && info->need == SG_CTX)
        sg_waitForCompiling();
    return call->result == CUDA_SUCCESS;
}

CUresult sg_callExit(struct simgpu_api_call *call)
{
    const struct simgpu_hooks *hooks = get_hooks();
    struct api_thread *thread = &api_thread;

    if (thread->depth == 0 || thread->open[thread->depth - 1] != call)
        return call->result; /* refused for depth: the lock was never taken */
    pthread_mutex_unlock(&sg_lock);
    call->end = sg_now();
    /* cuCtxCreate and friends change it: EXIT shows the context that is current now. */
    call->context = sg_context();
    call->context_uid = call->context ? call->context->id : 0;
    if (hooks && call->entered)
        call_client(hooks->api_exit, call);
    sg_advance(sg_recordingCost(SG_COST_AROUND) / 2);
    thread->depth--;
    sg_clockInCall(thread->depth > 0);
    return call->result;
}

bool sg_isInCallback(void)
{
    return api_thread.in_callback > 0;
}

struct simgpu_api_call *sg_currentCall(void)
{
    return api_thread.open[api_thread.depth - 1];
}

void sg_resource(uint32_t cbid, CUcontext context, CUstream stream, void *descriptor)
{
    const struct simgpu_hooks *hooks = get_hooks();

    if (!hooks || api_thread.in_callback)
        return;
    pthread_mutex_unlock(&sg_lock);
    api_thread.in_callback++;
    hooks->resource(cbid, context, stream, descriptor);
    api_thread.in_callback--;
    pthread_mutex_lock(&sg_lock);
}

void sg_notifySynchronized(uint32_t cbid, CUcontext context, CUstream stream)
{
    const struct simgpu_hooks *hooks = get_hooks();

    if (!hooks || api_thread.in_callback)
        return;
    pthread_mutex_unlock(&sg_lock);
    api_thread.in_callback++;
    hooks->synchronized(cbid, context, stream);
    api_thread.in_callback--;
    pthread_mutex_lock(&sg_lock);
}

void sg_emit(const struct simgpu_activity *activity)
{
    const struct simgpu_hooks *hooks = get_hooks();

    sg_ledgerNote(activity);
    if (hooks)
        hooks->activity(activity);
}

/* The highest suffix of `symbol` that we have: cuMemAlloc asks for cuMemAlloc_v2. */
static void *find_symbol(const char *symbol)
{
    size_t length = strlen(symbol);
    const char *best = NULL;
    void *address = NULL;

    for (size_t i = 0; i < SG_API_COUNT; i++) {
        const char *name = sg_apiName[i];
        const char *rest = name + length;

        if (strncmp(name, symbol, length) != 0 || (*rest && strncmp(rest, "_v", 2) != 0))
            continue;
        if (!best || strcmp(name, best) > 0) {
            best = name;
            address = sg_apiAddress[i];
        }
    }
    return address;
}

#ifdef cuGetProcAddress
/* The one of programs that were built before CUDA 12; it has no row and no callback here. */
#pragma push_macro("cuGetProcAddress")
#undef cuGetProcAddress
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags);
static void *const old_ask = (void *)cuGetProcAddress;

CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    (void)version;
    (void)flags;
    *pfn = strcmp(symbol, "cuGetProcAddress") == 0 ? old_ask : find_symbol(symbol);
    return *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
#pragma pop_macro("cuGetProcAddress")
#elif !defined(SIMGPU_LACKS_cuGetProcAddress_v2)
static void *const old_ask;
#endif

#ifndef SIMGPU_LACKS_cuGetProcAddress_v2
SG_FUNCTION(cuGetProcAddress_v2,
            (const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
             CUdriverProcAddressQueryResult *symbolStatus),
            symbol, pfn, cudaVersion, flags, symbolStatus)
{
    if (!symbol || !pfn)
        return CUDA_ERROR_INVALID_VALUE;
    (void)flags;
    *pfn = find_symbol(symbol);
    if (old_ask && cudaVersion < 12000 && strcmp(symbol, "cuGetProcAddress") == 0)
        *pfn = old_ask;
    if (symbolStatus)
        *symbolStatus = *pfn ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
#endif

#ifndef cuGetProcAddress
SG_FUNCTION(cuGetProcAddress, (const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags),
            symbol, pfn, cudaVersion, flags)
{
    if (!symbol || !pfn)
        return CUDA_ERROR_INVALID_VALUE;
    (void)cudaVersion;
    (void)flags;
    *pfn = find_symbol(symbol);
    return *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
#endif

SG_FUNCTION(cuGetExportTable, (const void **ppExportTable, const CUuuid *pExportTableId),
            ppExportTable, pExportTableId)
{
    (void)ppExportTable;
    (void)pExportTableId;
    return CUDA_ERROR_NOT_FOUND;
}
