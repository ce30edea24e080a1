/* D7 of docs/dependency-analysis.md: what the nodes of a CUDA graph wait for, and what waits for
 * the whole launch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#define GRAPH 5
#define E1    0xe1

/* Nodes are called by letters, and their ids follow from them. */
static void node(uint64_t stream, const char *name, uint64_t begin, uint64_t end,
                 uint64_t correlation)
{
    put_node(stream, name, GRAPH, 1000 + (unsigned char)*name, begin, end, correlation);
}

static void edge(char from, char to)
{
    put_edge(GRAPH, 1000 + (unsigned char)from, 1000 + (unsigned char)to);
}

/* Two launches of 2 us, a kernel's and a graph's, so that a launch explains little. */
static void begin(void)
{
    scene_begin();
    put_call(1, "cudaLaunchKernel", 1, 6, 1);
    put_kernel(ON(9, 99), "fast", 3, 4, 1);
}

static const struct deps_window *whole(void)
{
    return scene.windows.items;
}

/*     thread     |launch 10-20|      |wait 22---------------105|
 *     stream 7      |a 12-40||b 42-60|       |d 92-100|             a -> b -> d
 *     stream 20              |c 43--------90|                       a -> c -> d
 *
 * Shortest after an end: 2 (b). c: a's end 40 + 2 = 42; d: c's end 90 + 2 = 92, and without that
 * b's 60 + 2: 30 of waiting. c waits 42 less nothing it would have had anyway: none. From 105:
 * return 5, d 8, wait 2, c 47, wait 3, a 28, launch 2, host 10-6 4, call 5. */
static void put_diamond(void)
{
    begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 2);
    node(7, "a", 12, 40, 2);
    node(7, "b", 42, 60, 2);
    node(20, "c", 43, 90, 2);
    node(7, "d", 92, 100, 2);
    put_stream_sync(7, 22, 105, 3);
}

static void branches_of_a_graph_wait_across_streams(void **state)
{
    (void)state;
    put_diamond();
    edge('a', 'b');
    edge('a', 'c');
    edge('b', 'd');
    edge('c', 'd');
    scene_load();
    assert_string_equal(bound("a"), "launch cudaGraphLaunch#2");
    assert_string_equal(bound("b"), "graph edge a");
    assert_string_equal(bound("c"), "graph edge a");
    assert_string_equal(bound("d"), "graph edge c");
    assert_string_equal(waiting(whole()), "cudaStreamSynchronize 78 | d 30");
    assert_string_equal(
        path(whole()),
        "a 28, c 47, cudaLaunchKernel 5, d 8 | host 4, launch 2, dependency 5, return 5");
    assert_int_equal(scene.deps.counts.unknown_graphs, 0);
    assert_int_equal(scene.deps.counts.overlapping, 0);
    scene_end(SOUND);
}

/* Without edges: b after a and d after b, each behind the one before it in its lane; c, the first
 * in its lane, is a root. */
static void without_edges_the_lane_says_what_a_node_waits_for(void **state)
{
    (void)state;
    put_diamond();
    scene_load();
    assert_string_equal(bound("a"), "launch cudaGraphLaunch#2");
    assert_string_equal(bound("b"), "graph edge a");
    assert_string_equal(bound("c"), "launch cudaGraphLaunch#2");
    assert_string_equal(bound("d"), "graph edge b");
    assert_int_equal(scene.deps.counts.unknown_graphs, 1);
    scene_end(SOUND);
}

/* Without edges, and b begins 10 before a's end: the order of the lane holds, and b's own time is
 * what it ran after a's end, 20. */
static void without_edges_overlapping_nodes_keep_their_order(void **state)
{
    (void)state;
    begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 2);
    node(7, "a", 12, 40, 2);
    node(7, "b", 30, 60, 2);
    scene_load();
    assert_string_equal(bound("b"), "graph edge a");
    assert_int_equal(scene.deps.counts.overlapping, 1);
    assert_int_equal(scene.deps.counts.contradicted, 0);
    assert_string_equal(path(scene.windows.items),
                        "a 28, b 20, cudaLaunchKernel 5 | host 4, launch 2");
    scene_end(SOUND);
}

/* The empty node x leaves no activity: a and c join there, and b waits for c, which ends last.
 *
 *     stream 7   |a 12-40|           |b 63-70|
 *     stream 20  |c 14--------60|              a -> x, c -> x, x -> b */
