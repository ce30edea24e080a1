/* Chooses by name which CUDA calls are recorded. CUPTI names its callback ids at run time, so
 * functions that are newer than this build are found too.
 */
#include "record/cupti/api_set.h"

#include <string.h>

#include "base/log.h"
#include "base/text/strings.h"
#include "record/cupti/layout.h"

#include "base/poison.h"

/* The lean set: calls that launch, copy, set, synchronise, allocate, map, capture, load, create or
 * destroy. A name that ends in * stands for all names that begin so; version and _ptsz suffixes are
 * ignored.
 *
 * What is fast and called before each launch is left out: cuModuleGetFunction, and changes of one
 * node of an executable graph. Where a launch has to load its function first, a row of `overhead`
 * says so.
 */
static const char *const lean[] = {
    /* runtime */
    "cudaLaunch*",
    "cudaGraphLaunch",
    "cudaGraphInstantiate*",
    "cudaGraphUpload",
    "cudaGraphClone",
    "cudaGraphDestroy",
    "cudaGraphExecUpdate",
    "cudaGraphExecDestroy",
    "cudaStreamBeginCapture*",
    "cudaStreamEndCapture",
    "cudaMemcpy*",
    "cudaMemset*",
    "cudaMemPrefetch*",
    "cudaMemDiscard*",
    "cudaDeviceSynchronize",
    "cudaThreadSynchronize",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaEventRecord*",
    "cudaStreamWaitEvent",
    "cudaStreamAddCallback",
    "cudaMalloc*",
    "cudaFree*",
    "cudaHostAlloc",
    "cudaHostRegister",
    "cudaHostUnregister",
    "cudaMemPoolCreate",
    "cudaMemPoolDestroy",
    "cudaMemPoolTrimTo",
    "cudaDeviceGraphMemTrim",
    "cudaStreamCreate*",
    "cudaStreamDestroy",
    "cudaEventCreate*",
    "cudaEventDestroy",
    "cudaLibraryLoad*",
    "cudaLibraryUnload",
    "cudaDeviceReset",
    /* driver */
    "cuLaunch*",
    "cuGraphLaunch",
    "cuGraphInstantiate*",
    "cuGraphUpload",
    "cuGraphClone",
    "cuGraphDestroy",
    "cuGraphExecUpdate",
    "cuGraphExecDestroy",
    "cuStreamBeginCapture*",
    "cuStreamEndCapture",
    "cuMemcpy*",
    "cuMemset*",
    "cuMemPrefetch*",
    "cuMemDiscard*",
    "cuMemBatchDecompressAsync",
    "cuCtxSynchronize",
    "cuStreamSynchronize",
    "cuEventSynchronize",
    "cuEventRecord*",
    "cuStreamWaitEvent",
    "cuStreamWaitValue*",
    "cuStreamWriteValue*",
    "cuStreamBatchMemOp",
    "cuStreamAddCallback",
    "cuMemAlloc*",
    "cuMemFree*",
    "cuMemHostAlloc",
    "cuMemHostRegister",
    "cuMemHostUnregister",
    "cuMemCreate",
    "cuMemRelease",
    "cuMemMap*",
    "cuMemSetAccess",
    "cuMemUnmap",
    "cuMemAddressReserve",
    "cuMemAddressFree",
    "cuMemPoolCreate",
    "cuMemPoolDestroy",
    "cuMemPoolTrimTo",
    "cuDeviceGraphMemTrim",
    "cuStreamCreate*",
    "cuStreamDestroy",
    "cuEventCreate*",
    "cuEventDestroy",
    "cuModuleLoad*",
    "cuModuleUnload",
    "cuLibraryLoad*",
    "cuLibraryUnload",
    "cuLinkAdd*",
    "cuLinkComplete",
    "cuFuncLoad",
    "cuCtxCreate",
    "cuCtxDestroy",
    "cuDevicePrimaryCtxReset",
};

/* Those whose callers' stacks are taken (MINIPROF_STACKS). Driver calls are seen inside of runtime
 * calls too; for copies the runtime's callbacks make sure of that. */
static const char *const stack_calls[] = {
    "cuLaunch*",      "cuGraphLaunch",    "cuMemcpy*",           "cuMemset*",
    "cuMemPrefetch*", "cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize",
    "cudaMemcpy*",    "cudaMemset*",      "cudaMemPrefetch*",
};

