/* The rules of `advise` on layers, slow_layer and reformat_layers, on loops in which shares,
 * medians and gains are known by hand, and on ones that stay just below a threshold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "unit/reports/advise_fixture.h"

/* A launch in a range of its own: 6 us of the thread from `t` on. */
static void put_layer(const char *layer, const char *kernel, uint64_t t, uint64_t begin,
                      uint64_t end, uint64_t id)
{
    put_nvtx_range(layer, t, t + 6);
    put_launch(7, kernel, t, begin, end, id);
}

/* ---- slow_layer ----
 *
 *     thread   1|slow: a1, a2|14|others, 6 each|        64|wait                             | +5|
 * +5 stream                                       100|a1 30 + more| +10 |a2 20| +10 |o 20| +10 ...
 *
 * `others` layers of 20 us; the slow one takes 50 + more. */
static uint64_t others;
static const char *slow_name, *other_type; /* NULL: "slow", and no object of TensorRT */

static void put_others(uint64_t t, uint64_t id, uint64_t begin)
{
    for (uint64_t i = 0; i < others; i++) {
        char name[256], kernel[16];

        snprintf(kernel, sizeof kernel, "o %u", (unsigned)i);
        if (other_type)
            snprintf(name, sizeof name, "{\"Name\": \"o %u\", \"LayerType\": \"%s\"}", (unsigned)i,
                     other_type);
        else
            snprintf(name, sizeof name, "layer %u", (unsigned)i);
        put_layer(name, kernel, t + 14 + 6 * i, begin + 30 * i, begin + 30 * i + 20, id + i);
    }
}

static void put_net(uint64_t t, uint64_t id, uint64_t more)
{
    put_nvtx_range(slow_name ? slow_name : "slow", t + 1, t + 14);
    put_launch(7, "a1", t + 2, t + 100, t + 130 + more, id);
    put_launch(7, "a2", t + 8, t + 140 + more, t + 160 + more, id + 1);
    put_others(t, id + 2, t + 170 + more);
    put_stream_sync(7, t + 64, t + 165 + more + 30 * others, id + 50);
}

static void load_net(uint64_t count, uint64_t more)
{
    others = count;
    put_loop(LOOPS, 180 + 30 * count, 170 + 30 * count, more, put_net);
    advise_loop();
}

/* Of 180 us of the GPU 60 are a third; of the path 360 of 6 * 370 - 10. */
static void one_layer_dominates(void **state)
{
    const struct advise_finding *one;

    (void)state;
    slow_name = other_type = NULL;
    load_net(6, 10);
    expect_gain(ADVISE_SLOW_LAYER, 30000);
    one = finding(ADVISE_SLOW_LAYER);
    assert_string_equal(one->title, "One layer dominates the GPU's time");
    expect_number(ADVISE_SLOW_LAYER, "layer_ns", 60000);
    expect_number(ADVISE_SLOW_LAYER, "step_percent", 16); /* 60 of 370 */
    expect_number(ADVISE_SLOW_LAYER, "gpu_percent", 33);
    expect_number(ADVISE_SLOW_LAYER, "critical_percent", 16);
    expect_number(ADVISE_SLOW_LAYER, "kernels", 2);
    expect_number(ADVISE_SLOW_LAYER, "layer_calls", LOOPS);
    expect_number(ADVISE_SLOW_LAYER, "call_p50_ns", 60000);
    expect_number(ADVISE_SLOW_LAYER, "others", 6);
    expect_number(ADVISE_SLOW_LAYER, "median_ns", 20000);
    expect_number(ADVISE_SLOW_LAYER, "bound_ns", 60000);
    assert_int_equal(one->line_count, 3);
    assert_string_equal(one->lines[0].name, "it > slow");
    assert_string_equal(one->lines[0].text, "P50 60.00us of 6 calls");
    assert_string_equal(one->lines[1].name, "a1");
    assert_string_equal(one->lines[2].name, "a2");
    advised();
}

