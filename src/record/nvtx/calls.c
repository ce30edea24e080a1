/* NVTX's functions, as the handler implements them.
 *
 * Time: a mark, pop or end reads the clock first and a push or start reads it last, so that the
 * handler's own work falls outside of the measured range.
 *
 * A range id is unique in the process. Each thread takes ids by the block: one shared counter that
 * 16 threads raise would cost more than the rest of the call. Id 0 is what NVTX returns without a
 * tool. A range with id 0 began while recording was off, so its end is not recorded either.
 */
#include "record/nvtx/calls.h"

#include "record/nvtx/state.h"

#include "base/poison.h"

enum { RANGE_BLOCK = 256 };

static const struct nvtx_domain *domain_of(nvtxDomainHandle_t handle)
{
    return (const struct nvtx_domain *)(const void *)handle;
}

static struct nvtx_level *level_of(struct nvtx_thread *thread, const struct nvtx_domain *domain)
{
    return &thread->levels[domain ? domain->slot : 0];
}

/* What push and pop return. */
static int level_known(const struct nvtx_domain *domain, uint32_t level)
{
    return domain && domain->slot == NVTX_LEVEL_SLOTS - 1 ? NVTX_NO_PUSH_POP_TRACKING : (int)level;
}

void nvtx_mark(struct nvtx_thread *thread, struct nvtx_call *call)
{
    call->kind = NVTX_KIND_mark;
    nvtx_write(thread, call);
    nvtx_leave(thread);
}

NVTX_INLINE int inline_push(struct nvtx_thread *thread, struct nvtx_call *call)
{
    struct nvtx_level *level = level_of(thread, call->domain);
    const uint32_t depth = level->open + level->lost;

    call->kind = NVTX_KIND_push;
    if (__builtin_expect(level->lost, 0)) {
        nvtx_drop(thread);
        level->lost++;
    } else {
        thread->open++;
        if (nvtx_write(thread, call)) {
            level->open++;
        } else {
            thread->open--;
            level->lost++;
        }
    }
    nvtx_leave(thread);
    return level_known(call->domain, depth);
}

int nvtx_push(struct nvtx_thread *thread, struct nvtx_call *call)
{
    return inline_push(thread, call);
}

NVTX_INLINE int inline_pop(struct nvtx_thread *thread, struct nvtx_call *call)
{
    const struct nvtx_domain *domain = call->domain;
    struct nvtx_level *level = level_of(thread, domain);
    const uint32_t depth = level->open + level->lost;

    call->kind = NVTX_KIND_pop;
    if (level->lost) {
        level->lost--;
        nvtx_drop(thread);
    } else {
        if (level->open) {
            level->open--;
            thread->open--;
        }
        /* There is room for the pop, not for its payload. */
        if (!nvtx_write(thread, call) && call->blob_bytes) {
            call->blob_bytes = 0;
            nvtx_write(thread, call);
        }
    }
    nvtx_leave(thread);
    return depth ? level_known(domain, depth - 1) : NVTX_NO_PUSH_POP_TRACKING;
}

int nvtx_pop(struct nvtx_thread *thread, struct nvtx_call *call)
{
    return inline_pop(thread, call);
}

static uint64_t number_take(struct nvtx_thread *thread)
{
    if (thread->range == thread->range_end) {
        thread->range =
            1 + atomic_fetch_add_explicit(&nvtx_state()->ranges, RANGE_BLOCK, memory_order_relaxed);
        thread->range_end = thread->range + RANGE_BLOCK;
    }
    return thread->range++;
}

nvtxRangeId_t nvtx_start(struct nvtx_thread *thread, struct nvtx_call *call)
{
    call->kind = NVTX_KIND_start;
    call->range = number_take(thread);
    nvtx_write(thread, call);
    nvtx_leave(thread);
    return call->range;
}

void nvtx_end(struct nvtx_thread *thread, struct nvtx_call *call)
{
    call->kind = NVTX_KIND_end;
    if (call->range)
        nvtx_write(thread, call);
    nvtx_leave(thread);
}

