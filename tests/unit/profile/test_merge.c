/* Rows of several tables in order of time: against a naive sort of all rows, for random tables
 * whose chunks overlap; and the kernel of a launch, and the names of NVTX ranges that end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/merge.h"
#include "profile/nvtx/match.h"
#include "reports/trace/records.h"
#include "unit/trace_fixture.h"

#define MAX_ROWS 60000

/* A row as the naive way has it: `tag` is unique, in a column of its table. */
struct plain {
    uint64_t time;
    uint64_t tag;
    unsigned table;
    unsigned place; /* in the file */
};

static struct {
    int fd;
    struct mp_trace *trace;
    struct merge_table tables[4];
    unsigned tags[4]; /* columns */
    struct plain *rows;
    size_t count;
    uint64_t unknown;
    struct mp_damage damage;
} scene;

static void begin(void)
{
    static const struct {
        const char *name, *time, *tag;
    } tables[] = {{"kernel", "start", "correlation"},
                  {"nvtx", "time", "payload"},
                  {"call", "start", "correlation"},
                  {"memory", "time", "address"}};

    memset(&scene, 0, sizeof scene);
    for (unsigned i = 0; i < 4; i++) {
        const struct mp_table_info *table = mp_table_by_name(tables[i].name);
        scene.tags[i] = (unsigned)mp_column_index(table, tables[i].tag);
        scene.tables[i] = (struct merge_table){
            table, (unsigned)mp_column_index(table, tables[i].time), 1u << scene.tags[i]};
    }
    scene.rows = calloc(MAX_ROWS, sizeof *scene.rows);
    scene.fd = fixture_file("", 0);
}

static void append(struct mp_writer *writer, unsigned table, uint64_t time, uint64_t tag)
{
    switch (table) {
    case 0:
        mp_append_kernel(writer, &(struct mp_row_kernel){
                                     .stream = 1, .shape = 1, .start = time, .correlation = tag});
        break;
    case 1:
        mp_append_nvtx(writer, &(struct mp_row_nvtx){.thread = 1, .time = time, .payload = tag});
        break;
    case 2:
        mp_append_call(writer,
                       &(struct mp_row_call){.thread = 1, .start = time, .correlation = tag});
        break;
    default:
        mp_append_memory(writer, &(struct mp_row_memory){.time = time, .address = tag});
    }
}

