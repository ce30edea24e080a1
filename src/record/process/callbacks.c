/* CUPTI's callbacks: they run on the application's threads, inside their CUDA calls. Each is passed
 * to the modules that need it, so this file stands above them all. cupti/subscriber.c switches the
 * callbacks and knows nothing of what they do.
 */
#include "record/process/lifecycle.h"

#include "base/log.h"
#include "record/counters/profiling.h"
#include "record/cupti/contexts.h"
#include "record/cupti/subscriber.h"
#include "record/cupti/sync_calls.h"
#include "record/graphs/graphs.h"
#include "record/nccl/plugin.h"
#include "record/process/recorder.h"
#include "record/stacks/gaps.h"
#include "record/stacks/stacks.h"

#include "base/poison.h"

/* Callbacks of graphs and their nodes. */
static void on_graph(struct recorder *recorder, CUpti_CallbackId cbid, const CUpti_GraphData *data)
{
    if (!core_is_recording(&recorder->gpu.core))
        return;
    switch ((int)cbid) {
    case CUPTI_CBID_RESOURCE_GRAPH_CREATED:
        graphs_created(&recorder->graphs, &recorder->gpu, data);
        break;
    case CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING:
        graphs_forgotten(&recorder->graphs, &recorder->gpu, data);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
        host_nodes_created(&recorder->graphs, &recorder->gpu, data);
        if (recorder->gpu.core.wanted.paths)
            graphs_node_created(&recorder->graphs, &recorder->gpu, &recorder->stacks, data);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
        host_nodes_cloned(&recorder->graphs, &recorder->gpu, data);
        graphs_cloned(&recorder->graphs, &recorder->gpu, data);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING:
        graphs_node_destroyed(&recorder->gpu, data);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING:
        graphs_destroyed(&recorder->graphs, &recorder->gpu, data);
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
        contexts_cuda_is_ready(&recorder->gpu);
        lifecycle_at_exit_again(recorder);
        break;
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
        contexts_hold(&recorder->gpu, data->context);
        lifecycle_at_exit_again(recorder);
        sampling_note_context(&recorder->sampling, data->context);
        break;
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
        contexts_forget(&recorder->gpu.cuda.contexts, data->context);
        earlier_forget(&recorder->gpu, data->context);
        profiling_forget(&recorder->profiling, &recorder->gpu, data->context);
        atomic_fetch_add(&recorder->gpu.core.logs.epoch, 1);
        /* The last chance to get the records of what ran in the context. */
        if (core_is_recording(&recorder->gpu.core))
            recorder->gpu.cupti.flush_all(0);
        break;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
        device_code_loaded(&recorder->gpu.cuda.device_launchers, data->resourceDescriptor);
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
        profiling_leave(&recorder->profiling, &recorder->gpu);
    if (launch && enters)
        nccl_plugin_launches(data->correlationId);
    sync_calls_driver_call(&recorder->gpu, watch && watch->role == API_ROLE_SYNC ? watch : NULL,
                           cbid, data);
    if (launch && enters)
        profiling_enter(&recorder->profiling, &recorder->gpu, watch, cbid, data);
    if (watch && !enters && watch->sync_kind == MP_sync_kind_graph_launch &&
        atomic_load_explicit(&recorder->graphs.host_nodes.any, memory_order_relaxed))
        sync_calls_graph_launch(&recorder->gpu, cbid, data);
}

/* Of the calls that tell of steps, nothing else is recorded while a range is paused. */
static void on_step_or_work(struct recorder *recorder, const struct api_watch *watch,
                            CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    bool steps = recorder->gpu.core.wanted.baseline && watch && api_watch_steps(watch);
    bool enters = data->callbackSite == CUPTI_API_ENTER;

    if (steps && enters)
        baseline_call(recorder, watch, data);
    if (!steps || !core_is_paused(&recorder->gpu.core))
        on_work(recorder, watch, cbid, data);
    if (steps && !enters)
        baseline_call(recorder, watch, data);
}

static void on_capture(struct recorder *recorder, bool begins, const CUpti_CallbackData *data)
{
    bool enters = data->callbackSite == CUPTI_API_ENTER;
    bool success = !enters && cupti_call_result(data) == CUDA_SUCCESS;

    if (begins && enters) {
        contexts_capture_begins(&recorder->gpu);
        profiling_capture_begins(&recorder->profiling, &recorder->gpu);
    } else if (begins) {
        if (success) {
            atomic_store(&recorder->gpu.cuda.ever_captured, true);
            atomic_fetch_add(&recorder->gpu.cuda.stream_captures, 1);
            graphs_capture_began(&recorder->gpu);
        }
        contexts_capture_began(&recorder->gpu);
    } else if (!enters && atomic_load(&recorder->gpu.cuda.stream_captures) > 0) {
        /* Also when it fails: an invalidated capture has ended too. */
        atomic_store(&recorder->gpu.cuda.captured_until, data->correlationId);
        atomic_fetch_sub(&recorder->gpu.cuda.stream_captures, 1);
        graphs_capture_ended(&recorder->gpu);
    }
}

/* cuProfilerStart and Stop. */
static void on_range(struct recorder *recorder, bool begins, const CUpti_CallbackData *data)
{
    bool enters = data->callbackSite == CUPTI_API_ENTER;

    if (begins == enters)
        return;
    if (begins && recorder->gpu.core.config.query == MP_QUERY_SAMPLING)
        sampling_query(&recorder->sampling);
    else if (begins && recorder->gpu.core.config.query != MP_QUERY_OFF)
        metric_query_ask(&recorder->profiling, &recorder->gpu, data->context);
    else if (begins)
        range_profiler_start(recorder, data->correlationId);
    else if (recorder->gpu.core.config.query != MP_QUERY_OFF)
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
        overlaps_launch(&recorder->gpu.overlaps, data);
    } else {
        subscriber_overlap_leaves(&recorder->gpu, cbid);
    }
    if (atomic_load_explicit(&recorder->gpu.cupti_state.calls_by_callback, memory_order_relaxed))
        sync_calls_driver_call(&recorder->gpu, NULL, cbid, data);
}

