/* What each column of a trace costs, and what it would cost an ideal coder.
 *
 *     column_entropy TRACE...
 *
 * One line for each column of each event table, over all chunks: bytes as zstd packs the column by
 * itself, bits a row, and the empirical entropy of its residuals in bits a row (order 0: the
 * distribution of the tokens of docs/trace-format.md, section 5, plus their extra bits, which are
 * taken as noise). Where bits and entropy agree nothing but noise is left.
 */
#include "base/data/storage.h"
#include "trace/codec.h"
#include "trace/schema.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/poison.h"

#define TOKENS 136

struct column {
    uint64_t packed; /* bytes */
    uint64_t extra_bits;
    uint64_t tokens[2][TOKENS]; /* of the first and the second stream */
};

struct table {
    uint64_t rows;
    struct column columns[MP_MAX_COLUMNS];
};

static struct table tables[MP_TABLE_COUNT];

static unsigned token_of(uint64_t value, unsigned *extra_bits)
{
    *extra_bits = 0;
    if (value < 16)
        return (unsigned)value;
    unsigned high = 63 - (unsigned)__builtin_clzll(value);
    *extra_bits = high - 1;
    return 16 + 2 * (high - 4) + (unsigned)((value >> (high - 1)) & 1);
}

/* Bytes of a zstd frame around `size` bytes, less those of an empty frame. */
static uint64_t packed_size(const uint8_t *bytes, size_t size)
{
    size_t room = ZSTD_compressBound(size);
    void *packed = malloc(room);
    size_t empty = ZSTD_compress(packed, room, bytes, 0, 1);
    size_t whole = ZSTD_compress(packed, room, bytes, size, 1);
    free(packed);
    return whole - empty;
}

static void count_stream(struct column *column, unsigned stream, const uint64_t *values,
                         uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++) {
        unsigned extra;
        column->tokens[stream][token_of(values[i], &extra)]++;
        column->extra_bits += extra;
    }
}

static void count_column(struct column *column, unsigned codec, const uint8_t *data, size_t size,
                         uint32_t rows)
{
    static uint64_t values[MP_MAX_CHUNK_ROWS];
    const uint8_t *at = data;
    const uint8_t *end = data + size;
    unsigned streams = codec == MP_CODEC_START || codec == MP_CODEC_SPAN ? 2 : 1;
    for (unsigned stream = 0; stream < streams; stream++) {
        const uint8_t *begin = at;
        if (mp_stream_decode(&at, end, values, rows) != MP_OK)
            exit(3);
        count_stream(column, stream, values, rows);
        bool split = *begin == MP_LAYOUT_BITS; /* tokens and bits are separate zstd blocks */
        size_t first = split ? rows + 1 : (size_t)(at - begin);
        column->packed += packed_size(begin, first);
        column->packed += (uint64_t)(at - begin) - first;
    }
}

/* Position in the table of the column with that id on disk. */
static int position_of(const struct mp_table_info *table, unsigned id)
{
    for (int i = 0; i < table->column_count; i++)
        if (table->columns[i].id == id)
            return i;
    return -1;
}

static void count_chunk(const struct mp_chunk *chunk, const uint8_t *raw)
{
    const uint8_t *at = raw;
    const uint8_t *end = raw + chunk->raw_bytes;
    uint64_t count, skipped, size[MP_MAX_COLUMNS];
    uint8_t entry[MP_MAX_COLUMNS][7];
    size_t which;
    struct table *table = &tables[chunk->table - mp_tables(&which)];
    if (!mp_varint_get(&at, end, &count))
        exit(3);
    for (uint64_t i = 0; i < count; i++) {
        memcpy(entry[i], at, 7);
        at += 7;
        for (int n = entry[i][1] == MP_CODEC_START ? 3 : 0; n > 0; n--)
            if (!mp_varint_get(&at, end, &skipped))
                exit(3);
        if (!mp_varint_get(&at, end, &size[i]))
            exit(3);
    }
    table->rows += chunk->rows;
    for (uint64_t i = 0; i < count; at += size[i++]) {
        int position = position_of(chunk->table, entry[i][0]);
        if (position >= 0 && chunk->table->kind == MP_TABLE_EVENT)
            count_column(&table->columns[position], entry[i][1], at, size[i], chunk->rows);
    }
}

static void count_file(const char *path)
{
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_error error;
    struct mp_chunk chunk;
    if (mp_trace_open(path, &trace, &error) || mp_cursor_open(trace, &cursor, &error)) {
        fprintf(stderr, "%s\n", error.text);
        exit(3);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (mp_cursor_next_chunk(cursor, &chunk, true) == MP_OK) {
        uint8_t *packed = malloc(chunk.packed_bytes);
        uint8_t *raw = malloc(chunk.raw_bytes);
        off_t at = (off_t)(chunk.offset + sizeof(struct mp_chunk_header));
        if (pread(fd, packed, chunk.packed_bytes, at) != (ssize_t)chunk.packed_bytes ||
            ZSTD_decompress(raw, chunk.raw_bytes, packed, chunk.packed_bytes) != chunk.raw_bytes)
            exit(3);
        count_chunk(&chunk, raw);
        free(packed);
        free(raw);
    }
    close(fd);
    mp_cursor_close(cursor);
    mp_trace_close(trace);
}

/* Bits that an ideal coder needs for the tokens of a stream, all rows together. */
static double token_bits(const uint64_t tokens[TOKENS])
{
    double total = 0, bits = 0;
    for (unsigned i = 0; i < TOKENS; i++)
        total += (double)tokens[i];
    for (unsigned i = 0; i < TOKENS; i++)
        if (tokens[i])
            bits -= (double)tokens[i] * log2((double)tokens[i] / total);
    return bits;
}

static void column_entropy_print_table(const struct mp_table_info *info, const struct table *table)
{
    double rows = (double)table->rows;
    for (int i = 0; i < info->column_count; i++) {
        const struct column *column = &table->columns[i];
        double entropy = (double)column->extra_bits + token_bits(column->tokens[0]) +
                         token_bits(column->tokens[1]);
        printf("| %s | %s | %" PRIu64 " | %" PRIu64 " | %.2f | %.2f |\n", info->name,
               info->columns[i].name, table->rows, column->packed,
               (double)column->packed * 8 / rows, entropy / rows);
    }
}

int main(int argc, char **argv)
{
    size_t count;
    const struct mp_table_info *info = mp_tables(&count);
    for (int i = 1; i < argc; i++)
        count_file(argv[i]);
    printf("| table | column | rows | bytes | bits a row | entropy, bits a row |\n"
           "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++)
        if (info[i].kind == MP_TABLE_EVENT && tables[i].rows)
            column_entropy_print_table(&info[i], &tables[i]);
    return 0;
}
