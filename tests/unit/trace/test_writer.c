/* The writer: what stands in the file and in which order, the limits of chunks, and what is left
 * when the file cannot take more. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/trace_fixture.h"

/* Walks all chunks of the file, checks the limits of each and returns their number. */
static unsigned expect_limits(int fd)
{
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_chunk chunk;
    unsigned chunks = 0;
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next_chunk(cursor, &chunk, true) == MP_OK) {
        assert_int_equal(chunk.sequence, chunks++);
        assert_in_range(chunk.rows, 1, MP_MAX_CHUNK_ROWS);
        assert_true(chunk.raw_bytes <= MP_MAX_CHUNK_RAW_BYTES);
        assert_true(chunk.packed_bytes <= MP_MAX_CHUNK_PACKED_BYTES);
        assert_int_equal(chunk.file_bytes, chunk.packed_bytes + 72);
        assert_true(64 * (uint64_t)chunk.rows + chunk.raw_bytes <=
                    1024 * (uint64_t)chunk.file_bytes);
    }
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    return chunks;
}

/* Reads one table and compares it, chunk by chunk, with the rows. */
static void expect_table(int fd, const struct fixture_rows *rows)
{
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_batch batch;
    struct mp_damage damage;
    uint32_t seen = 0;
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK) {
        if (batch.table != rows->table)
            continue;
        fixture_expect_batch(&batch, rows, seen, UINT32_MAX);
        seen += batch.rows;
    }
    assert_int_equal(seen, rows->rows);
    mp_cursor_damage(cursor, &damage);
    assert_false(mp_damage_describe(&damage, NULL, 0));
    mp_cursor_close(cursor);
    mp_trace_close(trace);
}

static void expect_written(const struct fixture_rows *rows, uint32_t chunk_bytes)
{
    int fd = fixture_file(NULL, 0);
    struct mp_writer *writer = fixture_writer(fd, "", chunk_bytes);
    for (uint32_t i = 0; i < rows->rows; i++)
        fixture_append(writer, rows, i);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    expect_limits(fd);
    expect_table(fd, rows);
    close(fd);
}

static void chunks_keep_their_limits_whatever_is_written(void **state)
{
    (void)state;
    static const char *const names[] = {"kernel", "device", "string", "quality"};
    static const enum fixture_shape shapes[] = {FIXTURE_CONSTANT, FIXTURE_NOISE};
    static const uint32_t aims[] = {1, 0, UINT32_MAX};
    for (unsigned n = 0; n < 4; n++)
        for (unsigned s = 0; s < 2; s++) {
            struct fixture_rows rows;
            fixture_rows_make(&rows, mp_table_by_name(names[n]), 150000, shapes[s], n);
            for (unsigned a = 0; a < 3; a++)
                expect_written(&rows, aims[a]);
            fixture_rows_free(&rows);
        }
}

static void expect_rows(int fd, uint64_t rows)
{
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_batch batch;
    struct mp_damage damage;
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK)
        rows -= batch.rows;
    assert_int_equal(rows, 0);
    mp_cursor_damage(cursor, &damage);
    assert_false(mp_damage_describe(&damage, NULL, 0));
    mp_cursor_close(cursor);
    mp_trace_close(trace);
}

/* Rows that are all alike take next to no bytes: then a chunk holds fewer of them, so that no
 * reader takes it for a forged one. The texts are the longest there are. */
static void rows_that_are_all_alike_are_split_into_chunks(void **state)
{
    (void)state;
    enum { KERNELS = 300000, TEXTS = 100 };
    static char text[MP_MAX_TEXT_BYTES];
    struct mp_writer_totals totals;
    int fd = fixture_file(NULL, 0);
    struct mp_writer *writer = fixture_writer(fd, "", 0);
    memset(text, 'a', sizeof text);
    for (uint64_t i = 0; i < TEXTS; i++)
        mp_append_string(writer, &(struct mp_row_string){i, {text, sizeof text}});
    for (uint64_t i = 0; i < KERNELS; i++)
        mp_append_kernel(writer, &(struct mp_row_kernel){.start = 1000 + 150 * i, .duration = 50});
    mp_writer_flush(writer);
    mp_writer_totals(writer, &totals);
    assert_int_equal(totals.event_rows, KERNELS);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    assert_in_range(expect_limits(fd), 100, 400);
    expect_rows(fd, KERNELS + TEXTS);
    close(fd);
}

