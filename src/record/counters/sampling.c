/* The sampling thread, and how the others have it start and stop. */
#include "record/counters/sampling.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/settings/sample.h"
#include "base/settings/time_limits.h"
#include "record/core/clock.h"
#include "record/core/thread.h"
#include "record/counters/device.h"
#include "record/counters/wishes.h"
#include "record/cupti/gpu.h"

#include "base/poison.h"

#define STACK_BYTES ((size_t)1 << 20)

void sampling_open(struct sampling *sampling, struct gpu *gpu)
{
    bool query = gpu->core.config.query == MP_QUERY_SAMPLING;
    static struct mp_sample choice; /* of 4 KB: not on the stack */
    pthread_condattr_t attributes;

    sampling->gpu = gpu;
    samples_open(&sampling->store);
    pthread_mutex_init(&sampling->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&sampling->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (!query && !*gpu->core.config.sample)
        return;
    if (!query && *gpu->core.config.metrics) {
        mp_log_warn("MINIPROF_METRICS and MINIPROF_SAMPLE need the same counters: nothing is "
                    "sampled");
        return;
    }
    mp_sample_parse(query ? "all" : gpu->core.config.sample, &choice);
    sampling->interval = 1000000000u / choice.hertz;
    sampling->wishes = calloc(1, sizeof(*sampling->wishes));
    if (!sampling->wishes)
        return;
    wishes_read(sampling->wishes, choice.names);
    sampling->wanted = !query && sampling->wishes->count > 0;
}

/* ---- The sampling thread ---- */

static void open_new_devices(struct sampling *sampling)
{
    uint64_t devices = atomic_load(&sampling->devices);
    unsigned i;

    for (i = 0; i < SAMPLING_DEVICES; i++)
        if ((devices >> i & 1) && !sampling->open[i])
            sampling->open[i] = sampling_device_open(sampling, i, false);
}

static void for_all(struct sampling *sampling,
                    void (*what)(struct sampling *sampling, struct sampling_device *device))
{
    unsigned i;

    for (i = 0; i < SAMPLING_DEVICES; i++)
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
        uint32_t asked;
        bool on;

        pthread_mutex_lock(&sampling->lock);
        await_request(sampling);
        asked = sampling->asked;
        on = sampling->on && !sampling->over;
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

/* Contexts that were there before CUPTI told of them. */
static void note_contexts(struct sampling *sampling)
{
    struct context_list *contexts = &sampling->gpu->cuda.contexts;
    CUcontext items[MAX_CONTEXTS_HELD];
    uint32_t count, i;

    pthread_mutex_lock(&contexts->lock);
    count = contexts->count;
    memcpy(items, contexts->items, sizeof(items));
    pthread_mutex_unlock(&contexts->lock);
    for (i = 0; i < count; i++)
        sampling_note_context(sampling, items[i]);
}

/* NVML knows the devices by their places on the bus. The driver is asked on one of the program's
 * threads, since the sampling thread is no user of CUDA. */
static void note_places(struct sampling *sampling)
{
    struct call_log *log = call_log_mine(&sampling->gpu->core.logs);
    uint64_t devices = atomic_load(&sampling->devices);
    unsigned i;

    if (!log || !sampling->gpu->driver.get_bus_id ||
        atomic_exchange(&sampling->placed, devices) == devices)
        return;
    log->busy = true; /* calls of ours are not recorded */
    for (i = 0; i < SAMPLING_DEVICES; i++)
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

    if (sampling->wishes && sampling->gpu->driver.get_device &&
        sampling->gpu->driver.get_device(&device) == CUDA_SUCCESS && device >= 0 &&
        device < (CUdevice)SAMPLING_DEVICES) {
        atomic_store(&sampling->devices, UINT64_C(1) << device);
        note_places(sampling);
        sampling_device_open(sampling, (unsigned)device, true);
    }
}
