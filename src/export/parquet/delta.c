/* DELTA_BINARY_PACKED: what numbers differ by from the ones before them, in as few bits as a
 * miniblock of 32 needs above the least difference of its block of 128.
 *
 * Differences are those of two's complement and wrap around, so that every number has one, and
 * those of 32-bit numbers fit into 32 bits, which readers expect.
 */
#include "export/parquet/encode.h"

#include "base/data/varint.h"

#include "base/poison.h"

#define BLOCK      128u /* values; Encodings.md wants a multiple of 128 */
#define MINIBLOCKS 4u
#define MINIBLOCK  (BLOCK / MINIBLOCKS) /* a multiple of 32 */

static int64_t difference(uint64_t a, uint64_t b, unsigned bits)
{
    return bits == 32 ? (int64_t)(int32_t)(uint32_t)(a - b) : (int64_t)(a - b);
}

/* The `count` differences between the values from `values` on, above the least of them, which it
 * returns; 0 behind the last. */
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
