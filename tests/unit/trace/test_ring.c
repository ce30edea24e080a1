/* chunks.h: which chunks stay, by age and by memory, and what is written of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <miniprof/format.h>

#include "trace/chunks.h"
#include "unit/trace_fixture.h"

#define HUNDRED_KB 100000u
#define FEW        200u

static struct mp_chunk_ring ring;

static int fresh(void **state)
{
    (void)state;
    mp_chunk_ring_clear(&ring);
    ring = (struct mp_chunk_ring){.max = 1 << 20}; /* ten chunks of 100 KB, not eleven */
    return 0;
}

/* A chunk that only the ring could love: a header and zeroes. Its number of rows is its name. */
static enum mp_status add_at(const char *table, uint32_t rows, uint64_t last, size_t bytes,
                             uint64_t now)
{
    const struct mp_table_info *info = mp_table_by_name(table);
    struct mp_chunk_header header = {.table = (uint16_t)info->id, .rows = rows, .last_time = last};
    uint8_t *chunk = calloc(1, bytes);
    enum mp_status status;

    assert_non_null(chunk);
    memcpy(chunk, &header, sizeof(header));
    status = mp_chunk_ring_add(&ring, info, chunk, bytes, now);
    memset(chunk, 0xff, bytes); /* the ring has its copy */
    free(chunk);
    return status;
}

static void add(const char *table, uint32_t rows, uint64_t last, size_t bytes)
{
    assert_int_equal(add_at(table, rows, last, bytes, 0), MP_OK);
}

static void expect_list(const struct mp_chunk_list *list, const uint32_t *rows, size_t count)
{
    const struct mp_ring_chunk *chunk = list->first;
    uint64_t sum = 0;
    size_t i;

    for (i = 0; i < count; i++, chunk = chunk->next) {
        assert_non_null(chunk);
        assert_int_equal(chunk->rows, rows[i]);
        sum += rows[i];
        assert_true((i == count - 1) == (chunk == list->last));
    }
    assert_null(chunk);
    assert_int_equal(list->rows, sum);
    assert_true((list->bytes == 0) == (count == 0));
    assert_true((list->last == NULL) == (count == 0));
}

