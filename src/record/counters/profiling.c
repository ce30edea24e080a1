/* The one lock across a driver call, and what is done under it: sessions of contexts, the choice of
 * launches, starting and stopping the counters.
 */
#include "record/counters/profiling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/data/storage.h"
#include "base/log.h"
#include "base/settings/config.h"
#include "record/core/clock.h"
#include "record/counters/plan.h"
#include "record/counters/profiled.h"
#include "record/cupti/gpu.h"

#include "base/poison.h"

/* ---- Sessions: range profiler objects of CUPTI's, each for one context ---- */

static enum mp_status session_make_room(struct profiling_session *session, struct mp_error *error)
{
    const struct profiler_api *api = session->plan->api;
    struct profiler_counters_size size = {
        .size = PROFILER_SIZE(struct profiler_counters_size, bytes),
        .object = session->object,
        .names = session->plan->raw,
        .count = session->plan->raw_count,
        .ranges = 1,
        .nodes = 1,
    };
    struct profiler_counters room = {
        .size = PROFILER_SIZE(struct profiler_counters, counters),
        .object = session->object,
    };

    MP_TRY(profiler_check(api, api->counters_size(&size), "no room for counters", error));
    session->bytes = room.bytes = size.bytes;
    session->counters = room.counters = malloc(size.bytes + 1);
    session->blank = malloc(size.bytes + 1);
    if (!session->counters || !session->blank)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for the counters");
    MP_TRY(profiler_check(api, api->counters_open(&room), "no room for counters", error));
    memcpy(session->blank, session->counters, session->bytes);
    return MP_OK;
}

static enum mp_status configure(const struct profiling_session *session, struct mp_error *error)
{
    const struct profiler_api *api = session->plan->api;
    struct profiler_set_config config = {
        .size = PROFILER_SIZE(struct profiler_set_config, nesting),
        .object = session->object,
        .config_bytes = session->plan->config_bytes,
        .config = session->plan->config,
        .counters_bytes = session->bytes,
        .counters = session->counters,
        .range = PROFILER_AUTO_RANGE,
        .replay = PROFILER_KERNEL_REPLAY,
        .ranges = 1,
        .nesting_levels = 1,
        .min_nesting = 1,
        .nesting = 1,
    };

    return profiler_check(api, api->set_config(&config), "the counters cannot be set up", error);
}

static enum mp_status session_fill(struct profiling_session *session, struct mp_error *error)
{
    const struct profiler_api *api = session->plan->api;
    struct profiler_enable enable = {
        .size = PROFILER_SIZE(struct profiler_enable, object),
        .context = session->context,
    };

    MP_TRY(profiler_check(api, api->enable(&enable), "the counters cannot be had", error));
    session->object = enable.object;
    MP_TRY(session_make_room(session, error));
    return configure(session, error);
}

/* `plan`, which is not owned, may be NULL. On failure NULL, with MP_ERR_UNSUPPORTED and the reason,
 * or MP_ERR_MEMORY. */
static struct profiling_session *session_open(struct metric_plan *plan, CUcontext context,
                                              struct mp_error *error)
{
    struct profiling_session *session = calloc(1, sizeof(*session));

    if (!session) {
        mp_error_set(error, MP_ERR_MEMORY, "no memory for the counters");
        return NULL;
    }
    session->context = context;
    session->plan = plan;
    if (!plan || session_fill(session, error) == MP_OK)
        return session;
    session_close(session);
    return NULL;
}

void session_close(struct profiling_session *session)
{
    struct profiler_object object = {.size = PROFILER_SIZE(struct profiler_object, object),
                                     .object = session->object};

    if (session->object)
        session->plan->api->disable(&object);
    free(session->counters);
    free(session->blank);
    free(session);
}

/* The next launch in the context is the range. */
static enum mp_status session_start(const struct profiling_session *session, struct mp_error *error)
{
    const struct profiler_api *api = session->plan->api;
    struct profiler_object object = {.size = PROFILER_SIZE(struct profiler_object, object),
                                     .object = session->object};

    memcpy(session->counters, session->blank, session->bytes);
    return profiler_check(api, api->start(&object), "the counters cannot be started", error);
}

static enum mp_status session_stop(const struct profiling_session *session, struct mp_error *error)
{
    const struct profiler_api *api = session->plan->api;
    struct profiler_stop stop = {
        .size = PROFILER_SIZE(struct profiler_stop, complete),
        .object = session->object,
    };

    return profiler_check(api, api->stop(&stop), "the counters cannot be stopped", error);
}

/* The values of the range that was stopped, one for each raw metric of the plan; *found is false
 * when there was none: the launch failed. */
