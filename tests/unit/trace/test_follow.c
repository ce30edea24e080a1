/* A trace that is read while it is written: cut at every byte and continued, byte by byte, cut back
 * and begun anew, damaged, removed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/trace_fixture.h"

/* The intact trace. */
static struct {
    uint8_t *bytes;
    size_t size;
    struct fixture_extent chunk[FIXTURE_MAX_CHUNKS];
    unsigned chunks;
    uint64_t rows;
} whole;

static int file;

static int set_up(void **state)
{
    struct fixture_reading reading;

    (void)state;
    file = fixture_file(NULL, 0);
    fixture_small_trace(file);
    whole.bytes = fixture_file_bytes(file, &whole.size);
    whole.chunks = fixture_extents(whole.bytes, whole.size, whole.chunk, FIXTURE_MAX_CHUNKS);
    fixture_read(file, &reading);
    whole.rows = reading.rows;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(whole.bytes);
    close(file);
    return 0;
}

/* What is being read. */
static struct {
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    unsigned chunks;
    uint64_t rows;
} now;

static enum mp_status begin(void)
{
    enum mp_status status;

    now.chunks = 0;
    now.rows = 0;
    now.cursor = NULL;
    status = mp_trace_follow(fixture_path(file), &now.trace, NULL);
    if (!status)
        assert_int_equal(mp_cursor_open(now.trace, &now.cursor, NULL), MP_OK);
    return status;
}

static void end(void)
{
    mp_cursor_close(now.cursor);
    mp_trace_close(now.trace);
}

static void read_on(void)
{
    struct mp_batch batch;
    enum mp_status status;

    while ((status = mp_cursor_next(now.cursor, &batch)) == MP_OK) {
        assert_int_equal(batch.rows, whole.chunk[now.chunks % whole.chunks].rows);
        now.chunks++;
        now.rows += batch.rows;
    }
    assert_int_equal(status, MP_END);
}

static enum mp_growth follow(void)
{
    enum mp_growth growth;

    assert_int_equal(mp_cursor_follow(now.cursor, &growth, NULL), MP_OK);
    return growth;
}

static void expect_no_damage(void)
{
    struct mp_damage damage;
    char text[256];

    mp_cursor_damage(now.cursor, &damage);
    if (mp_damage_describe(&damage, text, sizeof text))
        fail_msg("%s", text);
}

/* Chunks that are all there in the first `size` bytes. */
static unsigned chunks_in(size_t size)
{
    unsigned count = 0;

    while (count < whole.chunks && whole.chunk[count].end <= size)
        count++;
    return count;
}

static void a_file_cut_at_any_byte_is_continued(void **state)
{
    (void)state;
    for (size_t size = 0; size <= whole.size; size++) {
        fixture_file_set(file, whole.bytes, size);
        if (size < whole.chunk[0].begin) {
            assert_int_not_equal(begin(), MP_OK);
            continue;
        }
        assert_int_equal(begin(), MP_OK);
        read_on();
        assert_int_equal(now.chunks, chunks_in(size));
        fixture_file_set(file, whole.bytes, whole.size);
        assert_int_equal(follow(), MP_GROWTH_ENDED);
        read_on();
        assert_int_equal(now.chunks, whole.chunks);
        assert_int_equal(now.rows, whole.rows);
        expect_no_damage();
        assert_int_equal(follow(), MP_GROWTH_ENDED);
        read_on();
        expect_no_damage();
        end();
    }
}

static void each_chunk_comes_when_it_is_all_there(void **state)
{
    size_t size = whole.chunk[0].begin;

    (void)state;
    fixture_file_set(file, whole.bytes, size);
    assert_int_equal(begin(), MP_OK);
    for (; size < whole.size; size++) {
        fixture_file_set(file, whole.bytes, size);
        assert_int_equal(follow(), size == whole.chunk[0].begin ? MP_GROWTH_NONE : MP_GROWTH_MORE);
        read_on();
        assert_int_equal(now.chunks, chunks_in(size));
    }
    fixture_file_set(file, whole.bytes, size);
    assert_int_equal(follow(), MP_GROWTH_ENDED);
    expect_no_damage();
    end();
}

static void selected_tables_are_passed_over_in_the_same_way(void **state)
{
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);

    (void)state;
    fixture_file_set(file, whole.bytes, whole.chunk[0].begin);
    assert_int_equal(begin(), MP_OK);
    for (size_t i = 0; i < count; i++)
        mp_cursor_select(now.cursor, &tables[i], 0);
    for (size_t size = whole.chunk[0].begin; size <= whole.size; size += 7) {
        fixture_file_set(file, whole.bytes, size);
        follow();
        read_on();
    }
    fixture_file_set(file, whole.bytes, whole.size);
    follow();
    read_on();
    assert_int_equal(now.chunks, 0);
    expect_no_damage();
    end();
}

