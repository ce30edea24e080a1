/* The payload schemas and enumerations that an application registers: what their entries say, how
 * payloads are copied in a call, and how the writer reads the copies (nvtx.h has their layout).
 *
 * The table of schemas is an open hash table, which each event may search. So it is written
 * under the lock and read without.
 *
 * An entry without an offset follows the one before it, aligned as C aligns it, or as the schema's
 * packAlign says. After an entry of unknown size only entries with an offset are kept.
 *
 * Several libraries of a process may register different structs under one id in one domain: two
 * versions of NCCL do. Then the payload's size decides.
 */
#include <string.h>

#include "record/nvtx/calls.h"
#include "record/nvtx/nvtx.h"
#include "record/nvtx/state.h"
#include "trace/schema.h"

#include "base/poison.h"

static uint32_t rounded(uint32_t bytes)
{
    return (bytes + 7) & ~7u;
}

/* ---- Reading the copies ---- */

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

#if NVTX_HAS_PAYLOADS

/* ---- The table ---- */

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
static void schema_insert(const struct nvtx_schema *schema)
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

/* ---- Entries ---- */

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

/* Reads the size and the message; false: it has no entries. */
static bool schema_read(struct nvtx_schema *schema, const nvtxPayloadSchemaAttr_t *attr)
{
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

/* Remembers an enumeration. The caller holds nvtx_state.lock. */
static void enumeration_add(const struct nvtx_domain *domain, uint64_t id,
                            const nvtxPayloadEnumAttr_t *attr)
{
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
    if (!at && align) /* which is never 0 */
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

/* NULL without room. The caller holds nvtx_state.lock. */
static const struct mp_nvtx_schema *fields_make(const struct nvtx_domain *domain,
                                                const nvtxPayloadSchemaAttr_t *attr)
{
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

/* ---- Registering ---- */

static uint64_t id_new(bool given, uint64_t id)
{
    if (given && id)
        return id;
    return NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START +
           atomic_fetch_add_explicit(&nvtx_state()->schema_ids, 1, memory_order_relaxed);
}

uint64_t NVTX_API nvtx_schema_register(nvtxDomainHandle_t domain,
                                       const nvtxPayloadSchemaAttr_t *attr)
{
    struct nvtx_state *state = nvtx_state();
    struct nvtx_schema schema = {.domain = (const struct nvtx_domain *)(const void *)domain};

    if (!attr || atomic_load_explicit(&state->inert, memory_order_relaxed))
        return 0;
    schema.id = id_new(attr->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID, attr->schemaId);
    if (!schema_read(&schema, attr))
        return schema.id;
    pthread_mutex_lock(&state->lock);
    schema.shown = fields_make(schema.domain, attr);
    schema_insert(&schema);
    pthread_mutex_unlock(&state->lock);
    return schema.id;
}

uint64_t NVTX_API nvtx_enum_register(nvtxDomainHandle_t domain, const nvtxPayloadEnumAttr_t *attr)
{
    struct nvtx_state *state = nvtx_state();

    if (!attr || atomic_load_explicit(&state->inert, memory_order_relaxed))
        return 0;
    uint64_t id = id_new(attr->fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID, attr->schemaId);
    pthread_mutex_lock(&state->lock);
    enumeration_add((const struct nvtx_domain *)(const void *)domain, id, attr);
    pthread_mutex_unlock(&state->lock);
    return id;
}

uint64_t NVTX_API nvtx_scope_register(nvtxDomainHandle_t domain, const nvtxScopeAttr_t *attr)
{
    (void)domain;
    return attr ? id_new(attr->structSize >= sizeof(*attr), attr->scopeId) : 0;
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

        if (!schema || !data[i].payload) {
            atomic_fetch_add_explicit(&state->payloads_unknown, 1, memory_order_relaxed);
            continue;
        }
        if (!schema->shown || !schema->shown->field_count)
            continue;
        uint32_t bytes = payload_copy(schema->shown, &data[i], to + used, NVTX_BLOB_BYTES - used);
        if (!bytes)
            atomic_fetch_add_explicit(&state->payloads_dropped, 1, memory_order_relaxed);
        used += bytes;
    }
    return used;
}

#else

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
