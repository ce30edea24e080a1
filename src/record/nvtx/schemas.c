/* Payload schemas that bring a message, and the messages of their payloads. They are remembered in
 * an open hash table, which each event may search. So it is written under the lock and read
 * without.
 */
#include "record/nvtx/calls.h"
#include "record/nvtx/domain.h"

#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#include <string.h>

#include "base/poison.h"

static uint32_t schema_slot(const struct nvtx_domain *domain, uint64_t id)
{
    const uint64_t mixed = (id ^ (uint64_t)(uintptr_t)domain) * 0x9e3779b97f4a7c15u;

    return (uint32_t)(mixed >> 32) % NVTX_MESSAGE_SCHEMAS;
}

static const struct nvtx_schema *schema_find(const struct nvtx_domain *domain, uint64_t id)
{
    struct nvtx_state *state = nvtx_state();
    uint32_t slot = schema_slot(domain, id);

    for (uint32_t i = 0; i < NVTX_MESSAGE_SCHEMAS; i++) {
        const struct nvtx_schema *schema =
            atomic_load_explicit(&state->schemas[slot], memory_order_acquire);
        if (!schema || (schema->id == id && schema->domain == domain))
            return schema;
        slot = (slot + 1) % NVTX_MESSAGE_SCHEMAS;
    }
    return NULL;
}

/* The last free place stays empty, which ends every search. */
void nvtx_schema_insert(const struct nvtx_schema *schema)
{
    struct nvtx_state *state = nvtx_state();
    uint32_t slot = schema_slot(schema->domain, schema->id);
    struct nvtx_schema *made;

    pthread_mutex_lock(&state->lock);
    for (uint32_t i = 0; i + 1 < NVTX_MESSAGE_SCHEMAS; i++) {
        const struct nvtx_schema *known =
            atomic_load_explicit(&state->schemas[slot], memory_order_relaxed);
        if (!known || (known->id == schema->id && known->domain == schema->domain))
            break;
        slot = (slot + 1) % NVTX_MESSAGE_SCHEMAS;
    }
    made = nvtx_permanent(sizeof(*made));
    if (made && !atomic_load_explicit(&state->schemas[slot], memory_order_relaxed)) {
        *made = *schema;
        atomic_store_explicit(&state->schemas[slot], made, memory_order_release);
    }
    pthread_mutex_unlock(&state->lock);
}

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
        const struct nvtx_schema *schema = schema_find(domain, data[i].schemaId);
        if (schema)
            text = message_in(schema, &data[i]);
    }
    return text;
}

#else /* no extension */

#include "base/poison.h"

struct nvtx_text nvtx_payload_message(const struct nvtx_domain *domain, const void *payloads,
                                      size_t count)
{
    (void)domain, (void)payloads, (void)count;
    return (struct nvtx_text){.form = NVTX_NO_TEXT};
}

#endif
