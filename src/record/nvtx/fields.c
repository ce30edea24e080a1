/* From the entries of a registered schema to the fields that are kept, and enumerations.
 *
 * An entry without an offset follows the one before it, aligned as C aligns it, or as the schema's
 * packAlign says. After an entry of unknown size only entries with an offset are kept.
 */
#include "record/nvtx/calls.h"
#include "record/nvtx/state.h"

#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>

#include "trace/codec/schema.h"

#include "base/poison.h"

/* The predefined types by NVTX's numbers; those missing here are not kept. The older headers do not
 * name all of them. */
static const struct {
    uint8_t bytes;
    uint8_t type;
} types[75] = {
#define SIGNED(of)                                                                                 \
    {                                                                                              \
        sizeof(of), MP_field_type_signed                                                           \
    }
#define UNSIGNED(of)                                                                               \
    {                                                                                              \
        sizeof(of), MP_field_type_unsigned                                                         \
    }
#define REAL(of)                                                                                   \
    {                                                                                              \
        sizeof(of), MP_field_type_real                                                             \
    }
    [1] = SIGNED(char),        [2] = UNSIGNED(char),
    [3] = SIGNED(short),       [4] = UNSIGNED(short),
    [5] = SIGNED(int),         [6] = UNSIGNED(int),
    [7] = SIGNED(long),        [8] = UNSIGNED(long),
    [9] = SIGNED(long long),   [10] = UNSIGNED(long long),
    [11] = SIGNED(int8_t),     [12] = UNSIGNED(int8_t),
    [13] = SIGNED(int16_t),    [14] = UNSIGNED(int16_t),
    [15] = SIGNED(int32_t),    [16] = UNSIGNED(int32_t),
    [17] = SIGNED(int64_t),    [18] = UNSIGNED(int64_t),
    [19] = REAL(float),        [20] = REAL(double),
    [22] = UNSIGNED(size_t),   [23] = {sizeof(void *), MP_field_type_address},
    [24] = UNSIGNED(wchar_t),  [25] = UNSIGNED(char),
    [26] = UNSIGNED(uint16_t), [27] = UNSIGNED(uint32_t),
    [32] = UNSIGNED(char),     [43] = REAL(float),
    [44] = REAL(double),       [68] = UNSIGNED(uint32_t),
    [69] = UNSIGNED(uint32_t),                            /* a category, a colour */
    [70] = UNSIGNED(uint64_t),                            /* a scope */
    [71] = UNSIGNED(uint32_t), [72] = UNSIGNED(uint64_t), /* process ids, thread ids */
    [73] = UNSIGNED(uint32_t), [74] = UNSIGNED(uint64_t),
};

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

bool nvtx_schema_read(struct nvtx_schema *schema, const void *attributes)
{
    const nvtxPayloadSchemaAttr_t *attr = attributes;
    const uint64_t needed =
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;

    if ((attr->fieldMask & needed) != needed || !attr->entries)
        return false;
    if (attr->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE)
        schema->size = attr->payloadStaticSize;
    for (size_t i = 0; i < attr->numEntries && !schema->message; i++)
        schema->message = entry_is_message(&attr->entries[i], i, schema);
    return true;
}

/* ---- Enumerations ---- */

/* A permanent copy, clipped; "" for NULL and without room. */
static const char *name_keep(const char *name)
{
    const struct nvtx_text text = nvtx_text_narrow(name, NVTX_PAYLOAD_TEXT_BYTES - 1);
    char *copy = text.bytes ? nvtx_permanent(text.bytes + 1) : NULL;

    if (!copy)
        return "";
    nvtx_text_copy(copy, text);
    return copy;
}

static const struct mp_nvtx_enum *enumeration_find(const struct nvtx_domain *domain, uint64_t id)
{
    const struct nvtx_enumeration *one = nvtx_state()->enumerations;

    while (one && (one->shown.id != id || one->domain != domain))
        one = one->next;
    return one ? &one->shown : NULL;
}

void nvtx_enumeration_add(const struct nvtx_domain *domain, uint64_t id, const void *attributes)
{
    const nvtxPayloadEnumAttr_t *attr = attributes;
    const uint64_t needed =
        NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES;
    struct nvtx_state *state = nvtx_state();
    struct nvtx_enumeration *made = NULL;
    size_t count = attr->numEntries < NVTX_ENUM_NAMES ? attr->numEntries : NVTX_ENUM_NAMES;

    if ((attr->fieldMask & needed) != needed || !attr->entries || enumeration_find(domain, id))
        return;
    if (state->enumeration_count < NVTX_SCHEMAS)
        made = nvtx_permanent(sizeof(*made) + count * sizeof(made->shown.names[0]));
    if (!made) {
        atomic_fetch_add_explicit(&state->payloads_dropped, 1, memory_order_relaxed);
        return;
    }
    made->domain = domain;
    made->shown.id = id;
    made->shown.bytes = sizeof(int);
    if (attr->fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE && attr->sizeOfEnum &&
        attr->sizeOfEnum <= 8)
        made->shown.bytes = (uint32_t)attr->sizeOfEnum;
    for (size_t i = 0; i < count; i++)
        made->shown.names[made->shown.count++] =
            (struct mp_nvtx_name){attr->entries[i].value, name_keep(attr->entries[i].name)};
    made->next = state->enumerations;
    state->enumeration_count++;
    __atomic_store_n(&state->enumerations, made, __ATOMIC_RELEASE);
}