bool mp_nvtx_is_recording(void)
{
    const struct nvtx_state *state = nvtx_state();

    return atomic_load_explicit(&state->recording, memory_order_relaxed) &&
           atomic_load_explicit(&state->in_use, memory_order_relaxed);
}

bool mp_nvtx_note_origin(uint32_t number)
{
    const struct nvtx_call call = {.kind = NVTX_KIND_origin, .range = number};
    struct nvtx_thread *thread =
        atomic_load_explicit(&nvtx_state()->in_use, memory_order_acquire) ? nvtx_enter() : NULL;
    bool noted = thread && nvtx_write(thread, &call);

    if (thread)
        nvtx_leave(thread);
    return noted;
}

bool mp_nvtx_is_on(void)
{
    return atomic_load_explicit(&nvtx_state()->recording, memory_order_relaxed) != 0;
}

bool mp_nvtx_note(const void *bytes, uint32_t count)
{
    struct nvtx_thread *thread = nvtx_enter();
    struct nvtx_call call = {.kind = NVTX_KIND_note, .blob = bytes, .blob_bytes = count};

    if (!thread)
        return false;
    call.time = nvtx_stamp();
    bool noted = nvtx_write(thread, &call);
    nvtx_leave(thread);
    return noted;
}

uint64_t mp_nvtx_number(void)
{
    struct nvtx_thread *thread = nvtx_enter();

    if (!thread)
        return 0;
    uint64_t number = number_take(thread);
    nvtx_leave(thread);
    return number;
}

static struct nvtx_text text_of(int32_t type, nvtxMessageValue_t message)
{
    switch (type) {
    case NVTX_MESSAGE_TYPE_ASCII:
        return nvtx_text_narrow(message.ascii, NVTX_TEXT_BYTES - 1);
    case NVTX_MESSAGE_TYPE_UNICODE:
        return nvtx_text_wide(message.unicode, NVTX_TEXT_BYTES - 1);
    case NVTX_MESSAGE_TYPE_REGISTERED:
        return nvtx_text_registered((const struct nvtx_string *)(const void *)message.registered);
    default:
        return (struct nvtx_text){.form = NVTX_NO_TEXT};
    }
}

/* Extended payloads: `blob` takes them, and their message may be the event's. */
static void call_set_extended(struct nvtx_call *call, const nvtxEventAttributes_t *attributes,
                              unsigned char *blob)
{
    const void *payloads = (const void *)(uintptr_t)attributes->payload.ullValue;
    const size_t count = (size_t)attributes->reserved0;

    if (call->text.form == NVTX_NO_TEXT)
        call->text = nvtx_payload_message(call->domain, payloads, count);
    call->blob_bytes = nvtx_payloads_copy(call->domain, payloads, count, blob);
    call->blob = blob;
}

static void call_set_payload(struct nvtx_call *call, const nvtxEventAttributes_t *attributes,
                             unsigned char *blob)
{
    call->payload_type = (uint32_t)attributes->payloadType;
    switch (attributes->payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
    case NVTX_PAYLOAD_TYPE_INT64:
    case NVTX_PAYLOAD_TYPE_DOUBLE:
        call->payload = attributes->payload.ullValue;
        break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
    case NVTX_PAYLOAD_TYPE_INT32:
    case NVTX_PAYLOAD_TYPE_FLOAT:
        call->payload = attributes->payload.uiValue;
        break;
    default: /* none, or an extended one */
        call->payload_type = 0;
        if ((uint32_t)attributes->payloadType == 0xDFBD0009u)
            call_set_extended(call, attributes, blob);
    }
}

/* Ignores the attributes' own `size` and `version`: the struct has had one layout since NVTX 1, and
 * some applications forget to set them. Fills the call in place. If it were returned by value, the
 * compiler would copy it in pieces larger than the ones written, which the processor cannot
 * forward. `blob` has NVTX_BLOB_BYTES for extended payloads. */
