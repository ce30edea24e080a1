/* A program that calls what NCCL calls: NVTX with payloads, and a profiler plugin.
 *
 *     collectives NVTX PLUGIN [late|COUNT]
 *         NVTX    none; names; old: payloads as NCCL 2.18 has them, without a communicator; new: as
 *                 2.25 has them
 *         PLUGIN  0: none; 4, 5, 6: the version of NCCL_PROFILER_PLUGIN that is used. It is opened
 *                 with dlopen and closed at the end
 *         late    cudaProfilerStart comes behind the communicator, and the plugin's finalize behind
 *                 the end of the recording
 *         COUNT   of single AllReduce, instead of 3
 *
 * It makes a communicator of 4 ranks and is rank 1. Then come 3 single AllReduce of 4,096 floats, a
 * group of AllReduce (8 KiB) and AllGather (1 KiB) in one kernel, a group of Send and Recv with
 * rank 2, and an AllReduce that is captured into a graph, which is launched twice.
 */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cudaProfiler.h>

#include "common.h"

#define HASH   0x1122334455667788ull
#define PEER   2
#define STATIC (1u << 24)

enum { SUM = 0, OPS = STATIC + 24 };
enum { COLL = 2, P2P = 4, GROUP_API = 256, COLL_API = 512, P2P_API = 1024, LAUNCH = 2048 };

static const char ptx[] = ".version 6.0\n"
                          ".target sm_50\n"
                          ".address_size 64\n"
                          ".visible .entry ncclDevKernel_AllReduce_Sum_f32_RING_LL()\n{\n"
                          "    ret;\n}\n";

static bool ranges, payloads, with_comm;
static nvtxDomainHandle_t domain;
static CUstream stream;
static CUfunction kernel;

/* ---- The plugin ---- */

struct event {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct {
            bool captured;
            int depth;
        } group;
        struct {
            const char *function;
            size_t count;
            const char *type;
            int root;
            void *stream;
            bool captured;
        } coll_api;
        struct {
            const char *function;
            size_t count;
            const char *type;
            void *stream;
            bool captured;
        } p2p_api;
        struct {
            uint64_t sequence;
            const char *function;
            const void *from;
            void *to;
            size_t count;
            int root;
            const char *type;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
        } coll;
        struct {
            const char *function;
            void *buffer;
            const char *type;
            size_t count;
            int peer;
            uint8_t channels;
        } p2p;
    } of;
};

struct plugin {
    const char *name;
    void *init;
    int (*start)(void *context, void **handle, struct event *event);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, void *arguments);
    int (*finalize)(void *context);
};

static const struct plugin *plugin;
static void *library, *context;
static int version, mask;

static void open_plugin(void)
{
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    char symbol[32];
    int failed;

    library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", version);
    plugin = library ? dlsym(library, symbol) : NULL;
    if (!plugin) {
        puts("no plugin");
        return;
    }
    if (version == 4)
        failed = ((int (*)(void **, int *, const char *, uint64_t, int, int, int,
                           void *))plugin->init)(&context, &mask, "world", HASH, 1, 4, 1, NULL);
    else
        failed = ((int (*)(void **, uint64_t, int *, const char *, int, int, int,
                           void *))plugin->init)(&context, HASH, &mask, "world", 1, 4, 1, NULL);
    printf("plugin %s, mask %d, failed %d\n", plugin->name, mask, failed);
}

/* Version 4 has no events of calls and launches. */
static void *start(struct event event)
{
    void *handle = NULL;

    if (plugin && (mask & (int)event.type) && (version > 4 || event.type <= P2P))
        plugin->start(context, &handle, &event);
    return handle;
}

static void stop(void *handle)
{
    if (handle)
        plugin->stop(handle);
}

/* ---- NVTX ---- */

struct old_reduce {
    size_t bytes;
    int op;
};
struct new_reduce {
    uint64_t comm;
    size_t bytes;
    int op;
};
struct old_peer {
    size_t bytes;
    int peer;
};
struct new_peer {
    uint64_t comm;
    size_t bytes;
    int peer;
};
struct new_plain {
    uint64_t comm;
    size_t bytes;
};
struct init {
    uint64_t comm;
    int ranks, rank, device;
};

enum { ALL_GATHER = 4, ALL_REDUCE = 5, SEND = 9, INIT = 0 };

#define TYPE_INT  NVTX_PAYLOAD_ENTRY_TYPE_INT
#define TYPE_SIZE NVTX_PAYLOAD_ENTRY_TYPE_SIZE
#define TYPE_U64  NVTX_PAYLOAD_ENTRY_TYPE_UINT64

static void register_schema(uint64_t id, const nvtxPayloadSchemaEntry_t *entries, size_t count,
                            size_t size)
{
    const nvtxPayloadSchemaAttr_t schema = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = count,
        .payloadStaticSize = size,
        .schemaId = STATIC + id,
    };

    nvtxPayloadSchemaRegister(domain, &schema);
}

#define ENTRY(type_, name_, offset_)                                                               \
    {                                                                                              \
        .type = (type_), .name = (name_), .offset = (offset_)                                      \
    }

