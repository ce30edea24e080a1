/*
 * nvtx.c: what NCCL says by NVTX: a range of domain "NCCL" for each call, named by a registered
 * string, with the arguments as an extended payload of a static schema.
 *
 *   SIMNCCL_NVTX=new     as NCCL 2.25 and later: collectives have their communicator; those calls
 *                        that make one carry their payload on the pop
 *   SIMNCCL_NVTX=old     as NCCL 2.18 to 2.24: no communicator, all payloads on the push
 *   SIMNCCL_NVTX=names   older: no payloads
 *   NCCL_NVTX_DISABLE=1  nothing at all
 */
#include "inside.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum layout { NAME, BYTES, BYTES_OP, BYTES_ROOT, BYTES_ROOT_OP, BYTES_PEER, INIT, SPLIT, FINAL };

enum style { NEW, OLD, NAMES, SILENT };

#define STATIC_ID (UINT64_C(1) << 24)
#define REDUCTION (STATIC_ID + 24)

static const struct {
    const char *name;
    unsigned id; /* of its schema, from STATIC_ID on */
    enum layout layout;
} calls[SN_CALLS] = {
    [SN_COMM_INIT_RANK] = {"ncclCommInitRank", 0, INIT},
    [SN_COMM_INIT_RANK_CONFIG] = {"ncclCommInitRankConfig", 11, INIT},
    [SN_COMM_SPLIT] = {"ncclCommSplit", 13, SPLIT},
    [SN_COMM_FINALIZE] = {"ncclCommFinalize", 14, FINAL},
    [SN_COMM_DESTROY] = {"ncclCommDestroy", 2, INIT},
    [SN_COMM_ABORT] = {"ncclCommAbort", 3, INIT},
    [SN_GROUP_START] = {"ncclGroupStart", 0, NAME},
    [SN_GROUP_END] = {"ncclGroupEnd", 0, NAME},
    [SN_HOST_FUNCTION] = {"hostStreamPlanCallback", 0, NAME},
    [SN_ALL_GATHER] = {"ncclAllGather", 4, BYTES},
    [SN_ALL_REDUCE] = {"ncclAllReduce", 5, BYTES_OP},
    [SN_BROADCAST] = {"ncclBroadcast", 6, BYTES_ROOT},
    [SN_REDUCE_SCATTER] = {"ncclReduceScatter", 7, BYTES_OP},
    [SN_REDUCE] = {"ncclReduce", 8, BYTES_ROOT_OP},
    [SN_SEND] = {"ncclSend", 9, BYTES_PEER},
    [SN_RECV] = {"ncclRecv", 10, BYTES_PEER},
};

const char *sn_functionName(enum sn_call call)
{
    return calls[call].name + strlen("nccl");
}

/* ---- Schemas ---- */

/* The members that are set, in numbers: their names differ between releases of the header. */
enum {
    SCHEMA_MEMBERS = 1 << 2 /* type */ | 1 << 4 /* entries */ | 1 << 5 /* numEntries */ |
                     1 << 6 /* payloadStaticSize */ | 1 << 8 /* schemaId */,
    ENUM_MEMBERS = 1 << 2 /* entries */ | 1 << 3 /* numEntries */ | 1 << 4 /* sizeOfEnum */ |
                   1 << 5 /* schemaId */
};

#define ENTRY(kind, text, where)                                                                   \
    {                                                                                              \
        .type = (kind), .name = (text), .offset = (where)                                          \
    }
#define TYPE_INT     NVTX_PAYLOAD_ENTRY_TYPE_INT
#define TYPE_U64     NVTX_PAYLOAD_ENTRY_TYPE_UINT64
#define TYPE_SIZE    NVTX_PAYLOAD_ENTRY_TYPE_SIZE
#define COMMUNICATOR ENTRY(TYPE_U64, "NCCL communicator ID", 0)
#define MESSAGE      ENTRY(TYPE_SIZE, "Message size [bytes]", 8)

enum { FIRST = offsetof(struct sn_values, first), SECOND = offsetof(struct sn_values, second) };