static void chunks_are_about_as_large_as_asked(void **state)
{
    (void)state;
    struct fixture_rows rows;
    struct mp_writer_totals totals;
    int fd = fixture_file(NULL, 0);
    struct mp_writer *writer = fixture_writer(fd, "", 20000);
    fixture_rows_make(&rows, mp_table_by_name("overhead"), 200000, FIXTURE_NOISE, 1);
    for (uint32_t i = 0; i < rows.rows; i++)
        fixture_append(writer, &rows, i);
    mp_writer_flush(writer);
    mp_writer_totals(writer, &totals);
    assert_int_equal(totals.event_rows, rows.rows);
    assert_in_range(totals.bytes / totals.chunks, 15000, 25000);
    size_t size;
    free(fixture_file_bytes(fd, &size));
    assert_int_equal(totals.bytes, size);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    assert_int_equal(expect_limits(fd), totals.chunks);
    fixture_rows_free(&rows);
    close(fd);
}

static void definitions_stand_before_what_refers_to_them(void **state)
{
    (void)state;
    int fd = fixture_file(NULL, 0);
    struct mp_writer *writer = fixture_writer(fd, "", 1);
    for (uint64_t i = 1; i <= 10000; i++) { /* a new shape for every fifth kernel */
        mp_append_string(writer, &(struct mp_row_string){i, {"kernel", 6}});
        mp_append_shape(writer, &(struct mp_row_shape){.id = i, .kernel = i});
        for (uint64_t start = 5 * i; start < 5 * i + 5; start++)
            mp_append_kernel(writer, &(struct mp_row_kernel){.shape = i, .start = start});
    }
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);

    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_batch batch;
    uint64_t strings = 0;
    uint64_t shapes = 0;
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK)
        for (uint32_t i = 0; i < batch.rows; i++) {
            if (batch.table->id == MP_TABLE_string)
                strings = batch.columns[MP_COLUMN_string_id][i];
            else if (batch.table->id == MP_TABLE_shape)
                shapes = batch.columns[MP_COLUMN_shape_id][i];
            else
                assert_true(batch.columns[MP_COLUMN_kernel_shape][i] <= shapes);
            assert_true(shapes <= strings);
        }
    assert_int_equal(strings, 10000);
    assert_int_equal(shapes, 10000);
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    close(fd);
}

static void the_index_counts_what_the_file_holds(void **state)
{
    (void)state;
    struct mp_trace *trace;
    struct mp_index index;
    int fd = fixture_file(NULL, 0);
    struct mp_writer *writer = fixture_writer(fd, "", 0);
    for (uint64_t i = 0; i < 3; i++) {
        for (uint64_t row = 0; row <= i; row++)
            mp_append_kernel(writer, &(struct mp_row_kernel){.start = 1 + row});
        mp_writer_set_dropped(writer, 10 * i);
        assert_int_equal(mp_writer_flush(writer), MP_OK);
    }
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    mp_trace_index(trace, &index);
    assert_true(index.present);
    assert_int_equal(index.chunks, 3);
    assert_int_equal(index.rows, 6);
    assert_int_equal(index.dropped, 20);
    struct mp_cursor *cursor;
    struct mp_chunk chunk;
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(mp_cursor_next_chunk(cursor, &chunk, false), MP_OK);
        assert_int_equal(chunk.rows, i + 1);
        assert_int_equal(chunk.dropped, 10 * i);
        assert_int_equal(chunk.first_time, 1);
        assert_int_equal(chunk.last_time, 1 + i);
    }
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    close(fd);
}

static void an_empty_trace_is_whole(void **state)
{
    (void)state;
    struct fixture_reading reading;
    int fd = fixture_file(NULL, 0);
    assert_int_equal(mp_writer_close(fixture_writer(fd, "", 0), NULL), MP_OK);
    fixture_read(fd, &reading);
    assert_int_equal(reading.status, MP_END);
    assert_int_equal(reading.chunks, 0);
    assert_false(reading.damaged);
    close(fd);
    assert_int_equal(mp_writer_close(NULL, NULL), MP_OK);
    mp_writer_abandon(NULL);
}

