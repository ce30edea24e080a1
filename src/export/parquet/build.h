/* Inside of the Parquet writer: what its files share.
 *
 *     writer.c    groups of rows, pages, and what makes a file of them
 *     columns.c   the cells of a column, their bounds, and how they are encoded
 *     footer.c    the footer, and Thrift's compact protocol
 */
#ifndef MP_EXPORT_PARQUET_BUILD_H
#define MP_EXPORT_PARQUET_BUILD_H

#include <stdbool.h>
#include <stdio.h>
#include <zstd.h>

#include "base/data/map.h"
#include "base/data/storage.h"
#include "export/parquet/parquet.h"

/* ---- columns.c: cells ---- */

/* The cells of one column that are not written yet: those of the present group of rows. */

struct cells {
    const struct parquet_column *column;
    uint64_t *values; /* those that are not NULL, sign-extended; a DOUBLE's bits; of a STRING its
                       * number in `texts`, less 1 */
    uint8_t *present; /* of an OPTIONAL column a byte a row: 0 is NULL; else NULL */
    uint32_t capacity;
    uint32_t rows;
    uint32_t count;         /* values */
    struct mp_intern texts; /* distinct ones, valid UTF-8 */
    uint64_t text_bytes;    /* of all cells, as PLAIN has them */
};

/* Room for one more row, for at most `max`; MP_ERR_MEMORY. */
enum mp_status cells_grow(struct cells *cells, uint32_t max);

/* Adds a text; `valid` is room for one that must be made valid. MP_ERR_MEMORY. */
enum mp_status cells_add_text(struct cells *cells, const char *text, size_t bytes,
                              struct mp_buffer *valid);

/* Adds a value or NULL, for which there is room. */
static inline void cells_add(struct cells *cells, uint64_t value)
{
    if (cells->present)
        cells->present[cells->rows] = 1;
    cells->values[cells->count++] = value;
    cells->rows++;
}

static inline void cells_add_null(struct cells *cells)
{
    cells->present[cells->rows++] = 0;
}

/* Forgets all cells and keeps the memory. */
void cells_clear(struct cells *cells);

void cells_free(struct cells *cells);

/* ---- columns.c: encodings ---- */

/* The encodings of values in a page (parquet-format, Encodings.md). All append to a buffer, whose
 * status says whether memory sufficed. Any thread. */

/* The file's numbers of them (parquet.thrift, Encoding). */
enum encoding {
    ENCODING_PLAIN = 0,
    ENCODING_RLE = 3,
    ENCODING_DELTA_BINARY_PACKED = 5,
    ENCODING_DELTA_LENGTH_BYTE_ARRAY = 6,
    ENCODING_RLE_DICTIONARY = 8,
};

/* Bits that `value` needs: 0 to 64. */
static inline unsigned bits_of(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* The lowest `width` bits (0 to 64) of each value, the first value in the lowest bits of the first
 * byte; the last byte is filled up with zeros. The values have no bits above these. */
void encode_bits(struct mp_buffer *out, const uint64_t *values, uint32_t count, unsigned width);

/* RLE / bit-packing hybrid, without a length or the width before it: runs of eight or more equal
 * values as one value and a count, all others packed in eights. `width` is 1 to 32. */
void encode_hybrid(struct mp_buffer *out, const uint64_t *values, uint32_t count, unsigned width);

/* DELTA_BINARY_PACKED of numbers of `bits` bits, 32 or 64, which stand sign-extended. */
void encode_delta(struct mp_buffer *out, const uint64_t *values, uint32_t count, unsigned bits);

/* ---- columns.c: bounds ---- */

/* Bounds of a column's values, by which readers skip groups of rows. */

#define STATISTICS_TEXT_BYTES 64u /* longer texts are cut */

struct bound {
    uint8_t data[STATISTICS_TEXT_BYTES]; /* as PLAIN has the value, without a length */
    uint32_t bytes;
    bool known;
    bool exact; /* is a value of the column, not only beyond all of them */
};

struct statistics {
    struct bound min, max;
    uint32_t null_count;
};

/* Finds them. Unknown bounds: without values, among doubles with a NaN, and above a long text for
 * which there is no short one. */
void statistics_find(const struct cells *cells, struct statistics *statistics);

/* ---- columns.c: values ---- */

/* The values of a column as the bytes of its pages, by the encoding that suits them. */

/* What encoding takes besides the cells; kept from column to column. A zeroed struct is empty. */
struct values {
    enum encoding encoding;   /* of `data` */
    struct mp_buffer data;    /* the data page before compression: levels, values */
    struct mp_buffer entries; /* the dictionary page, PLAIN */
    uint32_t entry_count;     /* of ENCODING_RLE_DICTIONARY; else 0: no dictionary */
    uint64_t *numbers;        /* room for levels, for indices of numbers, for lengths of texts */
    uint32_t number_capacity;
    struct mp_map index; /* of a number in its dictionary */
};

/* Encodes the cells. MP_ERR_MEMORY. */
enum mp_status values_encode(struct values *values, const struct cells *cells);

void values_free(struct values *values);

/* ---- writer.c: pages ---- */

struct pages {
    FILE *out;
    uint64_t position; /* bytes written, from the beginning of the file */
    ZSTD_CCtx *zstd;
    struct values values;
    struct mp_buffer header, packed;
};

/* What the footer says of a column of a group. */
struct chunk {
    enum encoding encoding; /* of the values */
    bool has_dictionary;
    uint32_t rows;
    uint64_t begin;                     /* of the first page, which is the dictionary's if any */
    uint64_t data_begin;                /* of the data page */
    uint64_t bytes, uncompressed_bytes; /* of the pages with their headers */
    struct statistics statistics;
};

/* ---- footer.c: Thrift ---- */

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

/* Begins the outermost struct. Appends to `out`. */
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

/* Begins a list in a field; `count` elements must follow. */
void thrift_list(struct thrift *thrift, int id, enum thrift_type type, uint32_t count);

/* Elements of a list. */
void thrift_element_i32(struct thrift *thrift, int32_t value);
void thrift_element_binary(struct thrift *thrift, const void *data, size_t bytes);

/* ---- footer.c: the footer ---- */

/* The footer: the schema, and where the columns of each group stand (parquet.thrift,
 * FileMetaData). Memory that is out shows in the buffer's status. */

/* Appends a RowGroup of `rows` rows; `chunks` are in the order of the table's columns. */
void footer_append_group(struct mp_buffer *groups, const struct parquet_table *table,
                         const struct chunk *chunks, uint32_t rows);

struct footer {
    const struct parquet_table *table;
    uint64_t rows;
    const struct mp_buffer *groups; /* what footer_append_group appended */
    uint32_t group_count;
    const struct parquet_note *notes; /* valid UTF-8 */
    unsigned note_count;
};

/* Appends the FileMetaData. */
void footer_append(struct mp_buffer *out, const struct footer *footer);

#endif
