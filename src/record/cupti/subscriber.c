/* See subscriber.h. */
#include "record/cupti/subscriber.h"

#include "base/log.h"
#include "record/core/state.h"
#include "record/data/sync_calls.h"
#include "record/graphs/graphs.h"
#include "record/metrics/query.h"
#include "record/nvtx/nvtx.h"
#include "record/process/lifecycle.h"
#include "record/ranges/range.h"

#include "base/poison.h"

#define SUBSCRIBER_NAME "miniprof"
#define OLD_NAME_BYTES  128 /* CUPTI 13.0 asks for 64 at least */

/* CUPTI_CB_DOMAIN_STATE and CUPTI_CBID_STATE_FATAL_ERROR: not in all headers. */
#define DOMAIN_STATE      6
#define STATE_FATAL_ERROR 1

static void hold_context(struct context_list *contexts, CUcontext context)
{
    uint32_t i = 0;

    pthread_mutex_lock(&contexts->lock);
    while (i < contexts->count && contexts->items[i] != context)
        i++;
    if (i == contexts->count && i < MOST_CONTEXTS_HELD)
        contexts->items[contexts->count++] = context;
    pthread_mutex_unlock(&contexts->lock);
}

static void forget_context(struct context_list *contexts, CUcontext context)
{
    uint32_t i;

    pthread_mutex_lock(&contexts->lock);
    for (i = 0; i < contexts->count; i++)
        if (contexts->items[i] == context)
            contexts->items[i--] = contexts->items[--contexts->count];
    pthread_mutex_unlock(&contexts->lock);
}

void subscriber_cuda_is_ready(struct recorder *recorder)
{
    atomic_store(&recorder->cuda_ready, true);
    lifecycle_at_exit_again(recorder);
    activity_configure_unified(recorder);
}

void subscriber_hold_context(struct recorder *recorder, CUcontext context)
{
    hold_context(&recorder->contexts, context);
    if (atomic_exchange(&recorder->context_made, true))
        return;
    lifecycle_at_exit_again(recorder);
    activity_configure_unified(recorder);
}

/* Of graphs and their nodes. */
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
        graphs_node_created(recorder, data);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
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
        subscriber_cuda_is_ready(recorder);
        break;
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
        subscriber_hold_context(recorder, data->context);
        break;
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
        forget_context(&recorder->contexts, data->context);
        profiling_forget(recorder, data->context);
        atomic_fetch_add(&recorder->logs.epoch, 1);
        /* The last chance for the records of what ran in it. */
        if (recorder_is_recording(recorder))
            recorder->cupti.flush_all(0);
        break;
    default:
        on_graph(recorder, cbid, data->resourceDescriptor);
        break;
    }
}

static bool launches(const struct api_watch *watch)
{
    return watch->role == API_ROLE_LAUNCH || watch->sync_kind == MP_sync_kind_graph_launch;
}

/* A call that launches or depends on something, or has only a row of `call`. */
static void on_work(struct recorder *recorder, const struct api_watch *watch, CUpti_CallbackId cbid,
                    const CUpti_CallbackData *data)
{
    bool launch = watch && launches(watch);
    bool enters = data->callbackSite == CUPTI_API_ENTER;

    if (launch && !enters)
        profiling_leave(recorder);
    sync_calls_driver_call(recorder, watch && watch->role == API_ROLE_SYNC ? watch : NULL, cbid,
                           data);
    if (launch && enters)
        profiling_enter(recorder, watch, cbid, data);
}

static void on_capture(struct recorder *recorder, bool begins, const CUpti_CallbackData *data)
{
    bool enters = data->callbackSite == CUPTI_API_ENTER;
    bool success = !enters && sync_calls_result(data) == CUDA_SUCCESS;

    if (begins && enters) {
        graphs_capture_begins(recorder);
        profiling_capture_begins(recorder);
    } else if (begins) {
        if (success) {
            atomic_store(&recorder->ever_captured, true);
            atomic_fetch_add(&recorder->stream_captures, 1);
        }
        graphs_capture_began(recorder, success);
        profiling_capture_began(recorder);
    } else if (!enters && atomic_load(&recorder->stream_captures) > 0) {
        /* Also when it fails: an invalidated capture has ended too. */
        atomic_store(&recorder->captured_until, data->correlationId);
        atomic_fetch_sub(&recorder->stream_captures, 1);
        graphs_capture_ended(recorder);
    }
}