/* Functions that the recorder calls in callbacks. */
static const struct {
    const char *name;
    bool with_metrics; /* only then */
} own_calls[] = {
    {"cuGraphGetEdges", false}, {"cuStreamIsCapturing", false}, {"cuDeviceGetPCIBusId", false},
    {"cuCtxGetDevice", true},   {"cuCtxSynchronize", true},
};

const struct api_watch api_watches[] = {
    {"cuEventSynchronize", API_ROLE_SYNC, MP_sync_kind_event_synchronize, -1, 0, false, false},
    {"cuStreamWaitEvent", API_ROLE_SYNC, MP_sync_kind_stream_wait_event, 0, 1, false, false},
    {"cuStreamSynchronize", API_ROLE_SYNC, MP_sync_kind_stream_synchronize, 0, -1, false, false},
    {"cuCtxSynchronize", API_ROLE_SYNC, MP_sync_kind_context_synchronize, -1, -1, false, false},
    {"cuEventRecord", API_ROLE_SYNC, MP_sync_kind_event_record, 1, 0, false, false},
    {"cuEventRecordWithFlags", API_ROLE_SYNC, MP_sync_kind_event_record, 1, 0, false, false},
    {"cuEventCreate", API_ROLE_SYNC, MP_sync_kind_event_create, -1, 0, true, false},
    {"cuEventDestroy", API_ROLE_SYNC, MP_sync_kind_event_destroy, -1, 0, false, false},
    {"cuEventQuery", API_ROLE_SYNC, MP_sync_kind_event_query, -1, 0, false, true},
    {"cuStreamQuery", API_ROLE_SYNC, MP_sync_kind_stream_query, 0, -1, false, true},
    {"cuStreamCreate", API_ROLE_SYNC, MP_sync_kind_stream_create, 0, -1, true, false},
    {"cuStreamCreateWithPriority", API_ROLE_SYNC, MP_sync_kind_stream_create, 0, -1, true, false},
    {"cuStreamDestroy", API_ROLE_SYNC, MP_sync_kind_stream_destroy, 0, -1, false, false},
    {"cuGraphLaunch", API_ROLE_SYNC, MP_sync_kind_graph_launch, 1, -1, false, false},
    {"cuProfilerStart", API_ROLE_RANGE_BEGIN, 0, -1, -1, false, false},
    {"cuProfilerStop", API_ROLE_RANGE_END, 0, -1, -1, false, false},
    {"cuStreamBeginCapture", API_ROLE_CAPTURE_BEGIN, 0, -1, -1, false, false},
    {"cuStreamBeginCaptureToGraph", API_ROLE_CAPTURE_BEGIN, 0, -1, -1, false, false},
    {"cuStreamEndCapture", API_ROLE_CAPTURE_END, 0, -1, -1, false, false},
    {"cuGraphInstantiate*", API_ROLE_INSTANTIATE, 0, -1, -1, false, false},
    {"cuDriverGetVersion", API_ROLE_NONE, 0, -1, -1, false, false},
    {"cuLaunchKernel", API_ROLE_LAUNCH, 0, 5, -1, false, false},
    {"cuLaunchCooperativeKernel", API_ROLE_LAUNCH, 0, 5, -1, false, false},
    {"cuLaunchKernelEx", API_ROLE_LAUNCH, 0, 0, -1, true, false},
    {"cuLaunchKernelEx", API_ROLE_OVERLAP, 0, 0, -1, true, false},
    {"cuCtxCreate", API_ROLE_CONTEXT, 0, -1, -1, false, false},
    {"cuDevicePrimaryCtxRetain", API_ROLE_CONTEXT, 0, -1, -1, false, false},
    {"cuLaunchHostFunc", API_ROLE_HOST, 0, 0, -1, false, false},
    {"cuStreamAddCallback", API_ROLE_HOST, 0, 0, -1, false, false},
    {"cuStreamWaitValue32", API_ROLE_VALUE, CU_STREAM_MEM_OP_WAIT_VALUE_32, 0, -1, false, false},
    {"cuStreamWaitValue64", API_ROLE_VALUE, CU_STREAM_MEM_OP_WAIT_VALUE_64, 0, -1, false, false},
    {"cuStreamWriteValue32", API_ROLE_VALUE, CU_STREAM_MEM_OP_WRITE_VALUE_32, 0, -1, false, false},
    {"cuStreamWriteValue64", API_ROLE_VALUE, CU_STREAM_MEM_OP_WRITE_VALUE_64, 0, -1, false, false},
    {"cuStreamBatchMemOp", API_ROLE_VALUE, 0, 0, -1, false, false},
};