static void call_describe(struct nvtx_call *call, nvtxDomainHandle_t domain,
                          const nvtxEventAttributes_t *attributes, unsigned char *blob)
{
    *call = (struct nvtx_call){.domain = domain_of(domain)};
    if (!attributes)
        return;
    call->category = attributes->category;
    call->color = attributes->colorType == NVTX_COLOR_ARGB ? attributes->color : 0;
    call->text = text_of(attributes->messageType, attributes->message);
    if (attributes->payloadType)
        call_set_payload(call, attributes, blob);
}

/* ---- NVTX_CB_MODULE_CORE2: the functions with a domain ---- */

static void NVTX_API domain_mark_ex(nvtxDomainHandle_t domain,
                                    const nvtxEventAttributes_t *attributes)
{
    struct nvtx_thread *thread = nvtx_enter();
    _Alignas(8) unsigned char blob[NVTX_BLOB_BYTES];
    struct nvtx_call call;

    if (!thread)
        return;
    uint64_t now = nvtx_stamp();
    call_describe(&call, domain, attributes, blob);
    call.time = now;
    nvtx_mark(thread, &call);
}

static int NVTX_API domain_push_ex(nvtxDomainHandle_t domain,
                                   const nvtxEventAttributes_t *attributes)
{
    struct nvtx_thread *thread = nvtx_enter();
    _Alignas(8) unsigned char blob[NVTX_BLOB_BYTES];
    struct nvtx_call call;

    if (!thread)
        return NVTX_NO_PUSH_POP_TRACKING;
    call_describe(&call, domain, attributes, blob);
    return nvtx_push(thread, &call);
}

static int NVTX_API domain_pop(nvtxDomainHandle_t domain)
{
    struct nvtx_thread *thread = nvtx_enter();

    if (!thread)
        return NVTX_NO_PUSH_POP_TRACKING;
    struct nvtx_call call = {.time = nvtx_stamp(), .domain = domain_of(domain)};
    return nvtx_pop(thread, &call);
}

static nvtxRangeId_t NVTX_API domain_start_ex(nvtxDomainHandle_t domain,
                                              const nvtxEventAttributes_t *attributes)
{
    struct nvtx_thread *thread = nvtx_enter();
    _Alignas(8) unsigned char blob[NVTX_BLOB_BYTES];
    struct nvtx_call call;

    if (!thread)
        return 0;
    call_describe(&call, domain, attributes, blob);
    return nvtx_start(thread, &call);
}

static void NVTX_API domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t range)
{
    struct nvtx_thread *thread = nvtx_enter();

    if (thread) {
        struct nvtx_call call = {.time = nvtx_stamp(), .domain = domain_of(domain), .range = range};
        nvtx_end(thread, &call);
    }
}

/* Domains and strings are kept also while recording is off, since it may be switched on later. */
static nvtxDomainHandle_t NVTX_API domain_create_a(const char *name)
{
    return (nvtxDomainHandle_t)(void *)nvtx_domain_intern(
        nvtx_text_narrow(name, NVTX_TEXT_BYTES - 1));
}

static nvtxDomainHandle_t NVTX_API domain_create_w(const wchar_t *name)
{
    return (nvtxDomainHandle_t)(void *)nvtx_domain_intern(
        nvtx_text_wide(name, NVTX_TEXT_BYTES - 1));
}

static nvtxStringHandle_t NVTX_API domain_register_a(nvtxDomainHandle_t domain, const char *string)
{
    return (nvtxStringHandle_t)(void *)nvtx_string_intern(
        domain_of(domain), nvtx_text_narrow(string, NVTX_TEXT_BYTES - 1));
}

static nvtxStringHandle_t NVTX_API domain_register_w(nvtxDomainHandle_t domain,
                                                     const wchar_t *string)
{
    return (nvtxStringHandle_t)(void *)nvtx_string_intern(
        domain_of(domain), nvtx_text_wide(string, NVTX_TEXT_BYTES - 1));
}

/* Records a name at once, whether recording is on or off. Its time is not delivered, and never
 * later than what the writer knows. */