static void less_than_a_third_is_no_finding(void **state)
{
    (void)state;
    slow_name = other_type = NULL;
    load_net(7, 20); /* 70 of 210 */
    expect_gain(ADVISE_SLOW_LAYER, 35000);
    advised();
    load_net(7, 19); /* 69 of 209 */
    expect_none(ADVISE_SLOW_LAYER);
    advised();
}

static void less_than_three_times_the_median_is_no_finding(void **state)
{
    (void)state;
    slow_name = other_type = NULL;
    load_net(2, 10); /* 60 and 20: 60 of 100 us */
    expect_gain(ADVISE_SLOW_LAYER, 30000);
    advised();
    load_net(2, 9);
    expect_none(ADVISE_SLOW_LAYER);
    advised();
}

/* With two there is no median; the kernel a1 takes 230 of 410 us. */
static void too_few_layers_leave_the_kernel(void **state)
{
    (void)state;
    slow_name = other_type = NULL;
    load_net(1, 200);
    expect_gain(ADVISE_SLOW_LAYER, 115000);
    assert_string_equal(finding(ADVISE_SLOW_LAYER)->title,
                        "One kernel dominates the critical path");
    assert_string_equal(finding(ADVISE_SLOW_LAYER)->lines[0].name, "a1");
    advised();
}

/* What is launched in the iteration, but in no layer, is none. */
static void put_own_work(uint64_t t, uint64_t id, uint64_t more)
{
    uint64_t begin = t + 170 + more + 30 * others;

    put_net(t, id, more);
    put_launch(7, "own", t + 58, begin, begin + 1000, id + 49);
    put_stream_sync(7, begin, begin + 1005, id + 51);
}

static void the_iteration_is_no_layer(void **state)
{
    (void)state;
    slow_name = other_type = NULL;
    others = 6;
    put_loop(LOOPS, 1500, 1400, 10, put_own_work);
    advise_loop();
    expect_gain(ADVISE_SLOW_LAYER, 500000);
    assert_string_equal(finding(ADVISE_SLOW_LAYER)->lines[0].name, "own");
    advised();
}

#define TRT(name, type) "{\"Name\": \"" name "\", \"LayerType\": \"" type "\"}"

/* Layers are compared with those of their type, if there are two of it. */
static void layers_of_a_type_are_compared(void **state)
{
    (void)state;
    slow_name = TRT("conv", "Convolution");
    other_type = "Convolution";
    load_net(6, 10);
    expect_gain(ADVISE_SLOW_LAYER, 30000);
    assert_non_null(strstr(finding(ADVISE_SLOW_LAYER)->evidence, "6 other layers of its type"));
    assert_string_equal(finding(ADVISE_SLOW_LAYER)->lines[0].name, "it > conv");
    advised();
    other_type = "Scale";
    load_net(6, 10);
    assert_non_null(strstr(finding(ADVISE_SLOW_LAYER)->evidence, "6 other layers takes"));
    advised();
}

/* Two more convolutions of 40 us, and scales of 10: three times their median is 120. */
static void put_types(uint64_t t, uint64_t id, uint64_t more)
{
    static const char *const names[] = {
        TRT("c1", "Convolution"), TRT("c2", "Convolution"), TRT("s1", "Scale"),
        TRT("s2", "Scale"),       TRT("s3", "Scale"),
    };
    uint64_t begin = t + 110 + 60;

    put_layer(more ? TRT("c0", "MatrixMultiply") : TRT("c0", "Convolution"), "c0", t + 2, t + 100,
              t + 160, id);
    for (uint64_t i = 0; i < 5; i++) {
        uint64_t length = i < 2 ? 40 : 10;

        put_layer(names[i], "o", t + 8 + 6 * i, begin, begin + length, id + 1 + i);
        begin += length + 10;
    }
    put_stream_sync(7, t + 50, begin, id + 50);
}

