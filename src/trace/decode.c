/* Turns the decompressed bytes of a chunk into columns of numbers. A forged file can have a right
 * checksum, so every length, id and count is checked before it is used. Only the selected columns
 * are decoded, with those that their codecs refer to.
 */
#include "base/data/storage.h"
#include "base/status.h"
#include "trace/codec.h"

#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

/* An entry of the directory, with the column's values once they are decoded. */
struct entry {
    uint8_t id, codec, predict, lane, key1, key2, partner;
    bool needed;
    bool done;
    struct mp_grid grid;
    const uint8_t *data;
    const uint8_t *data_end;
    uint64_t *into;   /* where the caller wants the values; NULL: in the decoder's memory */
    uint64_t *values; /* `rows` of them */
};

struct mp_decoder {
    struct mp_predictor predictor[2];
    struct entry entries[MP_MAX_COLUMNS];
    unsigned entry_count;
    uint32_t rows;
    uint32_t capacity;                 /* rows that the arrays below have room for */
    uint64_t *columns[MP_MAX_COLUMNS]; /* each its own allocation, made when first needed */
    uint64_t *corrections[2];
    uint64_t *zeros; /* values of the columns that the file lacks */
    uint32_t *text_end;
};

enum mp_status mp_decoder_create(struct mp_decoder **decoder)
{
    *decoder = calloc(1, sizeof **decoder);
    return *decoder ? MP_OK : MP_ERR_MEMORY;
}

static void release_arrays(struct mp_decoder *decoder)
{
    for (unsigned i = 0; i < MP_MAX_COLUMNS; i++)
        free(decoder->columns[i]);
    memset(decoder->columns, 0, sizeof decoder->columns);
    free(decoder->corrections[0]);
    free(decoder->corrections[1]);
    free(decoder->zeros);
    free(decoder->text_end);
    decoder->corrections[0] = decoder->corrections[1] = decoder->zeros = NULL;
    decoder->text_end = NULL;
}

void mp_decoder_free(struct mp_decoder *decoder)
{
    if (!decoder)
        return;
    release_arrays(decoder);
    free(decoder);
}

static void set_rows(struct mp_decoder *decoder, uint32_t rows)
{
    decoder->rows = rows;
    if (rows <= decoder->capacity)
        return;
    release_arrays(decoder);
    decoder->capacity = rows;
}

/* *array, allocated (zeroed) if it is not there yet; NULL when out of memory. */
static uint64_t *array_of(const struct mp_decoder *decoder, uint64_t **array)
{
    if (!*array)
        *array = calloc(decoder->capacity, sizeof **array);
    return *array;
}

/* Where the values of an entry go; NULL when out of memory. */
static uint64_t *values_for(struct mp_decoder *decoder, const struct entry *entry)
{
    return entry->into ? entry->into
                       : array_of(decoder, &decoder->columns[entry - decoder->entries]);
}

/* ---- The directory ---- */

static bool read_grid(const uint8_t **at, const uint8_t *end, struct mp_grid *grid)
{
    uint64_t fraction;
    if (!mp_varint_get(at, end, &grid->anchor) || !mp_varint_get(at, end, &grid->step) ||
        !mp_varint_get(at, end, &fraction) || fraction > UINT32_MAX || grid->step > INT64_MAX)
        return false;
    grid->fraction = (uint32_t)fraction;
    return true;
}

static bool read_entry(const uint8_t **at, const uint8_t *end, struct entry *entry,
                       uint64_t *data_bytes)
{
    if (end - *at < 7)
        return false;
    const uint8_t *byte = *at;
    *at += 7;
    *entry = (struct entry){.id = byte[0],
                            .codec = byte[1],
                            .predict = byte[2],
                            .lane = byte[3],
                            .key1 = byte[4],
                            .key2 = byte[5],
                            .partner = byte[6]};
    if (entry->codec == MP_CODEC_START && !read_grid(at, end, &entry->grid))
        return false;
    return mp_varint_get(at, end, data_bytes);
}

static enum mp_status read_directory(struct mp_decoder *decoder, const uint8_t *at,
                                     const uint8_t *end)
{
    uint64_t count;
    uint64_t data_bytes[MP_MAX_COLUMNS];
    if (!mp_varint_get(&at, end, &count) || count > MP_MAX_COLUMNS)
        return MP_ERR_DAMAGED;
    decoder->entry_count = (unsigned)count;
    for (unsigned i = 0; i < count; i++)
        if (!read_entry(&at, end, &decoder->entries[i], &data_bytes[i]))
            return MP_ERR_DAMAGED;
    for (unsigned i = 0; i < count; i++) {
        if (data_bytes[i] > (uint64_t)(end - at))
            return MP_ERR_DAMAGED;
        decoder->entries[i].data = at;
        at += data_bytes[i];
        decoder->entries[i].data_end = at;
    }
    return MP_OK;
}

