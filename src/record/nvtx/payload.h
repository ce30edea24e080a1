/* Extended payloads: the schemas that applications register, and the payloads of an event.
 *
 * A schema is a struct's layout. The handler keeps its fields that are numbers, pointers and texts.
 * Arrays, unions and structs inside of it are left out. In the call a payload is copied as far as
 * its fields reach, and the texts to which it points are copied after it:
 *
 *     mp_nvtx_payload | data, up to 8 bytes more | text\0text\0, up to 8 bytes more | next payload
 *
 * A payload whose schema was not registered has no known layout: it is counted and left out.
 *
 * Schemas and enumerations are never freed and never changed. Payloads are valid inside of the
 * sink's callback only. Any thread.
 */
#ifndef MP_RECORD_NVTX_PAYLOAD_H
#define MP_RECORD_NVTX_PAYLOAD_H

#include <stdbool.h>
#include <stdint.h>

struct mp_nvtx_event;

struct mp_nvtx_name {
    uint64_t value;
    const char *name;
};

struct mp_nvtx_enum {
    uint64_t id;    /* NVTX's, unique in the domain */
    uint32_t bytes; /* of a value */
    uint32_t count;
    struct mp_nvtx_name names[];
};

/* Where the application has the text of a field of type text. All but registered ones are copied
 * after the data. */
enum mp_nvtx_text_at { MP_NVTX_TEXT_POINTED_TO, MP_NVTX_TEXT_INSIDE, MP_NVTX_TEXT_REGISTERED };

struct mp_nvtx_field {
    const char *name;
    const struct mp_nvtx_enum *enumeration; /* NULL: none */
    uint32_t offset;                        /* in the payload */
    uint32_t bytes;
    uint8_t type; /* field_type of trace/codec/enums.def */
    uint8_t text; /* enum mp_nvtx_text_at */
};

struct mp_nvtx_schema {
    const char *name;   /* "" if it has none */
    const char *domain; /* NULL is the default domain */
    uint32_t extent;    /* bytes from the payload's begin to the end of its last field */
    uint32_t texts;     /* fields whose text is copied after the data */
    uint32_t field_count;
    struct mp_nvtx_field fields[];
};

struct mp_nvtx_payload {
    const struct mp_nvtx_schema *schema;
    uint32_t bytes; /* of the data that follows; less than the schema's extent if it was shorter */
    uint32_t text_bytes;
};

/* The payload after `before`, or the first one for NULL; NULL: there is none. */
const struct mp_nvtx_payload *mp_nvtx_payload_next(const struct mp_nvtx_event *event,
                                                   const struct mp_nvtx_payload *before);

/* What a field of the payload's schema is: *bits of a number (signed ones extended, reals as a
 * double), *text of a text, else NULL. False if the payload is too short, or the text is NULL. */
bool mp_nvtx_payload_value(const struct mp_nvtx_payload *payload, uint32_t field, uint64_t *bits,
                           const char **text);

/* Payloads and schemas for which there was no room, and payloads without a registered schema, since
 * the process started. */
uint64_t mp_nvtx_payloads_dropped(void);
uint64_t mp_nvtx_payloads_unknown(void);

#endif
