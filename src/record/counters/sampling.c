/* The sampling thread: how the others have it start and stop, and what it does for each device. */
#include "record/counters/sampling.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/settings/config.h"
#include "base/settings/forms.h"
#include "base/text/strings.h"
#include "record/core/clock.h"
#include "record/core/thread.h"
#include "record/counters/nvml.h"
#include "record/counters/pm.h"
#include "record/counters/samples.h"
#include "record/cupti/gpu.h"

#include "base/poison.h"

/* ---- One device ----
 *
 * Divides the requested counters of a device among CUPTI, GPM and NVML, the best first, and runs
 * the samplers.
 */

struct sampling_device {
    struct pm_sampler *pm;     /* NULL: none */
    struct nvml_sampler *nvml; /* NULL: none */
    bool running;
    char reason[MP_ERROR_TEXT_BYTES];      /* why CUPTI measures nothing; empty: it does */
    char nvml_reason[MP_ERROR_TEXT_BYTES]; /* why NVML reads no more; empty: it was not asked */
};

/* ---- The libraries, once ---- */

static void try_pm(struct sampling *sampling)
{
    struct mp_error error;

    if (sampling->pm_tried)
        return;
    sampling->pm_tried = true;
    sampling->pm = calloc(1, sizeof(*sampling->pm));
    if (!sampling->pm)
        mp_text_copy(sampling->pm_reason, sizeof(sampling->pm_reason), "no memory");
    else if (pm_api_open(sampling->pm, &sampling->gpu->cupti, &error) != MP_OK)
        mp_text_copy(sampling->pm_reason, sizeof(sampling->pm_reason), error.text);
}

static const struct nvml_api *try_nvml(struct sampling *sampling)
{
    struct mp_error error;

    if (!sampling->nvml_tried) {
        sampling->nvml_tried = true;
        sampling->nvml = calloc(1, sizeof(*sampling->nvml));
        if (!sampling->nvml) {
            mp_text_copy(sampling->nvml_reason, sizeof(sampling->nvml_reason), "no memory");
        } else if (nvml_api_open(sampling->nvml, &error) != MP_OK) {
            mp_text_copy(sampling->nvml_reason, sizeof(sampling->nvml_reason), error.text);
            free(sampling->nvml);
            sampling->nvml = NULL;
        }
    }
    return sampling->nvml;
}

/* ---- What is measured ---- */

static const char *note_of(const struct sampling_device *opened, const struct sample_plan *plan,
                           size_t at)
{
    const char *note = unavailable_note(plan->unavailable[at]);

    if (!note && plan->unavailable[at] == UNAVAILABLE_NVML)
        note = opened->nvml_reason;
    if (!note && *opened->reason)
        note = opened->reason;
    return note ? note : "nothing on this machine measures it";
}

/* The requests that nobody can grant, as a set without samples. */
static void publish_rest(struct sampling *sampling, unsigned device, const struct sample_plan *plan,
                         const struct sampling_device *opened)
{
    struct sample_set *set = samples_new_set(device, SAMPLED_BY_NOBODY, 0);

    for (size_t i = 0; set && i < plan->requested->count; i++)
        if (plan->by[i] == SAMPLED_BY_NOBODY)
            samples_add(set, plan->requested->items[i].name, plan->requested->items[i].entry, NULL,
                        note_of(opened, plan, i));
    if (set && set->count)
        samples_publish(&sampling->store, set);
    else
        free(set);
}

static void say(unsigned device, const struct sampling_device *opened,
                const struct sample_plan *plan, uint64_t interval)
{
    size_t max = 0;

    for (size_t i = 0; i < plan->requested->count; i++)
        max += plan->by[i] == SAMPLED_BY_CUPTI;
    if (opened->pm)
        mp_log_info("device %u: %zu counters are sampled every %.3g us", device, max,
                    (double)interval / 1e3);
    else if (*opened->reason && opened->nvml)
        mp_log_warn("device %u: NVML is read 10 times a second, since CUPTI cannot sample: %s",
                    device, opened->reason);
    else if (*opened->reason)
        mp_log_warn("device %u: no counters are sampled: %s", device, opened->reason);
    unavailable_say(device, plan, opened->nvml_reason);
}

