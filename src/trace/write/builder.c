/* Keeps the rows of one table as arrays of columns until they fill a chunk. All columns grow
 * together, so that a failed allocation leaves none of them longer than the others.
 */
#include "trace/write/builder.h"
#include "base/data/storage.h"
#include "trace/codec/schema_codec.h"

#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

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
