/*
 * selftest_tool.c: a library that NVTX and NCCL take for a profiler. It writes a line for each call
 * to the file SIMNCCL_TOLD, with payloads as the registered schemas say.
 */
#include "plugin.h"

#include "../hooks.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMAS = 32, ENTRIES = 8 };

#define FIRST_ID (UINT64_C(1) << 24)

SIMGPU_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
SIMGPU_EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *info);

static struct {
    size_t count;
    nvtxPayloadSchemaEntry_t entries[ENTRIES];
} schemas[SCHEMAS];

static void __attribute__((format(printf, 1, 2))) tell(const char *format, ...)
{
    const char *path = getenv("SIMNCCL_TOLD");
    FILE *file = path ? fopen(path, "a") : NULL;
    va_list arguments;

    if (!file)
        return;
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fclose(file);
}

/* ---- NVTX ---- */

static long long value_at(const nvtxPayloadSchemaEntry_t *entry, const void *payload)
{
    const char *place = (const char *)payload + entry->offset;
    bool is_long = entry->type == NVTX_PAYLOAD_ENTRY_TYPE_UINT64 ||
                   entry->type == NVTX_PAYLOAD_ENTRY_TYPE_SIZE;
    long long wide;
    int narrow;

    if (is_long) {
        memcpy(&wide, place, sizeof(wide));
        return wide;
    }
    memcpy(&narrow, place, sizeof(narrow));
    return narrow;
}

static void tell_payload(const nvtxPayloadData_t *data)
{
    uint64_t id = data->schemaId - FIRST_ID;

    tell(" %llu of %zu bytes:", (unsigned long long)id, data->size);
    for (size_t i = 0; id < SCHEMAS && i < schemas[id].count; i++)
        tell(" %s=%lld", schemas[id].entries[i].name,
             value_at(&schemas[id].entries[i], data->payload));
}

static nvtxDomainHandle_t NVTX_API create_domain(const char *name)
{
    static int handle;

    tell("domain %s\n", name);
    return (nvtxDomainHandle_t)(void *)&handle;
}

static nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t domain, const char *text)
{
    (void)domain;
    return (nvtxStringHandle_t)(void *)strdup(text);
}

static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    (void)domain;
    tell("push %s", (const char *)attributes->message.registered);
    if (attributes->payloadType == NVTX_PAYLOAD_TYPE_EXT)
        tell_payload((const nvtxPayloadData_t *)(uintptr_t)attributes->payload.ullValue);
    tell("\n");
    return 0;
}

static int NVTX_API pop(nvtxDomainHandle_t domain)
{
    (void)domain;
    tell("pop\n");
    return 0;
}

static int NVTX_API pop_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t *data,
                                size_t count)
{
    (void)domain;
    tell("pop");
    for (size_t i = 0; i < count; i++)
        tell_payload(&data[i]);
    tell("\n");
    return 0;
}

static uint64_t NVTX_API register_schema(nvtxDomainHandle_t domain,
                                         const nvtxPayloadSchemaAttr_t *attributes)
{
    uint64_t id = attributes->schemaId - FIRST_ID;

    (void)domain;
    if (id < SCHEMAS && attributes->numEntries <= ENTRIES) {
        schemas[id].count = attributes->numEntries;
        memcpy(schemas[id].entries, attributes->entries,
               attributes->numEntries * sizeof(schemas[id].entries[0]));
    }
    return attributes->schemaId;
}

static uint64_t NVTX_API register_enum(nvtxDomainHandle_t domain,
                                       const nvtxPayloadEnumAttr_t *attributes)
{
    (void)domain;
    tell("enum %llu:", (unsigned long long)(attributes->schemaId - FIRST_ID));
    for (size_t i = 0; i < attributes->numEntries; i++)
        tell(" %s=%llu", attributes->entries[i].name,
             (unsigned long long)attributes->entries[i].value);
    tell("\n");
    return attributes->schemaId;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned size;

    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size))
        return 0;
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create_domain;
    *table[NVTX_CBID_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)register_string;
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
    return 1;
}

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *info)
{
    intptr_t *slots = info->segments[0].functionSlots;

    slots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] = (intptr_t)register_schema;
    slots[NVTX3EXT_CBID_nvtxPayloadEnumRegister] = (intptr_t)register_enum;
    slots[NVTX3EXT_CBID_nvtxRangePopPayload] = (intptr_t)pop_payload;
    return 1;
}

