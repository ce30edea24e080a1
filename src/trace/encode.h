/* From rows to the bytes of a chunk, before compression. */
#ifndef MP_TRACE_ENCODE_H
#define MP_TRACE_ENCODE_H

#include <miniprof/trace.h>

#include "base/data/storage.h"
#include "trace/codec.h"

/* ---- The rows of one table that are not written yet, column by column ---- */

#define MP_BUILDER_TEXT_BYTES (1u << 20) /* a builder with that much text is full */

struct mp_builder {
    const struct mp_table_info *table;
    const struct mp_codec *codecs;
    uint64_t *columns[MP_MAX_COLUMNS]; /* `capacity` values each; of a TEXT column the lengths */
    uint64_t *block;                   /* the allocation that the columns share */
    struct mp_buffer text;             /* bytes of the TEXT column */
    uint32_t rows;
    uint32_t capacity;
    uint32_t limit;       /* rows at which a chunk is written: about chunk_bytes encoded */
    uint32_t max_rows;    /* more rows might exceed the limits of format.h for a chunk */
    uint32_t grid_misses; /* chunks in succession whose times lay on no grid */
};

void mp_builder_init(struct mp_builder *builder, const struct mp_table_info *table);

/* Room for one more row; MP_ERR_MEMORY. */
enum mp_status mp_builder_grow(struct mp_builder *builder);

/* Forgets the rows. */
void mp_builder_clear(struct mp_builder *builder);

/* Forgets the first `rows` rows. */
void mp_builder_drop(struct mp_builder *builder, uint32_t rows);

/* Bytes of text of the first `rows` rows. */
size_t mp_builder_text_bytes(const struct mp_builder *builder, uint32_t rows);

void mp_builder_free(struct mp_builder *builder);

/* ---- Their bytes ----
 *
 * A builder's rows to the bytes of a chunk, before compression.
 *
 *     varint: number of columns
 *     each:   id, codec, predict, lane, key1, key2, partner (a byte each; ids of columns, 0 none),
 *             START only: varint anchor, varint step, varint fraction;
 *             varint: bytes of the column's data
 *     then the data of all columns in the same order
 */

struct mp_encoder;

enum mp_status mp_encoder_create(struct mp_encoder **encoder);
void mp_encoder_free(struct mp_encoder *encoder);

struct mp_encoded {
    const struct mp_sink *sink; /* belongs to the encoder, until its next use */
    uint64_t first_time;        /* earliest that is not 0; 0 without times */
    uint64_t last_time;         /* latest end */
};

/* Encodes the rows of `builder`, which keeps them. MP_ERR_MEMORY. */
enum mp_status mp_encode(struct mp_encoder *encoder, struct mp_builder *builder,
                         struct mp_encoded *encoded);

#endif