static void a_node_without_activity_stands_for_what_it_waits_for(void **state)
{
    (void)state;
    begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 2);
    node(7, "a", 12, 40, 2);
    node(20, "c", 14, 60, 2);
    node(7, "b", 63, 70, 2);
    edge('a', 'x');
    edge('c', 'x');
    edge('x', 'b');
    scene_load();
    assert_string_equal(bound("a"), "launch cudaGraphLaunch#2");
    assert_string_equal(bound("c"), "launch cudaGraphLaunch#2");
    assert_string_equal(bound("b"), "graph edge c");
    assert_string_equal(path(whole()),
                        "b 7, c 46, cudaLaunchKernel 5 | host 4, launch 4, dependency 3");
    scene_end(SOUND);
}

/* Empty nodes one behind the other, and at the end of the graph: what follows waits for a. */
static void empty_nodes_at_the_end_stand_for_the_last_activity(void **state)
{
    (void)state;
    begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 2);
    node(7, "a", 12, 40, 2);
    edge('w', 'a'); /* and one in front: a stays a root */
    edge('a', 'x');
    edge('x', 'y');
    put_stream_sync(7, 22, 43, 3);
    scene_load();
    assert_string_equal(bound("a"), "launch cudaGraphLaunch#2");
    assert_string_equal(bound_call(3), "synchronisation a");
    scene_end(SOUND);
}

/* Two leaves: whoever comes after the launch waits for the one that ends last, in any lane. */
static void the_node_that_ends_last_stands_for_the_launch(void **state)
{
    (void)state;
    begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 2);
    node(7, "a", 12, 40, 2);
    node(7, "b", 42, 60, 2);
    node(20, "c", 43, 90, 2);
    edge('a', 'b');
    edge('a', 'c');
    put_launch(7, "k", 22, 93, 99, 3);
    put_stream_sync(7, 28, 105, 4);
    scene_load();
    assert_string_equal(bound("k"), "stream order c");
    assert_string_equal(bound_call(4), "synchronisation k");
    scene_end(SOUND);
}

/* Of several in one lane, and of several in others, the one that ends last; whatever the order of
 * the edges: d after a and b in its own lane, e after c and f in others. */
static void of_several_awaited_nodes_the_last_to_end_counts(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        begin();
        put_call(1, "cudaGraphLaunch", 10, 20, 2);
        node(7, "a", 12, 40, 2);
        node(7, "b", 42, 60, 2);
        node(7, "d", 64, 70, 2);
        node(20, "c", 14, 50, 2);
        node(21, "f", 14, 61, 2);
        node(22, "e", 65, 66, 2);
        edge(turned ? 'a' : 'b', 'd');
        edge(turned ? 'b' : 'a', 'd');
        edge(turned ? 'c' : 'f', 'e');
        edge(turned ? 'f' : 'c', 'e');
        edge('a', 'b');
        scene_load();
        assert_string_equal(bound("d"), "graph edge b");
        assert_string_equal(bound("e"), "graph edge f");
        scene_end(SOUND);
    }
}

static void every_launch_of_a_graph_has_nodes_of_its_own(void **state)
{
    (void)state;
    begin();
    edge('a', 'b');
    put_call(1, "cudaGraphLaunch", 10, 20, 2);
    node(7, "a", 12, 40, 2);
    node(7, "b", 42, 60, 2);
    put_call(1, "cudaGraphLaunch", 22, 30, 3);
    put_node(7, "a2", GRAPH, 1000 + 'a', 64, 70, 3);
    put_node(7, "b2", GRAPH, 1000 + 'b', 73, 80, 3);
    scene_load();
    assert_string_equal(bound("a2"), "stream order b");
    assert_string_equal(bound("b2"), "graph edge a2");
    scene_end(SOUND);
}

/* Of a graph launch the roots alone wait for events and the default stream. */
static void roots_wait_for_events(void **state)
{
    (void)state;
    begin();
    put_launch(8, "k", 7, 12, 50, 2);
    put_record(8, E1, 12, 3);
    put_wait(7, E1, 13, 4);
    edge('a', 'b');
    put_call(1, "cudaGraphLaunch", 15, 20, 5);
    node(7, "a", 52, 60, 5);
    node(7, "b", 63, 70, 5);
    put_call(1, "cudaGraphLaunch", 100, 108, 6); /* the only one that met a free device: 50 */
    put_node(21, "far", GRAPH, 1000 + 'a', 150, 155, 6);
    put_sync(MP_sync_kind_graph_launch, 1, 21, 0, 100, 108, 6);
    scene_load();
    /* a: launched 15 + 50, but not after its begin, 52; k's end 50 + 2: equal, so the launch. */
    assert_string_equal(bound("a"), "launch cudaGraphLaunch#5");
    assert_int_equal(scene.deps.activities[find("a")].other_lane, find("k"));
    assert_int_equal(scene.deps.activities[find("b")].other_lane, DEPS_NONE);
    scene_end(SOUND);
}

