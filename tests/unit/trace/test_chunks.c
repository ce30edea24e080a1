/* Reading chunks by their offsets, in any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "unit/trace_fixture.h"

static struct {
    int fd;
    uint8_t *bytes;
    size_t size;
    struct fixture_extent chunks[FIXTURE_MOST_CHUNKS];
    unsigned count;
    struct mp_trace *trace;
    struct mp_cursor *cursor;
} scene;

/* The small trace; with `broken` a byte of that chunk's frame is wrong. */
static void begin(int broken)
{
    scene.fd = fixture_file("", 0);
    fixture_small_trace(scene.fd);
    scene.bytes = fixture_file_bytes(scene.fd, &scene.size);
    scene.count = fixture_extents(scene.bytes, scene.size, scene.chunks, FIXTURE_MOST_CHUNKS);
    if (broken >= 0) {
        scene.bytes[scene.chunks[broken].end - 1] ^= 1;
        fixture_file_set(scene.fd, scene.bytes, scene.size);
    }
    assert_int_equal(mp_trace_open(fixture_path(scene.fd), &scene.trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(scene.trace, &scene.cursor, NULL), MP_OK);
}

static void end(void)
{
    mp_cursor_close(scene.cursor);
    mp_trace_close(scene.trace);
    free(scene.bytes);
    close(scene.fd);
}

/* A sum over what a batch holds. */
static uint64_t digest(const struct mp_batch *batch)
{
    uint64_t sum = batch->table->id * 1000003u + batch->rows;

    for (unsigned i = 0; i < batch->table->column_count; i++) {
        for (uint32_t row = 0; batch->columns[i] && row < batch->rows; row++)
            sum = sum * 31 + batch->columns[i][row];
    }
    return sum;
}

static void chunks_are_read_in_any_order(void **state)
{
    uint64_t expected[FIXTURE_MOST_CHUNKS];
    struct mp_batch batch;

    (void)state;
    begin(-1);
    for (unsigned i = 0; i < scene.count; i++) {
        assert_int_equal(mp_cursor_next(scene.cursor, &batch), MP_OK);
        expected[i] = digest(&batch);
    }
    for (unsigned i = 0; i < 3 * scene.count; i++) {
        unsigned which = i * 5 % scene.count;
        assert_int_equal(mp_cursor_read_chunk(scene.cursor, scene.chunks[which].begin, &batch),
                         MP_OK);
        assert_int_equal(batch.rows, scene.chunks[which].rows);
        assert_int_equal(digest(&batch), expected[which]);
    }
    end();
}

static void the_cursor_stays_where_it_is(void **state)
{
    struct mp_batch batch;
    struct mp_chunk chunk;

    (void)state;
    begin(-1);
    for (unsigned i = 0; i < scene.count; i++) {
        assert_int_equal(mp_cursor_next_chunk(scene.cursor, &chunk, false), MP_OK);
        assert_int_equal(chunk.offset, scene.chunks[i].begin);
        assert_int_equal(mp_cursor_read_chunk(scene.cursor, scene.chunks[7].begin, &batch), MP_OK);
    }
    assert_int_equal(mp_cursor_next_chunk(scene.cursor, &chunk, false), MP_END);
    end();
}

static void a_damaged_chunk_is_counted_and_the_others_can_be_read(void **state)
{
    struct mp_damage damage;
    struct mp_batch batch;

    (void)state;
    begin(7);
    assert_int_equal(mp_cursor_read_chunk(scene.cursor, scene.chunks[7].begin, &batch),
                     MP_ERR_DAMAGED);
    mp_cursor_damage(scene.cursor, &damage);
    assert_int_equal(damage.chunks_damaged, 1);
    assert_int_equal(damage.rows_damaged, scene.chunks[7].rows);
    assert_int_equal(damage.first_offset, scene.chunks[7].begin);
    assert_int_equal(mp_cursor_read_chunk(scene.cursor, scene.chunks[8].begin, &batch), MP_OK);
    end();
}

static void there_is_no_chunk_at_another_offset(void **state)
{
    const uint64_t offsets[] = {0, 1, UINT64_MAX, UINT64_MAX - 60};
    struct mp_damage damage;
    struct mp_batch batch;

    (void)state;
    begin(-1);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
        assert_int_equal(mp_cursor_read_chunk(scene.cursor, offsets[i], &batch), MP_ERR_DAMAGED);
    for (size_t at = scene.size > 200 ? scene.size - 200 : 0; at <= scene.size + 1; at++)
        assert_int_equal(mp_cursor_read_chunk(scene.cursor, at, &batch), MP_ERR_DAMAGED);
    assert_int_equal(mp_cursor_read_chunk(scene.cursor, scene.chunks[3].begin + 1, &batch),
                     MP_ERR_DAMAGED);
    mp_cursor_damage(scene.cursor, &damage);
    assert_int_equal(damage.chunks_damaged, 0);
    end();
}

static void a_table_that_is_not_selected_is_an_argument(void **state)
{
    struct mp_batch batch;
    struct mp_chunk chunk;

    (void)state;
    begin(-1);
    assert_int_equal(mp_cursor_next_chunk(scene.cursor, &chunk, false), MP_OK);
    mp_cursor_select(scene.cursor, chunk.table, 0);
    assert_int_equal(mp_cursor_read_chunk(scene.cursor, chunk.offset, &batch), MP_ERR_ARGUMENT);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_read_in_any_order),
        cmocka_unit_test(the_cursor_stays_where_it_is),
        cmocka_unit_test(a_damaged_chunk_is_counted_and_the_others_can_be_read),
        cmocka_unit_test(there_is_no_chunk_at_another_offset),
        cmocka_unit_test(a_table_that_is_not_selected_is_an_argument),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
