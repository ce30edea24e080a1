/* The cells of one column: collected, bounded, and encoded. */
#include "export/parquet/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/text/strings.h"

#include "base/poison.h"

/* ---- Cells ---- */

/* Texts are numbered as they come, so that equal ones take memory once, and the numbers are the
 * indices of a dictionary already. */

#define FIRST_ROWS 64u

enum mp_status cells_grow(struct cells *cells, uint32_t max)
{
    uint32_t capacity = cells->capacity ? cells->capacity * 2 : FIRST_ROWS;
    uint64_t *values;

    if (capacity > max)
        capacity = max;
    values = reallocarray(cells->values, capacity, sizeof *values);
    if (!values)
        return MP_ERR_MEMORY;
    cells->values = values;
    if (cells->column->flags & PARQUET_OPTIONAL) {
        uint8_t *present = realloc(cells->present, capacity);

        if (!present)
            return MP_ERR_MEMORY;
        cells->present = present;
    }
    cells->capacity = capacity;
    return MP_OK;
}

/* The number of a text that is not in the pool as it stands; 0: no memory. Only such texts are
 * looked at, because all that are in the pool are valid. */
static uint32_t add_new(struct mp_intern *texts, const char *text, size_t *bytes,
                        struct mp_buffer *valid)
{
    if (utf8_is_valid(text, *bytes))
        return mp_intern_add(texts, text, *bytes);
    mp_buffer_clear(valid);
    if (utf8_append_valid(valid, text, *bytes) != MP_OK)
        return 0;
    *bytes = valid->size;
    return mp_intern_add(texts, valid->data, valid->size);
}

enum mp_status cells_add_text(struct cells *cells, const char *text, size_t bytes,
                              struct mp_buffer *valid)
{
    uint32_t number = mp_intern_find(&cells->texts, text, bytes);

    if (!number)
        number = add_new(&cells->texts, text, &bytes, valid);
    if (!number)
        return MP_ERR_MEMORY;
    cells->text_bytes += sizeof(uint32_t) + bytes;
    cells_add(cells, number - 1);
    return MP_OK;
}

void cells_clear(struct cells *cells)
{
    cells->rows = 0;
    cells->count = 0;
    cells->text_bytes = 0;
    mp_intern_reset(&cells->texts);
}

void cells_free(struct cells *cells)
{
    free(cells->values);
    free(cells->present);
    mp_intern_free(&cells->texts);
}

/* ---- Bounds ---- */

/* Minima and maxima by the orders of parquet.thrift, ColumnOrder.TYPE_ORDER: numbers by value,
 * texts by unsigned bytes. */

static void set_bound(struct bound *bound, const void *data, size_t bytes)
{
    memcpy(bound->data, data, bytes);
    bound->bytes = (uint32_t)bytes;
    bound->known = true;
    bound->exact = true;
}

static void find_of_integers(const struct cells *cells, size_t bytes, struct statistics *statistics)
{
    int64_t min = INT64_MAX, max = INT64_MIN;

    for (uint32_t i = 0; i < cells->count; i++) {
        int64_t value = (int64_t)cells->values[i];

        min = value < min ? value : min;
        max = value > max ? value : max;
    }
    set_bound(&statistics->min, &min, bytes);
    set_bound(&statistics->max, &max, bytes);
}

/* Readers disagree about where a NaN stands, so there are no bounds with one. Which of the zeros is
 * meant does not matter to a reader, so both bounds take both in, as parquet.thrift asks. */
static void find_of_doubles(const struct cells *cells, struct statistics *statistics)
{
    double min = INFINITY, max = -INFINITY;

    for (uint32_t i = 0; i < cells->count; i++) {
        double value;

        memcpy(&value, &cells->values[i], sizeof value);
        if (isnan(value))
            return;
        min = fmin(min, value);
        max = fmax(max, value);
    }
    min = min == 0 ? -0.0 : min;
    max = max == 0 ? 0.0 : max;
    set_bound(&statistics->min, &min, sizeof min);
    set_bound(&statistics->max, &max, sizeof max);
}

/* ---- Texts ---- */

struct text {
    const char *data;
    size_t bytes;
};