static void roots_wait_for_the_default_stream(void **state)
{
    (void)state;
    begin();
    put_stream_flag(8, MP_stream_flag_null);
    edge('a', 'b');
    put_call(1, "cudaGraphLaunch", 7, 9, 2); /* launched in 2: the shortest */
    node(20, "a", 9, 10, 2);
    node(20, "b", 12, 13, 2);
    put_launch(8, "k", 10, 15, 50, 3);
    put_call(1, "cudaGraphLaunch", 17, 20, 4);
    put_node(7, "a2", GRAPH, 1000 + 'a', 52, 60, 4);
    put_node(7, "b2", GRAPH, 1000 + 'b', 63, 70, 4);
    scene_load();
    assert_string_equal(bound("a2"), "default stream k");
    assert_string_equal(bound("b2"), "graph edge a2");
    scene_end(SOUND);
}

/* The launch's lane is that of its row of `sync`, not of the node that begins first. */
static void the_launch_is_in_the_stream_that_sync_names(void **state)
{
    (void)state;
    begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 2);
    put_sync(MP_sync_kind_graph_launch, 1, 7, 0, 10, 20, 2);
    node(20, "c", 12, 90, 2);
    node(7, "a", 14, 40, 2);
    edge('x', 'a');
    edge('x', 'c');
    put_stream_sync(7, 22, 93, 3);
    scene_load();
    assert_string_equal(bound_call(3), "synchronisation c");
    scene_end(SOUND);
}

/* No node ran in stream 7, but the launch was there: what comes next in it waits for it. */
static void a_launch_without_nodes_in_its_stream_is_waited_for(void **state)
{
    (void)state;
    begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 2);
    put_sync(MP_sync_kind_graph_launch, 1, 7, 0, 10, 20, 2);
    node(20, "a", 12, 40, 2);
    node(21, "c", 12, 90, 2);
    edge('x', 'a');
    edge('x', 'c');
    put_launch(7, "k", 22, 93, 99, 3);
    scene_load();
    assert_string_equal(bound("k"), "stream order c");
    scene_end(SOUND);
}

/* k in stream 7 ends at 50, and the graph launched there runs elsewhere: its root waits for k. */
static void roots_in_other_streams_wait_for_the_stream_of_the_launch(void **state)
{
    (void)state;
    begin();
    put_call(1, "cudaGraphLaunch", 7, 9, 2); /* the shortest launch */
    node(20, "a", 9, 10, 2);
    put_launch(7, "k", 10, 15, 50, 3);
    put_call(1, "cudaGraphLaunch", 17, 20, 4);
    put_sync(MP_sync_kind_graph_launch, 1, 7, 0, 17, 20, 4);
    put_node(20, "a2", GRAPH, 1000 + 'a', 52, 60, 4);
    edge('a', 'b');
    scene_load();
    assert_string_equal(bound("a2"), "stream order k");
    scene_end(SOUND);
}

/* Without a row of `sync` the stream of the node that begins first is the launch's. */
static void without_sync_the_first_node_says_where_the_launch_was(void **state)
{
    (void)state;
    begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 2);
    node(20, "c", 14, 90, 2);
    node(7, "a", 12, 40, 2);
    edge('x', 'a');
    edge('x', 'c');
    put_stream_sync(7, 22, 93, 3);
    scene_load();
    assert_string_equal(bound_call(3), "synchronisation c");
    scene_end(SOUND);
}

/* Launched as a whole: later work waits for the row. Launches take 2 (the first; the others were
 * called before the one in front had ended), gaps 3. From 80: graph 6 10, gap 10, graph 5 17, gap
 * 3, graph 5 28, launch 2, host 10-6 4, call 5. */
static void a_graph_as_a_whole_is_work_like_a_kernel(void **state)
{
    (void)state;
    begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 2);
    put_graph(7, GRAPH, 12, 40, 2);
    put_call(1, "cudaGraphLaunch", 22, 30, 3);
    put_graph(7, GRAPH, 43, 60, 3);
    put_call(1, "cudaGraphLaunch", 32, 34, 4);
    put_graph(7, 6, 70, 80, 4);
    scene_load();
    assert_int_equal(scene.deps.latencies[DEPS_GRAPH].shortest, 3000);
    assert_string_equal(bound("[CUDA graph 6]"), "stream order [CUDA graph 5]");
    assert_string_equal(path(whole()), "[CUDA graph 5] 45, [CUDA graph 6] 10, cudaLaunchKernel 5 | "
                                       "host 4, launch 2, gap 13");
    scene_end(SOUND);
}