static void register_schemas(void)
{
    static const nvtxPayloadEnum_t names[] = {{"Sum", SUM, 0}, {"Product", 1, 0}, {"Max", 2, 0}};
    const nvtxPayloadEnumAttr_t operations = {
        .fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID,
        .entries = names,
        .numEntries = 3,
        .sizeOfEnum = sizeof(int),
        .schemaId = OPS,
    };
    const nvtxPayloadSchemaEntry_t comm = ENTRY(TYPE_U64, "NCCL communicator ID", 0);
    const nvtxPayloadSchemaEntry_t bytes = ENTRY(TYPE_SIZE, "Message size [bytes]", 0);
    const nvtxPayloadSchemaEntry_t next = ENTRY(TYPE_SIZE, "Message size [bytes]", 8);
    const nvtxPayloadSchemaEntry_t old_reduce[] = {bytes, ENTRY(OPS, "Reduction operation", 8)};
    const nvtxPayloadSchemaEntry_t old_peer[] = {bytes, ENTRY(TYPE_INT, "Peer rank", 8)};
    const nvtxPayloadSchemaEntry_t new_reduce[] = {comm, next,
                                                   ENTRY(OPS, "Reduction operation", 16)};
    const nvtxPayloadSchemaEntry_t new_peer[] = {comm, next, ENTRY(TYPE_INT, "Peer rank", 16)};
    const nvtxPayloadSchemaEntry_t init[] = {comm, ENTRY(TYPE_INT, "No. of ranks", 8),
                                             ENTRY(TYPE_INT, "Rank", 12),
                                             ENTRY(TYPE_INT, "CUDA device", 16)};

    nvtxPayloadEnumRegister(domain, &operations);
    if (with_comm) {
        register_schema(ALL_REDUCE, new_reduce, 3, sizeof(struct new_reduce));
        register_schema(ALL_GATHER, new_reduce, 2, sizeof(struct new_plain));
        register_schema(SEND, new_peer, 3, sizeof(struct new_peer));
        register_schema(INIT, init, 4, sizeof(struct init));
    } else {
        register_schema(ALL_REDUCE, old_reduce, 2, sizeof(struct old_reduce));
        register_schema(ALL_GATHER, old_reduce, 1, sizeof(size_t));
        register_schema(SEND, old_peer, 2, sizeof(struct old_peer));
    }
}

static void push_data(const char *name, uint64_t schema, const void *data, size_t size)
{
    nvtxPayloadData_t payload = {STATIC + schema, size, data};
    nvtxEventAttributes_t attributes = {
        .version = NVTX_VERSION,
        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
        .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
        .message.registered = ranges ? nvtxDomainRegisterStringA(domain, name) : NULL,
    };

    if (!ranges)
        return;
    if (payloads && size) {
        attributes.payloadType = (int32_t)0xDFBD0009;
        attributes.reserved0 = 1;
        attributes.payload.ullValue = (uint64_t)(uintptr_t)&payload;
    }
    nvtxDomainRangePushEx(domain, &attributes);
}

static void pop(void)
{
    if (ranges)
        nvtxDomainRangePop(domain);
}

static void push_plain(const char *name)
{
    push_data(name, 0, NULL, 0);
}

static void push_reduce(const char *name, uint64_t schema, size_t bytes)
{
    const struct new_reduce data = {HASH, bytes, SUM};
    const size_t size = schema == ALL_GATHER ? sizeof(struct new_plain) : sizeof(data);

    if (with_comm)
        push_data(name, schema, &data, size);
    else
        push_data(name, schema, &data.bytes, size - sizeof(data.comm));
}

static void push_peer(const char *name, size_t bytes)
{
    const struct new_peer data = {HASH, bytes, PEER};

    if (with_comm)
        push_data(name, SEND, &data, sizeof(data));
    else
        push_data(name, SEND, &data.bytes, sizeof(struct old_peer));
}

/* The range's payload comes with its pop. */
static void make_comm(void)
{
    const struct init data = {HASH, 4, 1, 0};
    const nvtxPayloadData_t payload = {STATIC + INIT, sizeof(data), &data};

    push_plain("ncclCommInitRank");
    if (ranges && with_comm)
        nvtxRangePopPayload(domain, &payload, 1);
    else
        pop();
}

/* ---- The operations ---- */

static void *group_begin(bool captured)
{
    return start((struct event){.type = GROUP_API, .of.group = {captured, 1}});
}

static void launch(void *group)
{
    CUlaunchConfig config = {.gridDimX = 2,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = stream};
    void *handle = start((struct event){.type = LAUNCH, .parent = group});

    CU_CHECK(cuLaunchKernelEx(&config, kernel, NULL, NULL));
    stop(handle);
}

static void *call(const char *function, size_t count, void *group, bool captured)
{
    struct event event = {.type = COLL_API, .parent = group, .rank = 1};
    void *handle;

    event.of.coll_api.function = function;
    event.of.coll_api.count = count;
    event.of.coll_api.type = "ncclFloat32";
    event.of.coll_api.captured = captured;
    handle = start(event);
    stop(handle);
    return handle;
}

