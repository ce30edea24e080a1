/* Writes a trace that no writer makes, whose checksums fit: forge_trace FILE CHUNKS. Each chunk
 * holds the most rows that the format allows in about 120 bytes, because all its columns are one
 * number: kernels of 50 ns, one every 150 ns, in turn with their launching calls. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/seal.h"

enum { KERNEL = 32, CALL = 35, GAP = 100, SPAN = 50 };

static size_t put_varint(uint8_t *at, uint64_t value)
{
    size_t size = 0;

    for (; value >= 0x80; value >>= 7)
        at[size++] = (uint8_t)(value | 0x80);
    at[size++] = (uint8_t)value;
    return size;
}

/* A directory entry of a column whose data are `bytes` bytes. */
static size_t put_number(uint8_t *at, uint8_t id, uint8_t predict)
{
    const uint8_t entry[] = {id, MP_CODEC_NUMBER, predict, 0, 0, 0, 0, 2};

    memcpy(at, entry, sizeof entry);
    return sizeof entry;
}

/* Columns 3 and 4 of calls, 4 and 5 of kernels: begin and duration. */
static size_t put_interval(uint8_t *at, uint8_t start, uint64_t anchor)
{
    const uint8_t begin[] = {start, MP_CODEC_START, 0, 0, 0, 0, start + 1};
    const uint8_t span[] = {start + 1, MP_CODEC_SPAN, 0, 0, 0, 0, start, 4};
    size_t size = sizeof begin;

    memcpy(at, begin, sizeof begin);
    size += put_varint(at + size, anchor);
    size += put_varint(at + size, UINT64_C(1) << 32);
    size += put_varint(at + size, 0);
    at[size++] = 5;
    memcpy(at + size, span, sizeof span);
    return size + sizeof span;
}

/* Two columns of the number 1, an interval, and correlation ids that count from 1. */
static size_t put_columns(uint8_t *raw, bool kernel, uint64_t anchor)
{
    const uint8_t data[] = {MP_LAYOUT_CONSTANT,
                            1, /* stream or thread */
                            MP_LAYOUT_CONSTANT,
                            1, /* shape or function */
                            MP_LAYOUT_CONSTANT,
                            (GAP * 2 & 0x7F) | 0x80,
                            GAP * 2 >> 7,
                            MP_LAYOUT_CONSTANT,
                            0, /* corrections */
                            MP_LAYOUT_CONSTANT,
                            SPAN * 2,
                            MP_LAYOUT_CONSTANT,
                            0,
                            MP_LAYOUT_CONSTANT,
                            2}; /* one more each row */
    size_t size = 0;

    raw[size++] = 5;
    size += put_number(raw + size, 1, 0);
    size += put_number(raw + size, 2, 0);
    size += put_interval(raw + size, kernel ? 4 : 3, anchor);
    size += put_number(raw + size, kernel ? 6 : 5, MP_PREDICT_BASE_LAST);
    memcpy(raw + size, data, sizeof data);
    return size + sizeof data;
}

int main(int argc, char **argv)
{
    uint8_t bytes[1024];
    uint8_t raw[256];
    uint32_t count = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    FILE *file = argc == 3 ? fopen(argv[1], "we") : NULL;

    if (!file) {
        fprintf(stderr, "usage: forge_trace FILE CHUNKS\n");
        return 2;
    }
    fwrite(bytes, 1, seal_file_header(bytes, "pid=1\n", 6, MP_FORMAT_VERSION, 0), file);
    for (uint32_t i = 0; i < count; i++) {
        bool kernel = i % 2;
        uint64_t anchor = 1000000 + (uint64_t)(i / 2) * (GAP + SPAN) * MP_MAX_CHUNK_ROWS;
        struct seal_claims claims = {i, kernel ? KERNEL : CALL, MP_MAX_CHUNK_ROWS};
        size_t size = put_columns(raw, kernel, anchor + (kernel ? GAP : 0));

        fwrite(bytes, 1, seal_chunk(bytes, sizeof bytes, claims, raw, size), file);
    }
    return fclose(file) != 0;
}
