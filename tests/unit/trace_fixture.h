/* What the tests of src/trace share: random rows of any table, a small trace with known contents,
 * files in memory, and a reading of a whole trace boiled down to what can be compared. */
#ifndef MP_TESTS_TRACE_FIXTURE_H
#define MP_TESTS_TRACE_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <miniprof/trace.h>

#include "trace/encode.h"
#include "trace/writer.h"

/* ---- Random numbers and rows ---- */

/* The next number of a repeatable sequence (splitmix64). */
uint64_t fixture_random(uint64_t *state);

/* What the numbers of a column look like. */
enum fixture_shape {
    FIXTURE_CONSTANT,
    FIXTURE_SMALL,    /* a few values again and again: what lanes and keys are */
    FIXTURE_COUNTING, /* steps of about 1000: times */
    FIXTURE_NOISE,    /* of any length from 0 to 64 bits */
    FIXTURE_EXTREME,  /* 0, 1, 2^63 - 1, 2^63, 2^64 - 1 */
    FIXTURE_MIXED,    /* each column one of the above */
    FIXTURE_SHAPES
};

/* Rows of one table as the test made them. */
struct fixture_rows {
    const struct mp_table_info *table;
    uint32_t rows;
    uint64_t *columns[MP_MAX_COLUMNS]; /* of a TEXT column the lengths */
    char *text;                        /* of all rows, one behind the other */
    uint32_t *text_begin;              /* of each row, and one more: the end */
};

/* The shapes say nothing of texts: they are short, empty, long or hold NULs, at random. */
void fixture_rows_make(struct fixture_rows *rows, const struct mp_table_info *table, uint32_t count,
                       enum fixture_shape shape, uint64_t seed);
void fixture_rows_free(struct fixture_rows *rows);

/* Appends one of the rows as mp_append_TABLE does. */
void fixture_append(struct mp_writer *writer, const struct fixture_rows *rows, uint32_t row);

/* Puts all rows into a builder, past its limits. */
void fixture_fill(struct mp_builder *builder, const struct fixture_rows *rows);

/* Fails unless the batch holds rows `from` to from + batch->rows, in the columns of the mask. */
void fixture_expect_batch(const struct mp_batch *batch, const struct fixture_rows *rows,
                          uint32_t from, uint32_t column_mask);

/* ---- Files in memory ---- */

/* A new file with these bytes; the caller closes it. */
int fixture_file(const void *bytes, size_t size);

/* Makes the file hold these bytes and no others. */
void fixture_file_set(int fd, const void *bytes, size_t size);

/* All bytes of the file, to be freed; their number in *size. */
uint8_t *fixture_file_bytes(int fd, size_t *size);

/* A name by which mp_trace_open finds the file; static, until the next call. */
const char *fixture_path(int fd);

/* How many rows of a table (MP_TABLE_*) a trace has. */
uint64_t fixture_rows(int fd, unsigned table);

/* A writer on a copy of the descriptor, whose file stays open when the writer is closed. */
struct mp_writer *fixture_writer(int fd, const char *header, uint32_t chunk_bytes);

/* ---- A small trace and what is read of one ---- */

#define FIXTURE_HEADER "writer=fixture 1\npid=4711\nclock=simgpu\n"

/* Writes 12 chunks of 9 tables, with FIXTURE_HEADER and an index, in about 4 KiB. */
void fixture_small_trace(int fd);

/* Where a chunk lies in the file. */
struct fixture_extent {
    size_t begin, frame, end; /* frame: behind the header */
    uint32_t rows;
};

/* The chunks of an intact trace, found from their lengths alone; returns their number. */
unsigned fixture_extents(const uint8_t *bytes, size_t size, struct fixture_extent *extents,
                         unsigned room);

#define FIXTURE_MAX_CHUNKS 64

/* All that a cursor with everything selected delivers. */
struct fixture_reading {
    enum mp_status
        status; /* of mp_trace_open, or the last one of mp_cursor_next: MP_END if all is well */
    struct mp_error error; /* of mp_trace_open */
    unsigned chunks;
    uint64_t rows;
    uint64_t hash[FIXTURE_MAX_CHUNKS]; /* of each batch: table, rows and all values */
    struct mp_damage damage;
    bool damaged; /* mp_damage_describe said so */
    char line[512];
};
void fixture_read(int fd, struct fixture_reading *reading);

#endif
