/* Setting CUPTI up, with CUDA or late. If late, this file asks the driver what CUPTI's callbacks
 * would have told: that CUDA has started, and which contexts exist.
 */
#include "record/cupti/attach.h"

#include <dlfcn.h>

#include "base/log.h"
#include "base/preload.h"
#include "base/settings/time_limits.h"
#include "record/core/state.h"
#include "record/cupti/contexts.h"
#include "record/cupti/subscriber.h"
#include "record/places/device_code.h"

#include "base/poison.h"

/* ---- When ---- */

static struct mp_preload *find_preload(void)
{
    struct mp_preload *preload = dlsym(RTLD_DEFAULT, MP_PRELOAD_SYMBOL);

    return preload && preload->version == MP_PRELOAD_VERSION ? preload : NULL;
}

/* GRAPH_TRACE and metrics have to be on before the first graph and context (quirks.def). */
static bool may_wait(const struct recorder *recorder)
{
    const struct mp_config *config = &recorder->config;

    return mp_config_waits(config) && config->query == MP_QUERY_OFF &&
           config->cuda_graph != MP_CUDA_GRAPH_GRAPH && !recorder->profiling.wanted;
}

void attach_configure(struct recorder *recorder)
{
    struct attach *attach = &recorder->attach;
    enum mp_attach wanted = recorder->config.attach;

    attach->when = MP_ATTACH_INIT;
    attach->preload = find_preload();
    if (wanted == MP_ATTACH_INIT || !may_wait(recorder))
        return;
    if (attach->preload || (wanted == MP_ATTACH_RANGE && !recorder->ranges.by_profiler))
        attach->when = wanted;
    else
        mp_log_warn("MINIPROF_ATTACH=%s needs `miniprof run`, or %s in LD_PRELOAD: CUPTI is there "
                    "from the start",
                    wanted == MP_ATTACH_GRAPH ? "graph" : "range", MP_PRELOAD_LIBRARY);
}

/* ---- Setting up ---- */

/* Whether a recording without callbacks is possible: of ranges, so that the other client has CUPTI
 * between them, and where something else tells where they begin. */
static bool may_go_without(const struct recorder *recorder)
{
    return recorder->attach.other == CLIENT_STAYS && recorder->ranges.lazy &&
           recorder->config.query == MP_QUERY_OFF && !recorder->profiling.wanted &&
           !recorder->baseline.wanted &&
           (!recorder->ranges.by_profiler || recorder->attach.preload);
}

/* API records that are enabled by function may never come then (late_api_records in quirks.def). */
static void go_without(struct recorder *recorder, const char *why)
{
    mp_log_warn("%s: kernels, copies and calls are recorded, but no synchronisation, stacks or "
                "edges of graphs",
                why);
    atomic_store(&recorder->cupti_state.callbacks_taken, true);
    atomic_store(&recorder->cupti_state.calls_by_callback, false);
    recorder->api.whole_kinds = true;
}

static enum mp_status set_up(struct recorder *recorder, struct mp_error *error)
{
    struct mp_error why;
    enum mp_status opened = subscriber_open(recorder, &recorder->attach.other, &why);

    if (opened != MP_OK && !may_go_without(recorder)) {
        *error = why;
        return opened;
    }
    if (activity_prepare(recorder, error) != MP_OK) {
        if (opened == MP_OK)
            subscriber_close(recorder);
        recorder->attach.other = CLIENT_UNKNOWN;
        return error->status;
    }
    if (opened != MP_OK)
        go_without(recorder, why.text);
    atomic_store(&recorder->attach.done, true);
    return MP_OK;
}

enum mp_status attach_at_start(struct recorder *recorder, struct mp_error *error)
{
    return recorder->attach.when == MP_ATTACH_INIT ? set_up(recorder, error) : MP_OK;
}

/* What CUPTI's callbacks would have told, had CUPTI been attached. */
struct missed {
    bool started; /* CUDA has started */
    CUcontext contexts[MAX_CONTEXTS_HELD];
    uint32_t count;
};

static void add_context(struct missed *missed, CUcontext context)
{
    if (context && missed->count < MAX_CONTEXTS_HELD)
        missed->contexts[missed->count++] = context;
}

static void find_primary(const struct driver_api *driver, CUdevice device, struct missed *missed)
{
    CUcontext context;
    unsigned flags;
    int active = 0;

    if (driver->primary_state(device, &flags, &active) != CUDA_SUCCESS || !active ||
        driver->primary_retain(&context, device) != CUDA_SUCCESS)
        return;
    add_context(missed, context);
    driver->primary_release(device);
}

/* Finds each device's primary context and the current one. Other contexts stay unknown until CUPTI
 * reports a call in them. While CUDA starts no context exists, and the driver refuses. */
static void find_missed(const struct driver_api *driver, struct missed *missed)
{
    CUcontext current = NULL;
    int count = 0;

    missed->started = driver->get_device_count && driver->get_device_count(&count) == CUDA_SUCCESS;
    if (!missed->started)
        return;
    if (driver->get_current && driver->get_current(&current) == CUDA_SUCCESS)
        add_context(missed, current);
    if (driver->primary_state && driver->primary_retain && driver->primary_release)
        for (int device = 0; device < count; device++)
            find_primary(driver, device, missed);
}

