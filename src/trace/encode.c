/* Keeps rows column by column until a chunk is full, and encodes them. */
#include "trace/encode.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "trace/codec.h"

#include "base/poison.h"

/* ---- Rows that are not written yet ----
 *
 * All columns of a table grow together, so that a failed allocation leaves none of them longer than
 * the others.
 */

#define FIRST_CAPACITY 512
#define FIRST_LIMIT                                                                                \
    8192 /* rows of the first chunk, before anything is known of how well they pack */
#define LONGEST_CELL 20 /* encoded bytes: two streams of 10 for a time on a grid */

void mp_builder_init(struct mp_builder *builder, const struct mp_table_info *table)
{
    uint32_t max = MP_MAX_CHUNK_RAW_BYTES / (LONGEST_CELL * table->column_count) - 1024;
    *builder = (struct mp_builder){
        .table = table,
        .codecs = mp_table_codecs(table),
        .max_rows = max < MP_MAX_CHUNK_ROWS ? max : MP_MAX_CHUNK_ROWS,
        .limit = FIRST_LIMIT,
        .text.limit = MP_BUILDER_TEXT_BYTES + MP_MAX_TEXT_BYTES,
    };
}

enum mp_status mp_builder_grow(struct mp_builder *builder)
{
    uint32_t capacity = builder->capacity ? builder->capacity * 2 : FIRST_CAPACITY;
    size_t bytes;
    if (!mp_size_mul(capacity, builder->table->column_count * sizeof(uint64_t), &bytes))
        return MP_ERR_MEMORY;
    uint64_t *block = malloc(bytes);
    if (!block)
        return MP_ERR_MEMORY;
    for (unsigned i = 0; i < builder->table->column_count; i++) {
        uint64_t *column = block + (size_t)i * capacity;
        if (builder->rows)
            memcpy(column, builder->columns[i], builder->rows * sizeof *column);
        builder->columns[i] = column;
    }
    free(builder->block);
    builder->block = block;
    builder->capacity = capacity;
    return MP_OK;
}

void mp_builder_clear(struct mp_builder *builder)
{
    builder->rows = 0;
    mp_buffer_clear(&builder->text);
}

size_t mp_builder_text_bytes(const struct mp_builder *builder, uint32_t rows)
{
    size_t bytes = 0;
    if (!builder->text.size || rows >= builder->rows)
        return builder->text.size;
    for (unsigned i = 0; i < builder->table->column_count; i++)
        for (uint32_t row = 0; row < rows && builder->codecs[i].kind == MP_CODEC_TEXT; row++)
            bytes += builder->columns[i][row];
    return bytes;
}

void mp_builder_drop(struct mp_builder *builder, uint32_t rows)
{
    struct mp_buffer *text = &builder->text;
    size_t text_bytes = mp_builder_text_bytes(builder, rows);
    if (rows >= builder->rows) {
        mp_builder_clear(builder);
        return;
    }
    builder->rows -= rows;
    for (unsigned i = 0; i < builder->table->column_count; i++)
        memmove(builder->columns[i], builder->columns[i] + rows,
                builder->rows * sizeof *builder->columns[i]);
    text->size -= text_bytes;
    if (text->size)
        memmove(text->data, text->data + text_bytes, text->size);
}

void mp_builder_free(struct mp_builder *builder)
{
    free(builder->block);
    builder->block = NULL;
    mp_buffer_free(&builder->text);
    memset(builder->columns, 0, sizeof builder->columns);
    builder->rows = builder->capacity = 0;
}

/* ---- Their bytes ----
 *
 * A column that is 0 in all rows is left out, because readers take a missing column as 0. Residuals
 * of one column stand together, so that zstd sees one kind of statistics at a time.
 */

/* A table without a grid is checked again after this many chunks: its device may have changed. */
#define GRID_PATIENCE 16

/* Columns of numbers that an interval needs at once: residuals and corrections of begin and span.
 */
enum { SCRATCH_START, SCRATCH_SPAN, SCRATCH_START_CORRECTION, SCRATCH_SPAN_CORRECTION, SCRATCHES };

struct mp_encoder {
    struct mp_predictor predictor[2];
    struct mp_sink data;          /* of all columns */
    struct mp_sink chunk;         /* directory and data */
    uint64_t *scratch[SCRATCHES]; /* one allocation, the first owns it */
    uint32_t scratch_rows;
    uint32_t left_out;  /* columns of the chunk that are 0 in all rows, a bit each */
    uint64_t grid_step; /* the last that was found: a device's tables share it */
};

enum mp_status mp_encoder_create(struct mp_encoder **encoder)
{
    *encoder = calloc(1, sizeof **encoder);
    return *encoder ? MP_OK : MP_ERR_MEMORY;
}

void mp_encoder_free(struct mp_encoder *encoder)
{
    if (!encoder)
        return;
    free(encoder->scratch[0]);
    mp_buffer_free(&encoder->data.buffer);
    mp_buffer_free(&encoder->chunk.buffer);
    free(encoder);
}

