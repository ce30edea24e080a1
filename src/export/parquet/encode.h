/* The encodings of values in a page (parquet-format, Encodings.md). All append to a buffer, whose
 * status says whether memory sufficed. Any thread. */
#ifndef MP_EXPORT_PARQUET_ENCODE_H
#define MP_EXPORT_PARQUET_ENCODE_H

#include "base/data/buffer.h"

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

#endif