static void *call_p2p(const char *function, size_t count, void *group)
{
    struct event event = {.type = P2P_API, .parent = group, .rank = 1};
    void *handle;

    event.of.p2p_api.function = function;
    event.of.p2p_api.count = count;
    event.of.p2p_api.type = "ncclFloat32";
    handle = start(event);
    stop(handle);
    return handle;
}

static void carry(const char *function, size_t count, void *api)
{
    static uint64_t reduces, gathers;
    struct event event = {.type = COLL, .parent = version == 4 ? NULL : api, .rank = 1};

    event.of.coll.sequence = strcmp(function, "AllReduce") == 0 ? reduces++ : gathers++;
    event.of.coll.function = function;
    event.of.coll.count = count;
    event.of.coll.type = "ncclFloat32";
    event.of.coll.channels = 2;
    event.of.coll.algorithm = "RING";
    event.of.coll.protocol = "LL";
    stop(start(event));
}

static void carry_p2p(const char *function, size_t count, void *api)
{
    struct event event = {.type = P2P, .parent = version == 4 ? NULL : api, .rank = 1};

    event.of.p2p.function = function;
    event.of.p2p.count = count;
    event.of.p2p.type = "ncclFloat32";
    event.of.p2p.peer = PEER;
    event.of.p2p.channels = 1;
    stop(start(event));
}

static void all_reduce(size_t count, bool captured)
{
    void *group, *api;

    push_reduce("ncclAllReduce", ALL_REDUCE, count * sizeof(float));
    group = group_begin(captured);
    api = call("AllReduce", count, group, captured);
    launch(group);
    if (!captured)
        carry("AllReduce", count, api);
    stop(group);
    pop();
}

static void empty_range(const char *name)
{
    push_plain(name);
    pop();
}

/* NCCL carries the smaller one first. */
static void group_of_collectives(void)
{
    void *group, *reduce, *gather;

    empty_range("ncclGroupStart");
    push_reduce("ncclAllReduce", ALL_REDUCE, 8192);
    group = group_begin(false);
    reduce = call("AllReduce", 2048, group, false);
    pop();
    push_reduce("ncclAllGather", ALL_GATHER, 1024);
    gather = call("AllGather", 256, group, false);
    pop();
    push_plain("ncclGroupEnd");
    launch(group);
    carry("AllGather", 256, gather);
    carry("AllReduce", 2048, reduce);
    stop(group);
    pop();
}

static void group_of_peers(void)
{
    void *group, *send, *receive;

    empty_range("ncclGroupStart");
    push_peer("ncclSend", 4096);
    group = group_begin(false);
    send = call_p2p("Send", 1024, group);
    pop();
    push_peer("ncclRecv", 4096);
    receive = call_p2p("Recv", 1024, group);
    pop();
    push_plain("ncclGroupEnd");
    launch(group);
    carry_p2p("Send", 1024, send);
    carry_p2p("Recv", 1024, receive);
    stop(group);
    pop();
}

static void captured(void)
{
    CUgraph graph;
    CUgraphExec exec;

    CU_CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    all_reduce(16, true);
    CU_CHECK(cuStreamEndCapture(stream, &graph));
    CU_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU_CHECK(cuGraphLaunch(exec, stream));
    CU_CHECK(cuGraphLaunch(exec, stream));
    CU_CHECK(cuStreamSynchronize(stream));
    CU_CHECK(cuGraphExecDestroy(exec));
    CU_CHECK(cuGraphDestroy(graph));
}

int main(int argc, char **argv)
{
    const bool late = argc > 3 && strcmp(argv[3], "late") == 0;
    const long count = argc > 3 && !late ? strtol(argv[3], NULL, 10) : 3;
    CUcontext cuda;
    CUmodule module;

    if (argc < 3)
        return 2;
    ranges = strcmp(argv[1], "none") != 0;
    payloads = strcmp(argv[1], "old") == 0 || strcmp(argv[1], "new") == 0;
    with_comm = strcmp(argv[1], "new") == 0;
    version = argv[2][0] - '0';
    CU_CHECK(cuInit(0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&cuda, 0));
    CU_CHECK(cuCtxSetCurrent(cuda));
    CU_CHECK(cuModuleLoadData(&module, ptx));
    CU_CHECK(cuModuleGetFunction(&kernel, module, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"));
    CU_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    domain = nvtxDomainCreateA("NCCL");
    nvtxDomainNameCategoryA(domain, 7, "seven");
    if (payloads)
        register_schemas();
    if (version)
        open_plugin();
    make_comm();
    if (late)
        CU_CHECK(cuProfilerStart());
    for (long i = 0; i < count; i++)
        all_reduce(4096, false);
    group_of_collectives();
    group_of_peers();
    captured();
    if (late)
        CU_CHECK(cuProfilerStop());
    if (plugin)
        plugin->finalize(context);
    if (library)
        dlclose(library);
    return 0;
}
