/* The table of payload schemas, and what is done with payloads inside of a call: the event's
 * message is found in them, and they are copied. The table is an open hash table, which each event
 * may search. So it is written under the lock and read without.
 *
 * Several libraries of a process may register different structs under one id in one domain: two
 * versions of NCCL do. Then the payload's size decides.
 */
#include "record/nvtx/calls.h"
#include "record/nvtx/state.h"

#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#include <string.h>

#include "trace/codec/schema.h"

#include "base/poison.h"

static uint32_t schema_slot(const struct nvtx_domain *domain, uint64_t id)
{
    const uint64_t mixed = (id ^ (uint64_t)(uintptr_t)domain) * 0x9e3779b97f4a7c15u;

    return (uint32_t)(mixed >> 32) % NVTX_SCHEMAS;
}

/* The schema of this size, else the first one of the id. */
static const struct nvtx_schema *schema_find(const struct nvtx_domain *domain, uint64_t id,
                                             uint64_t size)
{
    struct nvtx_state *state = nvtx_state();
    const struct nvtx_schema *found = NULL;
    uint32_t slot = schema_slot(domain, id);

    for (uint32_t i = 0; i < NVTX_SCHEMAS; i++) {
        const struct nvtx_schema *schema =
            atomic_load_explicit(&state->schemas[slot], memory_order_acquire);
        if (!schema)
            break;
        if (schema->id == id && schema->domain == domain) {
            if (schema->size == size)
                return schema;
            found = found ? found : schema;
        }
        slot = (slot + 1) % NVTX_SCHEMAS;
    }
    return found;
}

/* A quarter of the places stays empty, which ends every search. The first of several schemas of one
 * id and size stays. */
void nvtx_schema_insert(const struct nvtx_schema *schema)
{
    struct nvtx_state *state = nvtx_state();
    uint32_t slot = schema_slot(schema->domain, schema->id);
    const struct nvtx_schema *known;
    struct nvtx_schema *made = NULL;

    while ((known = atomic_load_explicit(&state->schemas[slot], memory_order_relaxed)) != NULL) {
        if (known->id == schema->id && known->domain == schema->domain &&
            known->size == schema->size)
            return;
        slot = (slot + 1) % NVTX_SCHEMAS;
    }
    if (state->schema_count < NVTX_SCHEMAS / 4 * 3)
        made = nvtx_permanent(sizeof(*made));
    if (!made) {
        atomic_fetch_add_explicit(&state->payloads_dropped, 1, memory_order_relaxed);
        return;
    }
    *made = *schema;
    state->schema_count++;
    atomic_store_explicit(&state->schemas[slot], made, memory_order_release);
}

/* ---- The message ---- */

static struct nvtx_text message_in(const struct nvtx_schema *schema, const nvtxPayloadData_t *data)
{
    const struct nvtx_text none = {.form = NVTX_NO_TEXT};
    const uint64_t bytes = schema->fixed ? schema->fixed : sizeof(void *);
    const char *at = (const char *)data->payload + schema->offset;
    const void *pointer;

    if (!data->payload || schema->offset > data->size || bytes > data->size - schema->offset)
        return none;
    if (schema->fixed) {
        const uint64_t limit = bytes < NVTX_TEXT_BYTES - 1 ? bytes : NVTX_TEXT_BYTES - 1;
        struct nvtx_text text = {.form = NVTX_NARROW, .at.narrow = at};
        text.bytes = (uint32_t)strnlen(at, limit);
        return text;
    }
    memcpy(&pointer, at, sizeof(pointer));
    return schema->registered ? nvtx_text_registered(pointer)
                              : nvtx_text_narrow(pointer, NVTX_TEXT_BYTES - 1);
}

struct nvtx_text nvtx_payload_message(const struct nvtx_domain *domain, const void *payloads,
                                      size_t count)
{
    const nvtxPayloadData_t *data = payloads;
    struct nvtx_text text = {.form = NVTX_NO_TEXT};

    for (size_t i = 0; data && i < count && text.form == NVTX_NO_TEXT; i++) {
        const struct nvtx_schema *schema = schema_find(domain, data[i].schemaId, data[i].size);
        if (schema && schema->message)
            text = message_in(schema, &data[i]);
    }
    return text;
}