static int by_time(const void *left, const void *right)
{
    const struct plain *a = left;
    const struct plain *b = right;

    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* All rows that a cursor delivers, sorted. */
static void read_naively(void)
{
    struct mp_cursor *cursor;
    struct mp_batch batch;

    assert_int_equal(mp_trace_open(fixture_path(scene.fd), &scene.trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(scene.trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK) {
        unsigned table = 0;
        while (table < 4 && scene.tables[table].table != batch.table)
            table++;
        for (uint32_t row = 0; table < 4 && row < batch.rows; row++) {
            uint64_t time = batch.columns[scene.tables[table].time][row];
            uint64_t tag = batch.columns[scene.tags[table]][row];
            scene.unknown += time == 0;
            if (time)
                scene.rows[scene.count] = (struct plain){time, tag, table, (unsigned)scene.count};
            scene.count += time != 0;
        }
    }
    mp_cursor_damage(cursor, &scene.damage);
    mp_cursor_close(cursor);
    qsort(scene.rows, scene.count, sizeof *scene.rows, by_time);
}

/* The merge delivers what the naive way has; ends the scene. */
static void expect_same(uint64_t max_rows)
{
    struct mp_damage damage = {0};
    struct mp_cursor *cursor;
    struct mp_chunk chunk;
    struct merge *merge;
    struct merge_row row;

    read_naively();
    assert_int_equal(merge_open(scene.trace, scene.tables, 4, &merge, NULL), MP_OK);
    for (size_t i = 0; i < scene.count; i++) {
        const struct plain *expected = &scene.rows[i];
        assert_int_equal(merge_next(merge, &row), MP_OK);
        assert_int_equal(row.time, expected->time);
        assert_int_equal(row.table, expected->table);
        assert_int_equal(row.columns[scene.tags[row.table]][row.row], expected->tag);
    }
    assert_int_equal(merge_next(merge, &row), MP_END);
    assert_int_equal(merge_next(merge, &row), MP_END);
    assert_int_equal(merge_unknown_times(merge), scene.unknown);
    assert_true(merge_max_rows(merge) <= max_rows);

    /* Together with what a walk over the headers meets, the damage is what a cursor meets. */
    assert_int_equal(mp_cursor_open(scene.trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next_chunk(cursor, &chunk, false) == MP_OK)
        ;
    mp_cursor_damage(cursor, &damage);
    mp_cursor_close(cursor);
    merge_add_damage(merge, &damage);
    assert_memory_equal(&damage, &scene.damage, sizeof damage);

    merge_close(merge);
    mp_trace_close(scene.trace);
    free(scene.rows);
    close(scene.fd);
}

/* Times that wander back and forth, ties, and times that are not known; a chunk of each table for
 * `flush` rows. */
static void write_random(uint64_t seed, unsigned count, uint64_t spread, unsigned flush)
{
    struct mp_writer *writer = fixture_writer(scene.fd, FIXTURE_HEADER, 2000);

    for (unsigned i = 0; i < count; i++) {
        uint64_t bits = fixture_random(&seed);
        uint64_t time = bits % 50 == 0 ? 0 : 1000 + 10ull * i + (bits >> 8) % spread;
        append(writer, (unsigned)(bits >> 40) % 4, time, i + 1);
        if (i % flush == flush - 1)
            assert_int_equal(mp_writer_flush(writer), MP_OK);
    }
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
}

static void random_tables_come_as_a_naive_sort_has_them(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        begin();
        write_random(seed, 20000,
                     seed % 3 == 0   ? 1
                     : seed % 3 == 1 ? 3000
                                     : 1000000,
                     (unsigned)(100 + seed * 111));
        expect_same(UINT64_MAX);
    }
}

/* Rows of the same time: by table, then as they stand in the file, across chunks. */
static void ties_are_in_the_order_of_tables_and_file(void **state)
{
    (void)state;
    begin();
    struct mp_writer *writer = fixture_writer(scene.fd, FIXTURE_HEADER, 2000);
    for (unsigned i = 0; i < 5000; i++) {
        append(writer, 3 - i % 4, 5000 + i / 2000, i + 1);
        if (i % 1000 == 999)
            mp_writer_flush(writer);
    }
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    expect_same(UINT64_MAX);
}

/* Ordered records: of the chunks only those of one moment are in memory. */
static void memory_is_that_of_the_chunks_that_overlap(void **state)
{
    (void)state;
    begin();
    write_random(3, MAX_ROWS, 1, 1000);
    expect_same(1000);
}

static void a_trace_without_records_has_no_rows(void **state)
{
    (void)state;
    begin();
    assert_int_equal(mp_writer_close(fixture_writer(scene.fd, FIXTURE_HEADER, 2000), NULL), MP_OK);
    expect_same(0);
}

static void damaged_chunks_are_passed_over_and_counted(void **state)
{
    (void)state;
    for (unsigned which = 0; which < 40; which += 3) {
        struct fixture_extent chunks[FIXTURE_MAX_CHUNKS];
        uint8_t *bytes;
        size_t size;

        begin();
        write_random(which, 6000, 2000, 500);
        bytes = fixture_file_bytes(scene.fd, &size);
        unsigned count = fixture_extents(bytes, size, chunks, FIXTURE_MAX_CHUNKS);
        assert_true(count > 10);
        const struct fixture_extent *chunk = &chunks[which % count];
        if (which % 2)
            bytes[chunk->end - 2] ^= 0x55; /* of the frame */
        else
            bytes[chunk->begin + 20] ^= 0x55; /* of the header */
        fixture_file_set(scene.fd, bytes, size);
        expect_same(UINT64_MAX);
        free(bytes);
    }
}

static void too_many_tables_are_refused(void **state)
{
    struct merge_table tables[MERGE_MAX_TABLES + 1] = {{NULL, 0, 0}};
    struct merge *merge;
    struct mp_error error;

    (void)state;
    begin();
    assert_int_equal(mp_writer_close(fixture_writer(scene.fd, FIXTURE_HEADER, 2000), NULL), MP_OK);
    assert_int_equal(mp_trace_open(fixture_path(scene.fd), &scene.trace, NULL), MP_OK);
    assert_int_equal(merge_open(scene.trace, tables, MERGE_MAX_TABLES + 1, &merge, &error),
                     MP_ERR_ARGUMENT);
    assert_null(merge);
    mp_trace_close(scene.trace);
    free(scene.rows);
    close(scene.fd);
}

/* ---- Launches ---- */

#define KERNEL_GAP_NS 1000u

/* Kernel i, of shape i % 7 + 1 and correlation 10 + i, begins at (i + 1) * KERNEL_GAP_NS. */
static struct mp_trace *kernels(unsigned count, uint64_t node)
{
    struct mp_writer *writer;
    struct mp_trace *trace;

    scene.fd = fixture_file("", 0);
    writer = fixture_writer(scene.fd, FIXTURE_HEADER, 2000);
    for (unsigned i = 0; i < count; i++) {
        struct mp_row_kernel row = {.stream = 1 + i % 3,
                                    .shape = i % 7 + 1,
                                    .node = node,
                                    .start = (uint64_t)(i + 1) * KERNEL_GAP_NS,
                                    .duration = 500,
                                    .correlation = 10 + i};
        mp_append_kernel(writer, &row);
        if (i % 5000 == 4999)
            mp_writer_flush(writer);
    }
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    assert_int_equal(mp_trace_open(fixture_path(scene.fd), &trace, NULL), MP_OK);
    return trace;
}

static uint64_t find(struct launches *launches, uint64_t correlation, uint64_t time)
{
    uint64_t shape;

    assert_int_equal(launches_find(launches, correlation, time, &shape), MP_OK);
    return shape;
}

/* Kernels begin `delay` launches after their call; every call finds its own. */
static void calls_find_the_kernels_that_they_launched(void **state)
{
    static const unsigned delays[] = {0, 1, 1024, 50000};
    const unsigned count = 100000;

    (void)state;
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
        struct mp_trace *trace = kernels(count, 0);
        struct launches *launches;

        assert_int_equal(launches_open(trace, &launches, NULL), MP_OK);
        for (unsigned call = 0; call < count; call++) {
            uint64_t start = (uint64_t)(call + 1) * KERNEL_GAP_NS;
            uint64_t delay = (uint64_t)delays[i] * KERNEL_GAP_NS;
            assert_int_equal(find(launches, 10 + call, start > delay ? start - delay : 1),
                             call % 7 + 1);
        }
        /* Chunks, of 5000 kernels, leave the window 10 ms after their last one. */
        assert_true(launches_max(launches) <= 10000 + delays[i] + 15000);
        launches_close(launches);
        mp_trace_close(trace);
        close(scene.fd);
    }
}

static void a_call_without_a_kernel_does_not_read_the_whole_trace(void **state)
{
    const unsigned count = 2 * LAUNCHES_AHEAD;
    struct mp_trace *trace = kernels(count, 0);
    struct launches *launches;

    (void)state;
    assert_int_equal(launches_open(trace, &launches, NULL), MP_OK);
    assert_int_equal(find(launches, 0, 1), 0);
    assert_int_equal(launches_max(launches), 0);
    assert_int_equal(find(launches, 5, 1), 0);
    assert_true(launches_max(launches) >= LAUNCHES_AHEAD);
    assert_true(launches_max(launches) < LAUNCHES_AHEAD + LAUNCHES_AHEAD / 4);
    assert_int_equal(find(launches, 10 + LAUNCHES_AHEAD / 2, 2), (LAUNCHES_AHEAD / 2) % 7 + 1);
    assert_int_equal(find(launches, 10 + count - 1, 3), 0); /* too far ahead */
    assert_int_equal(find(launches, 10 + count - 1, (uint64_t)count * KERNEL_GAP_NS),
                     (count - 1) % 7 + 1);
    launches_close(launches);
    mp_trace_close(trace);
    close(scene.fd);
}

static void kernels_of_graphs_belong_to_no_launch(void **state)
{
    struct mp_trace *trace = kernels(100, 3);
    struct launches *launches;

    (void)state;
    assert_int_equal(launches_open(trace, &launches, NULL), MP_OK);
    assert_int_equal(find(launches, 10, 1), 0);
    launches_close(launches);
    mp_trace_close(trace);
    close(scene.fd);
}

/* ---- Which row ends which NVTX range ---- */

/* The item of a range that begins is its name. What a row ends; 0: nothing. */
static uint64_t take(struct nvtx_match *match, uint64_t kind, uint64_t thread, uint64_t domain,
                     uint64_t name, uint64_t range)
{
    const struct nvtx_event event = {kind, thread, domain, name, range, 1, false};
    uint64_t item = 0;

    assert_int_equal(nvtx_match_begin(match, &event, name), MP_OK);
    return nvtx_match_end(match, &event, &item) ? item : 0;
}

static void a_range_ends_with_the_item_that_it_began_with(void **state)
{
    struct nvtx_match match = {0};

    (void)state;
    assert_int_equal(take(&match, MP_nvtx_kind_pop, 1, 0, 0, 0), 0); /* began before */
    assert_int_equal(take(&match, MP_nvtx_kind_push, 1, 0, 11, 0), 0);
    assert_int_equal(take(&match, MP_nvtx_kind_push, 1, 0, 12, 0), 0);
    assert_int_equal(take(&match, MP_nvtx_kind_push, 1, 5, 13, 0), 0);
    assert_int_equal(take(&match, MP_nvtx_kind_push, 2, 0, 14, 0), 0);
    assert_int_equal(take(&match, MP_nvtx_kind_start, 2, 0, 15, 77), 0);
    assert_int_equal(take(&match, MP_nvtx_kind_mark, 1, 0, 16, 0), 0);
    assert_int_equal(take(&match, MP_nvtx_kind_pop, 1, 0, 0, 0), 12);
    assert_int_equal(take(&match, MP_nvtx_kind_pop, 1, 5, 0, 0), 13);
    assert_int_equal(take(&match, MP_nvtx_kind_end, 1, 0, 0, 77), 15); /* in another thread */
    assert_int_equal(take(&match, MP_nvtx_kind_end, 1, 0, 0, 77), 0);
    assert_int_equal(take(&match, MP_nvtx_kind_pop, 1, 0, 0, 0), 11);
    assert_int_equal(take(&match, MP_nvtx_kind_pop, 1, 0, 0, 0), 0);
    assert_int_equal(take(&match, MP_nvtx_kind_pop, 2, 0, 0, 0), 14);
    nvtx_match_free(&match);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_tables_come_as_a_naive_sort_has_them),
        cmocka_unit_test(ties_are_in_the_order_of_tables_and_file),
        cmocka_unit_test(memory_is_that_of_the_chunks_that_overlap),
        cmocka_unit_test(a_trace_without_records_has_no_rows),
        cmocka_unit_test(damaged_chunks_are_passed_over_and_counted),
        cmocka_unit_test(too_many_tables_are_refused),
        cmocka_unit_test(calls_find_the_kernels_that_they_launched),
        cmocka_unit_test(a_call_without_a_kernel_does_not_read_the_whole_trace),
        cmocka_unit_test(kernels_of_graphs_belong_to_no_launch),
        cmocka_unit_test(a_range_ends_with_the_item_that_it_began_with),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