#define WATCH_COUNT (sizeof(api_watches) / sizeof(api_watches[0]))
#define LEAN_COUNT  (sizeof(lean) / sizeof(lean[0]))
#define OWN_COUNT   (sizeof(own_calls) / sizeof(own_calls[0]))
#define STACK_COUNT (sizeof(stack_calls) / sizeof(stack_calls[0]))

/* The length of `name` without the suffix that CUPTI adds: _ptsz or _ptds, and _v2, _v7000. */
static size_t plain_length(const char *name, bool *per_thread)
{
    size_t length = strlen(name);

    *per_thread = false;
    for (;;) {
        size_t at = length;

        while (at && name[at - 1] != '_')
            at--;
        if (at < 2)
            return length;
        if (length - at == 4 && (!memcmp(name + at, "ptsz", 4) || !memcmp(name + at, "ptds", 4)))
            *per_thread = true;
        else if (name[at] != 'v' || strspn(name + at + 1, "0123456789") != length - at - 1 ||
                 length - at < 2)
            return length;
        length = at - 1;
    }
}

static bool matches(const char *name, size_t length, const char *wanted)
{
    size_t wanted_length = strlen(wanted);

    if (wanted[wanted_length - 1] == '*')
        return length >= wanted_length - 1 && !memcmp(name, wanted, wanted_length - 1);
    return length == wanted_length && !memcmp(name, wanted, length);
}

static bool is_in(const char *const *list, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (matches(name, length, list[i]))
            return true;
    return false;
}

static bool is_chosen(const struct mp_config *config, unsigned api, const char *name, size_t length)
{
    switch (config->api.choice) {
    case MP_API_NONE:
        return false;
    case MP_API_ALL:
        return true;
    case MP_API_RUNTIME:
        return api == MP_api_runtime;
    case MP_API_DRIVER:
        return api == MP_api_driver;
    case MP_API_LEAN:
        return is_in(lean, LEAN_COUNT, name, length);
    default:
        return mp_config_api_lists(config, name);
    }
}

/* A callback at every launch costs too much if nobody needs it. */
static bool is_watched(const struct api_watch *watch, const struct mp_config *config)
{
    switch ((int)watch->role) {
    case API_ROLE_LAUNCH:
        return *config->metrics;
    case API_ROLE_OVERLAP:
        return config->gpu == MP_SWITCH_ON && !*config->metrics;
    case API_ROLE_HOST:
    case API_ROLE_VALUE:
        return config->gpu == MP_SWITCH_ON;
    case API_ROLE_CONTEXT:
        return *config->sample;
    default:
        return true;
    }
}

static uint8_t watch_of(const char *name, size_t length, const struct mp_config *config)
{
    for (size_t i = 0; i < WATCH_COUNT; i++)
        if (matches(name, length, api_watches[i].name) && is_watched(&api_watches[i], config))
            return (uint8_t)(i + 1);
    return 0;
}

/* Names of both APIs: cuLaunchKernelEx, cudaLaunchKernelExC and so on. */
static uint8_t launch_flags(const char *name)
{
    name += mp_text_starts_with(name, "cuda") ? 4 : 2;
    if (mp_text_starts_with(name, "GraphLaunch"))
        return API_LAUNCH | API_GRAPH;
    return mp_text_starts_with(name, "LaunchKernel") ||
                   mp_text_starts_with(name, "LaunchCooperativeKernel")
               ? API_LAUNCH
               : 0;
}

