/* CUPTI by itself: an injected library that switches on the kinds and calls that miniprof switches
 * on by default, and throws the buffers away unread. What a program pays with it is the price that
 * any tool has to pay which wants these records.
 *
 * COST_CUPTI=kinds       activity kinds and API records (default)
 *            callbacks   and an empty callback on the driver functions that miniprof watches
 *            markers     and NVTX ranges, which CUPTI takes in itself
 *            shared      as kinds, with buffers in shared memory: what the process has of private
 *                        memory is CUPTI's own then
 *            initialised subscribed, nothing enabled
 *
 * COST_KINDS=all         which kinds that are (default)
 *            gpu         all but API records
 *            peer        these and copies between devices (src/record/cupti/quirks.def,
 * peer_copies) kernel      kernels alone api         API records alone functions   as all, with API
 * records of every function (CUPTI_ACTIVITY_KIND_DRIVER and _RUNTIME) instead of those that
 * miniprof has recorded
 *
 * COST_SUBSCRIBED=0: without cuptiSubscribe, of which activities have no need; 1 (default): with
 * it.
 *
 * COST_FLUSH_MS=n: a thread named bare-flush flushes every n ms; 0 (default): never.
 *
 * COST_FORCED=1: it does so with CUPTI_ACTIVITY_FLAG_FLUSH_FORCED.
 *
 * COST_FORCED_AT_MS=n: it does so once with that flag, after n ms; 0 (default): never.
 *
 * COST_NO_BUFFER_AT_MS=n: the first request for a buffer after n ms gets none; 0 (default): all get
 * one while there is one.
 *
 * COST_RENEW_MS=n: the same thread disables and enables kernels every n ms; 0 (default): never.
 * Before CUDA 13.0 Update 1 that may hang (docs/cupti.md).
 *
 * COST_CLOCK_MS=n: CUPTI gets miniprof's clock, and again every n ms right after a flush; 0
 * (default): it uses its own.
 *
 * COST_POOL_LIMIT=n: CUPTI's buffers on the GPU at most; 0 (default): CUPTI's own limit.
 *
 * COST_PER_THREAD=0: all threads share CUPTI's buffers; 1 (default): one for each.
 *
 * COST_LIBCUPTI=FILE: this libcupti, where none is loaded.
 *
 * What is refused has a line on stderr that begins with "bare CUPTI:".
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/settings/config.h"
#include "base/text/strings.h"
#include "record/core/clock.h"
#include "record/cupti/api_set.h"
#include "record/cupti/cupti_api.h"

#define BUFFER_BYTES ((size_t)1 << 20)
#define BUFFERS      64u
#define MAX_MS       3600000u
#define NS_A_MS      INT64_C(1000000)
#define NS_A_SECOND  INT64_C(1000000000)

/* Read before the thread starts. */
static struct {
    uint64_t flush_ms, forced, forced_at_ms, no_buffer_at_ms, renew_ms, clock_ms, pool_limit,
        per_thread, subscribed;
    const char *what, *kinds;
} settings;

static int64_t started_ns;
static atomic_bool refuses; /* the next request */
static pthread_t flusher;
static sem_t flusher_stop;
static struct cupti_api cupti;
static struct driver_api driver;
static struct api_set api;
static uint8_t *free_buffers[BUFFERS];
static uint32_t free_count;
static atomic_flag lock = ATOMIC_FLAG_INIT;

static void say(const char *what, const char *why)
{
    fprintf(stderr, "bare CUPTI: %s: %s\n", what, why);
}

static void check(CUptiResult result, const char *what)
{
    if (result != CUPTI_SUCCESS)
        say(what, cupti_result_text(&cupti, result));
}

static int64_t now_ns(void)
{
    return (int64_t)mp_monotonic_ns();
}

/* Whether `ms` after the start are over; never if they are 0. */
static bool is_over(uint64_t ms)
{
    return ms && now_ns() - started_ns >= (int64_t)ms * NS_A_MS;
}

static bool is_refused(void)
{
    return atomic_load_explicit(&refuses, memory_order_relaxed) &&
           is_over(settings.no_buffer_at_ms) && atomic_exchange(&refuses, false);
}

static void CUPTIAPI request(uint8_t **buffer, size_t *bytes, size_t *records)
{
    while (atomic_flag_test_and_set(&lock))
        ;
    *buffer = free_count && !is_refused() ? free_buffers[--free_count] : NULL;
    atomic_flag_clear(&lock);
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *records = 0;
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
                              size_t valid_bytes)
{
    (void)context;
    (void)stream;
    (void)bytes;
    (void)valid_bytes;
    while (atomic_flag_test_and_set(&lock))
        ;
    if (buffer && free_count < BUFFERS)
        free_buffers[free_count++] = buffer;
    atomic_flag_clear(&lock);
}

