/* A builder's rows to the bytes of a chunk, before compression.
 *
 *     varint: number of columns
 *     each:   id, codec, predict, lane, key1, key2, partner (a byte each; ids of columns, 0 none),
 *             START only: varint anchor, varint step, varint fraction;
 *             varint: bytes of the column's data
 *     then the data of all columns in the same order
 */
#ifndef MP_TRACE_CODEC_ENCODE_H
#define MP_TRACE_CODEC_ENCODE_H

#include "trace/codec/stream.h"
#include "trace/write/builder.h"

struct mp_encoder;

enum mp_status mp_encoder_create(struct mp_encoder **encoder);
void mp_encoder_free(struct mp_encoder *encoder);

struct mp_encoded {
    const struct mp_sink *sink; /* belongs to the encoder, until its next use */
    uint64_t first_time;        /* least time that is not 0; 0 without times */
    uint64_t last_time;         /* greatest end */
};

/* Encodes the rows of `builder`, which keeps them. MP_ERR_MEMORY. */
enum mp_status mp_encode(struct mp_encoder *encoder, struct mp_builder *builder,
                         struct mp_encoded *encoded);

#endif