static void name_give(struct nvtx_call *call)
{
    struct nvtx_thread *thread = call->text.form == NVTX_NO_TEXT ? NULL : nvtx_enter_always();

    if (!thread)
        return;
    call->time = NVTX_STAMP_IS_CLOCK;
    nvtx_write(thread, call);
    nvtx_leave(thread);
}

static void thread_name(uint32_t tid, struct nvtx_text name)
{
    name_give(&(struct nvtx_call){.kind = NVTX_KIND_thread_name, .category = tid, .text = name});
}

static void category_name(nvtxDomainHandle_t domain, uint32_t category, struct nvtx_text name)
{
    name_give(&(struct nvtx_call){.kind = NVTX_KIND_category_name,
                                  .domain = domain_of(domain),
                                  .category = category,
                                  .text = name});
}

static void NVTX_API domain_name_category_a(nvtxDomainHandle_t domain, uint32_t category,
                                            const char *name)
{
    category_name(domain, category, nvtx_text_narrow(name, NVTX_TEXT_BYTES - 1));
}

static void NVTX_API domain_name_category_w(nvtxDomainHandle_t domain, uint32_t category,
                                            const wchar_t *name)
{
    category_name(domain, category, nvtx_text_wide(name, NVTX_TEXT_BYTES - 1));
}

/* Resources name things; only a thread matters here. The application gets a handle that is not
 * NULL, since NULL means failure. Nothing reads what the handle points to. */
static nvtxResourceHandle_t NVTX_API domain_resource_create(nvtxDomainHandle_t domain,
                                                            nvtxResourceAttributes_t *attributes)
{
    (void)domain;
    if (!attributes)
        return NULL;
    if (attributes->identifierType == (int32_t)NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE)
        thread_name((uint32_t)attributes->identifier.ullValue,
                    text_of(attributes->messageType, attributes->message));
    return (nvtxResourceHandle_t)(void *)nvtx_state();
}

/* ---- NVTX_CB_MODULE_CORE: the functions of the default domain ---- */

static void NVTX_API mark_ex(const nvtxEventAttributes_t *attributes)
{
    domain_mark_ex(NULL, attributes);
}

static void NVTX_API mark_a(const char *message)
{
    struct nvtx_thread *thread = nvtx_enter();

    if (thread) {
        struct nvtx_call call = {.time = nvtx_stamp(),
                                 .text = nvtx_text_narrow(message, NVTX_TEXT_BYTES - 1)};
        nvtx_mark(thread, &call);
    }
}

static void NVTX_API mark_w(const wchar_t *message)
{
    struct nvtx_thread *thread = nvtx_enter();

    if (thread) {
        struct nvtx_call call = {.time = nvtx_stamp(),
                                 .text = nvtx_text_wide(message, NVTX_TEXT_BYTES - 1)};
        nvtx_mark(thread, &call);
    }
}

static nvtxRangeId_t NVTX_API start_ex(const nvtxEventAttributes_t *attributes)
{
    return domain_start_ex(NULL, attributes);
}

static nvtxRangeId_t NVTX_API start_a(const char *message)
{
    struct nvtx_thread *thread = nvtx_enter();

    if (!thread)
        return 0;
    struct nvtx_call call = {.text = nvtx_text_narrow(message, NVTX_TEXT_BYTES - 1)};
    return nvtx_start(thread, &call);
}

static nvtxRangeId_t NVTX_API start_w(const wchar_t *message)
{
    struct nvtx_thread *thread = nvtx_enter();

    if (!thread)
        return 0;
    struct nvtx_call call = {.text = nvtx_text_wide(message, NVTX_TEXT_BYTES - 1)};
    return nvtx_start(thread, &call);
}

static void NVTX_API range_end(nvtxRangeId_t range)
{
    domain_end(NULL, range);
}

static int NVTX_API push_ex(const nvtxEventAttributes_t *attributes)
{
    return domain_push_ex(NULL, attributes);
}

static int NVTX_API push_a(const char *message)
{
    struct nvtx_thread *thread = nvtx_enter();

    if (!thread)
        return NVTX_NO_PUSH_POP_TRACKING;
    struct nvtx_call call = {.text = nvtx_text_narrow(message, NVTX_TEXT_BYTES - 1)};
    return inline_push(thread, &call);
}

