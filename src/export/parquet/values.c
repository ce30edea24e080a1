/* Chooses how a column's values are encoded.
 *
 *     BOOL     PLAIN, a bit each
 *     DOUBLE   PLAIN
 *     INT32    a dictionary of few distinct values, or DELTA_BINARY_PACKED
 *     INT64    likewise
 *     STRING   a dictionary, or DELTA_LENGTH_BYTE_ARRAY where it would hold most of the bytes
 *
 * A dictionary stands in a page before the values, which are then its indices.
 */
#include "export/parquet/values.h"

#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

/* Distinct numbers of a dictionary, or half of the values. With more a reader gains nothing by one,
 * and differences are smaller (docs/measurements.md, 16). */
#define MAX_NUMBERS 1024u

/* ---- NULL ---- */

/* Definition levels of a data page, version 1: bytes, then the hybrid of 0 and 1. */
static void put_levels(struct values *values, const struct cells *cells)
{
    uint8_t *size = mp_buffer_extend(&values->data, sizeof(uint32_t));
    uint32_t bytes;

    if (!size)
        return;
    for (uint32_t i = 0; i < cells->rows; i++)
        values->numbers[i] = cells->present[i];
    encode_hybrid(&values->data, values->numbers, cells->rows, 1);
    bytes = (uint32_t)(values->data.size - sizeof bytes);
    memcpy(values->data.data, &bytes, sizeof bytes);
}

/* ---- Dictionaries ---- */

static void put_indices(struct values *values, const uint64_t *indices, uint32_t count)
{
    unsigned width = bits_of(values->entry_count - 1);

    if (!width)
        width = 1; /* 0 is allowed, but not to all readers */
    values->encoding = ENCODING_RLE_DICTIONARY;
    mp_buffer_append_byte(&values->data, (uint8_t)width);
    encode_hybrid(&values->data, indices, count, width);
}

static void put_number(struct mp_buffer *out, uint64_t value, enum parquet_type type)
{
    mp_buffer_append(out, &value, type == PARQUET_INT32 ? sizeof(int32_t) : sizeof(int64_t));
}

/* Numbers the values as they come. Returns false if there are too many, or memory is out. */
static bool find_numbers(struct values *values, const struct cells *cells)
{
    uint32_t max = cells->count / 2 < MAX_NUMBERS ? cells->count / 2 : MAX_NUMBERS;
    uint32_t index = 0;

    mp_map_clear(&values->index);
    mp_buffer_clear(&values->entries);
    for (uint32_t i = 0; i < cells->count; i++) {
        uint64_t value = cells->values[i];

        if (!i || value != cells->values[i - 1])
            index = mp_map_get(&values->index, value);
        if (index == MP_MAP_ABSENT) {
            index = values->index.count;
            if (index == max || mp_map_put(&values->index, value, index) != MP_OK)
                return false;
            put_number(&values->entries, value, cells->column->type);
        }
        values->numbers[i] = index;
    }
    values->entry_count = values->index.count;
    return true;
}

/* ---- By type ---- */

static void encode_integers(struct values *values, const struct cells *cells)
{
    if (find_numbers(values, cells)) {
        put_indices(values, values->numbers, cells->count);
        return;
    }
    values->encoding = ENCODING_DELTA_BINARY_PACKED;
    encode_delta(&values->data, cells->values, cells->count,
                 cells->column->type == PARQUET_INT32 ? 32 : 64);
}

static void put_entries(struct values *values, const struct mp_intern *texts)
{
    mp_buffer_clear(&values->entries);
    for (uint32_t id = 1; id <= texts->count; id++) {
        size_t bytes;
        const char *text = mp_intern_get(texts, id, &bytes);

        mp_buffer_append(&values->entries, &(uint32_t){(uint32_t)bytes}, sizeof(uint32_t));
        mp_buffer_append(&values->entries, text, bytes);
    }
}

static void put_texts(struct values *values, const struct cells *cells)
{
    size_t bytes;

    for (uint32_t i = 0; i < cells->count; i++) {
        mp_intern_get(&cells->texts, (uint32_t)cells->values[i] + 1, &bytes);
        values->numbers[i] = bytes;
    }
    values->encoding = ENCODING_DELTA_LENGTH_BYTE_ARRAY;
    encode_delta(&values->data, values->numbers, cells->count, 32);
    for (uint32_t i = 0; i < cells->count; i++) {
        const char *text = mp_intern_get(&cells->texts, (uint32_t)cells->values[i] + 1, &bytes);

        mp_buffer_append(&values->data, text, bytes);
    }
}

/* A dictionary that holds more than half of the column's bytes is of no use. So texts without one
 * take at most twice the memory that the distinct ones have. */
static void encode_texts(struct values *values, const struct cells *cells)
{
    uint64_t distinct = 0;
    size_t bytes;

    for (uint32_t id = 1; id <= cells->texts.count; id++) {
        mp_intern_get(&cells->texts, id, &bytes);
        distinct += sizeof(uint32_t) + bytes;
    }
    if (distinct > cells->text_bytes / 2) {
        put_texts(values, cells);
        return;
    }
    put_entries(values, &cells->texts);
    values->entry_count = cells->texts.count;
    put_indices(values, cells->values, cells->count);
}

static void encode_values(struct values *values, const struct cells *cells)
{
    values->encoding = ENCODING_PLAIN;
    switch (cells->column->type) {
    case PARQUET_BOOL:
        encode_bits(&values->data, cells->values, cells->count, 1);
        break;
    case PARQUET_INT32:
    case PARQUET_INT64:
        encode_integers(values, cells);
        break;
    case PARQUET_DOUBLE:
        mp_buffer_append(&values->data, cells->values, cells->count * sizeof(uint64_t));
        break;
    case PARQUET_STRING:
        encode_texts(values, cells);
        break;
    }
}

static enum mp_status make_room(struct values *values, uint32_t rows)
{
    uint64_t *numbers;

    if (rows <= values->number_capacity)
        return MP_OK;
    numbers = reallocarray(values->numbers, rows, sizeof *numbers);
    if (!numbers)
        return MP_ERR_MEMORY;
    values->numbers = numbers;
    values->number_capacity = rows;
    return MP_OK;
}

enum mp_status values_encode(struct values *values, const struct cells *cells)
{
    MP_TRY(make_room(values, cells->rows));
    mp_buffer_clear(&values->data);
    values->entry_count = 0;
    values->encoding = ENCODING_PLAIN;
    if (cells->present)
        put_levels(values, cells);
    if (cells->count) /* without values there is nothing to encode, not even an encoding's header */
        encode_values(values, cells);
    if (values->entry_count && values->entries.status != MP_OK)
        return values->entries.status;
    return values->data.status;
}

void values_free(struct values *values)
{
    mp_buffer_free(&values->data);
    mp_buffer_free(&values->entries);
    free(values->numbers);
    mp_map_free(&values->index);
}