static void other_types_do_not_count(void **state)
{
    (void)state;
    put_loop(LOOPS, 400, 350, 0, put_types);
    advise_loop();
    expect_none(ADVISE_SLOW_LAYER);
    advised();
    put_loop(LOOPS, 400, 350, 1, put_types);
    advise_loop();
    expect_number(ADVISE_SLOW_LAYER, "others", 5);
    expect_number(ADVISE_SLOW_LAYER, "median_ns", 10000);
    advised();
}

/* Through a CUDA graph: two nodes that begin at once, captured in two layers, are told apart by
 * their times; "fast" has three more kernels behind.
 *
 *     thread   10|cudaGraphLaunch|15|wait                    | +5| +5
 *     stream 7    20|node 1: fast 10|30
 *     stream 8    20|node 2: slow 200                   |220
 *     stream 7                            230|node 3: c 10|  250|node 4: d 10|
 */
static void put_captured(uint64_t node, const char *name)
{
    mp_append_path(scene.writer, &(struct mp_row_path){.id = node, .name = put_string(name)});
    mp_append_captured(
        scene.writer,
        &(struct mp_row_captured){.graph = 2, .graph_node = node, .path = node, .thread = 1});
}

static void put_graph_net(uint64_t t, uint64_t id, uint64_t more)
{
    (void)more;
    put_call(1, "cudaGraphLaunch", t + 10, t + 15, id);
    /* In the file stream 7 is first, but of the two nodes that of stream 8. */
    put_node(7, "c", 2, 3, t + 230, t + 240, id);
    put_node(8, "slow", 2, 2, t + 20, t + 220, id);
    put_node(7, "fast", 2, 1, t + 20, t + 30, id);
    put_node(7, "d", 2, 4, t + 250, t + 260, id);
    put_context_sync(t + 16, t + 265, id + 1);
}

static void layers_are_found_through_graphs(void **state)
{
    (void)state;
    put_loop(LOOPS, 300, 270, 0, put_graph_net);
    put_captured(1, "fast");
    put_captured(2, "slow");
    put_captured(3, "c");
    put_captured(4, "d");
    put_edge(2, 1, 3);
    put_edge(2, 2, 3);
    put_edge(2, 3, 4);
    advise_loop();
    expect_gain(ADVISE_SLOW_LAYER, 100000);
    expect_number(ADVISE_SLOW_LAYER, "layer_ns", 200000);
    expect_number(ADVISE_SLOW_LAYER, "median_ns", 10000);
    expect_number(ADVISE_SLOW_LAYER, "bound_ns", 190000); /* node 1 takes 10 */
    assert_string_equal(finding(ADVISE_SLOW_LAYER)->lines[0].name, "it > slow");
    assert_string_equal(finding(ADVISE_SLOW_LAYER)->lines[1].name, "slow");
    advised();
}

/* ---- reformat_layers ----
 *
 *     thread   2|in|8|k|14|r|20|s|26|d|32|end|40|wait
 *     stream   100|in 20|  130|k 100 + more|  +10|r 10|  +10|s 5|  +10|d 7|  +10|end 10|  return 5
 *
 * Without r, s and d `end` begins 10 us behind k: 22 us of work and three gaps less. */
static void put_moves(uint64_t t, uint64_t id, uint64_t more)
{
    put_nvtx_range("input copy", t + 2, t + 8);
    put_call(1, "cudaMemcpyAsync", t + 2, t + 7, id);
    put_copy(7, MP_copy_kind_HtoD, ASYNCHRONOUS, t + 100, t + 120, id);
    put_layer("k", "k", t + 8, t + 130, t + 230 + more, id + 1);
    put_nvtx_range("Reformatting CopyNode for Input Tensor 0 to conv", t + 14, t + 20);
    put_layer("cast", "r", t + 14, t + 240 + more, t + 250 + more, id + 2);
    put_layer(TRT("out", "Reformat"), "s", t + 20, t + 260 + more, t + 265 + more, id + 3);
    put_nvtx_range("device copy", t + 26, t + 32);
    put_call(1, "cudaMemcpyAsync", t + 26, t + 31, id + 4);
    put_copy(7, MP_copy_kind_DtoD, ASYNCHRONOUS, t + 275 + more, t + 282 + more, id + 4);
    put_layer("end", "end", t + 32, t + 292 + more, t + 302 + more, id + 5);
    put_stream_sync(7, t + 40, t + 307 + more, id + 6);
}

