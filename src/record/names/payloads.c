/* Writes the payloads of NVTX events as rows, and defines their schemas, enumerations and
 * categories.
 */
#include "record/names/payloads.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "record/names/dictionary.h"

#include "base/poison.h"

void payloads_close(struct payloads *payloads)
{
    for (uint32_t i = 0; i < payloads->category_count; i++)
        free(payloads->categories[i].name);
    free(payloads->categories);
    free(payloads->items);
    mp_intern_free(&payloads->keys);
    mp_intern_free(&payloads->enum_keys);
    memset(payloads, 0, sizeof(*payloads));
}

/* ---- Definitions ---- */

/* The number of an enumeration in the file, with the names of its values; 0: none. */
static uint32_t enumeration_of(struct payloads *payloads, struct dictionary *dictionary,
                               const struct mp_nvtx_enum *enumeration)
{
    bool is_new;

    if (!enumeration)
        return 0;
    uint32_t id =
        dictionary_intern(dictionary, &payloads->enum_keys, &enumeration, sizeof(void *), &is_new);
    for (uint32_t i = 0; is_new && i < enumeration->count; i++)
        mp_append_payload_name(
            dictionary->writer,
            &(struct mp_row_payload_name){
                .enumeration = id,
                .value = enumeration->names[i].value,
                .name = dictionary_string(dictionary, enumeration->names[i].name)});
    return id;
}

static void define_fields(struct payloads *payloads, struct dictionary *dictionary, uint32_t id,
                          const struct mp_nvtx_schema *schema)
{
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const struct mp_nvtx_field *field = &schema->fields[i];
        struct mp_row_payload_field row = {
            .id = ++payloads->fields,
            .payload_schema = id,
            .domain = dictionary_string(dictionary, schema->domain),
            .schema_name = dictionary_string(dictionary, schema->name),
            .name = dictionary_string(dictionary, field->name),
            .type = field->type,
            .enumeration = enumeration_of(payloads, dictionary, field->enumeration),
        };

        mp_append_payload_field(dictionary->writer, &row);
    }
}

/* The schemas of an event's payloads. */
static uint32_t schemas_of(const struct mp_nvtx_event *event,
                           const struct mp_nvtx_schema *schemas[PAYLOAD_TOGETHER])
{
    const struct mp_nvtx_payload *payload = NULL;
    uint32_t count = 0;

    while (count < PAYLOAD_TOGETHER && (payload = mp_nvtx_payload_next(event, payload)) != NULL)
        schemas[count++] = payload->schema;
    return count;
}

struct payload_mark payloads_mark(struct payloads *payloads, struct dictionary *dictionary,
                                  const struct mp_nvtx_event *event)
{
    const struct mp_nvtx_schema *schemas[PAYLOAD_TOGETHER];
    uint32_t count = event->blob ? schemas_of(event, schemas) : 0;

    if (!count)
        return (struct payload_mark){0, 0};
    uint32_t id = mp_intern_find(&payloads->keys, schemas, count * sizeof(void *));
    if (!id && payloads->keys.count < PAYLOAD_SCHEMAS)
        id = mp_intern_add(&payloads->keys, schemas, count * sizeof(void *));
    if (!id || (id > payloads->capacity &&
                !mp_double(&payloads->items, &payloads->capacity, sizeof(*payloads->items)))) {
        payloads->lost++;
        return (struct payload_mark){0, 0};
    }
    struct payload_schema *item = &payloads->items[id - 1];
    if (!item->first_field) {
        item->first_field = payloads->fields + 1;
        for (uint32_t i = 0; i < count; i++)
            define_fields(payloads, dictionary, id, schemas[i]);
    }
    return (struct payload_mark){id, ++item->events};
}

/* ---- Values ---- */

void payloads_append(struct payloads *payloads, struct dictionary *dictionary,
                     const struct mp_nvtx_event *event, struct payload_mark mark)
{
    const struct mp_nvtx_payload *payload = NULL;
    uint32_t field = mark.schema ? payloads->items[mark.schema - 1].first_field : 0;

    for (uint32_t n = 0; field && n < PAYLOAD_TOGETHER; n++) {
        payload = mp_nvtx_payload_next(event, payload);
        if (!payload)
            return;
        for (uint32_t i = 0; i < payload->schema->field_count; i++, field++) {
            struct mp_row_payload row = {.field = field, .number = mark.number};
            const char *text;

            if (!mp_nvtx_payload_value(payload, i, &row.value, &text))
                continue;
            if (text)
                row.value = dictionary_string(dictionary, text);
            mp_append_payload(dictionary->writer, &row);
        }
    }
}

/* ---- Categories ---- */

static void define_category(struct dictionary *dictionary, const struct payload_category *category)
{
    struct mp_row_category row = {
        .domain = dictionary_string(dictionary, category->domain),
        .category = category->category,
        .name = dictionary_string(dictionary, category->name),
    };

    mp_append_category(dictionary->writer, &row);
}

/* The category's place, a new one if it is new; NULL without room. */
static struct payload_category *category_of(struct payloads *payloads, const char *domain,
                                            uint32_t category)
{
    for (uint32_t i = 0; i < payloads->category_count; i++)
        if (payloads->categories[i].domain == domain &&
            payloads->categories[i].category == category)
            return &payloads->categories[i];
    if (!payloads->categories)
        payloads->categories = calloc(PAYLOAD_CATEGORIES, sizeof(payloads->categories[0]));
    if (!payloads->categories || payloads->category_count == PAYLOAD_CATEGORIES)
        return NULL;
    payloads->categories[payloads->category_count] =
        (struct payload_category){.domain = domain, .category = category};
    return &payloads->categories[payloads->category_count++];
}

void payloads_name_category(struct payloads *payloads, struct dictionary *dictionary,
                            const struct mp_nvtx_event *event)
{
    struct payload_category *category = category_of(payloads, event->domain, event->category);
    char *copy = category ? strdup(event->name) : NULL;

    if (!copy) {
        payloads->lost++;
        return;
    }
    free(category->name);
    category->name = copy;
    define_category(dictionary, category);
}

void payloads_restart(struct payloads *payloads, struct dictionary *dictionary)
{
    for (uint32_t i = 0; i < payloads->capacity; i++)
        payloads->items[i].first_field = 0;
    payloads->fields = 0;
    mp_intern_reset(&payloads->enum_keys);
    for (uint32_t i = 0; i < payloads->category_count; i++)
        define_category(dictionary, &payloads->categories[i]);
}