static void an_abandoned_trace_keeps_what_was_flushed(void **state)
{
    (void)state;
    struct fixture_reading reading;
    int fd = fixture_file(NULL, 0);
    struct mp_writer *writer = fixture_writer(fd, "", 0);
    mp_append_kernel(writer, &(struct mp_row_kernel){.start = 1});
    assert_int_equal(mp_writer_flush(writer), MP_OK);
    mp_append_kernel(writer, &(struct mp_row_kernel){.start = 2});
    mp_writer_abandon(writer);
    fixture_read(fd, &reading);
    assert_int_equal(reading.status, MP_END);
    assert_int_equal(reading.rows, 1);
    assert_true(reading.damage.no_index);
    assert_true(reading.damaged);
    assert_non_null(strstr(reading.line, "no index"));
    close(fd);
}

static void a_cut_trace_begins_anew(void **state)
{
    (void)state;
    struct fixture_rows rows;
    struct mp_writer_totals totals;
    int fd = fixture_file(NULL, 0);
    struct mp_writer *writer = fixture_writer(fd, FIXTURE_HEADER, 0);
    fixture_rows_make(&rows, mp_table_by_name("call"), 3000, FIXTURE_MIXED, 3);
    for (uint32_t i = 0; i < 2000; i++)
        fixture_append(writer, &rows, i);
    mp_append_string(writer, &(struct mp_row_string){1, {"old", 3}});
    assert_int_equal(mp_writer_flush(writer), MP_OK);
    fixture_append(writer, &rows, 2000); /* not written yet: forgotten as well */
    assert_int_equal(mp_writer_cut(writer), MP_OK);
    mp_writer_totals(writer, &totals);
    assert_int_equal(totals.event_rows, 0);
    assert_int_equal(totals.chunks, 0);
    for (uint32_t i = 0; i < rows.rows; i++)
        fixture_append(writer, &rows, i);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    expect_limits(fd);
    expect_table(fd, &rows);
    struct fixture_reading reading;
    fixture_read(fd, &reading);
    assert_int_equal(reading.rows, rows.rows); /* the string is gone */
    fixture_rows_free(&rows);
    close(fd);
}

static void texts_beyond_the_longest_are_cut(void **state)
{
    (void)state;
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_batch batch;
    int fd = fixture_file(NULL, 0);
    struct mp_writer *writer = fixture_writer(fd, "", 0);
    char *text = malloc(MP_MAX_TEXT_BYTES + 1000);
    memset(text, 'x', MP_MAX_TEXT_BYTES + 1000);
    mp_append_string(writer, &(struct mp_row_string){1, {text, MP_MAX_TEXT_BYTES + 1000}});
    mp_append_string(writer, &(struct mp_row_string){2, {"y", 1}});
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    assert_int_equal(mp_cursor_next(cursor, &batch), MP_OK);
    assert_int_equal(batch.text_end[0], MP_MAX_TEXT_BYTES);
    assert_int_equal(batch.text_end[1], MP_MAX_TEXT_BYTES + 1);
    assert_int_equal(batch.text[MP_MAX_TEXT_BYTES - 1], 'x');
    assert_int_equal(batch.text[MP_MAX_TEXT_BYTES], 'y');
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    free(text);
    close(fd);
}

/* ---- A file that takes no more ---- */

#define BROKEN_ROWS 40000

/* Appends until long after the failure; every row must be in the file or counted as lost. */
static void append_past_failure(struct mp_writer *writer, const struct fixture_rows *rows)
{
    struct mp_writer_totals totals;
    for (uint32_t i = 0; i < rows->rows; i++) {
        mp_append_string(writer, &(struct mp_row_string){i + 1, {"a definition", 12}});
        fixture_append(writer, rows, i);
    }
    assert_int_equal(mp_writer_flush(writer), MP_ERR_IO);
    mp_writer_totals(writer, &totals);
    assert_int_equal(totals.event_rows + writer->lost_rows, rows->rows);
    assert_true(writer->lost_rows > 0);
    assert_int_equal(mp_writer_flush(writer), MP_ERR_IO); /* and it stays so */
    assert_int_equal(mp_writer_cut(writer), MP_ERR_IO);
}

