/* The edges of graphs on their way to the file: written when a graph runs, within bounds, and
 * counted where there is no room. malloc and its kin are wrapped (tests/tests.mk). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/core/call_log.h"
#include "record/graphs/edges.h"
#include "unit/failing_malloc.h"
#include "unit/trace_fixture.h"

/* A store and a file that its edges go to. */
struct bench {
    struct edge_store store;
    struct mp_writer *writer;
    int fd;
};

static void bench_open(struct bench *bench)
{
    bench->fd = fixture_file(NULL, 0);
    bench->writer = fixture_writer(bench->fd, "", 0);
    edges_open(&bench->store);
}

static void bench_close(struct bench *bench)
{
    edges_close(&bench->store);
    if (bench->writer)
        assert_int_equal(mp_writer_close(bench->writer, NULL), MP_OK);
    close(bench->fd);
}

/* A graph whose nodes form a line. */
static void put_line(struct bench *bench, uint32_t graph, uint64_t count)
{
    struct graph_edges *edges = edges_new(&bench->store, graph, count);
    uint32_t i;

    if (!edges)
        return;
    for (i = 0; i < edges->count; i++)
        edges->edges[i] = (struct edge){i + 1, i + 2, false};
    edges_put(&bench->store, edges);
}

static void run(struct bench *bench, uint64_t graph)
{
    edges_append(&bench->store, bench->writer, graph);
}