static void catch_up(struct recorder *recorder, const struct missed *missed)
{
    if (missed->started)
        contexts_cuda_is_ready(recorder);
    for (uint32_t i = 0; i < missed->count; i++)
        contexts_hold(recorder, missed->contexts[i]);
}

void attach_find_contexts(struct recorder *recorder)
{
    struct missed missed = {.count = 0};

    find_missed(&recorder->driver, &missed);
    contexts_forget_all(&recorder->cuda.contexts);
    missed.started &= !atomic_load(&recorder->cuda.ready);
    catch_up(recorder, &missed);
}

/* Whether cuptiSubscribe would return soon. It waits for running kernels, and launches of other
 * threads wait for it: a kernel that runs until the host says so would stop the program for ever.
 * While a capture may be under way nobody can tell, and we go on. */
static bool gpu_is_free(struct recorder *recorder, const struct missed *missed)
{
    return !contexts_can_be_watched(&recorder->driver) || contexts_may_be_captured(recorder) ||
           contexts_become_idle(recorder, missed->contexts, missed->count,
                                mp_time_limit_ns(MP_TIME_ATTACH_IDLE));
}

static void say_failed(struct attach *attach, const char *why)
{
    attach->failed = attach->other == CLIENT_UNKNOWN;
    if (!attach->refused)
        mp_log_error("%s: nothing is recorded", why);
    attach->refused = true;
}

static void set_up_late(struct recorder *recorder)
{
    struct missed missed = {.count = 0};
    struct mp_error error;

    /* First, so that our own calls are not taken for the application's. */
    find_missed(&recorder->driver, &missed);
    recorder->attach.missed = true;
    if (!gpu_is_free(recorder, &missed)) {
        mp_log_warn("the GPU is busy, or the driver cannot say (waited up to %g s): nothing is "
                    "recorded in this range. CUPTI can only be attached while no kernel runs; "
                    "MINIPROF_ATTACH=init attaches it from the start",
                    mp_time_limit_seconds(MP_TIME_ATTACH_IDLE));
        return;
    }
    if (set_up(recorder, &error) != MP_OK) {
        say_failed(&recorder->attach, error.text);
        return;
    }
    subscriber_watch_base(recorder);
    activity_forget_drops(recorder);
    activity_enable_base(recorder, true);
    host_functions_go(recorder);
    catch_up(recorder, &missed);
    if (atomic_load(&recorder->cupti_state.callbacks_taken))
        clients_arrive(recorder);
    device_code_find(recorder);
    mp_log_info("CUPTI is there from now on");
}

bool attach_now(struct recorder *recorder)
{
    struct attach *attach = &recorder->attach;

    if (attach_is_done(recorder)) {
        if (atomic_load(&recorder->cupti_state.callbacks_taken))
            attach_find_contexts(recorder);
    } else if (!attach->failed) {
        set_up_late(recorder);
    }
    return attach_is_done(recorder);
}

/* ---- Waiting ---- */

static void attach_switch(struct recorder *recorder)
{
    attach_now(recorder);
}

/* A capture that fails to begin counts as under way for good: then we look no more. */
static void count_captures(struct recorder *recorder, enum mp_preload_call call)
{
    if (call == MP_PRELOAD_CAPTURE) {
        atomic_fetch_add(&recorder->cuda.captures_told, 1);
        contexts_await_breakers(recorder);
    } else if (call == MP_PRELOAD_CAPTURED) {
        atomic_fetch_sub(&recorder->cuda.captures_told, 1);
    }
}

static void before_call(enum mp_preload_call call)
{
    struct recorder *recorder = mp_recorder;
    bool makes_graph = call == MP_PRELOAD_GRAPH || call == MP_PRELOAD_CAPTURE;
    bool is_of_profiler = call == MP_PRELOAD_PROFILER || call == MP_PRELOAD_STOP;
    bool attaches = makes_graph ? recorder->attach.when == MP_ATTACH_GRAPH
                                : call == MP_PRELOAD_PROFILER && recorder->ranges.by_profiler;

    if (makes_graph)
        atomic_store(&recorder->cuda.graph_met, true);
    if (recorder_is_recording(recorder) && attaches && !attach_is_done(recorder))
        recorder->jobs.switch_alone(recorder, attach_switch);
    count_captures(recorder, call);
    if (is_of_profiler && recorder_is_recording(recorder) &&
        atomic_load(&recorder->cupti_state.callbacks_taken))
        recorder->jobs.profiler_call(recorder, call == MP_PRELOAD_PROFILER);
}

void attach_go(struct recorder *recorder)
{
    struct attach *attach = &recorder->attach;

    waits_ask(recorder, attach->preload);
    if (attach->preload &&
        (attach->when != MP_ATTACH_INIT || atomic_load(&recorder->cupti_state.callbacks_taken)))
        atomic_store(&attach->preload->before, before_call);
    if (attach->when != MP_ATTACH_INIT)
        return;
    subscriber_watch_base(recorder);
    activity_enable_base(recorder, false);
    host_functions_go(recorder);
}