/* The entry of column `id` among the first `before` ones; NULL if there is none. */
static struct entry *entry_of(struct mp_decoder *decoder, uint8_t id, unsigned before)
{
    for (unsigned i = 0; i < before; i++)
        if (decoder->entries[i].id == id)
            return &decoder->entries[i];
    return NULL;
}

/* Marks the columns that the selected ones need: those that their codecs refer to, and both ends of
 * an interval. The walk goes from the last to the first, since a codec refers to earlier columns,
 * and a START to the SPAN that follows it. */
static enum mp_status mark_needed(struct mp_decoder *decoder, const struct mp_table_info *table,
                                  uint32_t column_mask, uint64_t *const *into)
{
    for (unsigned i = 0; i < table->column_count; i++) {
        struct entry *entry = entry_of(decoder, table->columns[i].id, decoder->entry_count);
        if (!entry || !(column_mask >> i & 1))
            continue;
        if ((entry->codec == MP_CODEC_TEXT) != (table->columns[i].type == MP_TYPE_TEXT))
            return MP_ERR_DAMAGED;
        entry->needed = true;
        entry->into = into && entry->codec != MP_CODEC_TEXT ? into[i] : NULL;
    }
    for (unsigned i = decoder->entry_count; i-- > 0;) {
        struct entry *entry = &decoder->entries[i];
        if (entry->codec == MP_CODEC_START && entry->partner) {
            struct entry *span = entry + 1;
            if (i + 1 >= decoder->entry_count || span->codec != MP_CODEC_SPAN ||
                span->id != entry->partner)
                return MP_ERR_DAMAGED;
            entry->needed = span->needed = entry->needed || span->needed;
        } else if (entry->codec == MP_CODEC_SPAN) {
            if (i == 0 || entry[-1].codec != MP_CODEC_START || entry[-1].id != entry->partner)
                return MP_ERR_DAMAGED;
            entry->needed = entry->needed || entry[-1].needed;
        }
        const uint8_t refers[] = {entry->lane, entry->key1, entry->key2};
        unsigned before = entry->codec == MP_CODEC_SPAN ? i - 1 : i; /* decoded with its START */
        for (unsigned r = 0; r < sizeof refers && entry->needed; r++) {
            struct entry *other = refers[r] ? entry_of(decoder, refers[r], before) : NULL;
            if (refers[r] && (!other || other->codec == MP_CODEC_TEXT))
                return MP_ERR_DAMAGED;
            if (other)
                other->needed = true;
        }
    }
    return MP_OK;
}

/* ---- Columns ---- */

static const uint64_t *values_of(struct mp_decoder *decoder, uint8_t id)
{
    struct entry *entry = id ? entry_of(decoder, id, decoder->entry_count) : NULL;
    return entry && entry->done ? entry->values : NULL;
}

static struct mp_keys keys_of(struct mp_decoder *decoder, const struct entry *entry)
{
    return (struct mp_keys){values_of(decoder, entry->lane), values_of(decoder, entry->key1),
                            values_of(decoder, entry->key2)};
}

static enum mp_status decode_number(struct mp_decoder *decoder, struct entry *entry)
{
    MP_TRY(mp_stream_decode(&entry->data, entry->data_end, entry->values, decoder->rows));
    if (entry->predict) {
        struct mp_keys keys = keys_of(decoder, entry);
        mp_number_values(&decoder->predictor[0], entry->predict, &keys, entry->values,
                         decoder->rows);
    }
    return MP_OK;
}

static enum mp_status decode_interval(struct mp_decoder *decoder, struct entry *start)
{
    struct entry *span = start->partner ? start + 1 : NULL;
    uint32_t rows = decoder->rows;
    struct mp_interval interval = {
        .start_keys = keys_of(decoder, start),
        .start_predict = start->predict,
        .start = start->values,
        .start_residuals = start->values,
        .start_correction = array_of(decoder, &decoder->corrections[0]),
        .span_correction = array_of(decoder, &decoder->corrections[1]),
        .rows = rows,
    };
    if (!interval.start_correction || !interval.span_correction)
        return MP_ERR_MEMORY;
    MP_TRY(mp_stream_decode(&start->data, start->data_end, interval.start_residuals, rows));
    MP_TRY(mp_stream_decode(&start->data, start->data_end, interval.start_correction, rows));
    if (span) {
        span->values = values_for(decoder, span);
        if (!span->values)
            return MP_ERR_MEMORY;
        interval.span_keys = keys_of(decoder, span);
        interval.span_predict = span->predict;
        interval.span = interval.span_residuals = span->values;
        MP_TRY(mp_stream_decode(&span->data, span->data_end, interval.span_residuals, rows));
        MP_TRY(mp_stream_decode(&span->data, span->data_end, interval.span_correction, rows));
        span->done = true;
    }
    mp_interval_values(decoder->predictor, &start->grid, &interval);
    return MP_OK;
}

