/* Values packed by bits, and runs of them: levels, indices into a dictionary, truth values. */
#include "export/parquet/encode.h"

#include <string.h>

#include "base/poison.h"

#define EIGHT 8u /* values of a group; as many equal ones are worth a run */

static size_t packed_bytes(uint32_t count, unsigned width)
{
    return ((uint64_t)count * width + 7) / 8;
}

void encode_bits(struct mp_buffer *out, const uint64_t *values, uint32_t count, unsigned width)
{
    size_t bytes = packed_bytes(count, width);
    uint8_t *at = mp_buffer_reserve(out, bytes + sizeof(uint64_t));
    uint64_t word = 0;
    unsigned used = 0;

    if (!at)
        return;
    for (uint32_t i = 0; i < count; i++) {
        word |= values[i] << used;
        used += width;
        if (used < 64)
            continue;
        memcpy(at, &word, sizeof word);
        at += sizeof word;
        used -= 64;
        word = used ? values[i] >> (width - used) : 0;
    }
    memcpy(at, &word, sizeof word);
    out->size += bytes;
}

/* How many of the values are equal to the first. */
static uint32_t run_length(const uint64_t *values, uint32_t count)
{
    uint32_t length = 1;

    while (length < count && values[length] == values[0])
        length++;
    return length;
}

/* The last group is filled up with zeros. */
static void put_packed(struct mp_buffer *out, const uint64_t *values, uint32_t count,
                       unsigned width)
{
    uint32_t groups = (count + EIGHT - 1) / EIGHT;
    size_t before;

    if (!count)
        return;
    mp_buffer_append_varint(out, (uint64_t)groups << 1 | 1);
    before = out->size;
    encode_bits(out, values, count, width);
    while (out->status == MP_OK && out->size - before < (size_t)groups * width)
        mp_buffer_append_byte(out, 0);
}

static void put_run(struct mp_buffer *out, uint64_t value, uint32_t length, unsigned width)
{
    mp_buffer_append_varint(out, (uint64_t)length << 1);
    mp_buffer_append(out, &value, (width + 7) / 8);
}

/* Packed values come in eights, except for the last ones, so the values in front of a run take from
 * it what they lack. */
void encode_hybrid(struct mp_buffer *out, const uint64_t *values, uint32_t count, unsigned width)
{
    uint32_t packed = 0; /* values from here to `at` await packing */

    for (uint32_t at = 0, length; at < count; at += length) {
        uint32_t lacking = (EIGHT - (at - packed) % EIGHT) % EIGHT;

        length = run_length(values + at, count - at);
        if (length < lacking + EIGHT)
            continue;
        put_packed(out, values + packed, at + lacking - packed, width);
        put_run(out, values[at], length - lacking, width);
        packed = at + length;
    }
    put_packed(out, values + packed, count - packed, width);
}
