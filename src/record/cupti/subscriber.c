/* Becoming CUPTI's subscriber, and switching its callbacks on and off. What they do is in
 * process/callbacks.c.
 */
#include "record/cupti/subscriber.h"

#include "base/log.h"
#include "base/text/strings.h"
#include "record/api/layout.h"
#include "record/core/state.h"
#include "record/cupti/client_name.h"
#include "record/nvtx/nvtx.h"

#include "base/poison.h"

#define SUBSCRIBER_NAME "miniprof"
#define NAME_PREFIX     "CUPTI for " /* before the name that a client has given */
#define OLD_NAME_BYTES  128          /* CUPTI 13.0 asks for 64 at least */

/* Whether the other client uses CUPTI's subscribers of version 2, of which there may be several.
 * They exclude ours of version 1: cuptiSubscribe is refused as beside any client, and the functions
 * for the whole process answer NOT_COMPATIBLE (pytorch/pytorch pull request 192094: "Cannot mix
 * global-scope and subscriber-scope activity APIs"). Not tried: it needs a driver of r610. */
static bool is_of_version_2(const struct cupti_api *cupti, CUptiResult result)
{
    size_t dropped;

    return result == CUPTI_ERROR_NOT_COMPATIBLE ||
           (cupti->version >= MP_CUPTI_SINCE_SEVERAL_CLIENTS &&
            cupti->dropped_records(NULL, 0, &dropped) == CUPTI_ERROR_NOT_COMPATIBLE);
}

static const char *remedy_for(const struct recorder *recorder, const struct client *client,
                              bool named)
{
    if (client->habit == CLIENT_LEAVES && recorder->ranges.lazy)
        return "end its session before the range";
    return named ? "run without it" : "run without nsys, ncu, torch.profiler or a debugger";
}

/* `holder`: the other's name as CUPTI tells it, or empty. */
static enum mp_status refuse(const struct recorder *recorder, const char *holder, bool version_2,
                             struct client *client, struct mp_error *error)
{
    bool named = *client->name || *holder;

    if (version_2 && client->habit == CLIENT_STAYS)
        client->habit = CLIENT_LEAVES;
    return mp_error_set(
        error, MP_ERR_UNSUPPORTED, "another CUPTI client is attached%s%s%s%s%s, %s (%s)",
        *holder ? ": '" : "", holder, *holder ? "'" : "", *client->name ? ", probably " : "",
        client->name,
        version_2 ? "by CUPTI's version 2, which excludes ours" : "and CUPTI serves one at a time",
        version_2 && client->version_1 ? client->version_1 : remedy_for(recorder, client, named));
}

enum mp_status subscriber_open(struct recorder *recorder, enum client_habit *other,
                               struct mp_error *error)
{
    struct cupti_api *cupti = &recorder->cupti;
    char holder[OLD_NAME_BYTES] = "";
    struct cupti_subscriber_params params = {
        .struct_size = sizeof(params),
        .name = SUBSCRIBER_NAME,
        .old_name = holder,
        .old_name_size = sizeof(holder),
    };
    struct client client;
    enum mp_status status;
    CUptiResult result = cupti->subscribe_v2
                             ? cupti->subscribe_v2(&recorder->cupti_state.subscriber,
                                                   recorder->jobs.on_callback, recorder, &params)
                             : cupti->subscribe(&recorder->cupti_state.subscriber,
                                                recorder->jobs.on_callback, recorder);

    *other = CLIENT_UNKNOWN;
    holder[sizeof(holder) - 1] = '\0';
    if (mp_text_equal(holder, NAME_PREFIX))
        *holder = '\0';
    if (result == CUPTI_ERROR_NOT_SUPPORTED && cupti->subscribe_v2)
        result = cupti->subscribe(&recorder->cupti_state.subscriber, recorder->jobs.on_callback,
                                  recorder);
    if (result == CUPTI_SUCCESS)
        return MP_OK;
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ||
        result == CUPTI_ERROR_NOT_COMPATIBLE) {
        client_find(&client);
        status = refuse(recorder, holder, is_of_version_2(cupti, result), &client, error);
        *other = client.habit;
        return status;
    }
    return mp_error_set(error, MP_ERR_UNSUPPORTED, "'%.120s' cannot be used: %s", cupti->path,
                        cupti_result_text(cupti, result));
}

void subscriber_close(struct recorder *recorder)
{
    if (recorder->cupti.unsubscribe && !atomic_load(&recorder->cupti_state.callbacks_taken))
        recorder->cupti.unsubscribe(recorder->cupti_state.subscriber);
}

static void watch(struct recorder *recorder, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                  bool on)
{
    CUptiResult result;

    if (atomic_load(&recorder->cupti_state.callbacks_taken))
        return;
    result = recorder->cupti.enable_callback(on, recorder->cupti_state.subscriber, domain, cbid);
    if (result != CUPTI_SUCCESS)
        mp_log_debug("no callback for domain %d, id %u: %s", (int)domain, (unsigned)cbid,
                     cupti_result_text(&recorder->cupti, result));
}