static enum mp_status session_read(const struct profiling_session *session, double *values,
                                   bool *found, struct mp_error *error)
{
    const struct profiler_api *api = session->plan->api;
    const char *what = "the counters cannot be read";
    struct profiler_object decode = {
        .size = PROFILER_SIZE(struct profiler_object, dropped),
        .object = session->object,
    };
    struct profiler_counters_info info = {
        .size = PROFILER_SIZE(struct profiler_counters_info, ranges),
        .counters = session->counters,
        .bytes = session->bytes,
    };
    struct profiler_evaluate evaluate = {
        .size = PROFILER_SIZE(struct profiler_evaluate, values),
        .host = session->plan->host,
        .counters = session->counters,
        .bytes = session->bytes,
        .names = session->plan->raw,
        .count = session->plan->raw_count,
        .values = values,
    };

    *found = false;
    MP_TRY(profiler_check(api, api->decode(&decode), what, error));
    MP_TRY(profiler_check(api, api->counters_info(&info), what, error));
    if (!info.ranges)
        return MP_OK;
    MP_TRY(profiler_check(api, api->evaluate(&evaluate), what, error));
    *found = true;
    return MP_OK;
}

/* ---- The profiler lock: a robust mutex, whose next owner learns if a thread ended with it ---- */

static void profiler_lock_open(struct profiler_lock *lock)
{
    pthread_mutexattr_t attributes;

    lock->patience = mp_time_limit_ns(MP_TIME_PROFILER_LOCK);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

/* CLOCK_REALTIME is the only clock that old glibc supports here. */
static struct timespec in(uint64_t ns)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    ns += (uint64_t)now.tv_nsec;
    return (struct timespec){.tv_sec = now.tv_sec + (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
}

/* No cancellation point. */
static enum profiler_lock_answer profiler_lock_take(struct profiler_lock *lock)
{
    int error = pthread_mutex_trylock(&lock->mutex);
    struct timespec limit;

    if (error == EBUSY) {
        limit = in(lock->patience);
        error = pthread_mutex_timedlock(&lock->mutex, &limit);
    }
    if (error != EOWNERDEAD)
        return error ? PROFILER_LOCK_LATE : PROFILER_LOCK_TAKEN;
    pthread_mutex_consistent(&lock->mutex);
    return PROFILER_LOCK_ABANDONED;
}

/* By the thread that took it. In a forked child, where no thread took it, nothing happens. */
static void profiler_lock_release(struct profiler_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

/* ---- Launches ---- */

/* A launch with several passes leaves a buffer in CUPTI, which returns it only at a forced flush,
 * since its record never gets a time (CUDA 13.0: 650 launches emptied the pool of 256). A forced
 * flush costs records of other contexts and of copies that have just begun, so it comes only when
 * needed. */
#define LAUNCHES_A_FLUSH 4u /* at least: each flush waits for all that runs */

/* ---- Settings ---- */

static void warn_of_unknown(const char *list)
{
    struct metric_names names;
    struct metric_entry entry;
    char name[METRIC_NAME_BYTES];

    metric_names_begin(&names, list);
    while (metric_names_next(&names, name)) {
        if (metric_look_up(name, &entry))
            continue;
        const char *near = metric_suggest(name);
        mp_log_warn("there is no metric '%s'%s%s%s; `miniprof metrics --query` lists them", name,
                    near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
}

void profiling_open(struct profiling *profiling, struct gpu *gpu)
{
    const struct mp_config *config = &gpu->core.config;
    struct mp_error error;

    memset(profiling, 0, sizeof(*profiling));
    profiler_lock_open(&profiling->lock);
    profiled_open(&profiling->profiled);
    if (!*config->metrics || config->query != MP_QUERY_OFF)
        return;
    if (kernel_filter_parse(&profiling->filter, config->kernels, &error) != MP_OK)
        mp_log_error("MINIPROF_KERNELS: %s: no metrics are collected", error.text);
    else if (device_list_parse(config->devices, &profiling->devices, &error) != MP_OK)
        mp_log_error("MINIPROF_DEVICES: %s: no metrics are collected", error.text);
    else
        gpu->core.wanted.metrics = true;
    warn_of_unknown(config->metrics);
}

/* ---- Sessions, under the profiler lock ---- */

/* Says once why there are no metrics; the program runs on without them. */
static void give_up(struct profiling *profiling, const struct mp_error *error)
{
    if (!atomic_exchange(&profiling->off, true))
        mp_log_error("no metrics: %s", error->text);
}

static enum mp_status plan_for(struct profiling *profiling, struct gpu *gpu, CUdevice device,
                               CUcontext context, struct metric_plan **plan, struct mp_error *error)
{
    struct metric_plan **place = &profiling->plans[(unsigned)device % PROFILING_DEVICES];

    if (!profiling->api_open)
        MP_TRY(profiler_api_open(&profiling->api, &gpu->cupti, error));
    profiling->api_open = true;
    if (!*place)
        MP_TRY(metric_plan_build(place, &profiling->api, gpu->core.config.metrics, device, context,
                                 false, error));
    *plan = *place;
    if (gpu->core.config.replay == MP_REPLAY_DISABLED && (*plan)->passes > 1)
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "these metrics take %zu passes and replay is disabled: ask for fewer "
                            "at a time, or leave MINIPROF_REPLAY at kernel",
                            (*plan)->passes);
    return MP_OK;
}

/* A session for the context, so that each context is asked for its device once. It counts nothing
 * when MINIPROF_DEVICES excludes the device. */
static struct profiling_session *open_session(struct profiling *profiling, struct gpu *gpu,
                                              const CUpti_CallbackData *data)
{
    struct profiling_session *session = NULL;
    struct metric_plan *plan = NULL;
    struct mp_error error;
    enum mp_status status = MP_OK;
    CUdevice device = 0;

    own_calls_note(&gpu->core.logs.own, data->correlationId); /* not a call of the application */
    if (!gpu->driver.get_device || gpu->driver.get_device(&device) != CUDA_SUCCESS)
        return NULL;
    if (device_list_has(&profiling->devices, (uint64_t)device))
        status = plan_for(profiling, gpu, device, data->context, &plan, &error);
    if (status == MP_OK)
        session = session_open(plan, data->context, &error);
    if (!session) {
        give_up(profiling, &error);
        return NULL;
    }
    if (plan)
        mp_log_info("metrics: %zu counters in %zu passes", plan->raw_count, plan->passes);
    session->next = profiling->sessions;
    profiling->sessions = session;
    return session;
}

static struct profiling_session *find_session(struct profiling *profiling, struct gpu *gpu,
                                              const CUpti_CallbackData *data)
{
    for (struct profiling_session *session = profiling->sessions; session; session = session->next)
        if (session->context == data->context)
            return session;
    return open_session(profiling, gpu, data);
}

/* ---- The profiler lock ---- */

/* Cleans up after a thread that ended inside its launch. */
static void clear_away(struct profiling *profiling)
{
    struct mp_error error;

    if (profiling->running)
        session_stop(profiling->running, &error);
    free(profiling->launch);
    profiling->running = NULL;
    profiling->launch = NULL;
}

static bool take_lock(struct profiling *profiling)
{
    struct mp_error error;

    switch (profiler_lock_take(&profiling->lock)) {
    case PROFILER_LOCK_TAKEN:
        return true;
    case PROFILER_LOCK_ABANDONED:
        mp_error_set(&error, MP_ERR_UNSUPPORTED, "a thread ended inside of a launch");
        give_up(profiling, &error);
        clear_away(profiling);
        profiler_lock_release(&profiling->lock);
        return false;
    case PROFILER_LOCK_LATE:
    default:
        mp_error_set(&error, MP_ERR_UNSUPPORTED,
                     "a launch has taken over %g s: kernels that wait for other kernels cannot be "
                     "profiled",
                     (double)profiling->lock.patience / 1e9);
        give_up(profiling, &error);
        return false;
    }
}

static void forget(struct profiling *profiling, CUcontext context)
{
    for (struct profiling_session **link = &profiling->sessions; *link; link = &(*link)->next) {
        struct profiling_session *session = *link;

        if (session->context != context)
            continue;
        *link = session->next;
        session_close(session);
        return;
    }
}

/* Does nothing in a forked child (INERT): a thread of its parent may hold the lock. Nor inside a
 * launch, where the thread holds the lock itself: a handler that ends the process, or CUPTI,
 * destroys the context there. */
void profiling_forget(struct profiling *profiling, struct gpu *gpu, CUcontext context)
{
    if (!gpu->core.wanted.metrics || core_phase(&gpu->core) == PHASE_INERT)
        return;
    struct call_log *log = call_log_mine(&gpu->core.logs);
    if (!log || log->has_profiler_lock)
        return;
    bool busy = log->busy;
    log->busy = true; /* what CUPTI calls from here on is not the application's */
    if (take_lock(profiling)) {
        forget(profiling, context);
        profiler_lock_release(&profiling->lock);
    }
    log->busy = busy;
}

/* ---- Stream captures ---- */

void profiling_capture_begins(struct profiling *profiling, struct gpu *gpu)
{
    struct call_log *log = gpu->core.wanted.metrics ? call_log_mine(&gpu->core.logs) : NULL;

    if (!log || log->has_profiler_lock)
        return;
    if (!atomic_load(&profiling->off) && take_lock(profiling))
        profiler_lock_release(&profiling->lock);
}

/* ---- One launch ---- */

/* CUPTI's id of the stream that the call names; 0 if unknown. */
static uint32_t stream_of(struct gpu *gpu, const struct api_watch *watch, CUpti_CallbackId cbid,
                          const CUpti_CallbackData *data)
{
    bool per_thread = gpu->api.flags[MP_api_driver][cbid] & API_PER_THREAD;
    const char *arguments = data->functionParams;
    uintptr_t stream = 0;

    if (arguments && watch->indirect) {
        uintptr_t config;
        memcpy(&config, arguments, sizeof(config));
        if (config)
            stream = (uintptr_t)((const CUlaunchConfig *)config)->hStream;
    } else if (arguments) {
        memcpy(&stream, arguments + (size_t)watch->stream * sizeof(stream), sizeof(stream));
    }
    uint32_t id = cupti_stream_id(&gpu->cupti, data->context, stream, per_thread);
    return id == CUPTI_NO_STREAM ? 0 : id;
}

/* How often a kernel of this name was launched, this time included; 0 when memory is out. */
static uint64_t count_launch(struct profiling *profiling, const char *kernel)
{
    uint32_t id = mp_intern_add(&profiling->kernels, kernel, strlen(kernel));

    if (!id || mp_reserve((void **)&profiling->launches, id, &profiling->launch_capacity,
                          sizeof(*profiling->launches)) != MP_OK)
        return 0;
    while (profiling->launch_count < id)
        profiling->launches[profiling->launch_count++] = 0;
    return ++profiling->launches[id - 1];
}

/* The session for this launch if it is to be profiled, else NULL. */
static struct profiling_session *profiling_choose(struct profiling *profiling, struct gpu *gpu,
                                                  const CUpti_CallbackData *data, uint32_t stream)
{
    const char *kernel = data->symbolName;
    uint64_t invocation = kernel ? count_launch(profiling, kernel) : 0;
    struct profiling_session *session = find_session(profiling, gpu, data);

    if (!session || !session->plan ||
        !kernel_filter_matches(&profiling->filter, data->contextUid, stream, kernel, invocation))
        return NULL;
    return session;
}

/* Starts the counters for a launch that is to be profiled. */
static void profiling_begin(struct profiling *profiling, struct gpu *gpu,
                            const struct api_watch *watch, CUpti_CallbackId cbid,
                            const CUpti_CallbackData *data, uint64_t enter)
{
    uint32_t stream = stream_of(gpu, watch, cbid, data);
    struct profiling_session *session = profiling_choose(profiling, gpu, data, stream);
    struct mp_error error;

    if (!session)
        return;
    struct profiled_launch *launch =
        profiled_new(session->plan, data->symbolName ? data->symbolName : "");
    if (!launch) {
        atomic_fetch_add(&profiling->profiled.lost, 1);
        return;
    }
    launch->enter = enter;
    launch->correlation = data->correlationId;
    launch->context = data->contextUid;
    launch->stream = stream;
    if (session_start(session, &error) != MP_OK) {
        give_up(profiling, &error);
        free(launch);
        return;
    }
    profiling->launch = launch;
    profiling->running = session;
}

static bool is_on(struct profiling *profiling, struct gpu *gpu)
{
    return core_is_recording(&gpu->core) && atomic_load(&gpu->core.enabled) &&
           !atomic_load(&profiling->off) && atomic_load(&gpu->cuda.stream_captures) <= 0 &&
           atomic_load(&gpu->cuda.capture_begins) <= 0;
}

static void say_graph(struct profiling *profiling)
{
    if (!atomic_exchange(&profiling->graph_was_said, true))
        mp_log_warn("kernels in CUDA graphs are not profiled for metrics: run the program without "
                    "graphs, or `ncu --graph-profiling node`");
}

void profiling_enter(struct profiling *profiling, struct gpu *gpu, const struct api_watch *watch,
                     CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    struct call_log *log = gpu->core.wanted.metrics ? call_log_mine(&gpu->core.logs) : NULL;

    if (log && log->has_profiler_lock)
        log->inner_launches++;
    if (!log || log->has_profiler_lock || log->busy || !is_on(profiling, gpu))
        return;
    uint64_t enter = mp_clock_now();
    log->busy = true; /* what CUPTI calls from here on is not the application's */
    log->has_profiler_lock = take_lock(profiling);
    if (log->has_profiler_lock && watch->role != API_ROLE_LAUNCH)
        say_graph(profiling);
    else if (log->has_profiler_lock && is_on(profiling, gpu)) /* it may have ended meanwhile */
        profiling_begin(profiling, gpu, watch, cbid, data, enter);
    log->busy = log->has_profiler_lock && profiling->launch;
}

/* Gets back the buffers that CUPTI returns only at a forced flush. Synchronises first: the flush
 * would take the records of running work without their ends. */
static void flush_sometimes(struct profiling *profiling, struct gpu *gpu,
                            const struct profiling_session *session, uint32_t correlation)
{
    if (session->plan->passes < 2 || ++profiling->unflushed < LAUNCHES_A_FLUSH ||
        !gpu->driver.synchronize || !buffer_pool_is_low(&gpu->pool))
        return;
    profiling->unflushed = 0;
    own_calls_note(&gpu->core.logs.own, correlation); /* not a call of the application */
    gpu->driver.synchronize();
    gpu->cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

/* Stops the counters of the launch and hands its values to the writer. */
static void profiling_end(struct profiling *profiling, struct gpu *gpu)
{
    const struct profiling_session *session = profiling->running;
    struct profiled_launch *launch = profiling->launch;
    uint32_t correlation = launch->correlation;
    bool gave_up = atomic_load(&profiling->off); /* another thread's kernel may be in the range */
    bool found = false;
    struct mp_error error;

    launch->leave = mp_clock_now();
    enum mp_status status = session_stop(session, &error);
    profiling->launch = NULL; /* before any cancellation point */
    profiling->running = NULL;
    if (status == MP_OK)
        status = session_read(session, launch->values, &found, &error);
    if (status != MP_OK)
        give_up(profiling, &error);
    if (!found || gave_up) {
        free(launch); /* a failed launch has no range; that is no error */
        return;
    }
    profiled_put(&profiling->profiled, launch);
    work_wake(&gpu->core.work);
    flush_sometimes(profiling, gpu, session, correlation);
}

void profiling_leave(struct profiling *profiling, struct gpu *gpu)
{
    struct call_log *log = gpu->core.wanted.metrics ? call_log_mine(&gpu->core.logs) : NULL;

    if (!log || !log->has_profiler_lock)
        return;
    if (log->inner_launches) {
        log->inner_launches--;
        return;
    }
    /* A forked child may not call CUPTI. */
    if (profiling->launch && core_phase(&gpu->core) != PHASE_INERT)
        profiling_end(profiling, gpu);
    log->has_profiler_lock = false;
    log->busy = false;
    profiler_lock_release(&profiling->lock);
}

/* The argument numbers in api_set.c, against CUPTI's parameter structs. */
_Static_assert(offsetof(cuLaunchKernel_params, hStream) == 40, "api_watches");
_Static_assert(offsetof(cuLaunchCooperativeKernel_params, hStream) == 40, "api_watches");

/* ---- MINIPROF_QUERY=metrics: asks each device which metrics it has ---- */

#define EVERYTHING "all,events"

static enum mp_status ask_device(struct profiling *profiling, struct gpu *gpu, CUdevice device,
                                 CUcontext context, struct mp_error *error)
{
    struct metric_plan *plan;

    if (!profiling->api_open)
        MP_TRY(profiler_api_open(&profiling->api, &gpu->cupti, error));
    profiling->api_open = true;
    MP_TRY(metric_plan_build(&plan, &profiling->api, EVERYTHING, device, context, true, error));
    if (gpu->driver.get_name)
        gpu->driver.get_name(plan->device_name, sizeof(plan->device_name), device);
    plan->device_name[sizeof(plan->device_name) - 1] = '\0';
    if (strstr(gpu->core.config.metrics, "raw"))
        metric_plan_add_base(plan);
    struct profiled_launch *definition = profiled_new(plan, "");
    if (definition)
        profiled_put(&profiling->profiled, definition);
    return MP_OK;
}

void metric_query_ask(struct profiling *profiling, struct gpu *gpu, CUcontext context)
{
    struct call_log *log = call_log_mine(&gpu->core.logs);
    struct mp_error error;
    CUdevice device = 0;

    if (!log || !gpu->driver.get_device)
        return;
    log->busy = true; /* calls made by CUPTI are not recorded */
    if (gpu->driver.get_device(&device) == CUDA_SUCCESS &&
        ask_device(profiling, gpu, device, context, &error) != MP_OK)
        mp_log_error("device %d: %s", (int)device, error.text);
    log->busy = false;
}
