/* See profiling.h. */
#include "record/profiling.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/reserve.h"
#include "record/clock.h"
#include "record/metric_plan.h"
#include "record/profiled.h"
#include "record/state.h"

#include "base/poison.h"

/* A launch with several passes leaves a buffer behind that CUPTI gives back at a forced flush only,
 * since its record never gets a time (CUDA 13.0: 650 launches emptied the pool of 256). */
#define LAUNCHES_A_FLUSH 32u

#define HANDLE_LEGACY     ((uintptr_t)1) /* CU_STREAM_LEGACY */
#define HANDLE_PER_THREAD ((uintptr_t)2) /* CU_STREAM_PER_THREAD */

/* The counters of one context. */
struct profiling_session {
    struct profiling_session *next;
    CUcontext context;
    struct metric_plan *plan;
    void *object;      /* CUPTI's */
    uint8_t *counters; /* where CUPTI puts the values of one range ... */
    uint8_t *blank;    /* ... and what it looks like before */
    size_t bytes;
};

/* ---- Settings ---- */

static void warn_of_unknown(const char *list)
{
    struct metric_names names;
    struct metric_entry entry;
    char name[METRIC_NAME_BYTES];

    metric_names_begin(&names, list);
    while (metric_names_next(&names, name)) {
        const char *near;

        if (metric_look_up(name, &entry))
            continue;
        near = metric_suggest(name);
        mp_log_warn("there is no metric '%s'%s%s%s; `miniprof metrics --query` lists them", name,
                    near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
}

void profiling_open(struct recorder *recorder)
{
    struct profiling *profiling = &recorder->profiling;
    const struct mp_config *config = &recorder->config;
    struct mp_error error;

    memset(profiling, 0, sizeof(*profiling));
    pthread_mutex_init(&profiling->turn, NULL);
    profiled_open(&recorder->profiled);
    if (!*config->metrics || config->query != MP_QUERY_OFF)
        return;
    if (kernel_filter_parse(&profiling->filter, config->kernels, &error) != MP_OK)
        mp_log_error("MINIPROF_KERNELS: %s: no metrics are collected", error.text);
    else if (device_list_parse(config->devices, &profiling->devices, &error) != MP_OK)
        mp_log_error("MINIPROF_DEVICES: %s: no metrics are collected", error.text);
    else
        profiling->wanted = true;
    warn_of_unknown(config->metrics);
}

/* ---- Sessions, under the turn ---- */

/* Says why there are no metrics, once; the program runs on without. */
static void give_up(struct profiling *profiling, const struct mp_error *error)
{
    if (!atomic_exchange(&profiling->off, true))
        mp_log_error("no metrics: %s", error->text);
}

static enum mp_status plan_for(struct recorder *recorder, CUdevice device, CUcontext context,
                               struct metric_plan **plan, struct mp_error *error)
{
    struct profiling *profiling = &recorder->profiling;
    struct metric_plan **place = &profiling->plans[(unsigned)device % PROFILING_DEVICES];

    if (!profiling->api_open)
        MP_TRY(profiler_api_open(&profiling->api, &recorder->cupti, error));
    profiling->api_open = true;
    if (!*place)
        MP_TRY(metric_plan_build(place, &profiling->api, recorder->config.metrics, device, context,
                                 false, error));
    *plan = *place;
    if (recorder->config.replay == MP_REPLAY_DISABLED && (*plan)->passes > 1)
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "these metrics take %zu passes and replay is disabled: ask for fewer "
                            "at a time, or leave MINIPROF_REPLAY at kernel",
                            (*plan)->passes);
    return MP_OK;
}

static enum mp_status make_room(struct profiling_session *session, struct mp_error *error)
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
        .least_nesting = 1,
        .nesting = 1,
    };

    return profiler_check(api, api->set_config(&config), "the counters cannot be set up", error);
}

static void free_session(struct profiling_session *session)
{
    free(session->counters);
    free(session->blank);
    free(session);
}

static void close_session(struct profiling_session *session)
{
    struct profiler_object object = {
        .size = PROFILER_SIZE(struct profiler_object, object),
        .object = session->object,
    };

    if (session->object)
        session->plan->api->disable(&object);
    free_session(session);
}

static enum mp_status fill_session(struct recorder *recorder, struct profiling_session *session,
                                   CUdevice device, struct mp_error *error)
{
    struct profiler_enable enable = {
        .size = PROFILER_SIZE(struct profiler_enable, object),
        .context = session->context,
    };
    const struct profiler_api *api = &recorder->profiling.api;

    MP_TRY(plan_for(recorder, device, session->context, &session->plan, error));
    MP_TRY(profiler_check(api, api->enable(&enable), "the counters cannot be had", error));
    session->object = enable.object;
    MP_TRY(make_room(session, error));
    return configure(session, error);
}