static void a_full_disk_keeps_the_complete_chunks(void **state)
{
    (void)state;
    struct rlimit before;
    struct fixture_rows rows;
    struct fixture_reading reading;
    struct mp_writer_totals totals;
    struct mp_error error;
    size_t size;
    fixture_rows_make(&rows, mp_table_by_name("kernel"), BROKEN_ROWS, FIXTURE_NOISE, 4);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    int fd = fixture_file(NULL, 0);
    struct mp_writer *writer = fixture_writer(fd, FIXTURE_HEADER, 20000);
    struct rlimit small = {700001, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    append_past_failure(writer, &rows);
    mp_writer_totals(writer, &totals);
    assert_int_equal(mp_writer_close(writer, &error), MP_ERR_IO);
    assert_string_equal(error.text, "cannot write: File too large");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);

    free(fixture_file_bytes(fd, &size));
    assert_int_equal(size, totals.bytes); /* nothing behind the last complete chunk */
    assert_true(size > 500000);
    fixture_read(fd, &reading);
    assert_int_equal(reading.status, MP_END);
    assert_true(reading.damage.no_index);
    assert_int_equal(reading.damage.bytes_skipped, 0);
    assert_true(reading.rows >= totals.event_rows);
    assert_int_equal(reading.chunks, totals.chunks);
    fixture_rows_free(&rows);
    close(fd);
}

static void a_descriptor_closed_behind_its_back_breaks_the_writer(void **state)
{
    (void)state;
    struct fixture_rows rows;
    struct mp_writer *writer = NULL;
    struct mp_writer_options options = {.level = 1, .chunk_bytes = 5000};
    struct mp_error error;
    fixture_rows_make(&rows, mp_table_by_name("kernel"), 20000, FIXTURE_NOISE, 5);
    int fd = fixture_file(NULL, 0);
    assert_int_equal(mp_writer_open(fd, "", &options, &writer, NULL), MP_OK);
    close(fd); /* as applications do that close all descriptors */
    append_past_failure(writer, &rows);
    assert_int_equal(mp_writer_close(writer, &error), MP_ERR_IO);
    assert_string_equal(error.text, "cannot write: Bad file descriptor");
    fixture_rows_free(&rows);
}

static void a_trace_that_cannot_begin_says_why(void **state)
{
    (void)state;
    struct mp_writer *writer = NULL;
    struct mp_writer_options options = {.level = 1};
    struct mp_error error;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(mp_writer_open(fd, "", &options, &writer, &error), MP_ERR_IO);
    assert_null(writer);
    assert_string_equal(error.text, "cannot write: No space left on device");
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* it was the writer's to close */

    char *header = malloc(MP_MAX_HEADER_BYTES + 2);
    memset(header, 'x', MP_MAX_HEADER_BYTES + 1);
    header[MP_MAX_HEADER_BYTES + 1] = '\0';
    fd = fixture_file(NULL, 0);
    assert_int_equal(mp_writer_open(fd, header, &options, &writer, &error), MP_ERR_LIMIT);
    assert_null(writer);
    free(header);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_keep_their_limits_whatever_is_written),
        cmocka_unit_test(rows_that_are_all_alike_are_split_into_chunks),
        cmocka_unit_test(chunks_are_about_as_large_as_asked),
        cmocka_unit_test(definitions_stand_before_what_refers_to_them),
        cmocka_unit_test(the_index_counts_what_the_file_holds),
        cmocka_unit_test(an_empty_trace_is_whole),
        cmocka_unit_test(an_abandoned_trace_keeps_what_was_flushed),
        cmocka_unit_test(a_cut_trace_begins_anew),
        cmocka_unit_test(texts_beyond_the_longest_are_cut),
        cmocka_unit_test(a_full_disk_keeps_the_complete_chunks),
        cmocka_unit_test(a_descriptor_closed_behind_its_back_breaks_the_writer),
        cmocka_unit_test(a_trace_that_cannot_begin_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