/* ---- The plugin: its events are numbered from 1 on ---- */

static uintptr_t events;

static int open_communicator(void **context, int *mask, const char *name, uint64_t comm, int nranks,
                             int rank)
{
    static int opened;
    const char *wanted = getenv("SIMNCCL_MASK");

    *context = &opened;
    *mask = wanted ? (int)strtol(wanted, NULL, 0) : 0;
    tell("init %016llx %s %d of %d\n", (unsigned long long)comm, name ? name : "-", rank, nranks);
    return 0;
}

static int init(void **context, uint64_t comm, int *mask, const char *name, int nodes, int nranks,
                int rank, sn_logger logger)
{
    (void)nodes;
    (void)logger;
    return open_communicator(context, mask, name, comm, nranks, rank);
}

static int init_v4(void **context, int *mask, const char *name, uint64_t comm, int nodes,
                   int nranks, int rank, sn_logger logger)
{
    (void)nodes;
    (void)logger;
    return open_communicator(context, mask, name, comm, nranks, rank);
}

static int finalize(void *context)
{
    (void)context;
    tell("finalize\n");
    return 0;
}

static void tell_arguments(const struct sn_descriptor *event, uint64_t type)
{
    if (type == SN_EVENT_GROUP_API)
        tell("GroupApi depth %d captured %d", event->group_api.depth, event->group_api.captured);
    else if (type == SN_EVENT_COLL_API)
        tell("CollApi %s %zu %s captured %d", event->coll_api.function, event->coll_api.count,
             event->coll_api.type, event->coll_api.captured);
    else if (type == SN_EVENT_P2P_API)
        tell("P2pApi %s %zu %s", event->p2p_api.function, event->p2p_api.count,
             event->p2p_api.type);
    else if (type == SN_EVENT_KERNEL_LAUNCH)
        tell("KernelLaunch");
    else if (type == SN_EVENT_COLL)
        tell("Coll %s #%llu %zu %s root %d %s %s", event->coll.function,
             (unsigned long long)event->coll.sequence, event->coll.count, event->coll.type,
             event->coll.root, event->coll.algorithm, event->coll.protocol);
    else if (type == SN_EVENT_P2P)
        tell("P2p %s %zu %s peer %d", event->p2p.function, event->p2p.count, event->p2p.type,
             event->p2p.peer);
    else
        tell("Group");
}

static int begin(void **event, const struct sn_descriptor *descriptor, uint64_t type)
{
    *event = (void *)++events; /* NOLINT(performance-no-int-to-ptr) */
    tell("%llu in %llu ", (unsigned long long)events,
         (unsigned long long)(uintptr_t)descriptor->parent);
    tell_arguments(descriptor, type);
    tell("\n");
    return 0;
}

static int start(void *context, void **event, struct sn_descriptor *descriptor)
{
    (void)context;
    return begin(event, descriptor, descriptor->type);
}

/* The type is a byte there. */
static int start_v4(void *context, void **event, struct sn_descriptor *descriptor)
{
    (void)context;
    return begin(event, descriptor, descriptor->type & 0xff);
}

static int stop(void *event)
{
    tell("stop %llu\n", (unsigned long long)(uintptr_t)event);
    return 0;
}

static int state(void *event, int number, void *arguments)
{
    (void)arguments;
    tell("state %llu %d\n", (unsigned long long)(uintptr_t)event, number);
    return 0;
}

SIMGPU_EXPORT extern const struct sn_profiler ncclProfiler_v6, ncclProfiler_v5;
SIMGPU_EXPORT extern const struct sn_profiler_v4 ncclProfiler_v4;

const struct sn_profiler ncclProfiler_v6 = {"six", init, start, stop, state, finalize};
const struct sn_profiler ncclProfiler_v5 = {"five", init, start, stop, state, finalize};
const struct sn_profiler_v4 ncclProfiler_v4 = {"four", init_v4, start_v4, stop, state, finalize};