static int NVTX_API push_w(const wchar_t *message)
{
    struct nvtx_thread *thread = nvtx_enter();

    if (!thread)
        return NVTX_NO_PUSH_POP_TRACKING;
    struct nvtx_call call = {.text = nvtx_text_wide(message, NVTX_TEXT_BYTES - 1)};
    return nvtx_push(thread, &call);
}

static int NVTX_API range_pop(void)
{
    struct nvtx_thread *thread = nvtx_enter();

    if (thread) {
        struct nvtx_call call = {.time = nvtx_stamp()};
        return inline_pop(thread, &call);
    }
    return NVTX_NO_PUSH_POP_TRACKING;
}

static void NVTX_API name_os_thread_a(uint32_t tid, const char *name)
{
    thread_name(tid, nvtx_text_narrow(name, NVTX_TEXT_BYTES - 1));
}

static void NVTX_API name_os_thread_w(uint32_t tid, const wchar_t *name)
{
    thread_name(tid, nvtx_text_wide(name, NVTX_TEXT_BYTES - 1));
}

static void NVTX_API name_category_a(uint32_t category, const char *name)
{
    domain_name_category_a(NULL, category, name);
}

static void NVTX_API name_category_w(uint32_t category, const wchar_t *name)
{
    domain_name_category_w(NULL, category, name);
}

/* ---- the tables ---- */

struct slot {
    uint32_t module;
    uint32_t id;
    NvtxFunctionPointer function;
};

/* The conditional makes the compiler compare the function's type with the one that NVTX calls. */
#define SLOT(module, id, type, function)                                                           \
    {                                                                                              \
        NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##id,                                        \
            (NvtxFunctionPointer)(1 ? function : (nvtx##type##_impl_fntype)0)                      \
    }
#define CORE(name, function)  SLOT(CORE, name, name, function)
#define CORE2(name, function) SLOT(CORE2, name, name, function)

/* Functions absent here become NULL when NVTX has finished its initialisation, the cheapest no-op
 * there is. These are: names of categories, which the trace has no place for; names of CUDA objects
 * (modules CUDA, CUDART, OPENCL); synchronisation objects (SYNC); nvtxInitialize and the
 * destructors. */
static const struct slot slots[] = {
    CORE(MarkEx, mark_ex),
    CORE(MarkA, mark_a),
    CORE(MarkW, mark_w),
    CORE(RangeStartEx, start_ex),
    CORE(RangeStartA, start_a),
    CORE(RangeStartW, start_w),
    CORE(RangeEnd, range_end),
    CORE(RangePushEx, push_ex),
    CORE(RangePushA, push_a),
    CORE(RangePushW, push_w),
    CORE(RangePop, range_pop),
    CORE(NameCategoryA, name_category_a),
    CORE(NameCategoryW, name_category_w),
    CORE(NameOsThreadA, name_os_thread_a),
    CORE(NameOsThreadW, name_os_thread_w),
    CORE2(DomainMarkEx, domain_mark_ex),
    CORE2(DomainRangeStartEx, domain_start_ex),
    CORE2(DomainRangeEnd, domain_end),
    CORE2(DomainRangePushEx, domain_push_ex),
    CORE2(DomainRangePop, domain_pop),
    CORE2(DomainResourceCreate, domain_resource_create),
    CORE2(DomainNameCategoryA, domain_name_category_a),
    CORE2(DomainNameCategoryW, domain_name_category_w),
    CORE2(DomainRegisterStringA, domain_register_a),
    CORE2(DomainRegisterStringW, domain_register_w),
    CORE2(DomainCreateA, domain_create_a),
    CORE2(DomainCreateW, domain_create_w),
};

NvtxFunctionPointer nvtx_calls_find(uint32_t module, uint32_t id)
{
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
        if (slots[i].module == module && slots[i].id == id)
            return slots[i].function;
    return NULL;
}