static bool is_requested_of(const struct sample_plan *plan, enum sampled_by by)
{
    for (size_t i = 0; i < plan->requested->count; i++)
        if (!plan->requested->items[i].entry
                ? by == SAMPLED_BY_CUPTI
                : sampled_source(plan->requested->items[i].name, by, 0) &&
                      plan->by[i] == SAMPLED_BY_NOBODY)
            return true;
    return false;
}

static void open_pm(struct sampling *sampling, struct sampling_device *opened, unsigned device,
                    struct sample_plan *plan, bool only_listed)
{
    struct mp_error error;

    if (!is_requested_of(plan, SAMPLED_BY_CUPTI))
        return;
    try_pm(sampling);
    if (*sampling->pm_reason) {
        mp_text_copy(opened->reason, sizeof(opened->reason), sampling->pm_reason);
    } else if (pm_open(&opened->pm, sampling->pm, device, sampling->interval, plan, only_listed,
                       &error) != MP_OK) {
        mp_text_copy(opened->reason, sizeof(opened->reason), error.text);
        memset(plan->by, 0, sizeof(plan->by));
        memset(plan->unavailable, 0, sizeof(plan->unavailable));
    }
}

/* What no other source has, and NVML does not read either. */
static void note_unread(struct sample_plan *plan)
{
    for (size_t i = 0; i < plan->requested->count; i++)
        if (plan->by[i] == SAMPLED_BY_NOBODY && plan->requested->items[i].entry &&
            !sampled_source(plan->requested->items[i].name, SAMPLED_BY_CUPTI, 0))
            plan->unavailable[i] = UNAVAILABLE_NVML;
}

static void open_nvml(struct sampling *sampling, struct sampling_device *opened, unsigned device,
                      struct sample_plan *plan)
{
    const char *place = sampling->places[device];
    struct mp_error error;

    if (!is_requested_of(plan, SAMPLED_BY_GPM) && !is_requested_of(plan, SAMPLED_BY_NVML))
        return;
    const struct nvml_api *api = *place ? try_nvml(sampling) : NULL;
    if (!*place)
        mp_error_set(&error, MP_ERR_UNSUPPORTED, "CUDA does not tell the GPU's place on the bus");
    else if (!api)
        mp_error_set(&error, MP_ERR_UNSUPPORTED, "%s", sampling->nvml_reason);
    else
        opened->nvml =
            nvml_open(api, device, place, plan, *opened->reason ? opened->reason : NULL, &error);
    mp_text_copy(opened->nvml_reason, sizeof(opened->nvml_reason), error.text);
    note_unread(plan);
}

static void publish(struct sampling *sampling, struct sample_set *set)
{
    if (set)
        samples_publish(&sampling->store, set);
}

/* Opens the samplers and says what they measure. NULL when memory is out. With `only_listed` the
 * sets are all that is made. */
static struct sampling_device *sampling_device_open(struct sampling *sampling, unsigned device,
                                                    bool only_listed)
{
    struct sampling_device *opened = calloc(1, sizeof(*opened));
    struct sample_plan plan = {.requested = sampling->requested};

    if (!opened)
        return NULL;
    open_pm(sampling, opened, device, &plan, only_listed);
    open_nvml(sampling, opened, device, &plan);
    if (opened->pm)
        publish(sampling, pm_set(opened->pm));
    if (opened->nvml) {
        publish(sampling, nvml_gpm(opened->nvml));
        publish(sampling, nvml_readings(opened->nvml));
    }
    publish_rest(sampling, device, &plan, opened);
    if (!only_listed)
        say(device, opened, &plan, sampling->interval);
    return opened;
}

/* ---- Sampling ---- */

static void sampling_device_start(struct sampling *sampling, struct sampling_device *device)
{
    struct mp_error error;

    (void)sampling;
    if (device->running)
        return;
    device->running = true;
    if (device->pm && pm_start(device->pm, &error) != MP_OK && !*device->reason) {
        mp_text_copy(device->reason, sizeof(device->reason), error.text);
        mp_log_warn("device %u: counters are not sampled: %s", pm_set(device->pm)->device,
                    error.text);
    }
    if (device->nvml)
        nvml_start(device->nvml);
}

