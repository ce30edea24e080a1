/* Writes the residuals of a column in the layout that is smallest for them. Noise goes into tokens
 * and raw bits: zstd's entropy stage then sees the tokens alone, and the bits are stored as they
 * are.
 */
#include "base/data/storage.h"
#include "trace/codec.h"

#include <string.h>

#include "base/poison.h"

/* A block below this would pay more for its own Huffman table than it gains. */
#define SMALLEST_BLOCK 256

#define FIRST_BUCKET 16u  /* values below are their own token */
#define LAST_TOKEN   135u /* 16 + 2 * 59 + 1: the highest bit is at most bit 63 */

void mp_sink_cut(struct mp_sink *sink)
{
    size_t last = sink->cut_count ? sink->cuts[sink->cut_count - 1] : 0;
    if (sink->buffer.size - last < SMALLEST_BLOCK)
        return;
    if (sink->cut_count < sizeof sink->cuts / sizeof *sink->cuts)
        sink->cuts[sink->cut_count++] = sink->buffer.size;
}

static int all_equal(const uint64_t *values, uint32_t rows)
{
    return !rows || !memcmp(values, values + 1, (rows - 1) * sizeof *values);
}

/* Room for the longest encoding of `rows` values, and a few bytes around it. */
#define LONGEST_STREAM(rows) ((size_t)(rows)*MP_VARINT_MAX_BYTES + 32)

static void encode_bytes(struct mp_buffer *buffer, const uint64_t *values, uint32_t rows)
{
    uint8_t *at = buffer->data + buffer->size;
    for (uint32_t i = 0; i < rows; i++) {
        if (values[i] < 0x80)
            *at++ = (uint8_t)values[i];
        else
            at += mp_varint_put(at, values[i]);
    }
    buffer->size = (size_t)(at - buffer->data);
}

/* Bits on their way into bytes, least significant first. */
struct bit_writer {
    uint8_t *at;
    uint64_t pending;
    unsigned count; /* always below 8 between calls */
};

static inline void put_bits(struct bit_writer *bits, uint64_t value, unsigned count)
{
    bits->pending |= value << bits->count;
    memcpy(bits->at, &bits->pending, 8);
    unsigned total = bits->count + count;
    bits->at += total >> 3;
    bits->count = total & 7;
    bits->pending = (total >> 3) < 8 ? bits->pending >> (total & ~7u) : 0;
}

static void put_value_bits(struct bit_writer *bits, uint64_t value, unsigned count)
{
    if (count > 32) { /* two halves: 7 pending bits and 62 new ones do not fit in 64 */
        put_bits(bits, value & 0xFFFFFFFFu, 32);
        value >>= 32;
        count -= 32;
    }
    put_bits(bits, value, count);
}

/* Writes a token for each value, and the extra bits of all values, back to back, into `bits`.
 * Returns their bytes. */
static size_t encode_tokens(uint8_t *token, uint8_t *bits, const uint64_t *values, uint32_t rows)
{
    struct bit_writer writer = {.at = bits};
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t value = values[i];
        if (value < FIRST_BUCKET) {
            token[i] = (uint8_t)value;
            continue;
        }
        unsigned high = 63 - (unsigned)__builtin_clzll(value);
        token[i] = (uint8_t)(FIRST_BUCKET + 2 * (high - 4) + ((value >> (high - 1)) & 1));
        put_value_bits(&writer, value & (((uint64_t)1 << (high - 1)) - 1), high - 1);
    }
    if (writer.count)
        *writer.at++ = (uint8_t)writer.pending;
    return (size_t)(writer.at - bits);
}

/* The length of the bits stands before them but is not known yet. So they are written after room
 * for the longest length, and then moved up. */
static void encode_bits(struct mp_sink *sink, const uint64_t *values, uint32_t rows)
{
    struct mp_buffer *buffer = &sink->buffer;
    uint8_t *token = buffer->data + buffer->size;
    uint8_t *bits = token + rows + MP_VARINT_MAX_BYTES;
    size_t bit_bytes = encode_tokens(token, bits, values, rows);
    buffer->size += rows;
    mp_sink_cut(sink);
    buffer->size += mp_varint_put(token + rows, bit_bytes);
    memmove(buffer->data + buffer->size, bits, bit_bytes);
    buffer->size += bit_bytes;
}

#define CRUMB_ESCAPE 3u

static void encode_crumbs(struct mp_buffer *buffer, const uint64_t *values, uint32_t rows)
{
    uint8_t *crumbs = buffer->data + buffer->size;
    uint32_t bytes = (rows + 3) / 4;
    uint8_t *more = crumbs + bytes;
    memset(crumbs, 0, bytes);
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t crumb = values[i] < CRUMB_ESCAPE ? values[i] : CRUMB_ESCAPE;
        crumbs[i / 4] |= (uint8_t)(crumb << (i % 4 * 2));
        if (crumb == CRUMB_ESCAPE)
            more += mp_varint_put(more, values[i] - CRUMB_ESCAPE);
    }
    buffer->size = (size_t)(more - buffer->data);
}

