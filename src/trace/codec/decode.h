/* From the decompressed bytes of a chunk to columns of numbers. Everything is checked: even with a
 * correct checksum the bytes may be anything. */
#ifndef MP_TRACE_CODEC_DECODE_H
#define MP_TRACE_CODEC_DECODE_H

#include "trace/codec/predict.h"

#include <miniprof/trace.h>

struct mp_decoder;

enum mp_status mp_decoder_create(struct mp_decoder **decoder);
void mp_decoder_free(struct mp_decoder *decoder);

/* Decodes the selected columns (bit i: table->columns[i]) into `batch`. The caller has set the
 * batch's table; its other fields then point into the decoder and `bytes`. A column i for which
 * into[i] is not NULL is decoded there instead, where `rows` values have room; `into` may be NULL.
 * MP_ERR_DAMAGED, MP_ERR_MEMORY. */
enum mp_status mp_decode(struct mp_decoder *decoder, const uint8_t *bytes, size_t size,
                         uint32_t rows, uint32_t column_mask, uint64_t *const *into,
                         struct mp_batch *batch);

#endif