/* Hands over what has been sampled. */
static void sampling_device_drain(struct sampling *sampling, struct sampling_device *device)
{
    if (device->pm && pm_is_running(device->pm))
        pm_drain(device->pm, &sampling->store);
    if (device->nvml && device->running)
        nvml_tick(device->nvml, &sampling->store, false);
}

static void sampling_device_stop(struct sampling *sampling, struct sampling_device *device)
{
    if (!device->running)
        return;
    device->running = false;
    if (device->pm && pm_is_running(device->pm))
        pm_stop(device->pm, &sampling->store);
    if (device->nvml)
        nvml_tick(device->nvml, &sampling->store, true);
}

/* ---- The thread ---- */

#define STACK_BYTES ((size_t)1 << 20)

void sampling_open(struct sampling *sampling, struct gpu *gpu)
{
    bool query = gpu->core.config.query == MP_QUERY_SAMPLING;
    static struct mp_sample choice; /* of 4 KB: not on the stack */

    sampling->gpu = gpu;
    samples_open(&sampling->store);
    pthread_mutex_init(&sampling->lock, NULL);
    mp_monotonic_condition(&sampling->changed);
    if (!query && !*gpu->core.config.sample)
        return;
    if (!query && *gpu->core.config.metrics) {
        mp_log_warn("MINIPROF_METRICS and MINIPROF_SAMPLE need the same counters: nothing is "
                    "sampled");
        return;
    }
    mp_sample_parse(query ? "all" : gpu->core.config.sample, &choice);
    sampling->interval = 1000000000u / choice.hertz;
    sampling->requested = calloc(1, sizeof(*sampling->requested));
    if (!sampling->requested)
        return;
    requested_read(sampling->requested, choice.names);
    sampling->wanted = !query && sampling->requested->count > 0;
}

/* ---- The sampling thread ---- */

static void open_new_devices(struct sampling *sampling)
{
    uint64_t devices = atomic_load(&sampling->devices);

    for (unsigned i = 0; i < SAMPLING_DEVICES; i++)
        if ((devices >> i & 1) && !sampling->open[i])
            sampling->open[i] = sampling_device_open(sampling, i, false);
}

static void for_all(struct sampling *sampling,
                    void (*what)(struct sampling *sampling, struct sampling_device *device))
{
    for (unsigned i = 0; i < SAMPLING_DEVICES; i++)
        if (sampling->open[i])
            what(sampling, sampling->open[i]);
}

static void serve(struct sampling *sampling, bool on)
{
    if (on) {
        open_new_devices(sampling);
        for_all(sampling, sampling_device_start);
    } else {
        for_all(sampling, sampling_device_stop);
    }
}

/* Under the lock: waits for a request, or until it is time to look for samples. */
static void await_request(struct sampling *sampling)
{
    struct timespec limit = mp_monotonic_in(mp_time_limit_ns(MP_TIME_SAMPLING_DRAIN));

    if (sampling->asked != sampling->served)
        return;
    if (sampling->on)
        pthread_cond_timedwait(&sampling->changed, &sampling->lock, &limit);
    else
        pthread_cond_wait(&sampling->changed, &sampling->lock);
}

static void *sampling_main(void *argument)
{
    struct sampling *sampling = argument;
    bool over = false;

    pthread_setname_np(pthread_self(), "miniprof-sample");
    while (!over) {
        pthread_mutex_lock(&sampling->lock);
        await_request(sampling);
        uint32_t asked = sampling->asked;
        bool on = sampling->on && !sampling->over;
        over = sampling->over;
        pthread_mutex_unlock(&sampling->lock);
        if (asked != sampling->served)
            serve(sampling, on);
        else
            for_all(sampling, sampling_device_drain);
        pthread_mutex_lock(&sampling->lock);
        sampling->served = asked;
        pthread_cond_broadcast(&sampling->changed);
        pthread_mutex_unlock(&sampling->lock);
    }
    return NULL;
}

/* ---- The others ---- */

/* Under the lock. */
static bool start_thread(struct sampling *sampling)
{
    pthread_t thread;

    if (!sampling->started)
        sampling->started = thread_start(&sampling->gpu->core.threads, &thread, STACK_BYTES,
                                         sampling_main, sampling) == MP_OK;
    return sampling->started;
}

