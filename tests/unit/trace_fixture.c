/* Random rows of any table, a small trace with known contents, and a reading of a whole trace that
 * can be compared. Random rows come from a fixed seed, so a failure can be repeated.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/data/hash.h"
#include "unit/trace_fixture.h"

/* ---- Random numbers and rows ---- */

uint64_t fixture_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static void fill_numbers(uint64_t *values, uint32_t rows, enum fixture_shape shape,
                         uint64_t *random)
{
    static const uint64_t extremes[] = {0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    uint64_t value = fixture_random(random) >> 20;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t any = fixture_random(random);
        switch (shape) {
        case FIXTURE_SMALL:
            value = any % 5;
            break;
        case FIXTURE_COUNTING:
            value += 990 + any % 20;
            break;
        case FIXTURE_NOISE:
            value = any % 65 ? fixture_random(random) >> (any % 64) : 0;
            break;
        case FIXTURE_EXTREME:
            value = extremes[any % 5];
            break;
        case FIXTURE_CONSTANT:
        case FIXTURE_MIXED:
        case FIXTURE_SHAPES:
            break;
        }
        values[i] = value;
    }
}

/* Lengths of texts: most short, some empty, now and then the longest of all. */
static uint32_t text_length(uint32_t row, uint64_t any)
{
    if (row % 4096 == 7)
        return MP_MAX_TEXT_BYTES;
    return any % 4 ? (uint32_t)(any % 40) : 0;
}

static void fill_texts(struct fixture_rows *rows, unsigned column, uint64_t *random)
{
    size_t bytes = 0;
    rows->text_begin = calloc(rows->rows + 1, sizeof *rows->text_begin);
    for (uint32_t i = 0; i < rows->rows; i++) {
        rows->columns[column][i] = text_length(i, fixture_random(random));
        bytes += rows->columns[column][i];
        rows->text_begin[i + 1] = (uint32_t)bytes;
    }
    rows->text = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++) {
        uint64_t any = fixture_random(random);
        rows->text[i] = any % 16 ? (char)('a' + any % 26) : '\0';
    }
}

void fixture_rows_make(struct fixture_rows *rows, const struct mp_table_info *table, uint32_t count,
                       enum fixture_shape shape, uint64_t seed)
{
    uint64_t random = seed;
    *rows = (struct fixture_rows){.table = table, .rows = count};
    for (unsigned i = 0; i < table->column_count; i++) {
        enum fixture_shape of_column =
            shape == FIXTURE_MIXED ? fixture_random(&random) % FIXTURE_MIXED : shape;
        rows->columns[i] = calloc(count, sizeof *rows->columns[i]);
        assert_non_null(rows->columns[i]);
        if (table->columns[i].type == MP_TYPE_TEXT)
            fill_texts(rows, i, &random);
        else
            fill_numbers(rows->columns[i], count, of_column, &random);
    }
}

void fixture_rows_free(struct fixture_rows *rows)
{
    for (unsigned i = 0; i < MP_MAX_COLUMNS; i++)
        free(rows->columns[i]);
    free(rows->text);
    free(rows->text_begin);
}

static void put_row(struct mp_builder *builder, const struct fixture_rows *rows, uint32_t row)
{
    for (unsigned i = 0; i < rows->table->column_count; i++) {
        uint64_t value = rows->columns[i][row];
        builder->columns[i][builder->rows] = value;
        if (rows->table->columns[i].type == MP_TYPE_TEXT)
            mp_buffer_append(&builder->text, rows->text + rows->text_begin[row], value);
    }
    builder->rows++;
}

void fixture_append(struct mp_writer *writer, const struct fixture_rows *rows, uint32_t row)
{
    size_t count;
    struct mp_builder *builder = &writer->builders[rows->table - mp_tables(&count)];
    bool room = builder->rows < builder->capacity && builder->rows < builder->limit &&
                builder->text.size < MP_BUILDER_TEXT_BYTES && !writer->failure.status;
    if (room || mp_writer_make_room(writer, builder))
        put_row(builder, rows, row);
}

