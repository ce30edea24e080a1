/* The NVTX ranges around nodes of graphs: which are open, and when the file is told. */
#include "unit/record/test_paths.h"
#include "record/process/recorder.h"

static void a_path_is_what_is_open_when_the_node_is_made(void **state)
{
    struct bench bench;
    uint32_t nodes[5];

    (void)state;
    bench_open(&bench);
    nodes[0] = make(&bench);
    push(&bench, "outer");
    nodes[1] = make(&bench);
    put(&bench,
        (struct mp_nvtx_event){.kind = MP_nvtx_kind_push, .domain = "library", .name = "inner"});
    nodes[2] = make(&bench);
    pop(&bench); /* of the default domain: the outer one */
    nodes[3] = make(&bench);
    put(&bench, (struct mp_nvtx_event){.kind = MP_nvtx_kind_pop, .domain = "other"});
    push(&bench, "");
    nodes[4] = make(&bench);
    instantiate(&bench, nodes, 5);
    settle(&bench);
    run(&bench);
    settle(&bench);
    assert_string_equal(in_file(&bench), "0.2=outer 0.3=outer>library:inner 0.4=library:inner "
                                         "0.5=library:inner>");
    assert_int_equal(bench.paths.lost, 0);
    bench_close(&bench);
}

static void ranges_of_start_and_end_are_around_what_comes_after_them(void **state)
{
    struct bench bench;
    uint32_t nodes[4];

    (void)state;
    bench_open(&bench);
    start(&bench, "a", 11);
    push(&bench, "b");
    nodes[0] = make(&bench);
    start(&bench, "c", 12);
    end(&bench, 2, 11, 0); /* by another thread, met in time */
    nodes[1] = make(&bench);
    pop(&bench);
    nodes[2] = make(&bench);
    end(&bench, 1, 12, 0);
    nodes[3] = make(&bench);
    instantiate(&bench, nodes, 4);
    settle(&bench);
    run(&bench);
    settle(&bench);
    assert_string_equal(in_file(&bench), "0.1=a>b 0.2=b>c 0.3=c");
    bench_close(&bench);
}

static void an_end_that_is_met_late_or_early_counts_by_its_time(void **state)
{
    struct bench bench;
    uint32_t nodes[4];

    (void)state;
    bench_open(&bench);
    bench.now = 100;
    end(&bench, 2, 11, 103); /* thread 2 is read first: 11 starts at 101, the end of 12 is lost */
    start(&bench, "early", 11);
    nodes[0] = make(&bench);   /* 102 */
    nodes[1] = make(&bench);   /* 103 */
    start(&bench, "late", 13); /* 104 */
    nodes[2] = make(&bench);   /* 105 */
    nodes[3] = make(&bench);   /* 106 */
    end(&bench, 2, 13, 106);   /* thread 2 is read last */
    instantiate(&bench, nodes, 4);
    settle(&bench);
    run(&bench);
    settle(&bench);
    assert_string_equal(in_file(&bench), "0.1=early 0.3=late");
    bench_close(&bench);
}

static void threads_have_their_own_ranges(void **state)
{
    struct bench bench;
    uint32_t node;

    (void)state;
    bench_open(&bench);
    push(&bench, "mine");
    put(&bench, (struct mp_nvtx_event){.kind = MP_nvtx_kind_push, .tid = 2, .name = "other"});
    node = make(&bench);
    instantiate(&bench, &node, 1);
    settle(&bench);
    run(&bench);
    settle(&bench);
    assert_string_equal(in_file(&bench), "0.1=mine");
    bench_close(&bench);
}

static void after_a_gap_nothing_is_open(void **state)
{
    struct bench bench;
    uint32_t nodes[2];

    (void)state;
    bench_open(&bench);
    push(&bench, "before");
    start(&bench, "started before", 11);
    put(&bench, (struct mp_nvtx_event){.kind = MP_nvtx_kind_push, .name = "after", .first = true});
    nodes[0] = make(&bench);
    end(&bench, 1, 11, 0);
    pop(&bench);
    pop(&bench);
    nodes[1] = make(&bench);
    instantiate(&bench, nodes, 2);
    settle(&bench);
    run(&bench);
    settle(&bench);
    assert_string_equal(in_file(&bench), "0.1=after");
    bench_close(&bench);
}