/* cuProfilerStart and Stop. */
static void on_range(struct recorder *recorder, bool begins, const CUpti_CallbackData *data)
{
    bool enters = data->callbackSite == CUPTI_API_ENTER;

    if (begins == enters)
        return;
    if (begins && recorder->config.query != MP_QUERY_OFF)
        metric_query_ask(recorder, data->context);
    else if (begins)
        range_profiler_start(recorder, data->correlationId);
    else if (recorder->config.query != MP_QUERY_OFF)
        lifecycle_finish(recorder);
    else
        range_profiler_stop(recorder, data->correlationId);
}

static void on_driver_call(struct recorder *recorder, CUpti_CallbackId cbid,
                           const CUpti_CallbackData *data)
{
    const struct api_watch *watch = api_set_watch(&recorder->api, cbid);
    bool enters = data->callbackSite == CUPTI_API_ENTER;

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
    case API_ROLE_NONE:
        if (enters)
            range_note_call(recorder, data->correlationId);
        sync_calls_driver_call(recorder, NULL, cbid, data);
        break;
    case API_ROLE_INSTANTIATE:
        if (enters)
            graphs_enter(recorder, data);
        sync_calls_driver_call(recorder, NULL, cbid, data);
        if (!enters)
            graphs_leave(recorder, cbid, data);
        break;
    case API_ROLE_LAUNCH:
    case API_ROLE_SYNC:
    default:
        on_work(recorder, watch, cbid, data);
        break;
    }
}

/* The recording has ended, or not begun: only a turn that was taken is given back. */
static void on_late_call(struct recorder *recorder, CUpti_CallbackId cbid,
                         const CUpti_CallbackData *data)
{
    const struct api_watch *watch = api_set_watch(&recorder->api, cbid);

    if (!watch || !launches(watch))
        return;
    if (data->callbackSite == CUPTI_API_ENTER)
        profiling_enter(recorder, watch, cbid, data);
    else
        profiling_leave(recorder);
}

static void CUPTIAPI on_callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                 const void *data)
{
    struct recorder *recorder = userdata;

    /* Asked once: an EXIT must not fall between two answers. INERT may be a forked child, in which
     * locks are in any state. */
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
        sync_calls_runtime_call(recorder, cbid, data);
        break;
    case CUPTI_CB_DOMAIN_RESOURCE:
        on_resource(recorder, cbid, data);
        break;
    case DOMAIN_STATE:
        if (!atomic_fetch_add(&recorder->cupti_errors, 1))
            mp_log_warn("CUPTI reports a fatal error: the trace may be incomplete from here on");
        break;
    default:
        break;
    }
}

/* `holder`: the other's name as CUPTI tells it, or empty. */
static enum mp_status refuse(const char *holder, struct mp_error *error)
{
    char client[CLIENT_NAME_BYTES];

    clients_name(client, sizeof(client));
    return mp_error_set(error, MP_ERR_UNSUPPORTED,
                        "another CUPTI client is attached%s%s%s%s%s, and CUPTI serves one at a "
                        "time (run without %s)",
                        *holder ? ": '" : "", holder, *holder ? "'" : "",
                        *client ? ", probably " : "", client,
                        *client || *holder ? "it" : "nsys, ncu, torch.profiler or a debugger");
}

enum mp_status subscriber_open(struct recorder *recorder, struct mp_error *error)
{
    struct cupti_api *cupti = &recorder->cupti;
    char holder[OLD_NAME_BYTES] = "";
    struct cupti_subscriber_params params = {
        .struct_size = sizeof(params),
        .name = SUBSCRIBER_NAME,
        .old_name = holder,
        .old_name_size = sizeof(holder),
    };
    CUptiResult result =
        cupti->subscribe_v2
            ? cupti->subscribe_v2(&recorder->subscriber, on_callback, recorder, &params)
            : cupti->subscribe(&recorder->subscriber, on_callback, recorder);

