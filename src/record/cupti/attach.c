/* Setting CUPTI up, with CUDA or late. If late, this file asks the driver what CUPTI's callbacks
 * would have reported: that CUDA has started, and which contexts exist.
 */
#include "record/cupti/attach.h"

#include <dlfcn.h>

#include "base/log.h"
#include "base/preload.h"
#include "base/settings/config.h"
#include "record/cupti/contexts.h"
#include "record/cupti/gpu.h"
#include "record/cupti/subscriber.h"

#include "base/poison.h"

/* ---- When ---- */

static struct mp_preload *find_preload(void)
{
    struct mp_preload *preload = dlsym(RTLD_DEFAULT, MP_PRELOAD_SYMBOL);

    return preload && preload->version == MP_PRELOAD_VERSION ? preload : NULL;
}

/* GRAPH_TRACE and metrics have to be on before the first graph and context (quirks.def). */
static bool may_wait(const struct gpu *gpu)
{
    const struct mp_config *config = &gpu->core.config;

    return mp_config_waits(config) && config->query == MP_QUERY_OFF &&
           config->cuda_graph != MP_CUDA_GRAPH_GRAPH && !gpu->core.wanted.metrics;
}

void attach_configure(struct gpu *gpu, const struct attach_calls *calls)
{
    struct attach *attach = &gpu->attach;
    enum mp_attach wanted = gpu->core.config.attach;

    attach->calls = *calls;
    attach->when = MP_ATTACH_INIT;
    attach->preload = find_preload();
    if (wanted == MP_ATTACH_INIT || !may_wait(gpu))
        return;
    if (attach->preload || (wanted == MP_ATTACH_RANGE && !gpu->core.wanted.by_profiler))
        attach->when = wanted;
    else
        mp_log_warn("MINIPROF_ATTACH=%s needs `miniprof run`, or %s in LD_PRELOAD: CUPTI is there "
                    "from the start",
                    wanted == MP_ATTACH_GRAPH ? "graph" : "range", MP_PRELOAD_LIBRARY);
}

/* ---- Setting up ---- */

/* Whether a recording without callbacks is possible: of ranges, so that the other client has CUPTI
 * between them, and where something else tells where they begin. */
static bool may_go_without(const struct gpu *gpu)
{
    return gpu->attach.other == CLIENT_STAYS && gpu->core.wanted.lazy &&
           gpu->core.config.query == MP_QUERY_OFF && !gpu->core.wanted.metrics &&
           !gpu->core.wanted.baseline && (!gpu->core.wanted.by_profiler || gpu->attach.preload);
}

/* API records that are enabled by function may never come then (late_api_records in quirks.def). */
static void go_without(struct gpu *gpu, const char *why)
{
    mp_log_warn("%s: kernels, copies and calls are recorded, but no synchronisation, stacks or "
                "edges of graphs",
                why);
    atomic_store(&gpu->cupti_state.callbacks_taken, true);
    atomic_store(&gpu->cupti_state.calls_by_callback, false);
    gpu->api.whole_kinds = true;
}

static enum mp_status set_up(struct gpu *gpu, struct mp_error *error)
{
    struct mp_error why;

    if (gpu->attach.preload && gpu->attach.preload->attached)
        gpu->attach.preload->attached();
    enum mp_status opened = subscriber_open(gpu, &gpu->attach.other, &why);

    if (opened != MP_OK && !may_go_without(gpu)) {
        *error = why;
        return opened;
    }
    if (activity_prepare(gpu, error) != MP_OK) {
        if (opened == MP_OK)
            subscriber_close(gpu);
        gpu->attach.other = CLIENT_UNKNOWN;
        return error->status;
    }
    if (opened != MP_OK)
        go_without(gpu, why.text);
    atomic_store(&gpu->attach.done, true);
    return MP_OK;
}

enum mp_status attach_at_start(struct gpu *gpu, struct mp_error *error)
{
    return gpu->attach.when == MP_ATTACH_INIT ? set_up(gpu, error) : MP_OK;
}

/* What CUPTI's callbacks would have reported, had CUPTI been attached. */
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

static void catch_up(struct gpu *gpu, const struct missed *missed)
{
    if (missed->started)
        contexts_cuda_is_ready(gpu);
    for (uint32_t i = 0; i < missed->count; i++)
        contexts_hold(gpu, missed->contexts[i]);
}

void attach_find_contexts(struct gpu *gpu)
{
    struct missed missed = {.count = 0};

    find_missed(&gpu->driver, &missed);
    contexts_forget_all(&gpu->cuda.contexts);
    missed.started &= !atomic_load(&gpu->cuda.ready);
    catch_up(gpu, &missed);
}

/* Whether cuptiSubscribe would return soon. It waits for running kernels, and launches of other
 * threads wait for it: a kernel that runs until the host says so would stop the program for ever.
 * While a capture may be under way nobody can tell, and we go on. */
static bool gpu_is_free(struct gpu *gpu, const struct missed *missed)
{
    return !contexts_can_be_watched(&gpu->driver) || contexts_may_be_captured(gpu) ||
           contexts_become_idle(gpu, missed->contexts, missed->count,
                                mp_time_limit_ns(MP_TIME_ATTACH_IDLE));
}

static void say_failed(struct attach *attach, const char *why)
{
    attach->failed = attach->other == CLIENT_UNKNOWN;
    if (!attach->refused)
        mp_log_error("%s: nothing is recorded", why);
    attach->refused = true;
}

static void set_up_late(struct gpu *gpu)
{
    struct missed missed = {.count = 0};
    struct mp_error error;

    /* First, so that our own calls are not taken for the application's. */
    find_missed(&gpu->driver, &missed);
    gpu->attach.missed = true;
    if (!gpu_is_free(gpu, &missed)) {
        mp_log_warn("the GPU is busy, or the driver cannot say (waited up to %g s): nothing is "
                    "recorded in this range. CUPTI can only be attached while no kernel runs; "
                    "MINIPROF_ATTACH=init attaches it from the start",
                    mp_time_limit_seconds(MP_TIME_ATTACH_IDLE));
        return;
    }
    if (set_up(gpu, &error) != MP_OK) {
        say_failed(&gpu->attach, error.text);
        return;
    }
    subscriber_watch_base(gpu);
    activity_forget_drops(gpu);
    activity_enable_base(gpu, true);
    host_functions_go(gpu);
    catch_up(gpu, &missed);
    if (atomic_load(&gpu->cupti_state.callbacks_taken))
        clients_arrive(gpu);
    device_code_find(&gpu->cuda.device_launchers);
    mp_log_info("CUPTI is there from now on");
}

bool attach_now(struct gpu *gpu)
{
    struct attach *attach = &gpu->attach;

    if (attach_is_done(gpu)) {
        if (atomic_load(&gpu->cupti_state.callbacks_taken))
            attach_find_contexts(gpu);
    } else if (!attach->failed) {
        set_up_late(gpu);
    }
    return attach_is_done(gpu);
}

/* ---- Recording begins ---- */

bool attach_needs_preload(const struct gpu *gpu)
{
    return gpu->attach.preload &&
           (gpu->attach.when != MP_ATTACH_INIT || atomic_load(&gpu->cupti_state.callbacks_taken));
}

void attach_go(struct gpu *gpu)
{
    if (gpu->attach.when != MP_ATTACH_INIT)
        return;
    subscriber_watch_base(gpu);
    activity_enable_base(gpu, false);
    host_functions_go(gpu);
}