static void on_host_function(struct recorder *recorder, CUpti_CallbackId cbid,
                             const CUpti_CallbackData *data)
{
    if (data->callbackSite == CUPTI_API_ENTER)
        sync_calls_host_function(&recorder->gpu, cbid, data);
    sync_calls_driver_call(&recorder->gpu, NULL, cbid, data);
}

static void on_value(struct recorder *recorder, const struct api_watch *watch,
                     CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    sync_calls_driver_call(&recorder->gpu, NULL, cbid, data);
    if (data->callbackSite == CUPTI_API_EXIT)
        sync_calls_values(&recorder->gpu, watch, cbid, data);
}

static bool takes_stack(const struct recorder *recorder, unsigned api, CUpti_CallbackId cbid)
{
    return recorder->gpu.core.wanted.stacks && cbid < API_CBIDS &&
           (recorder->gpu.api.flags[api][cbid] & API_STACK) && !core_is_paused(&recorder->gpu.core);
}

static void take_stack(struct recorder *recorder, const CUpti_CallbackData *data)
{
    stacks_call(&recorder->stacks, &recorder->gpu.core, data);
    if (__builtin_expect(recorder->stacks.gaps.period != 0, 0))
        gaps_call(&recorder->stacks, &recorder->gpu.core, data->callbackSite == CUPTI_API_ENTER);
}

static void on_driver_call(struct recorder *recorder, CUpti_CallbackId cbid,
                           const CUpti_CallbackData *data)
{
    const struct api_watch *watch = api_set_watch(&recorder->gpu.api, cbid);
    bool enters = data->callbackSite == CUPTI_API_ENTER;

    if (takes_stack(recorder, MP_api_driver, cbid)) {
        take_stack(recorder, data);
        if (!watch && !atomic_load(&recorder->gpu.cupti_state.calls_by_callback))
            return;
    }
    if (watch && watch->role != API_ROLE_SYNC)
        sync_calls_end_polling(&recorder->gpu);
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
    case API_ROLE_VALUE:
        on_value(recorder, watch, cbid, data);
        break;
    case API_ROLE_CONTEXT:
        sync_calls_driver_call(&recorder->gpu, NULL, cbid, data);
        if (!enters)
            sampling_await(&recorder->sampling, data->correlationId);
        break;
    case API_ROLE_NONE:
        if (enters)
            range_note_call(recorder, data->correlationId);
        sync_calls_driver_call(&recorder->gpu, NULL, cbid, data);
        break;
    case API_ROLE_INSTANTIATE:
        if (enters)
            graphs_enter(&recorder->graphs, &recorder->gpu, data);
        sync_calls_driver_call(&recorder->gpu, NULL, cbid, data);
        if (!enters) {
            host_nodes_instantiated(&recorder->graphs, &recorder->gpu);
            graphs_leave(&recorder->graphs, &recorder->gpu, cbid, data);
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
    const struct api_watch *watch = api_set_watch(&recorder->gpu.api, cbid);

    if (!watch || !api_watch_launches(watch))
        return;
    if (data->callbackSite == CUPTI_API_ENTER)
        profiling_enter(&recorder->profiling, &recorder->gpu, watch, cbid, data);
    else
        profiling_leave(&recorder->profiling, &recorder->gpu);
}

void CUPTIAPI callbacks_take(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                             const void *data)
{
    struct recorder *recorder = userdata;

    /* One check decides about a driver call. With two checks the phase could change in between, and
     * neither would handle the EXIT. INERT may mean a forked child, in which locks are in any
     * state. */
    if (!core_is_recording(&recorder->gpu.core)) {
        if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
            on_late_call(recorder, cbid, data);
        if (domain != CUPTI_CB_DOMAIN_RESOURCE || core_phase(&recorder->gpu.core) == PHASE_INERT)
            return;
    }
    switch ((int)domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
        on_driver_call(recorder, cbid, data);
        break;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
        if (takes_stack(recorder, MP_api_runtime, cbid))
            take_stack(recorder, data);
        sync_calls_runtime_call(&recorder->gpu, cbid, data);
        break;
    case CUPTI_CB_DOMAIN_RESOURCE:
        on_resource(recorder, cbid, data);
        break;
    case SUBSCRIBER_STATE:
        if (!atomic_fetch_add(&recorder->gpu.cupti_state.errors, 1))
            mp_log_warn("CUPTI reports a fatal error: the trace may be incomplete from here on");
        break;
    default:
        break;
    }
}
