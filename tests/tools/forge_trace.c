/* Writes a trace that no writer makes, whose checksums fit: forge_trace FILE CHUNKS [HOLE]. Each
 * chunk holds the most rows that the format allows in about 120 bytes, because all its columns are
 * one number: kernels of 50 ns, one every 150 ns, in turn with their launching calls.
 *
 * With HOLE, so many bytes follow that are a hole in the file and take no room on disk. The number
 * is also the id of a string, a shape, a stream and a device, and a kernel refers to the shape. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz/seal.h"

enum {
    STRING = 1,
    DEVICE = 3,
    STREAM = 4,
    SHAPE = 6,
    KERNEL = 32,
    CALL = 35,
    GAP = 100,
    SPAN = 50
};

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

static void put_chunk(FILE *file, struct seal_claims claims, const uint8_t *raw, size_t size)
{
    uint8_t bytes[1024];

    fwrite(bytes, 1, seal_chunk(bytes, sizeof bytes, claims, raw, size), file);
}

static void put_work(FILE *file, uint32_t sequence)
{
    bool kernel = sequence % 2;
    uint64_t anchor = 1000000 + (uint64_t)(sequence / 2) * (GAP + SPAN) * MP_MAX_CHUNK_ROWS;
    struct seal_claims claims = {sequence, kernel ? KERNEL : CALL, MP_MAX_CHUNK_ROWS};
    uint8_t raw[256];
    size_t size = put_columns(raw, kernel, anchor + (kernel ? GAP : 0));

    put_chunk(file, claims, raw, size);
}

/* A row whose only column is an id. */
static void put_id(FILE *file, struct seal_claims claims, uint8_t column, uint64_t id)
{
    uint8_t raw[32];
    size_t size = 0;

    raw[size++] = 1;
    size += put_number(raw + size, column, 0);
    raw[size++] = MP_LAYOUT_CONSTANT;
    size += put_varint(raw + size, id);
    raw[8] = (uint8_t)(size - 9); /* bytes of the column's data */
    put_chunk(file, claims, raw, size);
}

static int put_hole(FILE *file, uint32_t sequence, uint64_t bytes)
{
    static const uint16_t definitions[] = {STRING, DEVICE, STREAM, SHAPE};

    for (size_t i = 0; i < sizeof definitions / sizeof *definitions; i++)
        put_id(file, (struct seal_claims){sequence++, definitions[i], 1}, 1, bytes);
    put_id(file, (struct seal_claims){sequence, KERNEL, 1}, 2, bytes);
    return fflush(file) == 0 ? ftruncate(fileno(file), ftell(file) + (off_t)bytes) : -1;
}

int main(int argc, char **argv)
{
    bool right = argc == 3 || argc == 4;
    uint32_t count = right ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    uint64_t hole = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
    FILE *file = right ? fopen(argv[1], "we") : NULL;
    uint8_t header[64];
    int failed = 0;

    if (!file) {
        fprintf(stderr, "usage: forge_trace FILE CHUNKS [HOLE]\n");
        return 2;
    }
    fwrite(header, 1, seal_file_header(header, "pid=1\n", 6, MP_FORMAT_VERSION, 0), file);
    for (uint32_t i = 0; i < count; i++)
        put_work(file, i);
    if (hole)
        failed = put_hole(file, count, hole);
    return fclose(file) != 0 || failed;
}