static void layers_that_compute_nothing(void **state)
{
    const struct advise_finding *one;

    (void)state;
    put_loop(LOOPS, 320, 312, 0, put_moves);
    advise_loop();
    expect_gain(ADVISE_REFORMAT_LAYERS, 52000);
    expect_number(ADVISE_REFORMAT_LAYERS, "layers", 3);
    expect_number(ADVISE_REFORMAT_LAYERS, "activities", 3);
    expect_number(ADVISE_REFORMAT_LAYERS, "layers_ns", 22000);
    expect_number(ADVISE_REFORMAT_LAYERS, "gpu_percent", 14); /* 22 of 152 */
    one = finding(ADVISE_REFORMAT_LAYERS);
    assert_int_equal(one->line_count, 3);
    assert_string_equal(one->lines[0].name,
                        "it > Reformatting CopyNode for Input Tensor 0 to conv > cast");
    assert_string_equal(one->lines[1].name, "it > device copy");
    assert_string_equal(one->lines[2].name, "it > out");
    assert_string_equal(one->lines[2].text, "5.000us");
    advised();
    expect_limit(ADVISE_REFORMAT_LAYERS, 320, 312, 4880, put_moves);
}

static void layers_that_compute_are_none(void **state)
{
    (void)state;
    slow_name = other_type = NULL;
    load_net(6, 0);
    expect_none(ADVISE_REFORMAT_LAYERS);
    advised();
}

/* ---- Without layers ---- */

static void put_plain(uint64_t t, uint64_t id, uint64_t more)
{
    put_launch(7, "k", t + 2, t + 20, t + 120 + more, id);
    put_stream_sync(7, t + 10, t + 125 + more, id + 1);
}

static void an_iteration_alone_has_no_layers(void **state)
{
    (void)state;
    put_loop(LOOPS, 150, 130, 0, put_plain);
    advise_loop();
    assert_int_equal(advice.reasons[ADVISE_REFORMAT_LAYERS], ADVISE_NO_LAYERS);
    assert_string_equal(finding(ADVISE_SLOW_LAYER)->lines[0].name, "k");
    advised();
}

/* A hundred thousand names are not of layers. */
static void put_many(uint64_t t, uint64_t id, uint64_t more)
{
    static unsigned number;

    (void)id;
    (void)more;
    for (uint64_t i = 0; i < 16700; i++) {
        char name[32];

        snprintf(name, sizeof name, "request %u", number);
        put_layer(name, "k", t + 6 * i, t + 6 * i + 6, t + 6 * i + 7, 1000 + number++);
    }
}

static void too_many_names_are_no_layers(void **state)
{
    (void)state;
    put_loop(LOOPS, 120000, 110000, 0, put_many);
    advise_loop();
    assert_int_equal(advice.reasons[ADVISE_REFORMAT_LAYERS], ADVISE_NO_LAYERS);
    advised();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_layer_dominates),
        cmocka_unit_test(less_than_a_third_is_no_finding),
        cmocka_unit_test(less_than_three_times_the_median_is_no_finding),
        cmocka_unit_test(too_few_layers_leave_the_kernel),
        cmocka_unit_test(the_iteration_is_no_layer),
        cmocka_unit_test(layers_of_a_type_are_compared),
        cmocka_unit_test(other_types_do_not_count),
        cmocka_unit_test(layers_are_found_through_graphs),
        cmocka_unit_test(layers_that_compute_nothing),
        cmocka_unit_test(layers_that_compute_are_none),
        cmocka_unit_test(an_iteration_alone_has_no_layers),
        cmocka_unit_test(too_many_names_are_no_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