/* Another trace with the same header, and chunks of other times. */
static size_t write_other(uint64_t first, unsigned rows)
{
    struct mp_writer *writer;
    size_t size;

    fixture_file_set(file, NULL, 0);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    writer = fixture_writer(file, FIXTURE_HEADER, 0);
    for (unsigned i = 0; i < rows; i++)
        mp_append_overhead(writer, &(struct mp_row_overhead){.kind = 1, .start = first + i});
    mp_writer_flush(writer);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    free(fixture_file_bytes(file, &size));
    return size;
}

static void a_file_that_is_cut_back_begins_anew(void **state)
{
    struct mp_batch batch;
    size_t shorter = write_other(1000, 3);

    (void)state;
    /* Cut to the header, and seen so; cut and grown past what was read before it is looked at. */
    for (int longer = 0; longer < 2; longer++) {
        write_other(1000, 3);
        assert_int_equal(ftruncate(file, (off_t)shorter - 60), 0); /* no index yet */
        assert_int_equal(begin(), MP_OK);
        assert_int_equal(mp_cursor_next(now.cursor, &batch), MP_OK);
        assert_int_equal(batch.rows, 3);
        assert_int_equal(mp_cursor_next(now.cursor, &batch), MP_END);
        if (!longer) {
            assert_int_equal(ftruncate(file, (off_t)whole.chunk[0].begin), 0);
            assert_int_equal(follow(), MP_GROWTH_RESTARTED);
            assert_int_equal(mp_cursor_next(now.cursor, &batch), MP_END);
            write_other(9000, 50);
            assert_int_equal(follow(), MP_GROWTH_ENDED);
        } else {
            write_other(9000, 50);
            assert_int_equal(follow(), MP_GROWTH_RESTARTED);
        }
        assert_int_equal(mp_cursor_next(now.cursor, &batch), MP_OK);
        assert_int_equal(batch.rows, 50);
        assert_int_equal(batch.first_time, 9000);
        assert_int_equal(mp_cursor_next(now.cursor, &batch), MP_END);
        expect_no_damage();
        end();
    }
}

static void damage_in_the_middle_is_counted_once(void **state)
{
    uint8_t *bytes = malloc(whole.size);
    struct mp_damage damage;
    struct mp_batch batch;
    unsigned chunks = 0;

    (void)state;
    assert_non_null(bytes);
    memcpy(bytes, whole.bytes, whole.size);
    bytes[whole.chunk[2].begin + 20] ^= 0x55;
    fixture_file_set(file, bytes, whole.chunk[2].frame);
    assert_int_equal(begin(), MP_OK);
    for (size_t size = whole.chunk[2].frame; size < whole.size; size++) {
        fixture_file_set(file, bytes, size);
        follow();
        while (mp_cursor_next(now.cursor, &batch) == MP_OK)
            chunks++;
    }
    assert_int_equal(chunks, whole.chunks - 1);
    mp_cursor_damage(now.cursor, &damage);
    assert_int_equal(damage.bytes_skipped, whole.chunk[2].end - whole.chunk[2].begin);
    assert_int_equal(damage.chunks_missing, 1);
    assert_false(damage.truncated);
    end();
    free(bytes);
}

static void a_file_that_was_removed_is_said_to_be(void **state)
{
    char path[] = "/tmp/miniprof-follow.XXXXXX";
    int fd = mkstemp(path);
    enum mp_growth growth;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, whole.bytes, whole.chunk[1].end), (ssize_t)whole.chunk[1].end);
    assert_int_equal(mp_trace_follow(path, &now.trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(now.trace, &now.cursor, NULL), MP_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mp_cursor_follow(now.cursor, &growth, NULL), MP_OK);
    assert_int_equal(growth, MP_GROWTH_REMOVED);
    now.chunks = 0;
    read_on();
    assert_int_equal(now.chunks, 2);
    end();
    close(fd);
}

static void other_traces_are_not_followed(void **state)
{
    struct mp_error error;
    enum mp_growth growth;

    (void)state;
    fixture_file_set(file, whole.bytes, whole.size);
    assert_int_equal(mp_trace_open(fixture_path(file), &now.trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(now.trace, &now.cursor, NULL), MP_OK);
    assert_int_equal(mp_cursor_follow(now.cursor, &growth, &error), MP_ERR_ARGUMENT);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_cut_at_any_byte_is_continued),
        cmocka_unit_test(each_chunk_comes_when_it_is_all_there),
        cmocka_unit_test(selected_tables_are_passed_over_in_the_same_way),
        cmocka_unit_test(a_file_that_is_cut_back_begins_anew),
        cmocka_unit_test(damage_in_the_middle_is_counted_once),
        cmocka_unit_test(a_file_that_was_removed_is_said_to_be),
        cmocka_unit_test(other_traces_are_not_followed),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