/* Under the lock: waits until request `number` is served, for a while. If that was in vain once,
 * nobody waits again until the thread answers. Not a cancellation point. */
static void await_served(struct sampling *sampling, uint32_t number)
{
    struct timespec limit = mp_monotonic_in(mp_time_limit_ns(MP_TIME_SAMPLING_SERVE));
    int before;
    int error = sampling->late;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    while ((int32_t)(sampling->served - number) < 0 && !error)
        error = pthread_cond_timedwait(&sampling->changed, &sampling->lock, &limit);
    pthread_setcancelstate(before, NULL);
    sampling->late = error != 0;
}

enum request { REQUEST_ON, REQUEST_OFF, REQUEST_AS_IT_IS, REQUEST_END };

static void request(struct sampling *sampling, enum request what)
{
    pthread_mutex_lock(&sampling->lock);
    if (what != REQUEST_AS_IT_IS)
        sampling->on = what == REQUEST_ON;
    sampling->over |= what == REQUEST_END;
    if ((sampling->on || (sampling->started && what != REQUEST_AS_IT_IS)) &&
        start_thread(sampling)) {
        uint32_t number = ++sampling->asked;

        pthread_cond_broadcast(&sampling->changed);
        await_served(sampling, number);
    }
    pthread_mutex_unlock(&sampling->lock);
    work_wake(&sampling->gpu->core.work);
}

void sampling_note_context(struct sampling *sampling, CUcontext context)
{
    uint32_t device;

    if (sampling->wanted && sampling->gpu->cupti.get_device_id &&
        sampling->gpu->cupti.get_device_id(context, &device) == CUPTI_SUCCESS &&
        device < SAMPLING_DEVICES)
        atomic_fetch_or(&sampling->devices, UINT64_C(1) << device);
}

/* Contexts that were there before CUPTI reported them. */
static void note_contexts(struct sampling *sampling)
{
    CUcontext items[MAX_CONTEXTS_HELD];
    uint32_t count = contexts_copy(&sampling->gpu->cuda.contexts, items);

    for (uint32_t i = 0; i < count; i++)
        sampling_note_context(sampling, items[i]);
}

/* NVML knows the devices by their places on the bus. The driver is asked on one of the program's
 * threads, since the sampling thread is no user of CUDA. */
static void note_places(struct sampling *sampling)
{
    struct call_log *log = call_log_mine(&sampling->gpu->core.logs);
    uint64_t devices = atomic_load(&sampling->devices);

    if (!log || !sampling->gpu->driver.get_bus_id ||
        atomic_exchange(&sampling->placed, devices) == devices)
        return;
    log->busy = true; /* calls of ours are not recorded */
    for (unsigned i = 0; i < SAMPLING_DEVICES; i++)
        if (devices >> i & 1)
            sampling->gpu->driver.get_bus_id(sampling->places[i], SAMPLING_PLACE_BYTES,
                                             (CUdevice)i);
    log->busy = false;
}

void sampling_await(struct sampling *sampling, uint32_t correlation)
{
    if (!sampling->wanted || !atomic_load(&sampling->devices))
        return;
    own_calls_note(&sampling->gpu->core.logs.own, correlation); /* not a call of the application */
    note_places(sampling);
    request(sampling, REQUEST_AS_IT_IS);
}

void sampling_switch(struct sampling *sampling, bool on)
{
    if (!sampling->wanted)
        return;
    if (on) {
        note_contexts(sampling);
        note_places(sampling);
    }
    request(sampling, on ? REQUEST_ON : REQUEST_OFF);
}

void sampling_finish(struct sampling *sampling)
{
    if (sampling->wanted)
        request(sampling, REQUEST_END);
}

void sampling_query(struct sampling *sampling)
{
    CUdevice device = 0;

    if (sampling->requested && sampling->gpu->driver.get_device &&
        sampling->gpu->driver.get_device(&device) == CUDA_SUCCESS && device >= 0 &&
        device < (CUdevice)SAMPLING_DEVICES) {
        atomic_store(&sampling->devices, UINT64_C(1) << device);
        note_places(sampling);
        sampling_device_open(sampling, (unsigned)device, true);
    }
} /* NOLINT(clang-analyzer-unix.Malloc): what is listed stays published until the end */
