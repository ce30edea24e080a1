/* Thrift's compact protocol, as much of it as Parquet's headers and footer need
 * (github.com/apache/thrift, doc/specs/thrift-compact-protocol.md).
 *
 *     thrift_open(&thrift, &buffer);      struct
 *     thrift_i32(&thrift, 1, 2);              field 1: 2
 *     thrift_list(&thrift, 2, THRIFT_STRUCT, 1); field 2: list of one struct
 *     thrift_open_element(&thrift);               struct
 *     thrift_close(&thrift);
 *     thrift_close(&thrift);
 *
 * Fields come in the order of their ids. The buffer's status says whether memory sufficed.
 */
#ifndef MP_EXPORT_PARQUET_THRIFT_H
#define MP_EXPORT_PARQUET_THRIFT_H

#include <stdbool.h>

#include "base/data/buffer.h"

#define THRIFT_MAX_DEPTH 8 /* FileMetaData to TimeUnit: 5 structs */

enum thrift_type {
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12,
};

struct thrift {
    struct mp_buffer *out;
    int last[THRIFT_MAX_DEPTH]; /* the id of the last field of each open struct */
    unsigned depth;
};

/* Begins a struct that stands in no other. Appends to `out`. */
void thrift_open(struct thrift *thrift, struct mp_buffer *out);

/* Begins a struct in a field, and one as an element of a list. */
void thrift_open_field(struct thrift *thrift, int id);
void thrift_open_element(struct thrift *thrift);

/* Ends the innermost struct. */
void thrift_close(struct thrift *thrift);

/* A struct without fields in a field: one of a union, as most logical types are. */
void thrift_empty(struct thrift *thrift, int id);

void thrift_bool(struct thrift *thrift, int id, bool value);
void thrift_i32(struct thrift *thrift, int id, int32_t value);
void thrift_i64(struct thrift *thrift, int id, int64_t value);
void thrift_binary(struct thrift *thrift, int id, const void *data, size_t bytes);

/* Begins a list in a field; so many elements must follow. */
void thrift_list(struct thrift *thrift, int id, enum thrift_type type, uint32_t count);

/* Elements of a list. */
void thrift_element_i32(struct thrift *thrift, int32_t value);
void thrift_element_binary(struct thrift *thrift, const void *data, size_t bytes);

#endif