void fixture_fill(struct mp_builder *builder, const struct fixture_rows *rows)
{
    mp_builder_init(builder, rows->table);
    builder->text.limit = 0;
    for (uint32_t i = 0; i < rows->rows; i++) {
        if (builder->rows == builder->capacity)
            assert_int_equal(mp_builder_grow(builder), MP_OK);
        put_row(builder, rows, i);
    }
}

static void expect_texts(const struct mp_batch *batch, const struct fixture_rows *rows,
                         uint32_t from)
{
    assert_non_null(batch->text);
    assert_non_null(batch->text_end);
    const uint32_t *begin = rows->text_begin + from;
    for (uint32_t i = 0; i < batch->rows; i++)
        assert_int_equal(batch->text_end[i], begin[i + 1] - begin[0]);
    assert_memory_equal(batch->text, rows->text + begin[0], begin[batch->rows] - begin[0]);
}

void fixture_expect_batch(const struct mp_batch *batch, const struct fixture_rows *rows,
                          uint32_t from, uint32_t column_mask)
{
    assert_ptr_equal(batch->table, rows->table);
    assert_true(batch->rows <= rows->rows - from);
    for (unsigned i = 0; i < rows->table->column_count; i++) {
        bool text = rows->table->columns[i].type == MP_TYPE_TEXT;
        bool selected = column_mask >> i & 1;
        if (text && selected)
            expect_texts(batch, rows, from);
        if (text || !selected) {
            assert_null(batch->columns[i]);
            continue;
        }
        assert_non_null(batch->columns[i]);
        assert_memory_equal(batch->columns[i], rows->columns[i] + from,
                            batch->rows * sizeof(uint64_t));
    }
}

/* ---- Files in memory ---- */

int fixture_file(const void *bytes, size_t size)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_true(fd >= 0);
    if (size)
        fixture_file_set(fd, bytes, size);
    return fd;
}

void fixture_file_set(int fd, const void *bytes, size_t size)
{
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, bytes, size, 0), size);
}

uint8_t *fixture_file_bytes(int fd, size_t *size)
{
    off_t end = lseek(fd, 0, SEEK_END);
    assert_true(end >= 0);
    *size = (size_t)end;
    uint8_t *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(pread(fd, bytes, *size, 0), *size);
    return bytes;
}

const char *fixture_path(int fd)
{
    static char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

uint64_t fixture_rows(int fd, unsigned table)
{
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_batch batch;
    uint64_t rows = 0;

    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK)
        rows += batch.table->id == table ? batch.rows : 0;
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    return rows;
}

struct mp_writer *fixture_writer(int fd, const char *header, uint32_t chunk_bytes)
{
    struct mp_writer *writer = NULL;
    struct mp_writer_options options = {.level = 1, .chunk_bytes = chunk_bytes};
    int own = dup(fd);
    assert_true(own >= 0);
    assert_int_equal(mp_writer_open(own, header, &options, &writer, NULL), MP_OK);
    assert_non_null(writer);
    return writer;
}

/* ---- A small trace and what is read of one ---- */

static void define_small(struct mp_writer *writer)
{
    static const char *const names[] = {"vector_add", "matrix_multiply", "", "cuLaunchKernel"};
    for (uint64_t i = 0; i < 4; i++)
        mp_append_string(writer,
                         &(struct mp_row_string){i + 1, {names[i], (uint32_t)strlen(names[i])}});
    for (uint64_t i = 1; i <= 2; i++) {
        mp_append_thread(writer, &(struct mp_row_thread){.id = i, .tid = 4000 + i});
        mp_append_stream(writer, &(struct mp_row_stream){.id = i, .stream = 6 + i, .context = 1});
        mp_append_shape(writer, &(struct mp_row_shape){.id = i,
                                                       .kernel = i,
                                                       .grid_x = 128 * i,
                                                       .grid_y = 1,
                                                       .grid_z = 1,
                                                       .block_x = 256,
                                                       .registers = 32});
    }
    mp_append_function(writer,
                       &(struct mp_row_function){.id = 1, .api = 2, .cbid = 307, .name = 4});
}

