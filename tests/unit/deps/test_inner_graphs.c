/* D7 of docs/dependency-analysis.md where a node has a graph inside: child graphs, and bodies of
 * conditional nodes, which may run several times and have no correlation ids.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <miniprof/format.h>

#include "unit/deps/deps_fixture.h"

#define GRAPH 5
#define BODY  20 /* the stream of bodies */

/* Nodes are called by letters, and their ids follow from them; their runs have numbers behind. */
static uint64_t id_of(char letter)
{
    return 1000 + (unsigned char)letter;
}

static void run(uint64_t stream, const char *name, uint64_t begin, uint64_t end,
                uint64_t correlation)
{
    put_node(stream, name, GRAPH, id_of(*name), begin, end, correlation);
}

static void edge(char from, char to)
{
    put_edge(GRAPH, id_of(from), id_of(to));
}

/* A graph that consists of first ... last is inside of `node`. */
static void inside(char node, char first, char last)
{
    put_edge(GRAPH, id_of(node), id_of(node) | MP_EDGE_END);
    edge(node, first);
    put_edge(GRAPH, id_of(last), id_of(node) | MP_EDGE_END);
}

/* The same, and it may run again. */
static void body(char node, char first, char last)
{
    inside(node, first, last);
    put_edge(GRAPH, id_of(node) | MP_EDGE_END, id_of(node));
}

static void edge_behind(char node, char to)
{
    put_edge(GRAPH, id_of(node) | MP_EDGE_END, id_of(to));
}

static void begin(void)
{
    scene_begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 2);
}

static uint64_t launch_of(const char *name)
{
    return scene.deps.activities[find(name)].correlation;
}

/* a -> C(b -> c) -> d, in one stream. */
static void child_graphs_run_where_their_node_is(void **state)
{
    (void)state;
    begin();
    edge('a', 'C');
    inside('C', 'b', 'c');
    edge('b', 'c');
    edge_behind('C', 'd');
    run(7, "a", 12, 40, 2);
    run(7, "b", 42, 60, 2);
    run(7, "c", 63, 70, 2);
    run(7, "d", 72, 80, 2);
    put_stream_sync(7, 22, 83, 3);
    scene_load();
    assert_string_equal(bound("b"), "graph edge a");
    assert_string_equal(bound("c"), "graph edge b");
    assert_string_equal(bound("d"), "graph edge c");
    scene_end(SOUND);
}

/* a -> C(D(b)) -> d, and nothing inside of E: d waits for b, e for d. */
static void child_graphs_may_be_inside_of_others_or_empty(void **state)
{
    (void)state;
    begin();
    edge('a', 'C');
    put_edge(GRAPH, id_of('C'), id_of('C') | MP_EDGE_END);
    edge('C', 'D');
    put_edge(GRAPH, id_of('D') | MP_EDGE_END, id_of('C') | MP_EDGE_END);
    inside('D', 'b', 'b');
    edge_behind('C', 'd');
    edge('d', 'E');
    put_edge(GRAPH, id_of('E'), id_of('E') | MP_EDGE_END);
    edge_behind('E', 'e');
    run(7, "a", 12, 40, 2);
    run(7, "b", 42, 60, 2);
    run(7, "d", 62, 70, 2);
    run(7, "e", 72, 80, 2);
    scene_load();
    assert_string_equal(bound("b"), "graph edge a");
    assert_string_equal(bound("d"), "graph edge b");
    assert_string_equal(bound("e"), "graph edge d");
    scene_end(SOUND);
}

/* a -> W(b -> c) -> d, where the body runs twice. */
static void put_loop(void)
{
    begin();
    edge('a', 'W');
    body('W', 'b', 'c');
    edge('b', 'c');
    edge_behind('W', 'd');
}

static void each_pass_of_a_body_waits_for_the_one_before(void **state)
{
    (void)state;
    put_loop();
    run(7, "a", 12, 40, 2);
    run(BODY, "b1", 42, 50, 0);
    run(BODY, "c1", 52, 60, 0);
    run(BODY, "b2", 62, 70, 0);
    run(BODY, "c2", 72, 80, 0);
    run(7, "d", 82, 90, 2);
    put_stream_sync(7, 22, 93, 3);
    scene_load();
    assert_string_equal(bound("b1"), "graph edge a");
    assert_string_equal(bound("c1"), "graph edge b1");
    assert_string_equal(bound("b2"), "graph edge c1");
    assert_string_equal(bound("c2"), "graph edge b2");
    assert_string_equal(bound("d"), "graph edge c2");
    assert_int_equal(scene.deps.counts.unlaunched, 0);
    assert_string_equal(path(scene.windows.items),
                        "a 28, b1 8, b2 8, c1 8, c2 8, d 8 | launch 2, dependency 10, "
                        "return 3");
    scene_end(SOUND);
}

static void a_body_that_does_not_run_is_passed(void **state)
{
    (void)state;
    put_loop();
    run(7, "a", 12, 40, 2);
    run(7, "d", 42, 50, 2);
    scene_load();
    assert_string_equal(bound("d"), "graph edge a");
    scene_end(SOUND);
}