/* Those whose callbacks are on only while something is recorded. */
static bool is_in_ranges(const struct api_watch *row)
{
    return row->role == API_ROLE_OVERLAP || row->role == API_ROLE_HOST;
}

/* With metrics every launch counts, whatever else is recorded (profiling.h). */
static bool is_switched(const struct recorder *recorder, const struct api_watch *row)
{
    if (is_in_ranges(row))
        return true;
    if (recorder->baseline.wanted && api_watch_steps(row))
        return false;
    return row->role == API_ROLE_SYNC && !(recorder->profiling.wanted && api_watch_launches(row));
}

static bool is_wanted(const struct recorder *recorder, const struct api_watch *row, bool on)
{
    if (row->role == API_ROLE_OVERLAP)
        return !on || !overlaps_given_up(&recorder->overlaps);
    if (row->role == API_ROLE_HOST)
        return recorder->host_functions.preload != NULL;
    return recorder->api.syncs;
}

/* Switches the callbacks of the watched driver functions: those that are on in ranges, or all the
 * others. */
static void watch_driver(struct recorder *recorder, bool syncs, bool on)
{
    uint32_t cbid;

    for (cbid = 0; cbid < API_CBIDS; cbid++) {
        const struct api_watch *row = api_set_watch(&recorder->api, cbid);

        if (row && is_switched(recorder, row) == syncs && (!syncs || is_wanted(recorder, row, on)))
            watch(recorder, CUPTI_CB_DOMAIN_DRIVER_API, cbid, on);
    }
}

/* The callbacks that report nodes of graphs as they are made. */
static void watch_making(struct recorder *recorder, bool on)
{
    if (recorder->wanted.paths || (recorder->wanted.edges && recorder->host_functions.preload))
        watch(recorder, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, on);
    if (!recorder->wanted.paths)
        return;
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
    watch(recorder, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, true);
    if (recorder->wanted.edges) {
        watch(recorder, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, true);
        watch(recorder, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
              true);
    }
    watch_making(recorder, true);
    /* The STATE domain came after 11.8; older versions refuse it. */
    watch(recorder, (CUpti_CallbackDomain)SUBSCRIBER_STATE, SUBSCRIBER_FATAL_ERROR, true);
}

void subscriber_watch_ends(struct recorder *recorder)
{
    uint32_t cbid;

    for (cbid = 0; cbid < API_CBIDS; cbid++) {
        const struct api_watch *row = api_set_watch(&recorder->api, cbid);

        if (row && (row->role == API_ROLE_LAUNCH || row->role == API_ROLE_INSTANTIATE))
            watch(recorder, CUPTI_CB_DOMAIN_DRIVER_API, cbid, false);
    }
    if (recorder->wanted.edges)
        watch(recorder, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, false);
    watch_making(recorder, false);
    if (recorder->wanted.paths)
        mp_nvtx_stop_building();
}

/* Calls whose stacks are taken. The watched ones among them are switched by their role; in ranges
 * all of those are on. */
static void watch_stacks(struct recorder *recorder, bool on)
{
    const struct api_set *api = &recorder->api;
    uint32_t cbid;

    for (cbid = 1; cbid < API_CBIDS; cbid++) {
        if (api->flags[MP_api_runtime][cbid] & API_STACK)
            watch(recorder, CUPTI_CB_DOMAIN_RUNTIME_API, cbid, on);
        if ((api->flags[MP_api_driver][cbid] & API_STACK) &&
            (on || !api_set_watch(api, cbid) || is_in_ranges(api_set_watch(api, cbid))))
            watch(recorder, CUPTI_CB_DOMAIN_DRIVER_API, cbid, on);
    }
}

void subscriber_watch_syncs(struct recorder *recorder, bool on)
{
    watch_driver(recorder, true, on);
    if (recorder->stacks.wanted)
        watch_stacks(recorder, on);
}

void subscriber_give_up(struct recorder *recorder, CUpti_CallbackId cbid)
{
    watch(recorder, CUPTI_CB_DOMAIN_DRIVER_API, cbid, false);
}

void subscriber_take_back(struct recorder *recorder)
{
    uint32_t cbid;

    for (cbid = 0; cbid < API_CBIDS; cbid++) {
        const struct api_watch *row = api_set_watch(&recorder->api, cbid);

        if (row && row->role == API_ROLE_OVERLAP)
            watch(recorder, CUPTI_CB_DOMAIN_DRIVER_API, cbid, true);
    }
}

void subscriber_watch_calls(struct recorder *recorder, bool on)
{
    const struct api_set *api = &recorder->api;
    uint32_t cbid;

    for (cbid = 1; cbid < API_CBIDS; cbid++) {
        if (api->flags[MP_api_runtime][cbid] & API_RECORD)
            watch(recorder, CUPTI_CB_DOMAIN_RUNTIME_API, cbid, on);
        /* Watched ones are switched by their role: they must not be switched off here. */
        if ((api->flags[MP_api_driver][cbid] & API_RECORD) &&
            (!api_set_watch(api, cbid) || is_in_ranges(api_set_watch(api, cbid))))
            watch(recorder, CUPTI_CB_DOMAIN_DRIVER_API, cbid, on);
    }
}