static int compare(const struct text *a, const struct text *b)
{
    size_t common = a->bytes < b->bytes ? a->bytes : b->bytes;
    int order = common ? memcmp(a->data, b->data, common) : 0;

    return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* The first characters of a long text; they come before it. */
static void set_text(struct bound *bound, const struct text *text)
{
    size_t bytes = 0;

    if (text->bytes <= STATISTICS_TEXT_BYTES) {
        set_bound(bound, text->data, text->bytes);
        return;
    }
    for (size_t next = 0; next <= STATISTICS_TEXT_BYTES;) {
        bytes = next;
        next += utf8_length(text->data + next, text->bytes - next);
    }
    set_bound(bound, text->data, bytes);
    bound->exact = false;
}

/* What comes after a cut text: its last ASCII character that has a successor is raised, and what
 * follows is cut off. */
static void raise_text(struct bound *bound)
{
    while (bound->bytes && bound->data[bound->bytes - 1] >= 0x7f)
        bound->bytes--;
    if (bound->bytes)
        bound->data[bound->bytes - 1]++;
    else
        bound->known = false;
}

static void find_of_texts(const struct cells *cells, struct statistics *statistics)
{
    struct text min = {"", 0}, max = {"", 0};

    for (uint32_t id = 1; id <= cells->texts.count; id++) {
        struct text text;

        text.data = mp_intern_get(&cells->texts, id, &text.bytes);
        if (id == 1 || compare(&text, &min) < 0)
            min = text;
        if (id == 1 || compare(&text, &max) > 0)
            max = text;
    }
    set_text(&statistics->min, &min);
    set_text(&statistics->max, &max);
    if (!statistics->max.exact)
        raise_text(&statistics->max);
}

void statistics_find(const struct cells *cells, struct statistics *statistics)
{
    *statistics = (struct statistics){.null_count = cells->rows - cells->count};
    if (!cells->count)
        return;
    switch (cells->column->type) {
    case PARQUET_BOOL:
        find_of_integers(cells, 1, statistics);
        break;
    case PARQUET_INT32:
        find_of_integers(cells, sizeof(int32_t), statistics);
        break;
    case PARQUET_INT64:
        find_of_integers(cells, sizeof(int64_t), statistics);
        break;
    case PARQUET_DOUBLE:
        find_of_doubles(cells, statistics);
        break;
    case PARQUET_STRING:
        find_of_texts(cells, statistics);
        break;
    }
}

/* ---- Bits and runs ---- */

/* Levels, indices into a dictionary, and truth values. */

#define EIGHT 8u /* values of a group; as many equal ones are worth a run */

static size_t packed_bytes(uint32_t count, unsigned width)
{
    return ((uint64_t)count * width + 7) / 8;
}

void encode_bits(struct mp_buffer *out, const uint64_t *values, uint32_t count, unsigned width)
{
    size_t bytes = packed_bytes(count, width);
    uint8_t *at = mp_buffer_reserve(out, bytes + sizeof(uint64_t));
    uint64_t word = 0;
    unsigned used = 0;

    if (!at)
        return;
    for (uint32_t i = 0; i < count; i++) {
        word |= values[i] << used;
        used += width;
        if (used < 64)
            continue;
        memcpy(at, &word, sizeof word);
        at += sizeof word;
        used -= 64;
        word = used ? values[i] >> (width - used) : 0;
    }
    memcpy(at, &word, sizeof word);
    out->size += bytes;
}

/* How many of the values are equal to the first. */
static uint32_t run_length(const uint64_t *values, uint32_t count)
{
    uint32_t length = 1;

    while (length < count && values[length] == values[0])
        length++;
    return length;
}

/* The last group is filled up with zeros. */
static void put_packed(struct mp_buffer *out, const uint64_t *values, uint32_t count,
                       unsigned width)
{
    uint32_t groups = (count + EIGHT - 1) / EIGHT;

    if (!count)
        return;
    mp_buffer_append_varint(out, (uint64_t)groups << 1 | 1);
    size_t before = out->size;
    encode_bits(out, values, count, width);
    while (out->status == MP_OK && out->size - before < (size_t)groups * width)
        mp_buffer_append_byte(out, 0);
}

static void put_run(struct mp_buffer *out, uint64_t value, uint32_t length, unsigned width)
{
    mp_buffer_append_varint(out, (uint64_t)length << 1);
    mp_buffer_append(out, &value, (width + 7) / 8);
}

/* Packed values come in eights, except for the last ones, so the values before a run
 * take from it what is missing from their eight. */
void encode_hybrid(struct mp_buffer *out, const uint64_t *values, uint32_t count, unsigned width)
{
    uint32_t packed = 0; /* values from here to `at` await packing */

    for (uint32_t at = 0, length; at < count; at += length) {
        uint32_t lacking = (EIGHT - (at - packed) % EIGHT) % EIGHT;

        length = run_length(values + at, count - at);
        if (length < lacking + EIGHT)
            continue;
        put_packed(out, values + packed, at + lacking - packed, width);
        put_run(out, values[at], length - lacking, width);
        packed = at + length;
    }
    put_packed(out, values + packed, count - packed, width);
}

/* ---- Differences ---- */

/* DELTA_BINARY_PACKED: the differences of numbers from the ones before them, in as few bits as a
 * miniblock of 32 needs above the smallest difference of its block of 128.
 *
 * Differences are those of two's complement and wrap around, so that every number has one, and
 * those of 32-bit numbers fit into 32 bits, which readers expect. */

#define BLOCK      128u /* values; Encodings.md wants a multiple of 128 */
#define MINIBLOCKS 4u
#define MINIBLOCK  (BLOCK / MINIBLOCKS) /* a multiple of 32 */

static int64_t difference(uint64_t a, uint64_t b, unsigned bits)
{
    return bits == 32 ? (int64_t)(int32_t)(uint32_t)(a - b) : (int64_t)(a - b);
}

/* Stores the `count` differences between the values from `values` on, each minus the smallest of
 * them, which it returns; 0 after the last. */
static int64_t take_differences(const uint64_t *values, uint32_t count, unsigned bits,
                                uint64_t *differences)
{
    int64_t min = INT64_MAX;

    for (uint32_t i = 0; i < count; i++) {
        int64_t one = difference(values[i + 1], values[i], bits);

        differences[i] = (uint64_t)one;
        min = one < min ? one : min;
    }
    for (uint32_t i = 0; i < count; i++)
        differences[i] -= (uint64_t)min;
    for (uint32_t i = count; i < BLOCK; i++)
        differences[i] = 0;
    return min;
}

/* A miniblock without values has no bits; one with some is complete. */
static void put_block(struct mp_buffer *out, const uint64_t *values, uint32_t count, unsigned bits)
{
    uint64_t differences[BLOCK];
    uint8_t widths[MINIBLOCKS];

    mp_buffer_append_varint(out,
                            mp_zigzag_encode(take_differences(values, count, bits, differences)));
    for (unsigned i = 0; i < MINIBLOCKS; i++) {
        uint64_t all = 0;

        for (unsigned k = 0; k < MINIBLOCK; k++)
            all |= differences[i * MINIBLOCK + k];
        widths[i] = (uint8_t)bits_of(all);
    }
    mp_buffer_append(out, widths, sizeof widths);
    for (unsigned i = 0; i < MINIBLOCKS; i++)
        encode_bits(out, differences + (size_t)i * MINIBLOCK, MINIBLOCK, widths[i]);
}

void encode_delta(struct mp_buffer *out, const uint64_t *values, uint32_t count, unsigned bits)
{
    mp_buffer_append_varint(out, BLOCK);
    mp_buffer_append_varint(out, MINIBLOCKS);
    mp_buffer_append_varint(out, count);
    mp_buffer_append_varint(out, count ? mp_zigzag_encode((int64_t)values[0]) : 0);
    for (uint32_t at = 1; at < count; at += BLOCK)
        put_block(out, values + at - 1, count - at < BLOCK ? count - at : BLOCK, bits);
}

/* ---- The choice of an encoding ---- */

/*     BOOL     PLAIN, a bit each
 *     DOUBLE   PLAIN
 *     INT32    a dictionary of few distinct values, or DELTA_BINARY_PACKED
 *     INT64    likewise
 *     STRING   a dictionary, or DELTA_LENGTH_BYTE_ARRAY where it would hold most of the bytes
 *
 * A dictionary is a page before the values, which are then indices into it. */

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