/* c has no edges: a root, and the last of the launch to end. */
static void a_node_without_edges_is_part_of_the_launch(void **state)
{
    (void)state;
    begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 2);
    node(7, "a", 12, 40, 2);
    node(7, "b", 42, 60, 2);
    node(20, "c", 14, 90, 2);
    edge('a', 'b');
    put_stream_sync(7, 22, 93, 3);
    scene_load();
    assert_string_equal(bound("c"), "launch cudaGraphLaunch#2");
    assert_string_equal(bound_call(3), "synchronisation c");
    scene_end(SOUND);
}

/* Edges that run in a circle are in no file of ours: the nodes are roots. */
static void edges_in_a_circle_do_no_harm(void **state)
{
    (void)state;
    begin();
    put_launch(7, "k", 7, 9, 10, 2);
    put_call(1, "cudaGraphLaunch", 13, 20, 3);
    node(7, "a", 15, 40, 3);
    node(7, "b", 42, 60, 3);
    edge('a', 'b');
    edge('b', 'a');
    edge('c', 'c');
    put_stream_sync(7, 22, 63, 4);
    scene_load();
    assert_string_equal(bound_call(4), "synchronisation b");
    scene_end(UNSOUND);
}

/* A programmatic edge: b begins 10 before a's end in another stream. */
static void an_edge_to_a_node_that_overlaps_holds(void **state)
{
    (void)state;
    begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 2);
    node(7, "a", 12, 40, 2);
    node(20, "b", 30, 60, 2);
    edge('a', 'b');
    scene_load();
    assert_string_equal(bound("b"), "graph edge a");
    assert_int_equal(scene.deps.counts.contradicted, 0);
    assert_int_equal(scene.deps.counts.overlapping, 1);
    assert_string_equal(path(scene.windows.items),
                        "a 28, b 20, cudaLaunchKernel 5 | host 4, launch 2");
    scene_end(SOUND);
}

/* The times contradict an edge, as b began before a: counted, and the rest holds. */
static void an_edge_that_the_times_contradict_is_left_out(void **state)
{
    (void)state;
    begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 2);
    node(7, "a", 31, 40, 2);
    node(20, "b", 30, 60, 2);
    edge('a', 'b');
    scene_load();
    assert_string_equal(bound("b"), "launch cudaGraphLaunch#2");
    assert_int_equal(scene.deps.counts.contradicted, 1);
    scene_end(SOUND);
}

/* A copy inside a graph is nobody's to wait for, whatever its flags. */
static void a_copy_inside_a_graph_is_not_awaited_by_the_launch(void **state)
{
    (void)state;
    begin();
    put_call(1, "cudaGraphLaunch", 10, 90, 2);
    node(7, "a", 12, 40, 2);
    scene_load();
    assert_string_equal(bound_call(2), "program order cudaLaunchKernel#1");
    scene_end(SOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_of_a_graph_wait_across_streams),
        cmocka_unit_test(without_edges_the_lane_says_what_a_node_waits_for),
        cmocka_unit_test(without_edges_overlapping_nodes_keep_their_order),
        cmocka_unit_test(a_node_without_activity_stands_for_what_it_waits_for),
        cmocka_unit_test(empty_nodes_at_the_end_stand_for_the_last_activity),
        cmocka_unit_test(the_node_that_ends_last_stands_for_the_launch),
        cmocka_unit_test(of_several_awaited_nodes_the_last_to_end_counts),
        cmocka_unit_test(every_launch_of_a_graph_has_nodes_of_its_own),
        cmocka_unit_test(roots_wait_for_events),
        cmocka_unit_test(roots_wait_for_the_default_stream),
        cmocka_unit_test(the_launch_is_in_the_stream_that_sync_names),
        cmocka_unit_test(a_launch_without_nodes_in_its_stream_is_waited_for),
        cmocka_unit_test(roots_in_other_streams_wait_for_the_stream_of_the_launch),
        cmocka_unit_test(without_sync_the_first_node_says_where_the_launch_was),
        cmocka_unit_test(a_graph_as_a_whole_is_work_like_a_kernel),
        cmocka_unit_test(a_node_without_edges_is_part_of_the_launch),
        cmocka_unit_test(edges_in_a_circle_do_no_harm),
        cmocka_unit_test(an_edge_to_a_node_that_overlaps_holds),
        cmocka_unit_test(an_edge_that_the_times_contradict_is_left_out),
        cmocka_unit_test(a_copy_inside_a_graph_is_not_awaited_by_the_launch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