/* With the communicator, which the old layouts lack: they begin with the second entry. */
static const nvtxPayloadSchemaEntry_t entries[][7] = {
    [BYTES] = {COMMUNICATOR, MESSAGE},
    [BYTES_OP] = {COMMUNICATOR, MESSAGE, ENTRY(REDUCTION, "Reduction operation", FIRST)},
    [BYTES_ROOT] = {COMMUNICATOR, MESSAGE, ENTRY(TYPE_INT, "Root", FIRST)},
    [BYTES_ROOT_OP] = {COMMUNICATOR, MESSAGE, ENTRY(TYPE_INT, "Root", FIRST),
                       ENTRY(REDUCTION, "Reduction operation", SECOND)},
    [BYTES_PEER] = {COMMUNICATOR, MESSAGE, ENTRY(TYPE_INT, "Peer rank", FIRST)},
    [INIT] = {COMMUNICATOR, ENTRY(TYPE_INT, "No. of ranks", 8), ENTRY(TYPE_INT, "Rank", 12),
              ENTRY(TYPE_INT, "CUDA device", 16)},
    [SPLIT] = {COMMUNICATOR, ENTRY(TYPE_U64, "Parent NCCL communicator ID", 8),
               ENTRY(TYPE_INT, "No. of ranks", 16), ENTRY(TYPE_INT, "Rank", 20),
               ENTRY(TYPE_INT, "CUDA device", 24), ENTRY(TYPE_INT, "Color", 28),
               ENTRY(TYPE_INT, "Key", 32)},
    [FINAL] = {COMMUNICATOR},
};

static const nvtxPayloadSchemaEntry_t old_init[] = {ENTRY(TYPE_INT, "Rank", 0),
                                                    ENTRY(TYPE_INT, "No. of ranks", 4),
                                                    ENTRY(TYPE_INT, "CUDA device", 8)};

static const struct {
    unsigned count; /* entries */
    size_t bytes;
} shapes[] = {
    [BYTES] = {2, FIRST},
    [BYTES_OP] = {3, sizeof(struct sn_values)},
    [BYTES_ROOT] = {3, sizeof(struct sn_values)},
    [BYTES_ROOT_OP] = {4, sizeof(struct sn_values)},
    [BYTES_PEER] = {3, sizeof(struct sn_values)},
    [INIT] = {4, sizeof(struct sn_init_values)},
    [SPLIT] = {7, sizeof(struct sn_split_values)},
    [FINAL] = {1, sizeof(uint64_t)},
};

static nvtxDomainHandle_t domain;
static nvtxStringHandle_t names[SN_CALLS];
static enum style style;
static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;
static bool registered[SN_CALLS];

static enum style read_style(void)
{
    const char *text = getenv("SIMNCCL_NVTX");

    if (env_number("NCCL_NVTX_DISABLE", 0))
        return SILENT;
    if (text && strcmp(text, "old") == 0)
        return OLD;
    return text && strcmp(text, "names") == 0 ? NAMES : NEW;
}

static void register_reductions(void)
{
    static const nvtxPayloadEnum_t values[] = {{"Sum", ncclSum, 0},
                                               {"Product", ncclProd, 0},
                                               {"Max", ncclMax, 0},
                                               {"Min", ncclMin, 0},
                                               {"Avg", ncclAvg, 0}};
    const nvtxPayloadEnumAttr_t attributes = {.fieldMask = ENUM_MEMBERS,
                                              .entries = values,
                                              .numEntries = sizeof(values) / sizeof(values[0]),
                                              .sizeOfEnum = sizeof(ncclRedOp_t),
                                              .schemaId = REDUCTION};

    nvtxPayloadEnumRegister(domain, &attributes);
}

static void set_up(void)
{
    style = read_style();
    if (style == SILENT)
        return;
    domain = nvtxDomainCreateA("NCCL");
    for (int i = 0; i < SN_CALLS; i++)
        names[i] = nvtxDomainRegisterStringA(domain, calls[i].name);
    if (style != NAMES)
        register_reductions();
}

static bool is_on(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, set_up);
    return style != SILENT;
}