static void a_graph_is_told_when_it_runs_and_in_each_file(void **state)
{
    struct bench bench;
    uint32_t node;

    (void)state;
    bench_open(&bench);
    push(&bench, "f");
    node = make(&bench);
    instantiate(&bench, &node, 1);
    settle(&bench);
    settle(&bench);
    run(&bench);
    run(&bench);
    settle(&bench);
    settle(&bench);
    /* The file is cut. */
    dictionary_restart(&bench.dictionary);
    paths_restart(&bench.paths);
    settle(&bench);
    run(&bench);
    settle(&bench);
    assert_string_equal(in_file(&bench), "0.1=f 0.1=f");
    bench_close(&bench);
}

/* Events of nodes that are made on several threads are only known to have come after a round. */
static void a_graph_that_runs_at_once_waits_for_its_events(void **state)
{
    struct bench bench;
    uint32_t node;

    (void)state;
    bench_open(&bench);
    push(&bench, "f");
    node = ++bench.numbers;
    instantiate(&bench, &node, 1);
    run(&bench);
    edges_take(&bench.store);
    paths_settle(&bench.paths, &bench.store, &bench.dictionary);
    put(&bench, (struct mp_nvtx_event){.kind = MP_NVTX_ORIGIN, .range = node});
    settle(&bench);
    assert_string_equal(in_file(&bench), "0.1=f");
    assert_int_equal(bench.paths.lost, 0);
    bench_close(&bench);
}

static void a_graph_with_a_used_id_has_paths_of_its_own(void **state)
{
    struct bench bench;
    uint32_t node;

    (void)state;
    bench_open(&bench);
    push(&bench, "first");
    node = make(&bench);
    instantiate(&bench, &node, 1);
    run(&bench);
    settle(&bench);
    pop(&bench);
    push(&bench, "second");
    node = make(&bench);
    edges_put_gone(&bench.store, GRAPH);
    instantiate(&bench, &node, 1);
    run(&bench);
    settle(&bench);
    assert_string_equal(in_file(&bench), "0.1=first 1.1=second");
    bench_close(&bench);
}

/* The writer's own round, from the graph that a thread hands over to its paths. */
static void a_round_of_the_recording_settles_graphs(void **state)
{
    static struct recorder recorder;
    struct recording *recording = &recorder.recording;
    int fd = fixture_file(NULL, 0);
    struct graph_edges *edges;

    (void)state;
    assert_int_equal(call_logs_open(&recorder.gpu.core.logs), MP_OK);
    assert_int_equal(work_queue_open(&recorder.gpu.core.work, 1), MP_OK);
    edges_open(&recorder.graphs.edges);
    *recording = (struct recording){.queue = &recorder.gpu.core.work,
                                    .logs = &recorder.gpu.core.logs,
                                    .waits = &recorder.waits,
                                    .edges = &recorder.graphs.edges,
                                    .profiled = &recorder.profiling.profiled,
                                    .gpu = &recorder.gpu,
                                    .stacks = &recorder.stacks,
                                    .host_nodes = &recorder.graphs.host_nodes,
                                    .step_names = recorder.baseline.names,
                                    .paths_wanted = true};
    assert_int_equal(recording_open(recording, fixture_writer(fd, "", 0), &recorder.gpu.cupti,
                                    &recorder.gpu.api, MP_CAPTURE_ALL, true),
                     MP_OK);
    edges = edges_new(&recorder.graphs.edges, GRAPH, 0);
    assert_non_null(edges);
    edges->nodes = calloc(1, sizeof *edges->nodes);
    edges->node_count = 1;
    edges_put(&recorder.graphs.edges, edges);
    recording_round(recording);
    assert_int_equal(edges->state, GRAPH_SETTLED);
    assert_int_equal(mp_writer_close(recording->writer, NULL), MP_OK);
    recording_close(recording);
    work_queue_close(&recorder.gpu.core.work);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_what_is_open_when_the_node_is_made),
        cmocka_unit_test(ranges_of_start_and_end_are_around_what_comes_after_them),
        cmocka_unit_test(an_end_that_is_met_late_or_early_counts_by_its_time),
        cmocka_unit_test(threads_have_their_own_ranges),
        cmocka_unit_test(after_a_gap_nothing_is_open),
        cmocka_unit_test(a_graph_is_told_when_it_runs_and_in_each_file),
        cmocka_unit_test(a_graph_that_runs_at_once_waits_for_its_events),
        cmocka_unit_test(a_graph_with_a_used_id_has_paths_of_its_own),
        cmocka_unit_test(a_round_of_the_recording_settles_graphs),
    };

    return cmocka_run_group_tests_name("the NVTX ranges around nodes", tests, NULL, NULL);
}