static void CUPTIAPI called_back(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data)
{
    (void)user;
    (void)domain;
    (void)id;
    (void)data;
}

static void set_attribute(int attribute, uint8_t on)
{
    size_t size = sizeof(on);

    cupti.set_attribute((CUpti_ActivityAttribute)attribute, &size, &on);
}

static void limit_pool(void)
{
    size_t limit = settings.pool_limit;
    size_t size = sizeof(limit);

    if (limit)
        check(cupti.set_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &size, &limit),
              "COST_POOL_LIMIT");
}

static void prepare(bool shared)
{
    size_t bytes = BUFFERS * BUFFER_BYTES;
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                           MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);

    if (memory == MAP_FAILED)
        return;
    memset(memory, 0, bytes);
    for (; free_count < BUFFERS; free_count++)
        free_buffers[free_count] = memory + free_count * BUFFER_BYTES;
    set_attribute(5, 1); /* zeroed buffers: as miniprof, so that CUPTI does not clear them */
    set_attribute(9, (uint8_t)settings.per_thread); /* a buffer a thread */
    cupti.register_callbacks(request, complete);
}

static bool is_kinds(const char *name)
{
    return strcmp(settings.kinds, name) == 0;
}

static void enable_kinds(void)
{
    static const CUpti_ActivityKind kinds[] = {
        CUPTI_ACTIVITY_KIND_DEVICE,      CUPTI_ACTIVITY_KIND_CONTEXT,
        CUPTI_ACTIVITY_KIND_STREAM,      CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        CUPTI_ACTIVITY_KIND_MEMCPY,      CUPTI_ACTIVITY_KIND_MEMSET,
        CUPTI_ACTIVITY_KIND_OVERHEAD,    CUPTI_ACTIVITY_KIND_MEMORY2,
        CUPTI_ACTIVITY_KIND_MEMORY_POOL,
    };
    bool every = is_kinds("functions");
    bool all = every || is_kinds("all");
    bool gpu = all || is_kinds("gpu") || is_kinds("peer");
    size_t count = gpu ? sizeof(kinds) / sizeof(kinds[0]) : 0;
    size_t i;

    for (i = 0; i < count; i++)
        cupti.enable(kinds[i]);
    if (is_kinds("peer"))
        check(cupti.enable(CUPTI_ACTIVITY_KIND_MEMCPY2), "copies between devices");
    if (is_kinds("kernel"))
        check(cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "kernels");
    if (every) {
        check(cupti.enable(CUPTI_ACTIVITY_KIND_DRIVER), "driver functions");
        check(cupti.enable(CUPTI_ACTIVITY_KIND_RUNTIME), "runtime functions");
    } else if (all || is_kinds("api"))
        check(api_set_enable(&api, &cupti, true), "API records");
}

static void enable_callbacks(CUpti_SubscriberHandle subscriber)
{
    uint32_t cbid;

    for (cbid = 1; cbid < API_CBIDS; cbid++)
        if (api_set_watch(&api, cbid))
            cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, cbid);
}

/* CUPTI takes NVTX in where NVTX is told to load it; it asks at its first call, which comes later.
 */
static void enable_markers(void)
{
    Dl_info found;

    if (dladdr((void *)(uintptr_t)cupti.enable, &found) != 0)
        setenv("NVTX_INJECTION64_PATH", found.dli_fname, 1);
    cupti.enable(CUPTI_ACTIVITY_KIND_MARKER);
}

/* ---- The thread that flushes ---- */

/* False when the process ends. */
static bool wait_until(int64_t when)
{
    struct timespec until = {.tv_sec = when / NS_A_SECOND, .tv_nsec = when % NS_A_SECOND};
    int status;

    do
        status = sem_clockwait(&flusher_stop, CLOCK_MONOTONIC, &until);
    while (status != 0 && errno == EINTR);
    return status != 0;
}

static void renew(void)
{
    check(cupti.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "kernels off");
    check(cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "kernels on");
}

/* The next time after `due`, which has been; what was late is not made up for. */
static int64_t next(int64_t due, uint64_t every_ms)
{
    int64_t now = now_ns();

    due += (int64_t)every_ms * NS_A_MS;
    return due > now ? due : now;
}