/* ---- Copying ---- */

/* Of the application's text: where it is, and how long. */
static struct nvtx_text field_text(const struct mp_nvtx_field *field, const unsigned char *at)
{
    struct nvtx_text text = {.form = NVTX_NARROW, .at.narrow = (const char *)at};
    const char *pointer;

    if (field->text == MP_NVTX_TEXT_INSIDE) {
        text.bytes = (uint32_t)strnlen((const char *)at, field->bytes);
        if (text.bytes >= NVTX_PAYLOAD_TEXT_BYTES)
            text.bytes = nvtx_text_clip(text.at.narrow, NVTX_PAYLOAD_TEXT_BYTES - 1);
        return text;
    }
    memcpy(&pointer, at, sizeof(pointer));
    return nvtx_text_narrow(pointer, NVTX_PAYLOAD_TEXT_BYTES - 1);
}

/* Copies the texts to `to`; what they take, UINT32_MAX if there is no room. */
static uint32_t texts_copy(const struct mp_nvtx_schema *schema, const nvtxPayloadData_t *data,
                           uint32_t bytes, char *to, uint32_t room)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < schema->field_count; i++) {
        const struct mp_nvtx_field *field = &schema->fields[i];
        struct nvtx_text text = {.form = NVTX_NO_TEXT};

        if (field->type != MP_field_type_text || field->text == MP_NVTX_TEXT_REGISTERED)
            continue;
        if (field->offset + field->bytes <= bytes)
            text = field_text(field, (const unsigned char *)data->payload + field->offset);
        if (used + text.bytes + 1 > room)
            return UINT32_MAX;
        nvtx_text_copy(to + used, text);
        used += text.bytes + 1;
    }
    return used;
}

static uint32_t rounded(uint32_t bytes)
{
    return (bytes + 7) & ~7u;
}

/* Appends one payload; the bytes that it takes, 0 if it finds no room. */
static uint32_t payload_copy(const struct mp_nvtx_schema *schema, const nvtxPayloadData_t *data,
                             unsigned char *to, uint32_t room)
{
    struct mp_nvtx_payload head = {.schema = schema};

    head.bytes = data->size < schema->extent ? (uint32_t)data->size : schema->extent;
    uint32_t used = (uint32_t)sizeof(head) + rounded(head.bytes);
    if (used > room)
        return 0;
    memcpy(to + sizeof(head), data->payload, head.bytes);
    if (schema->texts) {
        head.text_bytes = texts_copy(schema, data, head.bytes, (char *)to + used, room - used);
        if (head.text_bytes == UINT32_MAX || used + rounded(head.text_bytes) > room)
            return 0;
        used += rounded(head.text_bytes);
    }
    memcpy(to, &head, sizeof(head));
    return used;
}

uint32_t nvtx_payloads_copy(const struct nvtx_domain *domain, const void *payloads, size_t count,
                            unsigned char *to)
{
    struct nvtx_state *state = nvtx_state();
    const nvtxPayloadData_t *data = payloads;
    uint32_t used = 0;

    for (size_t i = 0; data && i < count && i < NVTX_BLOB_BYTES; i++) {
        const struct nvtx_schema *schema = schema_find(domain, data[i].schemaId, data[i].size);
        uint32_t bytes;

        if (!schema || !data[i].payload) {
            atomic_fetch_add_explicit(&state->payloads_unknown, 1, memory_order_relaxed);
            continue;
        }
        if (!schema->shown || !schema->shown->field_count)
            continue;
        bytes = payload_copy(schema->shown, &data[i], to + used, NVTX_BLOB_BYTES - used);
        if (!bytes)
            atomic_fetch_add_explicit(&state->payloads_dropped, 1, memory_order_relaxed);
        used += bytes;
    }
    return used;
}

#else /* no extension */

struct nvtx_text nvtx_payload_message(const struct nvtx_domain *domain, const void *payloads,
                                      size_t count)
{
    (void)domain, (void)payloads, (void)count;
    return (struct nvtx_text){.form = NVTX_NO_TEXT};
}

uint32_t nvtx_payloads_copy(const struct nvtx_domain *domain, const void *payloads, size_t count,
                            unsigned char *to)
{
    (void)domain, (void)payloads, (void)count, (void)to;
    return 0;
}

#endif