/* Closes the file and counts the edges of a graph in it, each one right. */
static uint64_t edges_in_file(struct bench *bench, uint64_t graph)
{
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_batch batch;
    uint64_t seen = 0;
    uint32_t row;

    if (bench->writer)
        assert_int_equal(mp_writer_close(bench->writer, NULL), MP_OK);
    bench->writer = NULL;
    assert_int_equal(mp_trace_open(fixture_path(bench->fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK)
        for (row = 0; batch.table->id == MP_TABLE_edge && row < batch.rows; row++) {
            if (batch.columns[MP_COLUMN_edge_graph][row] != graph)
                continue;
            seen++;
            assert_int_equal(batch.columns[MP_COLUMN_edge_to][row],
                             batch.columns[MP_COLUMN_edge_from][row] + 1);
        }
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    return seen;
}

static void a_graph_is_written_when_it_runs_and_once_in_each_file(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    put_line(&bench, 2, 10);
    put_line(&bench, 4, 20);
    put_line(&bench, 6, 0);
    run(&bench, 4);
    run(&bench, 6);
    run(&bench, 8);
    run(&bench, 4);
    edges_restart(&bench.store);
    run(&bench, 4);
    run(&bench, 4);
    assert_int_equal(edges_in_file(&bench, 4), 40);
    assert_int_equal(edges_in_file(&bench, 2), 0);
    assert_int_equal(edges_lost(&bench.store), 0);
    bench_close(&bench);
}

static void an_id_that_is_used_again_stands_for_the_later_graph(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    put_line(&bench, 2, 10);
    edges_put_gone(&bench.store, 2);
    put_line(&bench, 2, 7);
    run(&bench, (uint64_t)1 << 32 | 2);
    assert_int_equal(edges_in_file(&bench, (uint64_t)1 << 32 | 2), 7);
    bench_close(&bench);
}

/* A graph made by the call with this correlation id, without edges. */
static void put_since(struct bench *bench, uint32_t graph, uint32_t since)
{
    struct graph_edges *edges = edges_new(&bench->store, graph, 1);

    edges->since = since;
    edges->edges[0] = (struct edge){0, 0, false};
    edges_put(&bench->store, edges);
}

static void a_launch_belongs_to_the_graph_that_had_the_id_then(void **state)
{
    const uint64_t again = (uint64_t)1 << 32;
    uint64_t max = ((uint64_t)7 << 32) + 50;
    struct bench bench;

    (void)state;
    bench_open(&bench);
    bench.store.max = &max;
    put_since(&bench, 2, UINT32_MAX - 10); /* before 32 bits ran over */
    put_since(&bench, 3, 20);
    put_since(&bench, 2, 30);
    put_since(&bench, 2, 60);
    assert_int_equal(edges_number(&bench.store, 2, ((uint64_t)7 << 32) - 5), 2);
    assert_int_equal(edges_number(&bench.store, 2, ((uint64_t)7 << 32) + 29), 2);
    assert_int_equal(edges_number(&bench.store, 2, ((uint64_t)7 << 32) + 31), again + 2);
    assert_int_equal(edges_number(&bench.store, 2, ((uint64_t)7 << 32) + 59), again + 2);
    assert_int_equal(edges_number(&bench.store, 2, ((uint64_t)7 << 32) + 61), 2 * again + 2);
    assert_int_equal(edges_number(&bench.store, 2, 0), 2 * again + 2);
    assert_int_equal(edges_number(&bench.store, 3, ((uint64_t)7 << 32) + 61), 3);
    assert_int_equal(edges_number(&bench.store, 9, ((uint64_t)7 << 32) + 61), 9);
    bench_close(&bench);
}

static void graphs_that_are_gone_make_room_and_only_then(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    put_line(&bench, 2, EDGES_MAX / 2);
    edges_take(&bench.store);
    put_line(&bench, 4, EDGES_MAX / 2);
    edges_put_gone(&bench.store, 2);
    edges_take(&bench.store);
    assert_int_equal(bench.store.held, EDGES_MAX);
    put_line(&bench, 6, 5);
    edges_take(&bench.store);
    assert_int_equal(bench.store.held, EDGES_MAX / 2 + 5);
    run(&bench, 2);
    run(&bench, 4);
    run(&bench, 6);
    assert_int_equal(edges_in_file(&bench, 2), 0);
    assert_int_equal(edges_in_file(&bench, 4), EDGES_MAX / 2);
    assert_int_equal(edges_in_file(&bench, 6), 5);
    assert_int_equal(edges_lost(&bench.store), 0);
    bench_close(&bench);
}

/* A part of an executable graph, whose end nobody reports, goes before others are lost. */
static void parts_make_room_too(void **state)
{
    struct graph_edges *part;
    struct bench bench;

    (void)state;
    bench_open(&bench);
    put_line(&bench, 2, EDGES_MAX / 2);
    edges_take(&bench.store);
    part = edges_new(&bench.store, 3, EDGES_MAX / 2);
    part->part = true;
    edges_put(&bench.store, part);
    edges_take(&bench.store);
    assert_int_equal(bench.store.held, EDGES_MAX);
    put_line(&bench, 4, 5);
    edges_take(&bench.store);
    assert_int_equal(bench.store.held, EDGES_MAX / 2 + 5);
    run(&bench, 4);
    assert_int_equal(edges_in_file(&bench, 4), 5);
    assert_int_equal(edges_lost(&bench.store), 0);
    bench_close(&bench);
}

static void what_finds_no_room_is_counted_when_it_runs(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    put_line(&bench, 2, (uint64_t)EDGES_MAX + 1);
    put_line(&bench, 4, EDGES_MAX);
    edges_take(&bench.store);
    put_line(&bench, 6, 3);
    run(&bench, 4);
    assert_int_equal(edges_lost(&bench.store), 0);
    run(&bench, 6);
    assert_int_equal(edges_lost(&bench.store), 3);
    run(&bench, 2);
    assert_int_equal(edges_lost(&bench.store), 3 + EDGES_MAX + 1);
    edges_put_gone(&bench.store, 4);
    put_line(&bench, 6, 3);
    run(&bench, (uint64_t)1 << 32 | 6);
    assert_int_equal(edges_in_file(&bench, (uint64_t)1 << 32 | 6), 3);
    bench_close(&bench);
}

static void a_writer_that_is_away_bounds_what_waits(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    put_line(&bench, 2, EDGES_MAX);
    put_line(&bench, 4, 9);
    assert_int_equal(bench.store.waiting, EDGES_MAX);
    assert_int_equal(edges_lost(&bench.store), 9);
    bench_close(&bench);
}

static void most_graphs_are_held_at_once(void **state)
{
    struct bench bench;
    uint32_t graph;

    (void)state;
    bench_open(&bench);
    for (graph = 1; graph <= EDGES_MAX_GRAPHS; graph++)
        put_line(&bench, graph, 1);
    for (graph = 1; graph <= EDGES_MAX_GRAPHS; graph += 2)
        edges_put_gone(&bench.store, graph);
    edges_take(&bench.store);
    assert_int_equal(bench.store.count, EDGES_MAX_GRAPHS);
    put_line(&bench, EDGES_MAX_GRAPHS + 1, 4);
    edges_take(&bench.store);
    assert_int_equal(bench.store.count, EDGES_MAX_GRAPHS / 2 + 1);
    for (graph = 1; graph <= EDGES_MAX_GRAPHS + 1; graph++)
        run(&bench, graph);
    assert_int_equal(edges_in_file(&bench, 2), 1);
    assert_int_equal(edges_in_file(&bench, 3), 0);
    assert_int_equal(edges_in_file(&bench, EDGES_MAX_GRAPHS + 1), 4);
    bench_close(&bench);
}

static void every_edge_is_written_or_counted_when_memory_runs_out(void **state)
{
    unsigned failing;

    (void)state;
    for (failing = 1; failing <= 300; failing++) {
        struct bench bench;
        uint64_t found = 0;
        uint32_t graph;

        bench_open(&bench);
        countdown = failing;
        for (graph = 1; graph <= 100; graph++) {
            put_line(&bench, graph, 3);
            if (graph % 3 == 0)
                edges_put_gone(&bench.store, graph);
            edges_take(&bench.store);
        }
        countdown = 0;
        for (graph = 1; graph <= 100; graph++)
            run(&bench, graph);
        for (graph = 1; graph <= 100 && failing % 10 == 1; graph++)
            found += edges_in_file(&bench, graph);
        if (failing % 10 == 1)
            assert_int_equal(found + edges_lost(&bench.store), 300);
        assert_true(edges_lost(&bench.store) <= 3);
        bench_close(&bench);
    }
}

static void a_graph_that_could_not_be_read_is_counted(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    edges_unread(&bench.store);
    assert_int_equal(edges_lost(&bench.store), 1);
    bench_close(&bench);
}

static void the_last_calls_of_ours_are_known_by_their_correlation_ids(void **state)
{
    static struct call_logs logs;
    struct own_calls *own = &logs.own;
    uint32_t id;

    (void)state;
    assert_int_equal(call_logs_open(&logs), MP_OK);
    assert_false(own_calls_has(own, 0));
    for (id = 1; id <= OWN_CALLS + 10; id++)
        own_calls_note(own, id);
    assert_false(own_calls_has(own, 10));
    assert_true(own_calls_has(own, 11));
    assert_true(own_calls_has(own, OWN_CALLS + 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_is_written_when_it_runs_and_once_in_each_file),
        cmocka_unit_test(an_id_that_is_used_again_stands_for_the_later_graph),
        cmocka_unit_test(a_launch_belongs_to_the_graph_that_had_the_id_then),
        cmocka_unit_test(graphs_that_are_gone_make_room_and_only_then),
        cmocka_unit_test(parts_make_room_too),
        cmocka_unit_test(what_finds_no_room_is_counted_when_it_runs),
        cmocka_unit_test(a_writer_that_is_away_bounds_what_waits),
        cmocka_unit_test(most_graphs_are_held_at_once),
        cmocka_unit_test(every_edge_is_written_or_counted_when_memory_runs_out),
        cmocka_unit_test(a_graph_that_could_not_be_read_is_counted),
        cmocka_unit_test(the_last_calls_of_ours_are_known_by_their_correlation_ids),
    };

    return cmocka_run_group_tests_name("the edges of graphs", tests, NULL, NULL);
}