static struct profiling_session *open_session(struct recorder *recorder, CUcontext context,
                                              CUdevice device)
{
    struct profiling *profiling = &recorder->profiling;
    struct profiling_session *session = calloc(1, sizeof(*session));
    struct mp_error error;

    if (!session)
        return NULL;
    session->context = context;
    if (fill_session(recorder, session, device, &error) != MP_OK) {
        give_up(profiling, &error);
        close_session(session);
        return NULL;
    }
    mp_log_info("metrics: %zu counters in %zu passes", session->plan->raw_count,
                session->plan->passes);
    session->next = profiling->sessions;
    profiling->sessions = session;
    return session;
}

static struct profiling_session *find_session(struct recorder *recorder, CUcontext context,
                                              CUdevice device)
{
    struct profiling_session *session;

    for (session = recorder->profiling.sessions; session; session = session->next)
        if (session->context == context)
            return session;
    return open_session(recorder, context, device);
}

void profiling_forget(struct recorder *recorder, CUcontext context)
{
    struct profiling *profiling = &recorder->profiling;
    struct profiling_session **link;

    if (!profiling->wanted)
        return;
    pthread_mutex_lock(&profiling->turn);
    for (link = &profiling->sessions; *link; link = &(*link)->next) {
        struct profiling_session *session = *link;

        if (session->context != context)
            continue;
        *link = session->next;
        close_session(session);
        break;
    }
    pthread_mutex_unlock(&profiling->turn);
}

/* ---- One launch ---- */

/* CUPTI's id of the stream that the call names; 0 when it cannot be told. */
static uint32_t stream_of(struct recorder *recorder, const struct api_watch *watch,
                          CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    bool per_thread = recorder->api.flags[MP_api_driver][cbid] & API_PER_THREAD;
    const char *arguments = data->functionParams;
    uintptr_t stream = 0;
    uint32_t id = 0;

    if (arguments && watch->indirect) {
        uintptr_t config;
        memcpy(&config, arguments, sizeof(config));
        if (config)
            stream = (uintptr_t)((const CUlaunchConfig *)config)->hStream;
    } else if (arguments) {
        memcpy(&stream, arguments + (size_t)watch->stream * sizeof(stream), sizeof(stream));
    }
    if (stream == HANDLE_PER_THREAD || stream == HANDLE_LEGACY) {
        per_thread = stream == HANDLE_PER_THREAD;
        stream = 0;
    }
    if (recorder->cupti.get_stream_id(data->context, (CUstream)stream, per_thread, &id) !=
        CUPTI_SUCCESS)
        return 0;
    return id;
}

/* How often a kernel of this name was launched, this time included; 0 when memory is out. */
static uint64_t count_launch(struct profiling *profiling, const char *kernel)
{
    uint32_t before = profiling->kernels.count;
    uint32_t id = mp_intern_add(&profiling->kernels, kernel, strlen(kernel));

    if (!id || mp_reserve((void **)&profiling->launches, id, &profiling->launch_capacity,
                          sizeof(*profiling->launches)) != MP_OK)
        return 0;
    if (id > before)
        profiling->launches[id - 1] = 0;
    return ++profiling->launches[id - 1];
}

/* The session for this launch if it is to be profiled, else NULL. */
static struct profiling_session *choose(struct recorder *recorder, const CUpti_CallbackData *data,
                                        uint32_t stream)
{
    struct profiling *profiling = &recorder->profiling;
    const char *kernel = data->symbolName;
    uint64_t invocation = kernel ? count_launch(profiling, kernel) : 0;
    CUdevice device = 0;

    if (!recorder->driver.get_device || recorder->driver.get_device(&device) != CUDA_SUCCESS ||
        !device_list_has(&profiling->devices, (uint64_t)device) ||
        !kernel_filter_matches(&profiling->filter, data->contextUid, stream, kernel, invocation))
        return NULL;
    return find_session(recorder, data->context, device);
}

static bool start(struct profiling *profiling, const struct profiling_session *session)
{
    const struct profiler_api *api = session->plan->api;
    struct profiler_object object = {
        .size = PROFILER_SIZE(struct profiler_object, object),
        .object = session->object,
    };
    struct mp_error error;

    memcpy(session->counters, session->blank, session->bytes);
    if (profiler_check(api, api->start(&object), "the counters cannot be started", &error) == MP_OK)
        return true;
    give_up(profiling, &error);
    return false;
}

