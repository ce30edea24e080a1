/* The NVTX payload extension. The trace uses only the message of a payload.
 *
 * Schemas and enums get ids, so that applications and libraries that register some (NCCL among
 * them) work as without a tool. If the message of an event is an entry of its payload (flag
 * EVENT_MESSAGE), the event is recorded under that message. All other payload data is ignored. Only
 * schemas with such an entry at a known offset are remembered (schemas.c).
 *
 * The extension's deferred events and time domains are not implemented, so NVTX makes them no-ops.
 * Older toolkits (CUDA 11.8) have no header of the extension; a build with them implements none of
 * it.
 */
#include "record/nvtx/calls.h"
#include "record/nvtx/time.h"

#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>

#include "base/poison.h"

/* True if the entry is a message that can be read. Its offset must be given, or it must come first.
 * It must be a registered string, a string of fixed size inside the payload, or a pointer to one.
 */
static bool entry_is_message(const nvtxPayloadSchemaEntry_t *entry, size_t index,
                             struct nvtx_schema *schema)
{
    const uint64_t elsewhere = NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE |
                               NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE |
                               NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX;

    if (!(entry->flags & NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE) || (entry->flags & elsewhere))
        return false;
    if (index > 0 && entry->offset == 0)
        return false;
    schema->offset = entry->offset;
    schema->registered = entry->type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE;
    schema->fixed = 0;
    if (schema->registered)
        return true;
    if (entry->type != NVTX_PAYLOAD_ENTRY_TYPE_CSTRING &&
        entry->type != NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8)
        return false;
    if (!(entry->flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER))
        schema->fixed = entry->arrayOrUnionDetail;
    return true;
}

static uint64_t id_new(bool given, uint64_t id)
{
    if (given && id)
        return id;
    return NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START +
           atomic_fetch_add_explicit(&nvtx_state()->schema_ids, 1, memory_order_relaxed);
}

static uint64_t NVTX_API schema_register(nvtxDomainHandle_t domain,
                                         const nvtxPayloadSchemaAttr_t *attr)
{
    const uint64_t needed =
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
    struct nvtx_schema schema = {.domain = (const struct nvtx_domain *)(const void *)domain};

    if (!attr || atomic_load_explicit(&nvtx_state()->inert, memory_order_relaxed))
        return 0;
    schema.id = id_new(attr->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID, attr->schemaId);
    if ((attr->fieldMask & needed) != needed || !attr->entries)
        return schema.id;
    for (size_t i = 0; i < attr->numEntries; i++) {
        if (entry_is_message(&attr->entries[i], i, &schema)) {
            nvtx_schema_insert(&schema);
            break;
        }
    }
    return schema.id;
}

static uint64_t NVTX_API enum_register(nvtxDomainHandle_t domain, const nvtxPayloadEnumAttr_t *attr)
{
    (void)domain;
    return attr ? id_new(attr->fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID, attr->schemaId)
                : 0;
}

static uint64_t NVTX_API scope_register(nvtxDomainHandle_t domain, const nvtxScopeAttr_t *attr)
{
    (void)domain;
    return attr ? id_new(attr->structSize >= sizeof(*attr), attr->scopeId) : 0;
}

static uint8_t NVTX_API domain_is_enabled(nvtxDomainHandle_t domain)
{
    (void)domain;
    return 1;
}

static struct nvtx_call call_of(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data,
                                size_t count)
{
    const struct nvtx_domain *domain = (const struct nvtx_domain *)(const void *)handle;

    return (struct nvtx_call){.domain = domain, .text = nvtx_payload_message(domain, data, count)};
}

static void NVTX_API mark_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t *data,
                                  size_t count)
{
    struct nvtx_thread *thread = nvtx_enter();
    struct nvtx_call call;
    uint64_t now;

    if (!thread)
        return;
    now = nvtx_stamp();
    call = call_of(domain, data, count);
    call.time = now;
    nvtx_mark(thread, &call);
}

static int NVTX_API push_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t *data,
                                 size_t count)
{
    struct nvtx_thread *thread = nvtx_enter();
    struct nvtx_call call;

    if (!thread)
        return NVTX_NO_PUSH_POP_TRACKING;
    call = call_of(domain, data, count);
    return nvtx_push(thread, &call);
}

static int NVTX_API pop_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t *data,
                                size_t count)
{
    struct nvtx_thread *thread = nvtx_enter();

    (void)data, (void)count;
    return thread ? nvtx_pop(thread, (const struct nvtx_domain *)(const void *)domain)
                  : NVTX_NO_PUSH_POP_TRACKING;
}

static nvtxRangeId_t NVTX_API start_payload(nvtxDomainHandle_t domain,
                                            const nvtxPayloadData_t *data, size_t count)
{
    struct nvtx_thread *thread = nvtx_enter();
    struct nvtx_call call;

    if (!thread)
        return 0;
    call = call_of(domain, data, count);
    return nvtx_start(thread, &call);
}

static void NVTX_API end_payload(nvtxDomainHandle_t domain, nvtxRangeId_t range,
                                 const nvtxPayloadData_t *data, size_t count)
{
    struct nvtx_thread *thread = nvtx_enter();

    (void)data, (void)count;
    if (thread)
        nvtx_end(thread, (const struct nvtx_domain *)(const void *)domain, range);
}

static void slot_set(const nvtxExtModuleSegment_t *segment, size_t id, NvtxFunctionPointer function)
{
    if (id < segment->slotCount)
        __atomic_store_n(&segment->functionSlots[id], (intptr_t)function, __ATOMIC_RELEASE);
}

/* Versions 0x0103 to 0x0104, the newest, are known to have this layout. With another layout the
 * functions would read something else than the application wrote. */
int mp_nvtx_initialize_extension(void *module_info)
{
    const nvtxExtModuleInfo_t *info = module_info;
    const nvtxExtModuleSegment_t *segment;

    if (!info || info->moduleId != NVTX_EXT_PAYLOAD_MODULEID ||
        (info->compatId != 0x0103 && info->compatId != 0x0104))
        return 0;
    if (info->segmentsCount < 1 || !info->segments || !info->segments[0].functionSlots)
        return 0;
    if (!nvtx_state_ready())
        return 0;
    segment = &info->segments[0];
    slot_set(segment, NVTX3EXT_CBID_nvtxPayloadSchemaRegister,
             (NvtxFunctionPointer)schema_register);
    slot_set(segment, NVTX3EXT_CBID_nvtxPayloadEnumRegister, (NvtxFunctionPointer)enum_register);
    slot_set(segment, NVTX3EXT_CBID_nvtxMarkPayload, (NvtxFunctionPointer)mark_payload);
    slot_set(segment, NVTX3EXT_CBID_nvtxRangePushPayload, (NvtxFunctionPointer)push_payload);
    slot_set(segment, NVTX3EXT_CBID_nvtxRangePopPayload, (NvtxFunctionPointer)pop_payload);
    slot_set(segment, NVTX3EXT_CBID_nvtxRangeStartPayload, (NvtxFunctionPointer)start_payload);
    slot_set(segment, NVTX3EXT_CBID_nvtxRangeEndPayload, (NvtxFunctionPointer)end_payload);
    slot_set(segment, NVTX3EXT_CBID_nvtxDomainIsEnabled, (NvtxFunctionPointer)domain_is_enabled);
    slot_set(segment, NVTX3EXT_CBID_nvtxScopeRegister, (NvtxFunctionPointer)scope_register);
    return 1;
}

#else /* no extension */

#include "base/poison.h"

int mp_nvtx_initialize_extension(void *module_info)
{
    (void)module_info;
    return 0;
}

#endif