static enum mp_status scratch_reserve(struct mp_encoder *encoder, uint32_t rows)
{
    if (rows <= encoder->scratch_rows)
        return MP_OK;
    uint64_t *block = malloc((size_t)rows * SCRATCHES * sizeof *block);
    if (!block)
        return MP_ERR_MEMORY;
    free(encoder->scratch[0]);
    for (unsigned i = 0; i < SCRATCHES; i++)
        encoder->scratch[i] = block + (size_t)i * rows;
    encoder->scratch_rows = rows;
    return MP_OK;
}

static const uint64_t *column_or_null(const struct mp_builder *builder, int position)
{
    return position < 0 ? NULL : builder->columns[position];
}

static struct mp_keys keys_of(const struct mp_builder *builder, const struct mp_codec *codec)
{
    return (struct mp_keys){column_or_null(builder, codec->lane),
                            column_or_null(builder, codec->key1),
                            column_or_null(builder, codec->key2)};
}

/* The column's id on disk; 0 for none, and for one that was left out because it is 0 everywhere. */
static uint8_t id_of(const struct mp_encoder *encoder, const struct mp_builder *builder,
                     int position)
{
    if (position < 0 || (encoder->left_out >> position & 1))
        return 0;
    return builder->table->columns[position].id;
}

static bool is_constant(const uint64_t *values, uint32_t rows)
{
    return !memcmp(values, values + 1, (rows - 1) * sizeof *values);
}

/* One column's entry in the directory; `grid` for START columns only. */
static void put_entry(struct mp_encoder *encoder, const struct mp_builder *builder, unsigned column,
                      const struct mp_codec *codec, uint8_t partner, const struct mp_grid *grid,
                      size_t data_bytes)
{
    struct mp_buffer *directory = &encoder->chunk.buffer;
    const uint8_t entry[] = {builder->table->columns[column].id,
                             codec->kind,
                             codec->predict,
                             id_of(encoder, builder, codec->lane),
                             id_of(encoder, builder, codec->key1),
                             id_of(encoder, builder, codec->key2),
                             partner};
    mp_buffer_append(directory, entry, sizeof entry);
    if (grid) {
        mp_buffer_append_varint(directory, grid->anchor);
        mp_buffer_append_varint(directory, grid->step);
        mp_buffer_append_varint(directory, grid->fraction);
    }
    mp_buffer_append_varint(directory, data_bytes);
}

/* A column that is 0 in all rows is left out: readers take a missing column as 0. */
static void encode_number(struct mp_encoder *encoder, const struct mp_builder *builder,
                          unsigned column)
{
    struct mp_sink *data = &encoder->data;
    size_t before = data->buffer.size;
    struct mp_codec codec = builder->codecs[column];
    const uint64_t *values = builder->columns[column];
    bool constant = is_constant(values, builder->rows);
    if (constant && !values[0]) {
        encoder->left_out |= 1u << column;
        return;
    }
    if (constant)
        codec = (struct mp_codec){MP_CODEC_NUMBER, 0, -1, -1, -1};
    if (codec.predict) {
        struct mp_keys keys = keys_of(builder, &codec);
        uint64_t *residuals = encoder->scratch[0];
        mp_number_residuals(&encoder->predictor[0], codec.predict, &keys, values, residuals,
                            builder->rows);
        values = residuals;
    }
    mp_stream_encode(data, MP_LAYOUT_BYTES, values, builder->rows);
    put_entry(encoder, builder, column, &codec, 0, NULL, data->buffer.size - before);
}

static void encode_text(struct mp_encoder *encoder, const struct mp_builder *builder,
                        unsigned column)
{
    struct mp_sink *data = &encoder->data;
    size_t before = data->buffer.size;
    mp_stream_encode(data, MP_LAYOUT_BYTES, builder->columns[column], builder->rows);
    mp_buffer_append(&data->buffer, builder->text.data, builder->text.size);
    mp_sink_cut(data);
    put_entry(encoder, builder, column, &builder->codecs[column], 0, NULL,
              data->buffer.size - before);
}

/* The grid of the chunk's times. If a table has shown no grid twice, its times are taken to be the
 * host's. The table is checked again from time to time, because a chunk with few times far apart
 * shows no grid either. */
static struct mp_grid grid_of(struct mp_encoder *encoder, struct mp_builder *builder,
                              const uint64_t *start, const uint64_t *span)
{
    bool look = builder->grid_misses < 2 || builder->grid_misses % GRID_PATIENCE == 0;
    struct mp_grid grid = mp_grid_find(start, span, look ? builder->rows : 0, encoder->grid_step);
    if (!look)
        grid.anchor = start[0];
    if (grid.step == MP_GRID_UNIT) {
        builder->grid_misses++;
    } else {
        builder->grid_misses = 0;
        encoder->grid_step = grid.step;
    }
    return grid;
}

