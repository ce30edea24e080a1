/* Reads the payloads that the calls have copied (payload.h has their layout). */
#include <string.h>

#include "record/nvtx/payload.h"
#include "record/nvtx/state.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

static uint32_t rounded(uint32_t bytes)
{
    return (bytes + 7) & ~7u;
}

const struct mp_nvtx_payload *mp_nvtx_payload_next(const struct mp_nvtx_event *event,
                                                   const struct mp_nvtx_payload *before)
{
    const unsigned char *blob = event->blob;
    const unsigned char *at = blob;

    if (before)
        at = (const unsigned char *)(before + 1) + rounded(before->bytes) +
             rounded(before->text_bytes);
    return blob && event->kind != MP_NVTX_NOTE &&
                   (size_t)(at - blob) + sizeof(*before) <= event->blob_bytes
               ? (const void *)at
               : NULL;
}

static uint64_t number_at(const unsigned char *at, const struct mp_nvtx_field *field)
{
    uint64_t bits = 0;
    float narrow;
    double wide;

    memcpy(&bits, at, field->bytes);
    if (field->type == MP_field_type_signed && field->bytes < 8)
        return (uint64_t)((int64_t)(bits << (64 - 8 * field->bytes)) >> (64 - 8 * field->bytes));
    if (field->type == MP_field_type_real && field->bytes == sizeof(narrow)) {
        memcpy(&narrow, at, sizeof(narrow));
        wide = narrow;
        memcpy(&bits, &wide, sizeof(bits));
    }
    return bits;
}

static bool is_behind(const struct mp_nvtx_field *field)
{
    return field->type == MP_field_type_text && field->text != MP_NVTX_TEXT_REGISTERED;
}

/* Texts follow the data in the order of their fields. */
static const char *text_behind(const struct mp_nvtx_payload *payload, uint32_t field)
{
    const char *text = (const char *)(payload + 1) + rounded(payload->bytes);
    const char *end = text + payload->text_bytes;

    for (uint32_t i = 0; i < field && text < end; i++)
        if (is_behind(&payload->schema->fields[i]))
            text += strlen(text) + 1;
    return text < end ? text : NULL;
}

static const char *text_of(const struct mp_nvtx_payload *payload, uint32_t field,
                           const unsigned char *at)
{
    const struct nvtx_string *registered;

    if (is_behind(&payload->schema->fields[field]))
        return text_behind(payload, field);
    memcpy(&registered, at, sizeof(void *));
    return registered ? registered->text : NULL;
}

bool mp_nvtx_payload_value(const struct mp_nvtx_payload *payload, uint32_t field, uint64_t *bits,
                           const char **text)
{
    const struct mp_nvtx_field *of = &payload->schema->fields[field];
    const unsigned char *at = (const unsigned char *)(payload + 1) + of->offset;

    *bits = 0;
    *text = NULL;
    if (of->offset + of->bytes > payload->bytes)
        return false;
    if (of->type != MP_field_type_text) {
        *bits = number_at(at, of);
        return true;
    }
    *text = text_of(payload, field, at);
    return *text != NULL;
}

uint64_t mp_nvtx_payloads_dropped(void)
{
    return atomic_load_explicit(&nvtx_state()->payloads_dropped, memory_order_relaxed);
}

uint64_t mp_nvtx_payloads_unknown(void)
{
    return atomic_load_explicit(&nvtx_state()->payloads_unknown, memory_order_relaxed);
}
