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
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/config.h"
#include "record/api_set.h"
#include "record/cupti_api.h"

#define BUFFER_BYTES ((size_t)1 << 20)
#define BUFFERS      64u

static struct cupti_api cupti;
static struct driver_api driver;
static struct api_set api;
static uint8_t *free_buffers[BUFFERS];
static uint32_t free_count;
static atomic_flag lock = ATOMIC_FLAG_INIT;

static void CUPTIAPI request(uint8_t **buffer, size_t *bytes, size_t *records)
{
    while (atomic_flag_test_and_set(&lock))
        ;
    *buffer = free_count ? free_buffers[--free_count] : NULL;
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

static void set_attribute(int attribute)
{
    uint8_t on = 1;
    size_t size = sizeof(on);

    cupti.set_attribute((CUpti_ActivityAttribute)attribute, &size, &on);
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
    set_attribute(5); /* zeroed buffers: as miniprof, so that CUPTI does not clear them */
    set_attribute(9); /* a buffer a thread */
    cupti.register_callbacks(request, complete);
}

static void enable_kinds(void)
{
    static const CUpti_ActivityKind kinds[] = {
        CUPTI_ACTIVITY_KIND_DEVICE,  CUPTI_ACTIVITY_KIND_CONTEXT,
        CUPTI_ACTIVITY_KIND_STREAM,  CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        CUPTI_ACTIVITY_KIND_MEMCPY,  CUPTI_ACTIVITY_KIND_MEMCPY2,
        CUPTI_ACTIVITY_KIND_MEMSET,  CUPTI_ACTIVITY_KIND_OVERHEAD,
        CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY_POOL,
    };
    size_t i;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        cupti.enable(kinds[i]);
    api_set_enable(&api, &cupti, true);
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

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
    const char *what = getenv("COST_CUPTI");
    CUpti_SubscriberHandle subscriber;
    struct mp_config config;
    struct mp_error error;

    mp_config_init(&config);
    driver_api_load(&driver);
    if (cupti_api_load(&cupti, &driver, "", &error) != MP_OK ||
        cupti.subscribe(&subscriber, called_back, NULL) != CUPTI_SUCCESS)
        return 0;
    if (!what)
        what = "kinds";
    if (strcmp(what, "initialised") == 0)
        return 1;
    prepare(strcmp(what, "shared") == 0);
    api_set_resolve(&api, &cupti, &config);
    enable_kinds();
    if (strcmp(what, "callbacks") == 0)
        enable_callbacks(subscriber);
    if (strcmp(what, "markers") == 0)
        enable_markers();
    return 1;
}
