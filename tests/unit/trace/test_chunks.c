/* Reading chunks by their offsets: in any order, into the caller's memory, in several threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit/trace_fixture.h"

static struct {
    int fd;
    uint8_t *bytes;
    size_t size;
    struct fixture_extent chunks[FIXTURE_MAX_CHUNKS];
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
    scene.count = fixture_extents(scene.bytes, scene.size, scene.chunks, FIXTURE_MAX_CHUNKS);
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
    uint64_t expected[FIXTURE_MAX_CHUNKS];
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

/* Room for one chunk of a table, and a value behind it that nobody may touch. */
#define GUARD 0x5AFEu

static uint64_t *rooms_make(uint64_t *rooms[MP_MAX_COLUMNS], uint32_t rows)
{
    size_t each = (size_t)rows + 1;
    uint64_t *memory = malloc(MP_MAX_COLUMNS * each * sizeof *memory);

    assert_non_null(memory);
    for (size_t i = 0; i < MP_MAX_COLUMNS * each; i++)
        memory[i] = GUARD;
    for (size_t i = 0; i < MP_MAX_COLUMNS; i++)
        rooms[i] = memory + i * each;
    return memory;
}

static void columns_go_into_the_callers_memory(void **state)
{
    uint64_t *rooms[MP_MAX_COLUMNS];
    struct mp_batch batch;

    (void)state;
    begin(-1);
    for (unsigned i = 0; i < scene.count; i++) {
        uint32_t rows = scene.chunks[i].rows;
        uint64_t *memory = rooms_make(rooms, rows);
        assert_int_equal(mp_cursor_read_chunk(scene.cursor, scene.chunks[i].begin, &batch), MP_OK);
        uint64_t expected = digest(&batch);
        rooms[1] = i % 2 ? NULL : rooms[1]; /* this one stays in the cursor's memory */
        assert_int_equal(
            mp_cursor_read_chunk_into(scene.cursor, scene.chunks[i].begin, rooms, rows, &batch),
            MP_OK);
        assert_int_equal(digest(&batch), expected);
        for (unsigned c = 0; c < batch.table->column_count; c++) {
            if (batch.table->columns[c].type == MP_TYPE_TEXT) {
                assert_null(batch.columns[c]);
                continue;
            }
            assert_true(rooms[c] ? batch.columns[c] == rooms[c] : batch.columns[c] != NULL);
        }
        for (unsigned c = 0; c < MP_MAX_COLUMNS; c++)
            assert_true(!rooms[c] || rooms[c][rows] == GUARD);
        free(memory);
    }
    end();
}

/* A column that is 0 in every row is not in the file. */
static void a_column_that_the_file_lacks_is_zeroed(void **state)
{
    uint64_t *rooms[MP_MAX_COLUMNS];
    struct mp_batch batch;
    unsigned lacking = 0;

    (void)state;
    begin(-1);
    for (unsigned i = 0; i < scene.count; i++) {
        uint32_t rows = scene.chunks[i].rows;
        uint64_t *memory = rooms_make(rooms, rows);
        assert_int_equal(
            mp_cursor_read_chunk_into(scene.cursor, scene.chunks[i].begin, rooms, rows, &batch),
            MP_OK);
        for (unsigned c = 0; c < batch.table->column_count; c++) {
            uint64_t sum = 0;
            for (uint32_t row = 0; batch.columns[c] && row < rows; row++)
                sum |= rooms[c][row];
            lacking += batch.columns[c] && !sum;
        }
        free(memory);
    }
    assert_true(lacking > 0);
    end();
}

static void a_chunk_that_has_no_room_is_refused(void **state)
{
    uint64_t *rooms[MP_MAX_COLUMNS];
    struct mp_damage damage;
    struct mp_batch batch;

    (void)state;
    begin(-1);
    uint64_t *memory = rooms_make(rooms, scene.chunks[7].rows);
    assert_int_equal(mp_cursor_read_chunk_into(scene.cursor, scene.chunks[7].begin, rooms,
                                               scene.chunks[7].rows - 1, &batch),
                     MP_ERR_LIMIT);
    assert_int_equal(rooms[0][0], GUARD);
    mp_cursor_damage(scene.cursor, &damage);
    assert_int_equal(damage.chunks_damaged, 0);
    free(memory);
    end();
}

/* ---- Threads ---- */

#define READERS 4

static void *read_all(void *result)
{
    struct mp_cursor *cursor;
    struct mp_batch batch;
    uint64_t *sum = result;

    if (mp_cursor_open(scene.trace, &cursor, NULL) != MP_OK)
        return NULL;
    for (unsigned round = 0; round < 20; round++)
        for (unsigned i = 0; i < scene.count; i++) {
            if (mp_cursor_read_chunk(cursor, scene.chunks[i].begin, &batch) == MP_OK)
                *sum = *sum * 31 + digest(&batch);
        }
    mp_cursor_close(cursor);
    return NULL;
}

static void cursors_of_one_trace_run_in_threads_of_their_own(void **state)
{
    pthread_t threads[READERS];
    uint64_t sums[READERS] = {0};
    uint64_t expected = 0;

    (void)state;
    begin(-1);
    read_all(&expected);
    for (unsigned i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &sums[i]), 0);
    for (unsigned i = 0; i < READERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 0; i < READERS; i++)
        assert_true(sums[i] == expected && expected);
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
        cmocka_unit_test(columns_go_into_the_callers_memory),
        cmocka_unit_test(a_column_that_the_file_lacks_is_zeroed),
        cmocka_unit_test(a_chunk_that_has_no_room_is_refused),
        cmocka_unit_test(cursors_of_one_trace_run_in_threads_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
