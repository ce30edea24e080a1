/* kineto.c: a CUPTI client that makes the calls that torch.profiler's part for the GPU makes, in
 * its order (pytorch/kineto at 114171dfba68, libkineto/src). For the step `load`; each function is
 * a `call`.
 *
 *     kineto_subscribe   init.cpp, setupCuptiInitCallback: until August 2026 (7a3ba363c51a) Kineto
 *                        subscribed first; where that was refused it left the GPU alone for good
 *     kineto_start       CuptiTimestamp.cpp, configureCuptiTimestampSource; CuptiActivityApi.cpp,
 *                        enableCuptiActivities
 *     kineto_stop        disableCuptiActivities, activityBuffers
 *     xla_start, xla_stop  as openxla/xla's cupti_tracer.cc: subscriber in a session only, which
 * ends with cuptiFinalize kineto_teardown    teardownContext, with TEARDOWN_CUPTI=1; finalizes at
 * once here, where Kineto waits for the next call's EXIT kineto_report      prints what it got
 *
 * Kineto says "bufferCompleted called with unknown buffer" of buffers that are not its own; here
 * they are passed over without a word.
 */
#include <cupti.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 4 << 20, MAX_BUFFERS = 256 };

static struct {
    uint8_t *data;
    size_t valid;
    bool ready;
} buffers[MAX_BUFFERS];

static int allocated, kernels;
static bool cpu_only, full;
static void *cupti;

/* Found when it is needed: the program may run where libcupti is not to be found at its start. */
#define CALL(function, ...)                                                                        \
    ({                                                                                             \
        __typeof__(function) *pointer;                                                             \
                                                                                                   \
        *(void **)&pointer = dlsym(cupti, #function);                                              \
        pointer ? pointer(__VA_ARGS__) : CUPTI_ERROR_NOT_SUPPORTED;                                \
    })

static void __attribute__((constructor)) find_cupti(void)
{
    cupti = dlopen("libcupti.so", RTLD_NOW);
    if (!cupti)
        _Exit(96);
}

static void CUPTIAPI on_requested(uint8_t **buffer, size_t *size, size_t *records)
{
    *records = 0;
    *buffer = NULL;
    for (int i = 0; i < MAX_BUFFERS && !*buffer && !full; i++)
        if (!buffers[i].data) {
            *buffer = buffers[i].data = malloc(BUFFER_BYTES);
            allocated++;
        }
    *size = *buffer ? BUFFER_BYTES : 0;
}

static void CUPTIAPI on_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                  size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    for (int i = 0; i < MAX_BUFFERS; i++)
        if (buffer && buffers[i].data == buffer) {
            buffers[i].valid = valid;
            buffers[i].ready = true;
            allocated--;
        }
}

static uint64_t cycles(void)
{
    return __builtin_ia32_rdtsc();
}

static void CUPTIAPI on_callback(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *info)
{
    (void)data;
    (void)domain;
    (void)id;
    (void)info;
}

static CUpti_SubscriberHandle subscriber;

static bool subscribe(void)
{
    return CALL(cuptiSubscribe, &subscriber, (CUpti_CallbackFunc)on_callback, NULL) ==
           CUPTI_SUCCESS;
}

void kineto_subscribe(void);
void kineto_subscribe(void)
{
    cpu_only = !subscribe();
    if (!cpu_only)
        CALL(cuptiEnableCallback, 1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
             CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
}

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_MEMCPY,  CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_OVERHEAD};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

void kineto_start(void);
void kineto_start(void)
{
    uint32_t version;

    if (cpu_only)
        return;
    CALL(cuptiActivityRegisterTimestampCallback, cycles);
    CALL(cuptiGetVersion, &version);
    CALL(cuptiActivityRegisterCallbacks, on_requested, on_completed);
    for (size_t i = 0; i < KIND_COUNT; i++)
        CALL(cuptiActivityEnable, kinds[i]);
}

/* Not Kineto's: asks for the records of whatever kinds are on already. */
void kineto_listen(void);
void kineto_listen(void)
{
    CALL(cuptiActivityRegisterCallbacks, on_requested, on_completed);
}

/* From here on CUPTI gets no buffer, and drops records; it gets buffers again. */
void kineto_fill(void);
void kineto_fill(void)
{
    CALL(cuptiActivityFlushAll, 0);
    full = true;
}

void kineto_make_room(void);
void kineto_make_room(void)
{
    full = false;
}

static void count_kernels(uint8_t *data, size_t valid)
{
    CUpti_Activity *record = NULL;

    while (CALL(cuptiActivityGetNextRecord, data, valid, &record) == CUPTI_SUCCESS)
        kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
}

void kineto_stop(void);
void kineto_stop(void)
{
    uint8_t off = 0;
    size_t size = sizeof(off);

    if (cpu_only)
        return;
    for (size_t i = 0; i < KIND_COUNT; i++)
        CALL(cuptiActivityDisable, kinds[i]);
    if (allocated) {
        CALL(cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
        CALL(cuptiActivitySetAttribute, (CUpti_ActivityAttribute)9, &size, &off); /* PER_THREAD */
    }
    for (int i = 0; i < MAX_BUFFERS; i++)
        if (buffers[i].ready) {
            count_kernels(buffers[i].data, buffers[i].valid);
            free(buffers[i].data);
            memset(&buffers[i], 0, sizeof(buffers[i]));
        }
}

void kineto_teardown(void);
void kineto_teardown(void)
{
    if (!subscribe()) {
        puts("kineto: CUPTI Callback failed to init, skipping teardown");
        return;
    }
    CALL(cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    CALL(cuptiUnsubscribe, subscriber);
    CALL(cuptiFinalize);
}

void xla_start(void);
void xla_start(void)
{
    kineto_subscribe();
    kineto_start();
}

void xla_stop(void);
void xla_stop(void)
{
    kineto_stop();
    CALL(cuptiUnsubscribe, subscriber);
    CALL(cuptiFinalize);
}

void kineto_report(void);
void kineto_report(void)
{
    printf("kineto: %d kernels%s\n", kernels, cpu_only ? ", CPU only" : "");
    fflush(stdout);
}

/* What Nsight Systems' library does as far as others see it: it is there first, with a name if
 * this CUPTI knows names. */
void nsight_attach(void);
void nsight_attach(void)
{
#if CUPTI_API_VERSION >= 130000
    CUpti_SubscriberParams params = {.structSize = sizeof(params),
                                     .subscriberName = "Nsight Systems"};

    if (CALL(cuptiSubscribe_v2, &subscriber, (CUpti_CallbackFunc)on_callback, NULL, &params) ==
        CUPTI_SUCCESS) {
        kineto_start();
        return;
    }
#endif
    subscribe();
    kineto_start();
}
