/* The NVTX payload extension: its functions, as the handler implements them. Events are recorded
 * with their payloads. If the message of an event is an entry of its payload (flag EVENT_MESSAGE),
 * the event is recorded under that message.
 *
 * The extension's deferred events and time domains are not implemented, so NVTX makes them no-ops.
 */
#include "record/nvtx/calls.h"
#include "record/nvtx/time.h"

#include "base/poison.h"

#if NVTX_HAS_PAYLOADS

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
             (NvtxFunctionPointer)nvtx_schema_register);
    slot_set(segment, NVTX3EXT_CBID_nvtxPayloadEnumRegister,
             (NvtxFunctionPointer)nvtx_enum_register);
    slot_set(segment, NVTX3EXT_CBID_nvtxMarkPayload, (NvtxFunctionPointer)mark_payload);
    slot_set(segment, NVTX3EXT_CBID_nvtxRangePushPayload, (NvtxFunctionPointer)push_payload);
    slot_set(segment, NVTX3EXT_CBID_nvtxRangePopPayload, (NvtxFunctionPointer)pop_payload);
    slot_set(segment, NVTX3EXT_CBID_nvtxRangeStartPayload, (NvtxFunctionPointer)start_payload);
    slot_set(segment, NVTX3EXT_CBID_nvtxRangeEndPayload, (NvtxFunctionPointer)end_payload);
    slot_set(segment, NVTX3EXT_CBID_nvtxDomainIsEnabled, (NvtxFunctionPointer)domain_is_enabled);
    slot_set(segment, NVTX3EXT_CBID_nvtxScopeRegister, (NvtxFunctionPointer)nvtx_scope_register);
    return 1;
}

#else

int mp_nvtx_initialize_extension(void *module_info)
{
    (void)module_info;
    return 0;
}

#endif
