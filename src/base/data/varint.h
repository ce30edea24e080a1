/* LEB128: seven bits a byte, least significant first; the top bit is set on all bytes but the last.
 * And zigzag, which maps signed numbers to unsigned ones so that small magnitudes stay short (0 -1
 * 1 -2 -> 0 1 2 3).
 */
#ifndef MP_BASE_DATA_VARINT_H
#define MP_BASE_DATA_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MP_VARINT_MAX_BYTES 10 /* of a 64-bit value: ceil(64 / 7) */

/* Bytes that mp_varint_put writes for `value`: 1 to 10. */
static inline size_t mp_varint_size(uint64_t value)
{
    unsigned bits = 64u - (unsigned)__builtin_clzll(value | 1);

    return (bits + 6) / 7;
}

/* Writes `value` at `out`, which has room for MP_VARINT_MAX_BYTES; returns the bytes written. */
static inline size_t mp_varint_put(uint8_t *out, uint64_t value)
{
    size_t size = 0;

    while (value >= 0x80) {
        out[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[size++] = (uint8_t)value;
    return size;
}

/* Reads one value at *cursor and moves *cursor behind it. If the bytes end before `end` or the
 * number needs more than 64 bits, returns false and leaves *cursor and *value unchanged. Padded
 * forms (0x80 0x00) are accepted. */
__attribute__((warn_unused_result)) static inline bool mp_varint_get(const uint8_t **cursor,
                                                                     const uint8_t *end,
                                                                     uint64_t *value)
{
    const uint8_t *at = *cursor;
    uint64_t result = 0;
    unsigned shift;

    for (shift = 0; shift < 64 && at < end; shift += 7) {
        uint8_t byte = *at++;

        if (shift == 63 && byte > 1)
            return false;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *cursor = at;
            *value = result;
            return true;
        }
    }
    return false;
}

static inline uint64_t mp_zigzag_encode(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t mp_zigzag_decode(uint64_t value)
{
    return (int64_t)((value >> 1) ^ ((value & 1) ? UINT64_MAX : 0));
}

/* The zigzagged difference a - b of two unsigned numbers, modulo 2^64: mp_undelta(b, mp_delta(a,
 * b)) == a for all. */
static inline uint64_t mp_delta(uint64_t a, uint64_t b)
{
    return mp_zigzag_encode((int64_t)(a - b));
}

static inline uint64_t mp_undelta(uint64_t b, uint64_t delta)
{
    return b + (uint64_t)mp_zigzag_decode(delta);
}

#endif