#define EXPECT(list, ...)                                                                          \
    expect_list(&ring.list, (const uint32_t[]){__VA_ARGS__},                                       \
                sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void age_takes_events_that_end_before(void **state)
{
    (void)state;
    add("kernel", 1, 1000, FEW);
    add("string", 2, 0, FEW);
    add("call", 3, 2000, FEW);
    add("quality", 4, 500, FEW);
    add("kernel", 5, 3000, FEW);
    mp_chunk_ring_age(&ring, 1000);
    EXPECT(events, 1, 3, 5);
    assert_int_equal(ring.gone, 0);
    mp_chunk_ring_age(&ring, 1001);
    EXPECT(events, 3, 5);
    assert_int_equal(ring.gone, 1000);
    mp_chunk_ring_age(&ring, 2500);
    EXPECT(events, 5);
    assert_int_equal(ring.gone, 2000);
    assert_int_equal(ring.newest, 3000);
    mp_chunk_ring_age(&ring, UINT64_MAX);
    expect_list(&ring.events, NULL, 0);
    EXPECT(kept, 2);
    EXPECT(notes, 4);
    mp_chunk_ring_drop_notes(&ring);
    expect_list(&ring.notes, NULL, 0);
    EXPECT(kept, 2);
}

/* The oldest is looked at first; one that is newer than those behind it keeps them. */
static void order_is_that_of_coming(void **state)
{
    (void)state;
    add("kernel", 1, 3000, FEW);
    add("call", 2, 1000, FEW);
    mp_chunk_ring_age(&ring, 2000);
    EXPECT(events, 1, 2);
    mp_chunk_ring_age(&ring, 3001);
    expect_list(&ring.events, NULL, 0);
    assert_int_equal(ring.gone, 3000);
}

static void memory_takes_the_oldest_events(void **state)
{
    uint32_t i;

    (void)state;
    for (i = 1; i <= 10; i++)
        add("kernel", i, UINT64_C(100) * i, HUNDRED_KB);
    EXPECT(events, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    assert_int_equal(ring.gone, 0);
    add("kernel", 11, 1100, HUNDRED_KB);
    EXPECT(events, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    assert_int_equal(ring.gone, 100);
    add("string", 12, 0, (size_t)3 * HUNDRED_KB); /* definitions displace events, and stay */
    EXPECT(events, 5, 6, 7, 8, 9, 10, 11);
    EXPECT(kept, 12);
    assert_int_equal(ring.gone, 400);
    assert_true(mp_chunk_ring_bytes(&ring) <= ring.max);
    assert_true(mp_chunk_ring_bytes(&ring) >= (size_t)10 * HUNDRED_KB);
    add("kernel", 13, 1300, 2 << 20); /* one that is too large by itself is all there is */
    EXPECT(events, 13);
    EXPECT(kept, 12);
    add("kernel", 14, 1400, FEW);
    EXPECT(events, 14);
}

static void definitions_are_the_owners_to_bound(void **state)
{
    uint32_t i;

    (void)state;
    for (i = 1; i <= 15; i++)
        add("string", i, 0, HUNDRED_KB);
    EXPECT(kept, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    assert_true(ring.kept.bytes >= (size_t)15 * HUNDRED_KB);
    add("kernel", 1, 700, FEW);
    add("kernel", 2, 800, FEW);
    EXPECT(events, 2);
    mp_chunk_ring_clear(&ring);
    assert_int_equal(mp_chunk_ring_bytes(&ring), 0);
    assert_int_equal(ring.gone, 800); /* all that was is gone */
    add("kernel", 3, 900, FEW);
    EXPECT(events, 3);
}

static void times_of_a_broken_clock_do_not_keep_a_chunk(void **state)
{
    (void)state;
    assert_int_equal(add_at("kernel", 1, UINT64_MAX - 5, FEW, 1000), MP_OK);
    assert_int_equal(ring.newest, 1000);
    assert_int_equal(add_at("kernel", 2, 0, FEW, 1500), MP_OK); /* no row has a time */
    assert_int_equal(ring.newest, 1500);
    mp_chunk_ring_age(&ring, 1001);
    EXPECT(events, 2);
    assert_int_equal(ring.gone, 1000);
    add("kernel", 3, 0, FEW); /* nor is the present known: as old as the last */
    mp_chunk_ring_age(&ring, 1500);
    EXPECT(events, 2, 3);
}

/* ---- What is written ---- */

static enum mp_status take(void *context, const struct mp_table_info *table, const uint8_t *chunk,
                           size_t bytes)
{
    return mp_chunk_ring_add(context, table, chunk, bytes, 0);
}

/* Kernels at 1000 * i to 1000 * i + 10, one a chunk, and as many records lost at that time. */
static void record_kernels(uint64_t first, uint64_t last, struct mp_writer **writer)
{
    static const struct mp_chunk_sink sink = {take, &ring};
    const struct mp_writer_options options = {.level = 1, .sink = &sink};
    uint64_t i;

    if (!*writer)
        assert_int_equal(mp_writer_open(-1, NULL, &options, writer, NULL), MP_OK);
    for (i = first; i <= last; i++) {
        mp_writer_set_dropped(*writer, i);
        mp_append_kernel(*writer, &(struct mp_row_kernel){.start = 1000 * i, .duration = 10});
        assert_int_equal(mp_writer_flush(*writer), MP_OK);
    }
}

static int write_ring(uint64_t dropped_before)
{
    int fd = fixture_file(NULL, 0);
    struct mp_chunk_file file;

    assert_int_equal(mp_chunk_file_begin(&file, fd, "pid=7\n", NULL), MP_OK);
    assert_int_equal(mp_chunk_ring_write(&ring, &file, dropped_before, NULL), MP_OK);
    assert_int_equal(mp_chunk_file_end(&file, 3, NULL), MP_OK);
    mp_chunk_file_free(&file);
    return fd;
}

/* Kernels first to last, each chunk with what was lost since `dropped_before`, nothing damaged. */
static void expect_kernels(int fd, uint64_t first, uint64_t last, uint64_t dropped_before)
{
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_chunk chunk;
    struct mp_damage damage;
    uint64_t seen = first;
    uint32_t number = 0;

    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_string_equal(mp_trace_property(trace, "pid"), "7");
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next_chunk(cursor, &chunk, true) == MP_OK) {
        assert_int_equal(chunk.sequence, number++);
        if (chunk.table != mp_table_by_name("kernel"))
            continue;
        assert_int_equal(chunk.first_time, 1000 * seen);
        assert_int_equal(chunk.dropped, seen > dropped_before ? seen - dropped_before : 0);
        seen++;
    }
    assert_int_equal(seen, last + 1);
    mp_cursor_damage(cursor, &damage);
    assert_false(mp_damage_describe(&damage, NULL, 0));
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    close(fd);
}

static void what_is_there_is_a_complete_trace(void **state)
{
    struct mp_writer *writer = NULL;

    (void)state;
    record_kernels(1, 5, &writer);
    expect_kernels(write_ring(0), 1, 5, 0);
    mp_chunk_ring_age(&ring, 3000);
    expect_kernels(write_ring(2), 3, 5, 2);
    expect_kernels(write_ring(4), 3, 5, 4); /* the first one leaves all as it was */
    record_kernels(6, 7, &writer);
    mp_chunk_ring_age(&ring, 5000);
    expect_kernels(write_ring(0), 5, 7, 0);
    mp_writer_close(writer, NULL);
}

static void definitions_stand_before_events_and_notes_behind(void **state)
{
    static const char *const order[] = {"string", "string", "kernel", "call", "kernel", "quality"};
    struct mp_chunk_header header;
    struct mp_chunk_file file;
    uint8_t *bytes;
    size_t size;
    size_t at;
    size_t i;
    int fd = fixture_file(NULL, 0);

    (void)state;
    add("kernel", 3, 10, FEW);
    add("quality", 6, 10, FEW);
    add("string", 1, 0, FEW);
    add("call", 4, 20, FEW);
    add("string", 2, 0, FEW);
    add("kernel", 5, 30, FEW);
    assert_int_equal(mp_chunk_file_begin(&file, fd, "", NULL), MP_OK);
    at = (size_t)file.position;
    assert_int_equal(mp_chunk_ring_write(&ring, &file, 0, NULL), MP_OK);
    bytes = fixture_file_bytes(fd, &size);
    assert_int_equal(size, at + (size_t)6 * FEW);
    for (i = 0; i < 6; i++) {
        memcpy(&header, bytes + at + i * FEW, sizeof(header));
        assert_int_equal(header.rows, i + 1);
        assert_int_equal(header.sequence, i);
        assert_string_equal(mp_table_by_id(header.table)->name, order[i]);
    }
    free(bytes);
    mp_chunk_file_free(&file);
    close(fd);
}

static void a_file_that_cannot_be_written_leaves_the_ring_as_it_is(void **state)
{
    struct mp_writer *writer = NULL;
    struct mp_chunk_file file = {.fd = -1};
    struct mp_error error;

    (void)state;
    record_kernels(1, 3, &writer);
    assert_int_equal(mp_chunk_ring_write(&ring, &file, 2, &error), MP_ERR_IO);
    assert_false(file.may_have_room); /* no such descriptor is no full disk */
    mp_chunk_file_free(&file);
    expect_kernels(write_ring(0), 1, 3, 0);
    mp_writer_close(writer, NULL);
}

static void a_writer_with_a_sink_begins_anew(void **state)
{
    struct mp_writer *writer = NULL;

    (void)state;
    record_kernels(1, 5, &writer);
    mp_append_kernel(writer, &(struct mp_row_kernel){.start = 77, .duration = 1});
    assert_int_equal(mp_writer_cut(writer), MP_OK); /* with the row that waits */
    mp_chunk_ring_clear(&ring);
    record_kernels(6, 6, &writer);
    expect_kernels(write_ring(0), 6, 6, 0);
    mp_writer_abandon(writer);
}

static enum mp_status refuse(void *context, const struct mp_table_info *table, const uint8_t *chunk,
                             size_t bytes)
{
    (void)context;
    (void)table;
    (void)chunk;
    (void)bytes;
    return MP_ERR_MEMORY;
}

static void a_sink_that_refuses_breaks_the_writer(void **state)
{
    static const struct mp_chunk_sink sink = {refuse, NULL};
    const struct mp_writer_options options = {.level = 1, .sink = &sink};
    struct mp_writer *writer;
    struct mp_error error;

    (void)state;
    assert_int_equal(mp_writer_open(-1, NULL, &options, &writer, NULL), MP_OK);
    mp_append_kernel(writer, &(struct mp_row_kernel){.start = 1, .duration = 1});
    assert_int_equal(mp_writer_flush(writer), MP_ERR_MEMORY);
    assert_int_equal(mp_writer_close(writer, &error), MP_ERR_MEMORY);
    assert_string_equal(error.text, "out of memory");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, fresh)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(age_takes_events_that_end_before),
        TEST(order_is_that_of_coming),
        TEST(memory_takes_the_oldest_events),
        TEST(definitions_are_the_owners_to_bound),
        TEST(times_of_a_broken_clock_do_not_keep_a_chunk),
        TEST(what_is_there_is_a_complete_trace),
        TEST(definitions_stand_before_events_and_notes_behind),
        TEST(a_file_that_cannot_be_written_leaves_the_ring_as_it_is),
        TEST(a_writer_with_a_sink_begins_anew),
        TEST(a_sink_that_refuses_breaks_the_writer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
