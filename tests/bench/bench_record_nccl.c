/* What NCCL's calls cost the thread that makes them: an NVTX push with an extended payload and its
 * pop, and the calls of the profiler plugin.
 *
 *     bench_record_nccl [ROUNDS]
 *
 * The median of the rounds is printed, and the least. The drain runs between the rounds.
 */
#include "record/nccl/plugin.h"
#include "record/nvtx/nvtx.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/poison.h"

#define TIMES      2000
#define MAX_ROUNDS 1000
#define PER_CALL   7 /* calls of the plugin for one collective */

extern const struct nccl_profiler_v5 ncclProfiler_v5;

struct reduce {
    uint64_t comm;
    size_t bytes;
    int op;
};

static unsigned rounds = 101;
static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t attributes;
static struct reduce data = {0x1122334455667788u, 1 << 20, 0};
static nvtxPayloadData_t payload = {0, sizeof(data), &data};
static void *context;

static int initialize_nvtx(NvtxGetExportTableFunc_t get_table)
{
    return mp_nvtx_initialize(2, (void *)get_table);
}

static int initialize_extension(nvtxExtModuleInfo_t *info)
{
    return mp_nvtx_initialize_extension(info);
}

static void take_event(void *sum, const struct mp_nvtx_event *event)
{
    *(uint64_t *)sum += event->time;
}

static void take_name(void *unused, uint32_t tid, const char *name)
{
    (void)unused, (void)tid, (void)name;
}

static void drain(void)
{
    uint64_t sum = 0;
    const struct mp_nvtx_sink sink = {&sum, take_event, take_name, NULL, false};

    mp_nvtx_drain(&sink);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void plain_ranges(void)
{
    attributes.payloadType = 0;
    for (int i = 0; i < TIMES; i++) {
        nvtxDomainRangePushEx(domain, &attributes);
        nvtxDomainRangePop(domain);
    }
}

static void payload_ranges(void)
{
    attributes.payloadType = (int32_t)0xDFBD0009;
    for (int i = 0; i < TIMES; i++) {
        nvtxDomainRangePushEx(domain, &attributes);
        nvtxDomainRangePop(domain);
    }
}

static void *start(uint64_t type, void *parent)
{
    struct nccl_event event = {.type.wide = type, .parent = parent};
    void *handle;

    if (type == NCCL_EVENT_COLL_API) {
        event.of.coll_api.function = "AllReduce";
        event.of.coll_api.datatype = "ncclBfloat16";
    } else if (type == NCCL_EVENT_COLL) {
        event.of.coll.function = "AllReduce";
        event.of.coll.datatype = "ncclBfloat16";
        event.of.coll.algorithm = "RING";
        event.of.coll.protocol = "SIMPLE";
    }
    ncclProfiler_v5.start(context, &handle, &event);
    return handle;
}

/* As NCCL calls for one AllReduce. */
static void plugin_calls(void)
{
    for (int i = 0; i < TIMES; i++) {
        void *group = start(NCCL_EVENT_GROUP_API, NULL);
        void *call = start(NCCL_EVENT_COLL_API, group);
        void *launch;

        ncclProfiler_v5.stop(call);
        launch = start(NCCL_EVENT_KERNEL_LAUNCH, group);
        ncclProfiler_v5.stop(launch);
        start(NCCL_EVENT_COLL, call);
        ncclProfiler_v5.stop(group);
    }
}

static int compare(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static void measure(const char *what, void (*calls)(void), double per)
{
    static double results[MAX_ROUNDS];

    calls();
    for (unsigned i = 0; i < rounds; i++) {
        drain();
        const double begin = now();
        calls();
        results[i] = (now() - begin) / (TIMES * per);
    }
    qsort(results, rounds, sizeof(results[0]), compare);
    printf("%-52s %6.1f %6.1f\n", what, results[rounds / 2], results[0]);
    fflush(stdout);
}

/* Until the writer knows the rate of the time stamp counter, threads read the clock. */
static void learn_rate(void)
{
    const struct timespec pause = {.tv_nsec = 100000000};

    drain();
    nanosleep(&pause, NULL);
    drain();
}

static void prepare(void)
{
    const nvtxPayloadSchemaEntry_t entries[] = {
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = "NCCL communicator ID"},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_SIZE, .name = "Message size [bytes]", .offset = 8},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT, .name = "Root", .offset = 16}};
    const nvtxPayloadSchemaAttr_t schema = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                                                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES,
                                            .entries = entries,
                                            .numEntries = 3};
    int mask;

    domain = nvtxDomainCreateA("NCCL");
    payload.schemaId = nvtxPayloadSchemaRegister(domain, &schema);
    attributes = (nvtxEventAttributes_t){.version = NVTX_VERSION,
                                         .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                         .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
    attributes.message.registered = nvtxDomainRegisterStringA(domain, "ncclAllReduce");
    attributes.payload.ullValue = (uint64_t)(uintptr_t)&payload;
    attributes.reserved0 = 1;
    ncclProfiler_v5.init(&context, data.comm, &mask, "world", 1, 8, 0, NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = (unsigned)strtoul(argv[1], NULL, 10);
    if (rounds < 1 || rounds > MAX_ROUNDS)
        return 2;
    unsetenv("NVTX_INJECTION64_PATH");
    InitializeInjectionNvtx2_fnptr = initialize_nvtx;
    InitializeInjectionNvtxExtension_fnptr = initialize_extension;
    prepare();
    printf("%-52s %6s %6s\n", "ns", "median", "least");
    measure("off: push with payload + pop", payload_ranges, 1);
    measure("off: a call of the plugin", plugin_calls, PER_CALL);
    mp_nvtx_set_recording(true);
    learn_rate();
    measure("recording: push without payload + pop", plain_ranges, 1);
    measure("recording: push with payload + pop", payload_ranges, 1);
    measure("recording: a call of the plugin", plugin_calls, PER_CALL);
    measure("recording: the plugin's calls for one collective", plugin_calls, 1);
    if (mp_nvtx_dropped())
        printf("%llu dropped\n", (unsigned long long)mp_nvtx_dropped());
    return 0;
}