static void note_times(struct mp_encoded *encoded, const uint64_t *start, const uint64_t *span,
                       uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++) {
        if (!start[i])
            continue;
        uint64_t end = start[i] + (span && (int64_t)span[i] > 0 ? span[i] : 0);
        if (!encoded->first_time || start[i] < encoded->first_time)
            encoded->first_time = start[i];
        if (end > encoded->last_time)
            encoded->last_time = end;
    }
}

/* A START column and, if the next column is its SPAN, that one too. */
static void encode_interval(struct mp_encoder *encoder, struct mp_builder *builder, unsigned column,
                            bool has_span, struct mp_encoded *encoded)
{
    const struct mp_codec *codec = &builder->codecs[column];
    struct mp_interval interval = {
        .start_keys = keys_of(builder, codec),
        .start_predict = codec->predict,
        .start = builder->columns[column],
        .start_residuals = encoder->scratch[SCRATCH_START],
        .start_correction = encoder->scratch[SCRATCH_START_CORRECTION],
        .rows = builder->rows,
    };
    if (has_span) {
        interval.span_keys = keys_of(builder, codec + 1);
        interval.span_predict = codec[1].predict;
        interval.span = builder->columns[column + 1];
        interval.span_residuals = encoder->scratch[SCRATCH_SPAN];
        interval.span_correction = encoder->scratch[SCRATCH_SPAN_CORRECTION];
    }
    struct mp_grid grid = grid_of(encoder, builder, interval.start, interval.span);
    mp_interval_residuals(encoder->predictor, &grid, &interval);
    note_times(encoded, interval.start, interval.span, builder->rows);

    struct mp_sink *data = &encoder->data;
    size_t before = data->buffer.size;
    mp_stream_encode(data, MP_LAYOUT_BITS, interval.start_residuals, builder->rows);
    mp_stream_encode(data, MP_LAYOUT_CRUMBS, interval.start_correction, builder->rows);
    uint8_t partner = has_span ? id_of(encoder, builder, (int)column + 1) : 0;
    put_entry(encoder, builder, column, codec, partner, &grid, data->buffer.size - before);
    if (!has_span)
        return;
    before = data->buffer.size;
    mp_stream_encode(data, MP_LAYOUT_BITS, interval.span_residuals, builder->rows);
    mp_stream_encode(data, MP_LAYOUT_CRUMBS, interval.span_correction, builder->rows);
    put_entry(encoder, builder, column + 1, codec + 1, id_of(encoder, builder, (int)column), NULL,
              data->buffer.size - before);
}

static void encode_columns(struct mp_encoder *encoder, struct mp_builder *builder,
                           struct mp_encoded *encoded)
{
    unsigned count = builder->table->column_count;
    for (unsigned i = 0; i < count; i++) {
        switch ((enum mp_codec_kind)builder->codecs[i].kind) {
        case MP_CODEC_NUMBER:
            encode_number(encoder, builder, i);
            break;
        case MP_CODEC_TEXT:
            encode_text(encoder, builder, i);
            break;
        case MP_CODEC_START: {
            bool has_span = i + 1 < count && builder->codecs[i + 1].kind == MP_CODEC_SPAN;
            encode_interval(encoder, builder, i, has_span, encoded);
            break;
        }
        case MP_CODEC_SPAN: /* done together with the START before it */
            break;
        }
    }
}

/* Appends the columns' data to the directory and moves the data's block cuts accordingly. */
static void join(struct mp_encoder *encoder)
{
    struct mp_sink *chunk = &encoder->chunk;
    size_t shift = chunk->buffer.size;
    mp_buffer_append(&chunk->buffer, encoder->data.buffer.data, encoder->data.buffer.size);
    chunk->cut_count = encoder->data.cut_count;
    for (unsigned i = 0; i < chunk->cut_count; i++)
        chunk->cuts[i] = encoder->data.cuts[i] + shift;
}

enum mp_status mp_encode(struct mp_encoder *encoder, struct mp_builder *builder,
                         struct mp_encoded *encoded)
{
    *encoded = (struct mp_encoded){.sink = &encoder->chunk};
    MP_TRY(scratch_reserve(encoder, builder->rows));
    mp_buffer_clear(&encoder->data.buffer);
    mp_buffer_clear(&encoder->chunk.buffer);
    encoder->data.cut_count = 0;
    encoder->left_out = 0;
    _Static_assert(MP_MAX_COLUMNS < 128, "the number of columns is one byte of LEB128");
    mp_buffer_append_byte(&encoder->chunk.buffer, 0);
    encode_columns(encoder, builder, encoded);
    join(encoder);
    MP_TRY(encoder->data.buffer.status);
    MP_TRY(encoder->chunk.buffer.status);
    encoder->chunk.buffer.data[0] =
        (uint8_t)(builder->table->column_count - (unsigned)__builtin_popcount(encoder->left_out));
    return MP_OK;
}