enum mp_status mp_stream_encode(struct mp_sink *sink, enum mp_layout layout, const uint64_t *values,
                                uint32_t rows)
{
    struct mp_buffer *buffer = &sink->buffer;
    if (!mp_buffer_reserve(buffer, LONGEST_STREAM(rows)))
        return buffer->status;
    if (all_equal(values, rows))
        layout = MP_LAYOUT_CONSTANT;
    buffer->data[buffer->size++] = (uint8_t)layout;
    if (layout == MP_LAYOUT_CONSTANT) {
        buffer->size += mp_varint_put(buffer->data + buffer->size, rows ? values[0] : 0);
        return MP_OK;
    }
    if (layout == MP_LAYOUT_BYTES)
        encode_bytes(buffer, values, rows);
    else if (layout == MP_LAYOUT_CRUMBS)
        encode_crumbs(buffer, values, rows);
    else
        encode_bits(sink, values, rows);
    mp_sink_cut(sink);
    return MP_OK;
}

static enum mp_status decode_bytes(const uint8_t **at, const uint8_t *end, uint64_t *values,
                                   uint32_t rows)
{
    const uint8_t *next = *at;
    for (uint32_t i = 0; i < rows; i++) {
        if (next < end && *next < 0x80)
            values[i] = *next++;
        else if (!mp_varint_get(&next, end, &values[i]))
            return MP_ERR_DAMAGED;
    }
    *at = next;
    return MP_OK;
}

/* Reads `count` (at most 32) bits that start at bit `*position` of `bytes`; the caller has checked
 * that they are there. */
static inline uint64_t get_bits(const uint8_t *bytes, size_t size, uint64_t *position,
                                unsigned count)
{
    size_t byte = (size_t)(*position >> 3);
    uint64_t word = 0;
    if (size - byte >= 8)
        memcpy(&word, bytes + byte, 8);
    else
        memcpy(&word, bytes + byte, size - byte);
    word >>= *position & 7;
    *position += count;
    return word & (((uint64_t)1 << count) - 1);
}

static enum mp_status decode_tokens(const uint8_t *token, const uint8_t *bytes, size_t size,
                                    uint64_t *values, uint32_t rows)
{
    uint64_t position = 0;
    uint64_t limit = (uint64_t)size * 8;
    for (uint32_t i = 0; i < rows; i++) {
        if (token[i] < FIRST_BUCKET) {
            values[i] = token[i];
            continue;
        }
        unsigned bucket = token[i] - FIRST_BUCKET;
        unsigned count = bucket / 2 + 3;
        if (token[i] > LAST_TOKEN || limit - position < count)
            return MP_ERR_DAMAGED;
        uint64_t value = (uint64_t)(2 + (bucket & 1)) << count;
        if (count > 32) {
            value |= get_bits(bytes, size, &position, 32);
            value |= get_bits(bytes, size, &position, count - 32) << 32;
        } else {
            value |= get_bits(bytes, size, &position, count);
        }
        values[i] = value;
    }
    return MP_OK;
}

static enum mp_status decode_bits(const uint8_t **at, const uint8_t *end, uint64_t *values,
                                  uint32_t rows)
{
    const uint8_t *token = *at;
    if ((size_t)(end - token) < rows)
        return MP_ERR_DAMAGED;
    const uint8_t *next = token + rows;
    uint64_t bit_bytes;
    if (!mp_varint_get(&next, end, &bit_bytes) || bit_bytes > (size_t)(end - next))
        return MP_ERR_DAMAGED;
    *at = next + bit_bytes;
    return decode_tokens(token, next, (size_t)bit_bytes, values, rows);
}

static enum mp_status decode_crumbs(const uint8_t **at, const uint8_t *end, uint64_t *values,
                                    uint32_t rows)
{
    const uint8_t *crumbs = *at;
    uint32_t bytes = (rows + 3) / 4;
    if ((size_t)(end - crumbs) < bytes)
        return MP_ERR_DAMAGED;
    *at += bytes;
    for (uint32_t i = 0; i < rows; i++) {
        values[i] = crumbs[i / 4] >> (i % 4 * 2) & CRUMB_ESCAPE;
        if (values[i] < CRUMB_ESCAPE)
            continue;
        if (!mp_varint_get(at, end, &values[i]))
            return MP_ERR_DAMAGED;
        values[i] += CRUMB_ESCAPE;
    }
    return MP_OK;
}

enum mp_status mp_stream_decode(const uint8_t **at, const uint8_t *end, uint64_t *values,
                                uint32_t rows)
{
    if (*at >= end)
        return MP_ERR_DAMAGED;
    uint8_t layout = *(*at)++;
    if (layout == MP_LAYOUT_BYTES)
        return decode_bytes(at, end, values, rows);
    if (layout == MP_LAYOUT_BITS)
        return decode_bits(at, end, values, rows);
    if (layout == MP_LAYOUT_CRUMBS)
        return decode_crumbs(at, end, values, rows);
    uint64_t value;
    if (layout != MP_LAYOUT_CONSTANT || !mp_varint_get(at, end, &value))
        return MP_ERR_DAMAGED;
    for (uint32_t i = 0; i < rows; i++)
        values[i] = value;
    return MP_OK;
}