/* What must be true before the turn is worth taking. */
static bool is_wanted(struct recorder *recorder, const struct call_log *log)
{
    return recorder->profiling.wanted && log && !log->busy && !log->profiled &&
           atomic_load(&recorder->enabled) && !atomic_load(&recorder->profiling.off) &&
           atomic_load(&recorder->stream_captures) <= 0;
}

void profiling_enter(struct recorder *recorder, const struct api_watch *watch,
                     CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    struct profiling *profiling = &recorder->profiling;
    struct call_log *log = call_log_mine(&recorder->logs);
    struct profiling_session *session;
    uint64_t enter = mp_clock_now();
    uint32_t stream;

    if (!is_wanted(recorder, log) || watch->stream < 0)
        return;
    pthread_mutex_lock(&profiling->turn);
    log->busy = true; /* what CUPTI calls from here on is not the application's */
    stream = stream_of(recorder, watch, cbid, data);
    session = choose(recorder, data, stream);
    profiling->launch =
        session ? profiled_new(session->plan, data->symbolName ? data->symbolName : "") : NULL;
    if (!profiling->launch || !start(profiling, session)) {
        free(profiling->launch);
        profiling->launch = NULL;
        log->busy = false;
        pthread_mutex_unlock(&profiling->turn);
        return;
    }
    profiling->running = session;
    profiling->launch->enter = enter;
    profiling->launch->correlation = data->correlationId;
    profiling->launch->context = data->contextUid;
    profiling->launch->stream = stream;
    log->profiled = true;
}

/* The values of the range that has just ended; false when there is none. */
static bool read_values(const struct profiling_session *session, double *values,
                        struct mp_error *error)
{
    const struct profiler_api *api = session->plan->api;
    struct profiler_stop stop = {
        .size = PROFILER_SIZE(struct profiler_stop, complete),
        .object = session->object,
    };
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

    return profiler_check(api, api->stop(&stop), "the counters cannot be stopped", error) ==
               MP_OK &&
           profiler_check(api, api->decode(&decode), "the counters cannot be read", error) ==
               MP_OK &&
           profiler_check(api, api->counters_info(&info), "the counters cannot be read", error) ==
               MP_OK &&
           info.ranges > 0 &&
           profiler_check(api, api->evaluate(&evaluate), "the counters cannot be read", error) ==
               MP_OK;
}

/* What else runs is waited for first: a forced flush would take its records without their ends. */
static void flush_sometimes(struct recorder *recorder, size_t passes, uint32_t correlation)
{
    struct profiling *profiling = &recorder->profiling;

    if (passes < 2 || ++profiling->unflushed < LAUNCHES_A_FLUSH || !recorder->driver.synchronize)
        return;
    profiling->unflushed = 0;
    edges_note_read(&recorder->edges, correlation); /* this call is not the application's */
    recorder->driver.synchronize();
    recorder->cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

void profiling_leave(struct recorder *recorder, const CUpti_CallbackData *data)
{
    struct profiling *profiling = &recorder->profiling;
    struct call_log *log = call_log_mine(&recorder->logs);
    struct mp_error error = {.status = MP_OK};
    struct profiled_launch *launch;

    if (!log || !log->profiled)
        return;
    launch = profiling->launch;
    launch->leave = mp_clock_now();
    if (read_values(profiling->running, launch->values, &error)) {
        profiled_put(&recorder->profiled, launch);
        work_wake(&recorder->work);
    } else {
        if (error.status != MP_OK) /* a launch that failed has no range, which is no error */
            give_up(profiling, &error);
        free(launch);
    }
    flush_sometimes(recorder, profiling->running->plan->passes, data->correlationId);
    profiling->launch = NULL;
    profiling->running = NULL;
    log->profiled = false;
    log->busy = false;
    pthread_mutex_unlock(&profiling->turn);
}

bool profiling_is_mine(struct recorder *recorder)
{
    const struct call_log *log = recorder->profiling.wanted ? call_log_mine(&recorder->logs) : NULL;

    return log && log->profiled;
}

void profiling_note_graph(struct recorder *recorder)
{
    struct profiling *profiling = &recorder->profiling;

    if (!profiling->wanted || atomic_load(&profiling->off) || !atomic_load(&recorder->enabled) ||
        atomic_exchange(&profiling->graph_was_said, true))
        return;
    mp_log_warn("kernels in CUDA graphs are not profiled for metrics: run the program without "
                "graphs, or `ncu --graph-profiling node`");
}

/* The argument numbers in api_set.c, against CUPTI's parameter structs. */
_Static_assert(offsetof(cuLaunchKernel_params, hStream) == 40, "api_watches");
_Static_assert(offsetof(cuLaunchCooperativeKernel_params, hStream) == 40, "api_watches");