/* ---- Fields ---- */

/* What an entry takes in the payload and what its values are; false: its size is not known. */
static bool entry_measure(const struct nvtx_domain *domain, const nvtxPayloadSchemaEntry_t *entry,
                          struct mp_nvtx_field *field)
{
    const bool is_text = entry->type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING ||
                         entry->type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8;
    const bool points = (entry->flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER) != 0;

    if (is_text || entry->type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE) {
        field->type = MP_field_type_text;
        field->bytes = sizeof(void *);
        field->text = is_text ? MP_NVTX_TEXT_POINTED_TO : MP_NVTX_TEXT_REGISTERED;
        if (is_text && !points && entry->arrayOrUnionDetail) {
            field->text = MP_NVTX_TEXT_INSIDE;
            field->bytes = entry->arrayOrUnionDetail < NVTX_PAYLOAD_BYTES
                               ? (uint32_t)entry->arrayOrUnionDetail
                               : NVTX_PAYLOAD_BYTES + 1;
        }
        return true;
    }
    if (points) {
        field->type = MP_field_type_address;
        field->bytes = sizeof(void *);
        return true;
    }
    if (NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry->flags))
        return false;
    if (entry->type < sizeof(types) / sizeof(types[0])) {
        field->type = types[entry->type].type;
        field->bytes = types[entry->type].bytes;
        return field->bytes != 0;
    }
    field->enumeration = enumeration_find(domain, entry->type);
    field->type = MP_field_type_unsigned;
    field->bytes = field->enumeration ? field->enumeration->bytes : 0;
    return field->bytes != 0;
}

/* Where entries without an offset go on; UINT64_MAX: not known. */
struct place {
    uint64_t next;
    uint64_t pack; /* largest alignment */
};

static uint64_t place_take(struct place *place, const nvtxPayloadSchemaEntry_t *entry,
                           const struct mp_nvtx_field *field)
{
    const uint64_t elsewhere =
        NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE;
    uint64_t align = field->text == MP_NVTX_TEXT_INSIDE ? 1 : field->bytes;
    uint64_t at = entry->offset;

    if (align > place->pack)
        align = place->pack;
    if ((entry->flags & elsewhere) || place->next == UINT64_MAX)
        return at && !(entry->flags & elsewhere) ? at : UINT64_MAX;
    if (!at)
        at = (place->next + align - 1) / align * align;
    return at;
}

static void fields_take(struct mp_nvtx_schema *made, const struct nvtx_domain *domain,
                        const nvtxPayloadSchemaAttr_t *attr)
{
    struct place place = {.pack = 8};

    if (attr->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT && attr->packAlign &&
        attr->packAlign < 8)
        place.pack = attr->packAlign;
    for (size_t i = 0; i < attr->numEntries && made->field_count < NVTX_SCHEMA_FIELDS; i++) {
        const nvtxPayloadSchemaEntry_t *entry = &attr->entries[i];
        struct mp_nvtx_field field = {.text = MP_NVTX_TEXT_POINTED_TO};
        bool known = entry_measure(domain, entry, &field);
        uint64_t at = known ? place_take(&place, entry, &field) : UINT64_MAX;

        place.next = UINT64_MAX;
        if (at >= NVTX_PAYLOAD_BYTES || at + field.bytes > NVTX_PAYLOAD_BYTES)
            continue;
        place.next = at + field.bytes;
        field.offset = (uint32_t)at;
        field.name = name_keep(entry->name);
        made->texts += field.type == MP_field_type_text && field.text != MP_NVTX_TEXT_REGISTERED;
        if (place.next > made->extent)
            made->extent = (uint32_t)place.next;
        made->fields[made->field_count++] = field;
    }
}

const struct mp_nvtx_schema *nvtx_fields_make(const struct nvtx_domain *domain,
                                              const void *attributes)
{
    const nvtxPayloadSchemaAttr_t *attr = attributes;
    const size_t max =
        attr->numEntries < NVTX_SCHEMA_FIELDS ? attr->numEntries : NVTX_SCHEMA_FIELDS;
    struct mp_nvtx_schema *made;

    if (attr->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE &&
        attr->type != NVTX_PAYLOAD_SCHEMA_TYPE_STATIC &&
        attr->type != NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC)
        return NULL;
    made = nvtx_permanent(sizeof(*made) + max * sizeof(made->fields[0]));
    if (!made)
        return NULL;
    made->domain = domain ? domain->name : NULL;
    made->name =
        name_keep(attr->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME ? attr->name : NULL);
    fields_take(made, domain, attr);
    return made;
}

#else /* no extension */

#endif
