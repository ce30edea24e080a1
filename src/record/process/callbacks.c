/* CUPTI's callbacks: they run on the application's threads, inside their CUDA calls. Each is passed
 * to the modules that need it, so this file stands above them all. cupti/subscriber.c switches the
 * callbacks and knows nothing of what they do.
 */
#include "record/process/callbacks.h"

#include "base/log.h"
#include "record/core/state.h"
#include "record/cupti/contexts.h"
#include "record/cupti/subscriber.h"
#include "record/data/sync_calls.h"
#include "record/gaps/gaps.h"
#include "record/graphs/graphs.h"
#include "record/metrics/query.h"
#include "record/nccl/plugin.h"
#include "record/places/device_code.h"
#include "record/process/lifecycle.h"
#include "record/stacks/stacks.h"

#include "base/poison.h"

/* Callbacks of graphs and their nodes. */
static void on_graph(struct recorder *recorder, CUpti_CallbackId cbid, const CUpti_GraphData *data)
{
    if (!recorder_is_recording(recorder))
        return;
    switch ((int)cbid) {
    case CUPTI_CBID_RESOURCE_GRAPH_CREATED:
        graphs_created(recorder, data);
        break;
    case CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING:
        graphs_forgotten(recorder, data);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
        host_nodes_created(recorder, data);
        if (recorder->wanted.paths)
            graphs_node_created(recorder, data);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
        host_nodes_cloned(recorder, data);
        graphs_cloned(recorder, data);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING:
        graphs_node_destroyed(recorder, data);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING:
        graphs_destroyed(recorder, data);
        break;
    default:
        break;
    }
}

static void on_resource(struct recorder *recorder, CUpti_CallbackId cbid,
                        const CUpti_ResourceData *data)
{
    switch ((int)cbid) {
    case CUPTI_CBID_RESOURCE_CU_INIT_FINISHED:
        contexts_cuda_is_ready(recorder);
        break;
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
        contexts_hold(recorder, data->context);
        sampling_note_context(recorder, data->context);
        break;
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
        contexts_forget(&recorder->cuda.contexts, data->context);
        earlier_forget(recorder, data->context);
        profiling_forget(recorder, data->context);
        atomic_fetch_add(&recorder->logs.epoch, 1);
        /* The last chance to get the records of what ran in the context. */
        if (recorder_is_recording(recorder))
            recorder->cupti.flush_all(0);
        break;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
        device_code_loaded(recorder, data->resourceDescriptor);
        break;
    default:
        on_graph(recorder, cbid, data->resourceDescriptor);
        break;
    }
}

/* A call that launches or makes a dependency, or that only gets a row of `call`. */
static void on_work(struct recorder *recorder, const struct api_watch *watch, CUpti_CallbackId cbid,
                    const CUpti_CallbackData *data)
{
    bool launch = watch && api_watch_launches(watch);
    bool enters = data->callbackSite == CUPTI_API_ENTER;

    if (launch && !enters)
        profiling_leave(recorder);
    if (launch && enters)
        nccl_plugin_launches(data->correlationId);
    sync_calls_driver_call(recorder, watch && watch->role == API_ROLE_SYNC ? watch : NULL, cbid,
                           data);
    if (launch && enters)
        profiling_enter(recorder, watch, cbid, data);
    if (watch && !enters && watch->sync_kind == MP_sync_kind_graph_launch &&
        atomic_load_explicit(&recorder->host_nodes.any, memory_order_relaxed))
        sync_calls_graph_launch(recorder, cbid, data);
}

/* Of the calls that tell of steps, nothing else is recorded while a range is paused. */
static void on_step_or_work(struct recorder *recorder, const struct api_watch *watch,
                            CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    bool steps = recorder->baseline.wanted && watch && api_watch_steps(watch);
    bool enters = data->callbackSite == CUPTI_API_ENTER;

    if (steps && enters)
        baseline_call(recorder, watch, data);
    if (!steps || !range_is_paused(recorder))
        on_work(recorder, watch, cbid, data);
    if (steps && !enters)
        baseline_call(recorder, watch, data);
}

static void on_capture(struct recorder *recorder, bool begins, const CUpti_CallbackData *data)
{
    bool enters = data->callbackSite == CUPTI_API_ENTER;
    bool success = !enters && sync_calls_result(data) == CUDA_SUCCESS;

    if (begins && enters) {
        contexts_capture_begins(recorder);
        profiling_capture_begins(recorder);
    } else if (begins) {
        if (success) {
            atomic_store(&recorder->cuda.ever_captured, true);
            atomic_fetch_add(&recorder->cuda.stream_captures, 1);
            graphs_capture_began(recorder);
        }
        contexts_capture_began(recorder);
    } else if (!enters && atomic_load(&recorder->cuda.stream_captures) > 0) {
        /* Also when it fails: an invalidated capture has ended too. */
        atomic_store(&recorder->cuda.captured_until, data->correlationId);
        atomic_fetch_sub(&recorder->cuda.stream_captures, 1);
        graphs_capture_ended(recorder);
    }
}

/* cuProfilerStart and Stop. */
static void on_range(struct recorder *recorder, bool begins, const CUpti_CallbackData *data)
{
    bool enters = data->callbackSite == CUPTI_API_ENTER;

    if (begins == enters)
        return;
    if (begins && recorder->config.query == MP_QUERY_SAMPLING)
        sampling_query(recorder);
    else if (begins && recorder->config.query != MP_QUERY_OFF)
        metric_query_ask(recorder, data->context);
    else if (begins)
        range_profiler_start(recorder, data->correlationId);
    else if (recorder->config.query != MP_QUERY_OFF)
        lifecycle_finish(recorder);
    else
        range_profiler_stop(recorder, data->correlationId);
}