/* b and x begin each pass, and the shorter b ends before x begins: x waits for the pass before, of
 * which x ended last, and never for the b of its own pass. */
static void the_first_nodes_of_a_pass_do_not_wait_for_each_other(void **state)
{
    (void)state;
    begin();
    edge('a', 'W');
    body('W', 'b', 'b');
    edge('W', 'x');
    put_edge(GRAPH, id_of('x'), id_of('W') | MP_EDGE_END);
    edge_behind('W', 'd');
    run(7, "a", 12, 40, 2);
    run(BODY, "b1", 42, 43, 0);
    run(BODY, "x1", 45, 60, 0);
    run(BODY, "b2", 62, 63, 0);
    run(BODY, "x2", 65, 80, 0);
    run(7, "d", 82, 90, 2);
    scene_load();
    assert_string_equal(bound("x1"), "graph edge a");
    assert_string_equal(bound("b2"), "graph edge x1");
    assert_string_equal(bound("x2"), "graph edge x1");
    assert_string_equal(bound("d"), "graph edge x2");
    scene_end(SOUND);
}

/* Two launches in the queue: what follows a node with a correlation id has that. */
static void bodies_behind_a_node_are_of_its_launch(void **state)
{
    (void)state;
    put_loop();
    put_call(1, "cudaGraphLaunch", 22, 30, 3);
    run(7, "a", 32, 40, 2);
    run(BODY, "b1", 42, 50, 0);
    run(BODY, "c1", 52, 60, 0);
    run(7, "a2", 62, 70, 3);
    run(BODY, "b2", 72, 80, 0);
    run(BODY, "c2", 82, 90, 0);
    scene_load();
    assert_int_equal(launch_of("c1"), 2);
    assert_int_equal(launch_of("b2"), 3);
    assert_string_equal(bound("b2"), "graph edge a2");
    scene_end(SOUND);
}

/* The loop begins the graph: it is of the launch that runs next, unless that was called later. */
static void bodies_ahead_of_all_nodes_are_of_the_launch_behind(void **state)
{
    (void)state;
    begin();
    body('W', 'b', 'b');
    edge_behind('W', 'd');
    put_call(1, "cudaGraphLaunch", 22, 30, 3);
    run(BODY, "b1", 42, 50, 0);
    run(7, "d1", 52, 60, 2);
    run(BODY, "b2", 62, 70, 0);
    run(7, "d2", 72, 80, 3);
    run(BODY, "b3", 82, 84, 0);
    put_call(1, "cudaGraphLaunch", 92, 96, 4);
    run(7, "d3", 98, 99, 4);
    scene_load();
    assert_int_equal(launch_of("b1"), 2);
    assert_int_equal(launch_of("b2"), 3);
    assert_int_equal(launch_of("b3"), 3);
    assert_string_equal(bound("d2"), "graph edge b2");
    scene_end(SOUND);
}

/* An executable graph does not run beside itself. */
static void a_launch_waits_for_the_one_before_in_another_stream(void **state)
{
    (void)state;
    begin();
    edge('a', 'b');
    run(7, "a", 12, 40, 2);
    run(7, "b", 42, 60, 2);
    put_call(1, "cudaGraphLaunch", 22, 30, 3);
    run(8, "a2", 63, 70, 3);
    run(8, "b2", 72, 80, 3);
    scene_load();
    assert_string_equal(bound("a2"), "event b");
    scene_end(SOUND);
}

/* Edges that no recorder writes. */
static void odd_edges_do_no_harm(void **state)
{
    (void)state;
    begin();
    put_edge(GRAPH, id_of('a') | MP_EDGE_END, id_of('a'));
    put_edge(GRAPH, id_of('X') | MP_EDGE_END, id_of('Y') | MP_EDGE_END);
    put_edge(GRAPH, id_of('b') | MP_EDGE_END, id_of('b') | MP_EDGE_END);
    body('W', 'W', 'W');
    body('V', 'c', 'V');
    run(7, "a", 12, 40, 2);
    run(7, "b", 42, 60, 0);
    run(7, "c", 62, 70, 0);
    run(7, "c2", 72, 80, 0);
    run(7, "W", 82, 90, 0);
    put_node(7, "alone", GRAPH + 1, 1, 92, 94, 0);
    put_stream_sync(7, 22, 96, 3);
    scene_load();
    scene_end(UNSOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_graphs_run_where_their_node_is),
        cmocka_unit_test(child_graphs_may_be_inside_of_others_or_empty),
        cmocka_unit_test(each_pass_of_a_body_waits_for_the_one_before),
        cmocka_unit_test(a_body_that_does_not_run_is_passed),
        cmocka_unit_test(the_first_nodes_of_a_pass_do_not_wait_for_each_other),
        cmocka_unit_test(bodies_behind_a_node_are_of_its_launch),
        cmocka_unit_test(bodies_ahead_of_all_nodes_are_of_the_launch_behind),
        cmocka_unit_test(a_launch_waits_for_the_one_before_in_another_stream),
        cmocka_unit_test(odd_edges_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