static void run_small(struct mp_writer *writer, uint64_t round)
{
    uint64_t random = round;
    uint64_t now = 1000000 + round * 100000;
    for (uint64_t i = 0; i < 150 + round; i++) {
        uint64_t correlation = 100 * round + i;
        now += 3000 + fixture_random(&random) % 64;
        mp_append_call(writer,
                       &(struct mp_row_call){.thread = 1,
                                             .function = 1,
                                             .start = now - 2000,
                                             .duration = 900 + fixture_random(&random) % 300,
                                             .correlation = correlation});
        mp_append_kernel(writer,
                         &(struct mp_row_kernel){.stream = 1 + i % 2,
                                                 .shape = 1 + i % 2,
                                                 .start = now,
                                                 .duration = 1000 + fixture_random(&random) % 50,
                                                 .correlation = correlation});
    }
}

void fixture_small_trace(int fd)
{
    struct mp_writer *writer = fixture_writer(fd, FIXTURE_HEADER, 0);
    define_small(writer);
    for (uint64_t round = 1; round <= 3; round++) {
        run_small(writer, round);
        assert_int_equal(mp_writer_flush(writer), MP_OK);
    }
    mp_append_nvtx(writer, &(struct mp_row_nvtx){.thread = 1, .kind = 1, .name = 2, .time = 999});
    mp_append_capture(writer, &(struct mp_row_capture){.range = 1, .kind = 1, .time = 998});
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
}

unsigned fixture_extents(const uint8_t *bytes, size_t size, struct fixture_extent *extents,
                         unsigned room)
{
    uint32_t length;
    memcpy(&length, bytes + 4, 4);
    size_t at = 8 + length;
    unsigned count = 0;
    while (at + 72 <= size && !memcmp(bytes + at + 8, "MPCHUNK", 8) && count < room) {
        struct fixture_extent *extent = &extents[count++];
        memcpy(&length, bytes + at + 32, 4);
        memcpy(&extent->rows, bytes + at + 24, 4);
        extent->begin = at;
        extent->frame = at + 72;
        at = extent->end = extent->frame + length;
    }
    return count;
}

static uint64_t hash_batch(const struct mp_batch *batch)
{
    uint64_t hash = mp_hash64(&batch->rows, sizeof batch->rows, batch->table->id);
    for (unsigned i = 0; i < batch->table->column_count; i++) {
        if (batch->columns[i])
            hash = mp_hash64(batch->columns[i], batch->rows * sizeof(uint64_t), hash);
        else if (batch->text)
            hash = mp_hash64(batch->text, batch->text_end[batch->rows - 1], hash);
    }
    return hash;
}

void fixture_read(int fd, struct fixture_reading *reading)
{
    struct mp_trace *trace;
    struct mp_cursor *cursor = NULL;
    struct mp_batch batch;
    memset(reading, 0, sizeof *reading);
    reading->status = mp_trace_open(fixture_path(fd), &trace, &reading->error);
    if (reading->status != MP_OK) {
        assert_null(trace);
        return;
    }
    reading->status = mp_cursor_open(trace, &cursor, &reading->error);
    while (reading->status == MP_OK) {
        reading->status = mp_cursor_next(cursor, &batch);
        if (reading->status != MP_OK)
            break;
        assert_true(reading->chunks < FIXTURE_MAX_CHUNKS);
        reading->hash[reading->chunks++] = hash_batch(&batch);
        reading->rows += batch.rows;
    }
    if (cursor) {
        mp_cursor_damage(cursor, &reading->damage);
        reading->damaged =
            mp_damage_describe(&reading->damage, reading->line, sizeof reading->line);
    }
    mp_cursor_close(cursor);
    mp_trace_close(trace);
}
