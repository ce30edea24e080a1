/* Layers through CUDA graphs: captured paths under the ranges that launched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "unit/layers/layers_fixture.h"

static void put_captured_path(uint64_t id, uint64_t parent, const char *domain, const char *name)
{
    mp_append_path(scene.writer, &(struct mp_row_path){.id = id,
                                                       .parent = parent,
                                                       .domain = domain ? put_string(domain) : 0,
                                                       .name = put_string(name)});
}

static void put_captured(uint64_t node, uint64_t path)
{
    mp_append_captured(
        scene.writer,
        &(struct mp_row_captured){.graph = 2, .graph_node = node, .path = path, .thread = 1});
}

/* Graph 2: node 1 in model>conv, node 2 in model, node 3 in nothing, node 4 in warm>it>conv@lib. */
static void put_graph_nodes(void)
{
    put_captured_path(1, 0, NULL, "model");
    put_captured_path(2, 1, NULL, "conv");
    put_captured_path(3, 0, NULL, "warm");
    put_captured_path(4, 3, NULL, "it");
    put_captured_path(5, 4, "lib", "conv");
    put_captured(1, 2);
    put_captured(2, 1);
    put_captured(4, 5);
}

static void put_graph_launch(uint64_t call, uint64_t begin, uint64_t correlation)
{
    put_call(1, "cudaGraphLaunch", call, call + 5, correlation);
    put_node(1, "a", 2, 1, begin, begin + 10, correlation);
    put_node(1, "b", 2, 2, begin + 20, begin + 25, correlation);
    put_node(1, "c", 2, 3, begin + 30, begin + 33, correlation);
    put_node(1, "d", 2, 4, begin + 40, begin + 41, correlation);
}

static void captured_paths_are_under_the_launch(void **state)
{
    const struct layer *layer;

    (void)state;
    scene_begin();
    put_graph_nodes();
    push("it", 10);
    put_graph_launch(12, 100, 1);
    put_graph_launch(22, 200, 2); /* the same range launches twice */
    pop(30);
    push("it", 31);
    put_graph_launch(32, 300, 3);
    pop(40);
    layers_load();
    assert_string_equal(said(), "it 57/9 x2, it>model 45/15 x3, it>model>conv 30/30 x3, "
                                "it>conv@lib 3/3 x3");
    layer = layer_called("it");
    assert_int_equal(layer->total->launches, 3);
    assert_int_equal(layer->self->launch_time, 15000);
    assert_int_equal(layer_called("it>model")->total->launches, 0);
    assert_int_equal(layer_called("it>model")->device.p50, 15000);
    assert_int_equal(layer_called("it>model")->instances, 3);
    layers_done();
}

static void a_launch_without_a_range_leaves_the_captured_path(void **state)
{
    (void)state;
    scene_begin();
    put_graph_nodes();
    put_graph_launch(12, 100, 1);
    put_graph_launch(22, 200, 2);
    layers_load();
    assert_string_equal(said(), "model 30/10 x2, model>conv 20/20 x2, - 6/6 x0, warm 2/0 x2, "
                                "warm>it 2/0 x2, warm>it>conv@lib 2/2 x2");
    layers_done();
}

static void captured_layers_need_no_calls(void **state)
{
    (void)state;
    scene_begin();
    put_graph_nodes();
    put_node(1, "a", 2, 1, 100, 110, 1);
    put_node(1, "a", 2, 1, 200, 210, 2);
    put_node(1, "b", 2, 2, 120, 125, 1);
    layers_load();
    assert_true(result.no_calls && !result.by_position);
    assert_string_equal(said(), "model 25/5 x2, model>conv 20/20 x2");
    assert_int_equal(layer_called("model")->device.max, 15000);
    assert_int_equal(result.unlaunched, 3);
    layers_done();
}

static void launches_that_overlap_are_told_apart(void **state)
{
    (void)state;
    scene_begin();
    put_graph_nodes();
    put_call(1, "cudaGraphLaunch", 10, 15, 1);
    put_call(1, "cudaGraphLaunch", 20, 25, 2);
    for (uint64_t i = 0; i < 4; i++) { /* on two streams, in turn */
        put_node(1, "a", 2, 1, 100 + 10 * i, 101 + 10 * i, 1);
        put_node(2, "a", 2, 1, 105 + 10 * i, 107 + 10 * i, 2);
    }
    layers_load();
    assert_string_equal(said(), "model 12/0 x2, model>conv 12/12 x2");
    assert_int_equal(layer_called("model>conv")->device.min, 4000);
    assert_int_equal(layer_called("model>conv")->device.max, 8000);
    layers_done();
}

static void captured_paths_keep_to_the_domain(void **state)
{
    struct layers_options options = {.domain = "lib"};

    (void)state;
    scene_begin();
    put_graph_nodes();
    push("it", 10);
    put_graph_launch(12, 100, 1);
    load_with(options);
    assert_string_equal(said(), "- 18/18 x0, conv@lib 1/1 x1");
    layers_done();
}

static void expect_gaps(const char *path, uint64_t gaps, uint64_t total)
{
    const struct layer *layer = layer_called(path);

    assert_int_equal(layer->self->gaps, gaps);
    assert_int_equal(layer->self->gap_time, total * 1000);
}

static void gaps_of_captured_layers_go_by_launch(void **state)
{
    (void)state;
    scene_begin();
    put_graph_nodes();
    push("it", 10);
    put_graph_launch(12, 100, 1); /* a 100-110, b 120-125, c 130-133, d 140-141 */
    put_graph_launch(22, 200, 2);
    pop(30);
    put_launch(1, "e", 50, 300, 301, 3);
    layers_load();
    expect_gaps("it>model>conv", 2, 20);    /* to b, both times */
    expect_gaps("it>model", 2, 10);         /* to c */
    expect_gaps("it>conv@lib", 2, 59 + 59); /* to the next launch, and to e */
    expect_gaps("it", 1, 59);
    layers_done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_paths_are_under_the_launch),
        cmocka_unit_test(a_launch_without_a_range_leaves_the_captured_path),
        cmocka_unit_test(captured_layers_need_no_calls),
        cmocka_unit_test(launches_that_overlap_are_told_apart),
        cmocka_unit_test(captured_paths_keep_to_the_domain),
        cmocka_unit_test(gaps_of_captured_layers_go_by_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