    holder[sizeof(holder) - 1] = '\0';
    if (result == CUPTI_ERROR_NOT_SUPPORTED && cupti->subscribe_v2)
        result = cupti->subscribe(&recorder->subscriber, on_callback, recorder);
    if (result == CUPTI_SUCCESS)
        return MP_OK;
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        return refuse(holder, error);
    return mp_error_set(error, MP_ERR_UNSUPPORTED, "'%.120s' cannot be used: %s", cupti->path,
                        cupti_result_text(cupti, result));
}

static void watch(struct recorder *recorder, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                  bool on)
{
    CUptiResult result = recorder->cupti.enable_callback(on, recorder->subscriber, domain, cbid);

    if (result != CUPTI_SUCCESS)
        mp_log_debug("no callback for domain %d, id %u: %s", (int)domain, (unsigned)cbid,
                     cupti_result_text(&recorder->cupti, result));
}

/* With metrics every launch counts, whatever else is recorded (profiling.h). */
static bool is_switched(const struct recorder *recorder, const struct api_watch *row)
{
    return row->role == API_ROLE_SYNC && !(recorder->profiling.wanted && launches(row));
}

/* Switches the callbacks of all watched driver functions that are (or are not) on for rows of
 * `sync` only. */
static void watch_driver(struct recorder *recorder, bool syncs, bool on)
{
    uint32_t cbid;

    for (cbid = 0; cbid < API_CBIDS; cbid++) {
        const struct api_watch *row = api_set_watch(&recorder->api, cbid);

        if (row && is_switched(recorder, row) == syncs)
            watch(recorder, CUPTI_CB_DOMAIN_DRIVER_API, cbid, on);
    }
}

/* What tells of the nodes of graphs as they are made. */
static void watch_making(struct recorder *recorder, bool on)
{
    if (!recorder->paths_wanted)
        return;
    watch(recorder, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, on);
    watch(recorder, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, on);
    watch(recorder, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, on);
    if (recorder->ranges.lazy)
        watch(recorder, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPH_CREATED, on);
}

void subscriber_watch_base(struct recorder *recorder)
{
    watch_driver(recorder, false, true);
    watch(recorder, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, true);
    watch(recorder, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, true);
    watch(recorder, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, true);
    if (recorder->edges_wanted) {
        watch(recorder, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, true);
        watch(recorder, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
              true);
    }
    watch_making(recorder, true);
    /* The STATE domain came after 11.8; older versions refuse it. */
    watch(recorder, (CUpti_CallbackDomain)DOMAIN_STATE, STATE_FATAL_ERROR, true);
}

void subscriber_watch_ends(struct recorder *recorder)
{
    uint32_t cbid;

    for (cbid = 0; cbid < API_CBIDS; cbid++) {
        const struct api_watch *row = api_set_watch(&recorder->api, cbid);

        if (row && (row->role == API_ROLE_LAUNCH || row->role == API_ROLE_INSTANTIATE))
            watch(recorder, CUPTI_CB_DOMAIN_DRIVER_API, cbid, false);
    }
    if (recorder->edges_wanted)
        watch(recorder, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, false);
    watch_making(recorder, false);
    if (recorder->paths_wanted)
        mp_nvtx_stop_building();
}

void subscriber_watch_syncs(struct recorder *recorder, bool on)
{
    if (recorder->api.syncs)
        watch_driver(recorder, true, on);
}

void subscriber_watch_calls(struct recorder *recorder, bool on)
{
    const struct api_set *api = &recorder->api;
    uint32_t cbid;

    for (cbid = 1; cbid < API_CBIDS; cbid++) {
        if (api->flags[MP_api_runtime][cbid] & API_RECORD)
            watch(recorder, CUPTI_CB_DOMAIN_RUNTIME_API, cbid, on);
        /* Watched ones are switched by their role: they must not be switched off here. */
        if ((api->flags[MP_api_driver][cbid] & API_RECORD) && !api_set_watch(api, cbid))
            watch(recorder, CUPTI_CB_DOMAIN_DRIVER_API, cbid, on);
    }
}
