/* The NVTX payload extension: its functions, as the handler implements them.
 *
 * Schemas and enumerations get ids and are remembered (fields.c, schemas.c). Events are recorded
 * with their payloads. If the message of an event is an entry of its payload (flag EVENT_MESSAGE),
 * the event is recorded under that message.
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
    struct nvtx_state *state = nvtx_state();
    struct nvtx_schema schema = {.domain = (const struct nvtx_domain *)(const void *)domain};

    if (!attr || atomic_load_explicit(&state->inert, memory_order_relaxed))
        return 0;
    schema.id = id_new(attr->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID, attr->schemaId);
    if (!nvtx_schema_read(&schema, attr))
        return schema.id;
    pthread_mutex_lock(&state->lock);
    schema.shown = nvtx_fields_make(schema.domain, attr);
    nvtx_schema_insert(&schema);
    pthread_mutex_unlock(&state->lock);
    return schema.id;
}

static uint64_t NVTX_API enum_register(nvtxDomainHandle_t domain, const nvtxPayloadEnumAttr_t *attr)
{
    struct nvtx_state *state = nvtx_state();

    if (!attr || atomic_load_explicit(&state->inert, memory_order_relaxed))
        return 0;
    uint64_t id = id_new(attr->fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID, attr->schemaId);
    pthread_mutex_lock(&state->lock);
    nvtx_enumeration_add((const struct nvtx_domain *)(const void *)domain, id, attr);
    pthread_mutex_unlock(&state->lock);
    return id;
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

/* `blob` has NVTX_BLOB_BYTES. */
static struct nvtx_call call_of(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data,
                                size_t count, unsigned char *blob)
{
    const struct nvtx_domain *domain = (const struct nvtx_domain *)(const void *)handle;

    return (struct nvtx_call){.domain = domain,
                              .text = nvtx_payload_message(domain, data, count),
                              .blob = blob,
                              .blob_bytes = nvtx_payloads_copy(domain, data, count, blob)};
}

static void NVTX_API mark_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t *data,
                                  size_t count)
{
    struct nvtx_thread *thread = nvtx_enter();
    _Alignas(8) unsigned char blob[NVTX_BLOB_BYTES];

    if (!thread)
        return;
    uint64_t now = nvtx_stamp();
    struct nvtx_call call = call_of(domain, data, count, blob);
    call.time = now;
    nvtx_mark(thread, &call);
}

static int NVTX_API push_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t *data,
                                 size_t count)
{
    struct nvtx_thread *thread = nvtx_enter();
    _Alignas(8) unsigned char blob[NVTX_BLOB_BYTES];

    if (!thread)
        return NVTX_NO_PUSH_POP_TRACKING;
    struct nvtx_call call = call_of(domain, data, count, blob);
    return nvtx_push(thread, &call);
}

/* A pop or an end has no message. */
static struct nvtx_call closing_of(nvtxDomainHandle_t handle, const nvtxPayloadData_t *data,
                                   size_t count, unsigned char *blob)
{
    struct nvtx_call call = {.time = nvtx_stamp(),
                             .domain = (const struct nvtx_domain *)(const void *)handle,
                             .blob = blob};

    call.blob_bytes = nvtx_payloads_copy(call.domain, data, count, blob);
    return call;
}

static int NVTX_API pop_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t *data,
                                size_t count)
{
    struct nvtx_thread *thread = nvtx_enter();
    _Alignas(8) unsigned char blob[NVTX_BLOB_BYTES];

    if (!thread)
        return NVTX_NO_PUSH_POP_TRACKING;
    struct nvtx_call call = closing_of(domain, data, count, blob);
    return nvtx_pop(thread, &call);
}

static nvtxRangeId_t NVTX_API start_payload(nvtxDomainHandle_t domain,
                                            const nvtxPayloadData_t *data, size_t count)
{
    struct nvtx_thread *thread = nvtx_enter();
    _Alignas(8) unsigned char blob[NVTX_BLOB_BYTES];

    if (!thread)
        return 0;
    struct nvtx_call call = call_of(domain, data, count, blob);
    return nvtx_start(thread, &call);
}

static void NVTX_API end_payload(nvtxDomainHandle_t domain, nvtxRangeId_t range,
                                 const nvtxPayloadData_t *data, size_t count)
{
    struct nvtx_thread *thread = nvtx_enter();
    _Alignas(8) unsigned char blob[NVTX_BLOB_BYTES];

    if (!thread)
        return;
    struct nvtx_call call = closing_of(domain, data, count, blob);
    call.range = range;
    nvtx_end(thread, &call);
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

    if (!info || info->moduleId != NVTX_EXT_PAYLOAD_MODULEID ||
        (info->compatId != 0x0103 && info->compatId != 0x0104))
        return 0;
    if (info->segmentsCount < 1 || !info->segments || !info->segments[0].functionSlots)
        return 0;
    if (!nvtx_state_ready())
        return 0;
    const nvtxExtModuleSegment_t *segment = &info->segments[0];
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

int mp_nvtx_initialize_extension(void *module_info)
{
    (void)module_info;
    return 0;
}

#endif
