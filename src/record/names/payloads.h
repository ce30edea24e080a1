/* Extended payloads and categories of NVTX: from the handler's schemas to rows.
 *
 * A schema of the trace is the list of those that an event's payloads have, mostly one. It gets a
 * number at its first use, and its fields and enumerations are defined then. The events of a schema
 * are counted, so that the rows of their values find the row of `nvtx`:
 *
 *     nvtx      ... payload_schema 2, extended 7    payload_field  id 4, payload_schema 2, "Message
 * size" payload   field 4, number 7, value 65536
 *
 * Owned by the writer thread.
 */
#ifndef MP_RECORD_NAMES_PAYLOADS_H
#define MP_RECORD_NAMES_PAYLOADS_H

#include <stdint.h>

#include "base/data/map.h"
#include "record/nvtx/nvtx.h"

#define PAYLOAD_SCHEMAS    8192u /* lists of schemas that have numbers */
#define PAYLOAD_TOGETHER   8u    /* payloads of one event; further ones are left out */
#define PAYLOAD_CATEGORIES 4096u

struct dictionary;

struct payload_schema {
    uint32_t first_field; /* in the present file; 0: not defined there */
    uint64_t events;
};

struct payload_category {
    const char *domain; /* the handler's, for ever */
    uint32_t category;
    char *name;
};

struct payloads {
    struct mp_intern keys;        /* lists of schemas: their addresses */
    struct payload_schema *items; /* by id - 1 */
    uint32_t capacity;
    uint32_t fields;            /* defined in the present file */
    struct mp_intern enum_keys; /* enumerations in the present file: their addresses */
    struct payload_category *categories;
    uint32_t category_count;
    uint64_t lost; /* events whose payloads found no room, categories without a row */
};

/* Of a row of `nvtx`: its columns `payload_schema` and `extended`; zeroes without a payload. */
struct payload_mark {
    uint64_t schema;
    uint64_t number;
};

void payloads_close(struct payloads *payloads);

/* Defines what is new; the rows of the values follow with payloads_append. */
struct payload_mark payloads_mark(struct payloads *payloads, struct dictionary *dictionary,
                                  const struct mp_nvtx_event *event);

/* Appends the rows of an event's values, which are kept. */
void payloads_append(struct payloads *payloads, struct dictionary *dictionary,
                     const struct mp_nvtx_event *event, struct payload_mark mark);

/* A category got a name: appended now and after each cut. */
void payloads_name_category(struct payloads *payloads, struct dictionary *dictionary,
                            const struct mp_nvtx_event *event);

/* The file was cut. */
void payloads_restart(struct payloads *payloads, struct dictionary *dictionary);

#endif
