/* Writes the structs of parquet.thrift that stand at the end of a file. Numbers are its field ids;
 * a line that has several values of an enum names them.
 */
#include "export/parquet/build.h"

#include <string.h>

#include "base/data/storage.h"

#include "base/poison.h"

/* ---- Thrift's compact protocol ---- */

/* A field's id is a step from the one before, numbers are zigzagged varints, and a struct ends with
 * a zero. */

#define STOP          0
#define MAX_STEP      15 /* of ids, in the byte of the type */
#define MIN_LONG_LIST 15 /* elements that do not fit into the byte of the type */

void thrift_open(struct thrift *thrift, struct mp_buffer *out)
{
    thrift->out = out;
    thrift->depth = 0;
    thrift->last[0] = 0;
}

static void put_field(struct thrift *thrift, int id, enum thrift_type type)
{
    int *last = &thrift->last[thrift->depth];
    int step = id - *last;

    if (step > 0 && step <= MAX_STEP) {
        mp_buffer_append_byte(thrift->out, (uint8_t)(step << 4 | (int)type));
    } else {
        mp_buffer_append_byte(thrift->out, (uint8_t)type);
        mp_buffer_append_varint(thrift->out, mp_zigzag_encode(id));
    }
    *last = id;
}

void thrift_open_element(struct thrift *thrift)
{
    thrift->last[++thrift->depth] = 0;
}

void thrift_open_field(struct thrift *thrift, int id)
{
    put_field(thrift, id, THRIFT_STRUCT);
    thrift_open_element(thrift);
}

void thrift_close(struct thrift *thrift)
{
    mp_buffer_append_byte(thrift->out, STOP);
    if (thrift->depth)
        thrift->depth--;
}

void thrift_empty(struct thrift *thrift, int id)
{
    thrift_open_field(thrift, id);
    thrift_close(thrift);
}