/* A launch of a kernel that may overlap the one before it. */
static void on_overlap(struct recorder *recorder, CUpti_CallbackId cbid,
                       const CUpti_CallbackData *data)
{
    if (data->callbackSite == CUPTI_API_ENTER) {
        nccl_plugin_launches(data->correlationId);
        overlaps_launch(recorder, data);
    } else {
        overlaps_leave(recorder, cbid);
    }
    if (atomic_load_explicit(&recorder->cupti_state.calls_by_callback, memory_order_relaxed))
        sync_calls_driver_call(recorder, NULL, cbid, data);
}

static void on_host_function(struct recorder *recorder, CUpti_CallbackId cbid,
                             const CUpti_CallbackData *data)
{
    if (data->callbackSite == CUPTI_API_ENTER)
        sync_calls_host_function(recorder, cbid, data);
    sync_calls_driver_call(recorder, NULL, cbid, data);
}

static bool takes_stack(const struct recorder *recorder, unsigned api, CUpti_CallbackId cbid)
{
    return recorder->stacks.wanted && cbid < API_CBIDS &&
           (recorder->api.flags[api][cbid] & API_STACK) && !range_is_paused(recorder);
}

static void take_stack(struct recorder *recorder, const CUpti_CallbackData *data)
{
    stacks_call(recorder, data);
    if (__builtin_expect(recorder->gaps.period != 0, 0))
        gaps_call(recorder, data->callbackSite == CUPTI_API_ENTER);
}

static void on_driver_call(struct recorder *recorder, CUpti_CallbackId cbid,
                           const CUpti_CallbackData *data)
{
    const struct api_watch *watch = api_set_watch(&recorder->api, cbid);
    bool enters = data->callbackSite == CUPTI_API_ENTER;

    if (takes_stack(recorder, MP_api_driver, cbid)) {
        take_stack(recorder, data);
        if (!watch && !atomic_load(&recorder->cupti_state.calls_by_callback))
            return;
    }
    if (watch && watch->role != API_ROLE_SYNC)
        sync_calls_end_polling(recorder);
    switch (watch ? watch->role : API_ROLE_SYNC) {
    case API_ROLE_RANGE_BEGIN:
    case API_ROLE_RANGE_END:
        on_range(recorder, watch->role == API_ROLE_RANGE_BEGIN, data);
        break;
    case API_ROLE_CAPTURE_BEGIN:
    case API_ROLE_CAPTURE_END:
        on_capture(recorder, watch->role == API_ROLE_CAPTURE_BEGIN, data);
        break;
    case API_ROLE_OVERLAP:
        on_overlap(recorder, cbid, data);
        break;
    case API_ROLE_HOST:
        on_host_function(recorder, cbid, data);
        break;
    case API_ROLE_CONTEXT:
        sync_calls_driver_call(recorder, NULL, cbid, data);
        if (!enters)
            sampling_await(recorder, data->correlationId);
        break;
    case API_ROLE_NONE:
        if (enters)
            range_note_call(recorder, data->correlationId);
        sync_calls_driver_call(recorder, NULL, cbid, data);
        break;
    case API_ROLE_INSTANTIATE:
        if (enters)
            graphs_enter(recorder, data);
        sync_calls_driver_call(recorder, NULL, cbid, data);
        if (!enters) {
            host_nodes_instantiated(recorder);
            graphs_leave(recorder, cbid, data);
        }
        break;
    case API_ROLE_LAUNCH:
    case API_ROLE_SYNC:
    default:
        on_step_or_work(recorder, watch, cbid, data);
        break;
    }
}

/* The recording has ended, or has not begun: the only thing to do is to release a profiler lock
 * that was taken. */
static void on_late_call(struct recorder *recorder, CUpti_CallbackId cbid,
                         const CUpti_CallbackData *data)
{
    const struct api_watch *watch = api_set_watch(&recorder->api, cbid);

    if (!watch || !api_watch_launches(watch))
        return;
    if (data->callbackSite == CUPTI_API_ENTER)
        profiling_enter(recorder, watch, cbid, data);
    else
        profiling_leave(recorder);
}

void CUPTIAPI callbacks_take(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                             const void *data)
{
    struct recorder *recorder = userdata;

    /* One check decides about a driver call. With two checks the phase could change in between, and
     * neither would handle the EXIT. INERT may mean a forked child, in which locks are in any
     * state. */
    if (!recorder_is_recording(recorder)) {
        if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
            on_late_call(recorder, cbid, data);
        if (domain != CUPTI_CB_DOMAIN_RESOURCE || recorder_phase(recorder) == PHASE_INERT)
            return;
    }
    switch ((int)domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
        on_driver_call(recorder, cbid, data);
        break;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
        if (takes_stack(recorder, MP_api_runtime, cbid))
            take_stack(recorder, data);
        sync_calls_runtime_call(recorder, cbid, data);
        break;
    case CUPTI_CB_DOMAIN_RESOURCE:
        on_resource(recorder, cbid, data);
        break;
    case SUBSCRIBER_STATE:
        if (!atomic_fetch_add(&recorder->cupti_state.errors, 1))
            mp_log_warn("CUPTI reports a fatal error: the trace may be incomplete from here on");
        break;
    default:
        break;
    }
}