/* The old layouts' offsets count from behind the communicator. */
static void register_schema(enum sn_call call)
{
    enum layout layout = calls[call].layout;
    bool old = style == OLD, old_form = old && layout == INIT;
    nvtxPayloadSchemaEntry_t own[7];
    nvtxPayloadSchemaAttr_t attributes = {
        .fieldMask = SCHEMA_MEMBERS,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = old_form ? old_init : own,
        .numEntries = old_form ? 3 : shapes[layout].count - old,
        .payloadStaticSize = old_form ? 12 : shapes[layout].bytes - 8 * (size_t)old,
        .schemaId = STATIC_ID + calls[call].id};

    memcpy(own, &entries[layout][old],
           shapes[layout].count * sizeof(own[0]) - old * sizeof(own[0]));
    for (unsigned i = 0; old && i + 1 < shapes[layout].count; i++)
        own[i].offset -= 8;
    pthread_mutex_lock(&registering);
    if (!registered[call])
        nvtxPayloadSchemaRegister(domain, &attributes);
    registered[call] = true;
    pthread_mutex_unlock(&registering);
}

static nvtxPayloadData_t payload_of(enum sn_call call, const void *values, size_t bytes)
{
    register_schema(call);
    return (nvtxPayloadData_t){STATIC_ID + calls[call].id, bytes, values};
}

/* ---- Ranges ---- */

static void push(enum sn_call call, const nvtxPayloadData_t *data)
{
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                        .message.registered = names[call]};

    if (data) {
        attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
        attributes.reserved0 = 1; /* payloads */
        attributes.payload.ullValue = (uint64_t)(uintptr_t)data;
    }
    nvtxDomainRangePushEx(domain, &attributes);
}

void sn_nvtxPush(enum sn_call call)
{
    if (is_on())
        push(call, NULL);
}

void sn_nvtxPop(void)
{
    if (is_on())
        nvtxDomainRangePop(domain);
}

static struct sn_values values_of(const struct sn_op *op)
{
    struct sn_values values = {op->comm ? op->comm->hash : 0, op->bytes, op->peer, op->op};

    if (calls[op->call].layout == BYTES_OP)
        values.first = op->op;
    return values;
}

void sn_nvtxPushOp(const struct sn_op *op)
{
    struct sn_values values = values_of(op);
    size_t bytes = shapes[calls[op->call].layout].bytes;
    nvtxPayloadData_t data;

    if (!is_on())
        return;
    if (style == NAMES) {
        push(op->call, NULL);
        return;
    }
    data = style == OLD ? payload_of(op->call, &values.bytes, bytes - sizeof(values.comm))
                        : payload_of(op->call, &values, bytes);
    push(op->call, &data);
}

/* What ends a communicator has its payload on the push, what makes one once it is known. */
void sn_nvtxPushInit(enum sn_call call, const struct sn_init_values *values)
{
    const int old[] = {values->rank, values->nranks, values->device};
    bool ends = call == SN_COMM_DESTROY || call == SN_COMM_ABORT;
    nvtxPayloadData_t data;

    if (!is_on())
        return;
    if (style == NAMES || (style == NEW && !ends)) {
        push(call, NULL);
        return;
    }
    data = style == OLD ? payload_of(call, old, sizeof(old))
                        : payload_of(call, values, sizeof(*values));
    push(call, &data);
}

static void pop_with(enum sn_call call, const void *values, size_t bytes)
{
    nvtxPayloadData_t data;

    if (!is_on())
        return;
    if (style != NEW) {
        nvtxDomainRangePop(domain);
        return;
    }
    data = payload_of(call, values, bytes);
    nvtxRangePopPayload(domain, &data, 1);
}

void sn_nvtxPopInit(enum sn_call call, const struct sn_init_values *values)
{
    pop_with(call, values, sizeof(*values));
}

void sn_nvtxPopSplit(const struct sn_split_values *values)
{
    pop_with(SN_COMM_SPLIT, values, sizeof(*values));
}

void sn_nvtxPopFinalize(uint64_t comm)
{
    pop_with(SN_COMM_FINALIZE, &comm, sizeof(comm));
}