void thrift_bool(struct thrift *thrift, int id, bool value)
{
    put_field(thrift, id, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_element_i32(struct thrift *thrift, int32_t value)
{
    mp_buffer_append_varint(thrift->out, mp_zigzag_encode(value));
}

void thrift_i32(struct thrift *thrift, int id, int32_t value)
{
    put_field(thrift, id, THRIFT_I32);
    thrift_element_i32(thrift, value);
}

void thrift_i64(struct thrift *thrift, int id, int64_t value)
{
    put_field(thrift, id, THRIFT_I64);
    mp_buffer_append_varint(thrift->out, mp_zigzag_encode(value));
}

void thrift_element_binary(struct thrift *thrift, const void *data, size_t bytes)
{
    mp_buffer_append_varint(thrift->out, bytes);
    mp_buffer_append(thrift->out, data, bytes);
}

void thrift_binary(struct thrift *thrift, int id, const void *data, size_t bytes)
{
    put_field(thrift, id, THRIFT_BINARY);
    thrift_element_binary(thrift, data, bytes);
}

void thrift_list(struct thrift *thrift, int id, enum thrift_type type, uint32_t count)
{
    put_field(thrift, id, THRIFT_LIST);
    if (count < MIN_LONG_LIST) {
        mp_buffer_append_byte(thrift->out, (uint8_t)(count << 4 | type));
        return;
    }
    mp_buffer_append_byte(thrift->out, (uint8_t)(MIN_LONG_LIST << 4 | type));
    mp_buffer_append_varint(thrift->out, count);
}

#define CREATED_BY "miniprof version " MP_VERSION /* the form that readers parse */
#define CODEC_ZSTD 6

/* ---- The schema ---- */

/* BOOLEAN, INT32, INT64, DOUBLE, BYTE_ARRAY */
static const int32_t type_numbers[] = {[PARQUET_BOOL] = 0,
                                       [PARQUET_INT32] = 1,
                                       [PARQUET_INT64] = 2,
                                       [PARQUET_DOUBLE] = 5,
                                       [PARQUET_STRING] = 6};

/* LogicalType TIMESTAMP in NANOS, not adjusted to UTC: of a time that is, DuckDB keeps microseconds
 * only, for its type with a time zone has no more. */
static void put_time(struct thrift *thrift)
{
    thrift_open_field(thrift, 8);
    thrift_bool(thrift, 1, false);
    thrift_open_field(thrift, 2);
    thrift_empty(thrift, 3);
    thrift_close(thrift);
    thrift_close(thrift);
}

/* SchemaElement; converted type 0 is UTF8, logical type 1 STRING. */
static void put_column(struct thrift *thrift, const struct parquet_column *column)
{
    thrift_open_element(thrift);
    thrift_i32(thrift, 1, type_numbers[column->type]);
    thrift_i32(thrift, 3, column->flags & PARQUET_OPTIONAL ? 1 : 0);
    thrift_binary(thrift, 4, column->name, strlen(column->name));
    if (column->type == PARQUET_STRING) {
        thrift_i32(thrift, 6, 0);
        thrift_open_field(thrift, 10);
        thrift_empty(thrift, 1);
        thrift_close(thrift);
    } else if (column->flags & PARQUET_TIME) {
        thrift_open_field(thrift, 10);
        put_time(thrift);
        thrift_close(thrift);
    }
    thrift_close(thrift);
}

static void put_schema(struct thrift *thrift, const struct parquet_table *table)
{
    thrift_list(thrift, 2, THRIFT_STRUCT, table->column_count + 1);
    thrift_open_element(thrift);
    thrift_binary(thrift, 4, table->name, strlen(table->name));
    thrift_i32(thrift, 5, (int32_t)table->column_count);
    thrift_close(thrift);
    for (unsigned i = 0; i < table->column_count; i++)
        put_column(thrift, &table->columns[i]);
}

/* ---- Groups ---- */

/* Statistics */
static void put_statistics(struct thrift *thrift, const struct statistics *statistics)
{
    const struct bound *min = &statistics->min, *max = &statistics->max;

    thrift_open_field(thrift, 12);
    thrift_i64(thrift, 3, statistics->null_count);
    if (max->known)
        thrift_binary(thrift, 5, max->data, max->bytes);
    if (min->known)
        thrift_binary(thrift, 6, min->data, min->bytes);
    if (max->known)
        thrift_bool(thrift, 7, max->exact);
    if (min->known)
        thrift_bool(thrift, 8, min->exact);
    thrift_close(thrift);
}

static void put_encodings(struct thrift *thrift, const struct parquet_column *column,
                          const struct chunk *chunk)
{
    bool optional = column->flags & PARQUET_OPTIONAL;

    thrift_list(thrift, 2, THRIFT_I32, 1u + chunk->has_dictionary + optional);
    thrift_element_i32(thrift, (int32_t)chunk->encoding);
    if (chunk->has_dictionary)
        thrift_element_i32(thrift, ENCODING_PLAIN);
    if (optional)
        thrift_element_i32(thrift, ENCODING_RLE);
}

/* ColumnChunk, with its ColumnMetaData in field 3. */
static void put_chunk(struct thrift *thrift, const struct parquet_column *column,
                      const struct chunk *chunk)
{
    thrift_open_element(thrift);
    thrift_i64(thrift, 2, 0); /* deprecated, required */
    thrift_open_field(thrift, 3);
    thrift_i32(thrift, 1, type_numbers[column->type]);
    put_encodings(thrift, column, chunk);
    thrift_list(thrift, 3, THRIFT_BINARY, 1);
    thrift_element_binary(thrift, column->name, strlen(column->name));
    thrift_i32(thrift, 4, CODEC_ZSTD);
    thrift_i64(thrift, 5, chunk->rows);
    thrift_i64(thrift, 6, (int64_t)chunk->uncompressed_bytes);
    thrift_i64(thrift, 7, (int64_t)chunk->bytes);
    thrift_i64(thrift, 9, (int64_t)chunk->data_begin);
    if (chunk->has_dictionary)
        thrift_i64(thrift, 11, (int64_t)chunk->begin);
    put_statistics(thrift, &chunk->statistics);
    thrift_close(thrift);
    thrift_close(thrift);
}

void footer_append_group(struct mp_buffer *groups, const struct parquet_table *table,
                         const struct chunk *chunks, uint32_t rows)
{
    uint64_t bytes = 0, uncompressed = 0;
    struct thrift thrift;

    thrift_open(&thrift, groups);
    thrift_list(&thrift, 1, THRIFT_STRUCT, table->column_count);
    for (unsigned i = 0; i < table->column_count; i++) {
        put_chunk(&thrift, &table->columns[i], &chunks[i]);
        bytes += chunks[i].bytes;
        uncompressed += chunks[i].uncompressed_bytes;
    }
    thrift_i64(&thrift, 2, (int64_t)uncompressed);
    thrift_i64(&thrift, 3, rows);
    thrift_i64(&thrift, 5, (int64_t)chunks[0].begin);
    thrift_i64(&thrift, 6, (int64_t)bytes);
    thrift_close(&thrift);
}

/* ---- All ---- */

/* KeyValue */
static void put_notes(struct thrift *thrift, const struct parquet_note *notes, unsigned count)
{
    thrift_list(thrift, 5, THRIFT_STRUCT, count);
    for (unsigned i = 0; i < count; i++) {
        thrift_open_element(thrift);
        thrift_binary(thrift, 1, notes[i].key, strlen(notes[i].key));
        thrift_binary(thrift, 2, notes[i].value, strlen(notes[i].value));
        thrift_close(thrift);
    }
}

/* ColumnOrder TYPE_ORDER of each column: without it the bounds mean nothing. */
static void put_orders(struct thrift *thrift, unsigned count)
{
    thrift_list(thrift, 7, THRIFT_STRUCT, count);
    for (unsigned i = 0; i < count; i++) {
        thrift_open_element(thrift);
        thrift_empty(thrift, 1);
        thrift_close(thrift);
    }
}

void footer_append(struct mp_buffer *out, const struct footer *footer)
{
    struct thrift thrift;

    thrift_open(&thrift, out);
    thrift_i32(&thrift, 1, 2); /* the version that has DELTA_BINARY_PACKED */
    put_schema(&thrift, footer->table);
    thrift_i64(&thrift, 3, (int64_t)footer->rows);
    thrift_list(&thrift, 4, THRIFT_STRUCT, footer->group_count);
    mp_buffer_append(out, footer->groups->data, footer->groups->size);
    if (footer->note_count)
        put_notes(&thrift, footer->notes, footer->note_count);
    thrift_binary(&thrift, 6, CREATED_BY, strlen(CREATED_BY));
    put_orders(&thrift, footer->table->column_count);
    thrift_close(&thrift);
}