static void api_set_add(struct api_set *set, unsigned api, uint32_t cbid,
                        const struct mp_config *config)
{
    const char *name = set->names[api][cbid];
    bool per_thread;
    size_t length = plain_length(name, &per_thread);

    if (is_chosen(config, api, name, length)) {
        set->flags[api][cbid] |= API_RECORD;
        set->selected[api]++;
    }
    if (per_thread)
        set->flags[api][cbid] |= API_PER_THREAD;
    if (mp_text_starts_with(name, "cu"))
        set->flags[api][cbid] |= launch_flags(name);
    if (config->stacks != MP_STACKS_OFF && is_in(stack_calls, STACK_COUNT, name, length))
        set->flags[api][cbid] |= API_STACK;
    if (api != MP_api_driver)
        return;
    set->watch[cbid] = watch_of(name, length, config);
    for (size_t i = 0; i < OWN_COUNT; i++)
        if (matches(name, length, own_calls[i].name) &&
            (*config->metrics || !own_calls[i].with_metrics))
            set->flags[api][cbid] |= API_OURS_TOO;
}

/* The words of MINIPROF_API that ask for a whole API. */
static bool is_whole(const struct mp_config *config)
{
    return config->api.choice == MP_API_ALL || config->api.choice == MP_API_RUNTIME ||
           config->api.choice == MP_API_DRIVER;
}

void api_set_resolve(struct api_set *set, const struct cupti_api *cupti,
                     const struct mp_config *config)
{
    static const CUpti_CallbackDomain domains[API_COUNT] = {
        CUPTI_CB_DOMAIN_INVALID, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API};

    memset(set, 0, sizeof(*set));
    set->all_driver = config->api.choice == MP_API_ALL || config->api.choice == MP_API_DRIVER;
    set->whole_kinds = is_whole(config) || cupti->version < MP_CUPTI_SINCE_API_BY_CBID ||
                       !cupti->enable_runtime_api || !cupti->enable_driver_api;
    set->syncs = config->api.choice != MP_API_NONE;
    for (unsigned api = MP_api_runtime; api <= MP_api_driver; api++)
        for (uint32_t cbid = 1; cbid < API_CBIDS; cbid++)
            if (cupti->get_callback_name(domains[api], cbid, &set->names[api][cbid]) ==
                    CUPTI_SUCCESS &&
                set->names[api][cbid])
                api_set_add(set, api, cbid, config);
            else
                set->names[api][cbid] = NULL;
    if (config->api.choice == MP_API_LIST && !set->selected[MP_api_runtime] &&
        !set->selected[MP_api_driver])
        mp_log_warn("MINIPROF_API='%s' names no CUDA function: no calls are recorded",
                    config->api.list);
}

static CUptiResult enable_kinds(const struct api_set *set, const struct cupti_api *cupti, bool on)
{
    static const CUpti_ActivityKind kinds[API_COUNT] = {
        CUPTI_ACTIVITY_KIND_INVALID, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER};
    CUptiResult first = CUPTI_SUCCESS;

    for (unsigned api = MP_api_runtime; api <= MP_api_driver; api++) {
        CUptiResult result = CUPTI_SUCCESS;

        if (set->selected[api])
            result = on ? cupti->enable(kinds[api]) : cupti->disable(kinds[api]);
        if (first == CUPTI_SUCCESS)
            first = result;
    }
    return first;
}

CUptiResult api_set_enable(const struct api_set *set, const struct cupti_api *cupti, bool on)
{
    CUptiResult first = CUPTI_SUCCESS;
    unsigned api;

    /* Before CUPTI 12.5 only whole kinds can be switched; decode.c then drops what was not asked
     * for. */
    if (set->whole_kinds)
        return enable_kinds(set, cupti, on);
    for (api = MP_api_runtime; api <= MP_api_driver; api++)
        for (uint32_t cbid = 1; cbid < API_CBIDS; cbid++) {
            if (!(set->flags[api][cbid] & API_RECORD))
                continue;
            CUptiResult result = api == MP_api_runtime ? cupti->enable_runtime_api(cbid, on)
                                                       : cupti->enable_driver_api(cbid, on);
            if (first == CUPTI_SUCCESS)
                first = result;
        }
    return first;
}

bool api_watch_steps(const struct api_watch *watch)
{
    if (watch->role != API_ROLE_SYNC)
        return false;
    switch (watch->sync_kind) {
    case MP_sync_kind_graph_launch:
    case MP_sync_kind_event_synchronize:
    case MP_sync_kind_stream_synchronize:
    case MP_sync_kind_context_synchronize:
        return true;
    default:
        return false;
    }
}