static void flush_cupti(void)
{
    static bool was_forced;
    bool once = !was_forced && is_over(settings.forced_at_ms);

    was_forced |= once;
    cupti.flush_all(settings.forced || once ? (uint32_t)CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

static void give_clock(void)
{
    check(cupti.register_clock(mp_clock_now), "clock");
}

static void flush_and_give_clock(void)
{
    cupti.flush_all(0);
    give_clock();
}

static void *flusher_main(void *unused)
{
    struct {
        uint64_t every_ms; /* 0: never */
        void (*act)(void);
        int64_t due;
    } tasks[] = {{settings.flush_ms, flush_cupti, INT64_MAX},
                 {settings.renew_ms, renew, INT64_MAX},
                 {settings.clock_ms, flush_and_give_clock, INT64_MAX}};
    const size_t count = sizeof(tasks) / sizeof(tasks[0]);
    int64_t first = 0;
    size_t i;

    (void)unused;
    pthread_setname_np(pthread_self(), "bare-flush");
    for (i = 0; i < count; i++)
        if (tasks[i].every_ms)
            tasks[i].due = next(now_ns(), tasks[i].every_ms);
    do {
        for (i = 0; i < count; i++) {
            if (now_ns() >= tasks[i].due) {
                tasks[i].act();
                tasks[i].due = next(tasks[i].due, tasks[i].every_ms);
            }
            if (i == 0 || tasks[i].due < first)
                first = tasks[i].due;
        }
    } while (wait_until(first));
    return NULL;
}

/* CUPTI must not be called beside its own end. */
static void stop_flusher(void)
{
    sem_post(&flusher_stop);
    pthread_join(flusher, NULL);
}

static void start_flusher(void)
{
    if (!settings.flush_ms && !settings.renew_ms && !settings.clock_ms)
        return;
    sem_init(&flusher_stop, 0, 0);
    if (pthread_create(&flusher, NULL, flusher_main, NULL) != 0 || atexit(stop_flusher) != 0)
        say("bare-flush", "cannot start a thread");
}

/* ---- Start ---- */

static uint64_t number(const char *name, uint64_t max, uint64_t otherwise)
{
    const char *text = getenv(name);
    uint64_t value = otherwise;

    if (text && *text && !mp_text_to_u64(text, 0, max, &value))
        say(name, "not a number in its range");
    return value;
}

static const char *text_or(const char *name, const char *otherwise)
{
    const char *text = getenv(name);

    return text && *text ? text : otherwise;
}

static void read_settings(void)
{
    settings.what = text_or("COST_CUPTI", "kinds");
    settings.kinds = text_or("COST_KINDS", "all");
    settings.flush_ms = number("COST_FLUSH_MS", MAX_MS, 0);
    settings.renew_ms = number("COST_RENEW_MS", MAX_MS, 0);
    settings.clock_ms = number("COST_CLOCK_MS", MAX_MS, 0);
    settings.forced_at_ms = number("COST_FORCED_AT_MS", MAX_MS, 0);
    settings.no_buffer_at_ms = number("COST_NO_BUFFER_AT_MS", MAX_MS, 0);
    settings.forced = number("COST_FORCED", 1, 0);
    settings.per_thread = number("COST_PER_THREAD", 1, 1);
    settings.subscribed = number("COST_SUBSCRIBED", 1, 1);
    settings.pool_limit = number("COST_POOL_LIMIT", 1u << 20, 0);
    if (!is_kinds("all") && !is_kinds("gpu") && !is_kinds("peer") && !is_kinds("kernel") &&
        !is_kinds("api") && !is_kinds("functions"))
        say("COST_KINDS", "none of all, gpu, peer, kernel, api, functions");
}

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
    CUpti_SubscriberHandle subscriber = NULL;
    struct mp_config config;
    struct mp_error error;

    mp_config_init(&config);
    read_settings();
    started_ns = now_ns();
    atomic_store(&refuses, settings.no_buffer_at_ms != 0);
    driver_api_load(&driver);
    if (cupti_api_load(&cupti, &driver, text_or("COST_LIBCUPTI", ""), &error) != MP_OK) {
        say("no libcupti", error.text);
        return 0;
    }
    if (settings.subscribed && cupti.subscribe(&subscriber, called_back, NULL) != CUPTI_SUCCESS) {
        say("cuptiSubscribe", "refused");
        return 0;
    }
    limit_pool();
    if (strcmp(settings.what, "initialised") == 0)
        return 1;
    prepare(strcmp(settings.what, "shared") == 0);
    if (settings.clock_ms)
        give_clock();
    api_set_resolve(&api, &cupti, &config);
    enable_kinds();
    if (strcmp(settings.what, "callbacks") == 0)
        enable_callbacks(subscriber);
    if (strcmp(settings.what, "markers") == 0)
        enable_markers();
    start_flusher();
    return 1;
}