static enum mp_status reserve_text_end(struct mp_decoder *decoder)
{
    if (!decoder->text_end)
        decoder->text_end = calloc(decoder->capacity, sizeof *decoder->text_end);
    return decoder->text_end ? MP_OK : MP_ERR_MEMORY;
}

static enum mp_status decode_text(struct mp_decoder *decoder, struct entry *entry,
                                  struct mp_batch *batch)
{
    MP_TRY(mp_stream_decode(&entry->data, entry->data_end, entry->values, decoder->rows));
    MP_TRY(reserve_text_end(decoder));
    uint64_t room = (uint64_t)(entry->data_end - entry->data);
    uint64_t end = 0;
    for (uint32_t i = 0; i < decoder->rows; i++) {
        if (entry->values[i] > room - end)
            return MP_ERR_DAMAGED;
        end += entry->values[i];
        decoder->text_end[i] = (uint32_t)end;
    }
    batch->text = (const char *)entry->data;
    batch->text_end = decoder->text_end;
    return MP_OK;
}

static enum mp_status decode_entry(struct mp_decoder *decoder, struct entry *entry,
                                   struct mp_batch *batch)
{
    entry->values = values_for(decoder, entry);
    if (!entry->values)
        return MP_ERR_MEMORY;
    bool pair = entry->codec == MP_CODEC_START && entry->partner;
    const struct entry *span = pair ? entry + 1 : entry;
    if ((entry->predict | span->predict) > MP_PREDICT_ALL ||
        (span->codec == MP_CODEC_SPAN && span->lane))
        return MP_ERR_DAMAGED; /* of a newer writer */
    switch (entry->codec) {
    case MP_CODEC_NUMBER:
        return decode_number(decoder, entry);
    case MP_CODEC_START:
        return decode_interval(decoder, entry);
    case MP_CODEC_TEXT:
        return decode_text(decoder, entry, batch);
    default: /* of a newer writer, or damage */
        return MP_ERR_DAMAGED;
    }
}

/* A TEXT column that the file lacks: empty in every row. */
static enum mp_status fill_text(struct mp_decoder *decoder, struct mp_batch *batch)
{
    MP_TRY(reserve_text_end(decoder));
    memset(decoder->text_end, 0, decoder->rows * sizeof *decoder->text_end);
    batch->text = "";
    batch->text_end = decoder->text_end;
    return MP_OK;
}

/* A column that the file lacks: 0 in every row. NULL when out of memory. */
static const uint64_t *zeros_for(struct mp_decoder *decoder, uint64_t *into)
{
    return into ? memset(into, 0, decoder->rows * sizeof *into)
                : array_of(decoder, &decoder->zeros);
}

static enum mp_status fill_batch(struct mp_decoder *decoder, uint32_t column_mask,
                                 uint64_t *const *into, struct mp_batch *batch)
{
    const struct mp_table_info *table = batch->table;
    for (unsigned i = 0; i < table->column_count; i++) {
        if (!(column_mask >> i & 1))
            continue;
        if (table->columns[i].type == MP_TYPE_TEXT) {
            if (!batch->text)
                MP_TRY(fill_text(decoder, batch));
            continue;
        }
        batch->columns[i] = values_of(decoder, table->columns[i].id);
        if (!batch->columns[i])
            batch->columns[i] = zeros_for(decoder, into ? into[i] : NULL);
        if (!batch->columns[i])
            return MP_ERR_MEMORY;
    }
    return MP_OK;
}

enum mp_status mp_decode(struct mp_decoder *decoder, const uint8_t *bytes, size_t size,
                         uint32_t rows, uint32_t column_mask, uint64_t *const *into,
                         struct mp_batch *batch)
{
    set_rows(decoder, rows);
    batch->rows = rows;
    batch->text = NULL;
    batch->text_end = NULL;
    memset(batch->columns, 0, sizeof batch->columns);
    MP_TRY(read_directory(decoder, bytes, bytes + size));
    MP_TRY(mark_needed(decoder, batch->table, column_mask, into));
    for (unsigned i = 0; i < decoder->entry_count; i++) {
        struct entry *entry = &decoder->entries[i];
        if (!entry->needed || entry->done)
            continue;
        MP_TRY(decode_entry(decoder, entry, batch));
        entry->done = true;
    }
    return fill_batch(decoder, column_mask, into, batch);
}
