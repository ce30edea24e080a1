/* Iterations: how each way finds them, and what belongs to them. Times in the scenes are us. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/layers/iterations_fixture.h"

/* ---- NVTX ---- */

static void put_steps(uint64_t first, uint64_t correlation)
{
    put_launch(7, "a", first + 2, first + 10, first + 15, correlation);
    put_nvtx_range("layer", first + 1, first + 19); /* in themselves: more time in all */
    put_nvtx_range("layer", first + 2, first + 18);
    put_nvtx_range("layer", first + 3, first + 17);
    put_nvtx_range("step", first, first + 20);
}

/* Those inside of others that repeat are none, nor those without work, nor what happens once. */
static void the_outermost_name_with_work(void **state)
{
    (void)state;
    scene_begin();
    put_steps(10, 1);
    put_nvtx_range("idle", 30, 90);
    put_steps(100, 2);
    put_nvtx_range("idle", 130, 190);
    put_nvtx_range("all", 5, 200);
    load(ITERATIONS_AUTO, NULL, 0);
    assert_string_equal(found.name, "step");
    assert_int_equal(found.count, 2);
    expect_window(1, 100, 120, 120);
    done();
}

/* Ranges that start and end as they like: a call counts in the one that began last. */
static void overlapping_ranges(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(MP_nvtx_kind_start, 1, NULL, "request", 10, 1);
    put_launch(7, "a", 15, 20, 30, 1);
    put_nvtx(MP_nvtx_kind_start, 1, NULL, "request", 40, 2);
    put_launch(7, "b", 45, 50, 60, 2);
    put_nvtx(MP_nvtx_kind_end, 1, NULL, NULL, 70, 2);
    put_launch(7, "c", 75, 80, 85, 3);
    put_nvtx(MP_nvtx_kind_end, 1, NULL, NULL, 90, 1);
    put_nvtx(MP_nvtx_kind_start, 1, NULL, "request", 95, 3);
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.unfinished, 1);
    assert_int_equal(found.of[find("a")], 0);
    assert_int_equal(found.of[find("b")], 1);
    assert_int_equal(found.of[find("c")], 0);
    expect(0, ITERATION_OTHERS, 10);
    done();
}

/* Two threads at the same time: calls of a third one belong to none. */
static void threads_have_their_own(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(MP_nvtx_kind_push, 1, NULL, "it", 10, 0);
    put_nvtx(MP_nvtx_kind_pop, 1, NULL, NULL, 50, 0);
    put_nvtx(MP_nvtx_kind_push, 2, NULL, "it", 20, 0);
    put_nvtx(MP_nvtx_kind_pop, 2, NULL, NULL, 80, 0);
    put_launch(7, "a", 25, 30, 40, 1);
    put_call(2, "cudaLaunchKernel", 27, 28, 2);
    put_kernel(8, "b", 35, 45, 2);
    put_call(3, "cudaLaunchKernel", 30, 31, 3);
    put_kernel(9, "c", 40, 50, 3);
    put_call(3, "cudaLaunchKernel", 60, 61, 4);
    put_kernel(9, "d", 62, 66, 4);
    load(ITERATIONS_NVTX, "it", 0);
    assert_int_equal(found.of[find("a")], 0);
    assert_int_equal(found.of[find("b")], 1);
    assert_int_equal(found.of[find("c")], DEPS_NONE);
    assert_int_equal(found.of[find("d")], 1);
    assert_int_equal(found.outside, 1);
    expect(0, ITERATION_OTHERS, 10); /* 40-50 */
    done();
}

/* ---- Capture ranges ---- */

static void capture_ranges(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 15, 20, 30, 1);
    put_launch(7, "late", 35, 60, 70, 2);
    put_kernel(7, "no call", 80, 85, 3);
    put_launch(7, "b", 115, 120, 130, 4);
    put_range(1, 10, 40, 1, 4);
    put_range(2, 110, 140, 4, 5);
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_RANGES);
    assert_int_equal(found.count, 2);
    expect_window(0, 10, 40, 85);
    expect_window(1, 110, 140, 140);
    assert_int_equal(found.of[find("no call")], 0);
    assert_int_equal(found.items[0].thread, 0);
    forget();
    analyse(ITERATIONS_RANGES, NULL, 2);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.outside, 3);
    forget();
    assert_int_equal(find_by(ITERATIONS_RANGES, NULL, 3), MP_ERR_ARGUMENT);
    scene_end(UNSOUND);
}

/* ---- Graphs ---- */

/* Two launches of graph 5, one of graph 6 that takes less, each with its input and output:
 *     HtoD 10, launch 20, DtoH 30, sync 40 to 80 */
static void put_graph_launch(uint64_t graph, uint64_t at, uint64_t correlation)
{
    put_call(1, "cudaMemcpyAsync", at, at + 5, correlation);
    put_copy(7, MP_copy_kind_HtoD, ASYNCHRONOUS, at + 6, at + 10, correlation);
    put_call(1, "cudaGraphLaunch", at + 10, at + 20, correlation + 1);
    put_node(7, "x", graph, 1, at + 25, at + 35, correlation + 1);
    put_node(7, "y", graph, 2, at + 35, at + 45, correlation + 1);
    put_call(1, "cudaMemcpyAsync", at + 22, at + 24, correlation + 2);
    put_copy(7, MP_copy_kind_DtoH, ASYNCHRONOUS, at + 46, at + 50, correlation + 2);
    put_stream_sync(7, at + 30, at + 55, correlation + 3);
}

static void graph_launches(void **state)
{
    (void)state;
    scene_begin();
    put_graph_launch(5, 10, 1);
    put_graph_launch(5, 110, 11);
    put_graph_launch(6, 210, 21);
    put_graph_launch(5, 310, 31);
    load(ITERATIONS_GRAPH, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_GRAPH);
    assert_int_equal(found.graph, 5);
    assert_int_equal(found.count, 3);
    expect_window(0, 10, 110, 110);  /* from the copy to the device on */
    expect_window(1, 110, 310, 310); /* the other graph is in it */
    expect_window(2, 310, 365, 365); /* until all of it was waited for */
    expect_count(1, ITERATION_KERNELS, 4);
    expect_count(2, ITERATION_COPIES, 2);
    expect(0, ITERATION_IDLE_SYNC, 5);
    done();
}

/* At graph level there are no nodes; one launch is one too when it is asked for. */
static void graphs_as_a_whole(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 1);
    put_graph(7, 3, 15, 40, 1);
    scene_load();
    analyse(ITERATIONS_GRAPH, NULL, 0);
    assert_int_equal(found.count, 1);
    expect_window(0, 10, 40, 40);
    expect(0, ITERATION_KERNEL, 25);
    forget();
    analyse(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_WHOLE);
    assert_non_null(strstr(found.why_whole, "no CUDA graph launched twice"));
    done();
}

/* ---- Kernels ---- */

/* Kernels a, b, c, and a wait now and then. */
static void put_kernels(const char *names, uint64_t at, uint64_t correlation)
{
    char name[2] = "";

    for (; *names; names++, at += 10, correlation++) {
        name[0] = *names;
        put_launch(7, name, at, at + 6, at + 9, correlation);
    }
}

static void repeating_kernels(void **state)
{
    (void)state;
    scene_begin();
    put_kernels("wxw", 100, 1);
    put_kernels("abcabcabcab", 200, 4);
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_KERNELS);
    assert_int_equal(found.period, 3);
    assert_int_equal(found.kernels_all, 14);
    /* The host pauses before the first a: it begins there. */
    assert_int_equal(found.count, 3);
    expect_window(0, 200, 230, 230);
    expect_window(2, 260, 290, 290); /* up to the incomplete one */
    assert_int_equal(found.kernels, 9);
    assert_int_equal(found.of[find("w")], DEPS_NONE);
    done();
}

/* Four equal layers are an iteration, since the host waits after each four. */
static void waits_tell_iterations_from_layers(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 4; i++) {
        put_kernels("abababab", 100 + i * 200, 1 + i * 10);
        put_stream_sync(7, 190 + i * 200, 195 + i * 200, 9 + i * 10);
    }
    load(ITERATIONS_KERNELS, NULL, 0);
    assert_int_equal(found.period, 8);
    assert_int_equal(found.count, 4);
    expect_window(1, 300, 500, 500);
    expect_window(3, 700, 795, 795); /* until its work was waited for */
    done();
}

/* Waits that come irregularly do not hide the period. */
static void irregular_waits(void **state)
{
    (void)state;
    scene_begin();
    put_kernels("abcabcabc", 100, 1);
    put_stream_sync(7, 188, 189, 10);
    put_kernels("abcabcab", 190, 11);
    put_stream_sync(7, 268, 269, 30);
    put_kernels("cabcabc", 270, 31);
    load(ITERATIONS_KERNELS, NULL, 0);
    assert_int_equal(found.period, 3);
    assert_in_range(found.count, 7, 8);
    done();
}

static void kernels_that_do_not_repeat(void **state)
{
    (void)state;
    scene_begin();
    put_kernels("abcdefgh", 100, 1);
    scene_load();
    assert_int_equal(find_by(ITERATIONS_KERNELS, NULL, 0), MP_ERR_ARGUMENT);
    assert_int_equal(find_by(ITERATIONS_GRAPH, NULL, 0), MP_ERR_ARGUMENT);
    assert_int_equal(find_by(ITERATIONS_NVTX, NULL, 0), MP_ERR_ARGUMENT);
    assert_int_equal(find_by(ITERATIONS_NVTX, "step", 0), MP_ERR_ARGUMENT);
    assert_int_equal(find_by(ITERATIONS_RANGES, NULL, 0), MP_ERR_ARGUMENT);
    analyse(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_WHOLE);
    expect_window(0, 100, 175, 179);
    assert_int_equal(found.outside, 0);
    done();
}

/* What repeats inside of one graph launch is no iteration: it has no begin on the host. */
static void repeats_in_one_launch(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaGraphLaunch", 10, 20, 1);
    for (uint64_t i = 0; i < 6; i++)
        put_node(7, i % 2 ? "b" : "a", 5, i + 1, 30 + i * 10, 38 + i * 10, 1);
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_WHOLE);
    done();
}

/* ---- Without calls, without work, without anything ---- */

static void without_calls(void **state)
{
    (void)state;
    scene_begin();
    put_kernel(7, "a", 20, 30, 0);
    put_kernel(7, "b", 50, 60, 0);
    put_kernel(7, "c", 80, 90, 0);
    put_nvtx_range("it", 10, 40);
    put_nvtx_range("it", 40, 70);
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_NVTX);
    assert_int_equal(found.of[find("b")], 1);
    assert_int_equal(found.outside, 1);
    expect(0, ITERATION_IDLE_UNKNOWN, 20);
    done();
}

static void without_work(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaMalloc", 10, 20, 1);
    put_nvtx_range("it", 5, 25);
    put_nvtx_range("it", 30, 40);
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_WHOLE);
    forget();
    analyse(ITERATIONS_NVTX, "it", 0);
    assert_int_equal(found.count, 2);
    expect(0, ITERATION_IDLE_SYNC, 10);
    expect(0, ITERATION_IDLE_HOST, 10);
    done();
}

/* Two thousand streams, pops without a push, pushes without a pop, and a step around each tenth. */
static void many_streams_and_unbalanced_ranges(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t at = 10 + i * 10;

        if (i % 10 == 0)
            put_nvtx(MP_nvtx_kind_push, 1, NULL, "step", at, 0);
        put_launch(1 + i % 999, "k", at, at + 6, at + 300, i + 1); /* context 1 */
        if (i % 2)
            put_kernel(ON(1 + i / 500, 1 + i % 999), "far", at, at + 2, 0);
        if (i % 10 == 9)
            put_nvtx(MP_nvtx_kind_pop, 1, NULL, NULL, at + 8, 0);
        put_nvtx(MP_nvtx_kind_pop, 2, NULL, NULL, at, 0);
        put_nvtx(MP_nvtx_kind_push, 3, NULL, "open", at, 0);
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_string_equal(found.name, "step");
    assert_int_equal(found.count, 200);
    assert_int_equal(found.pipelined, 199);
    done();
}

static void without_anything(void **state)
{
    (void)state;
    scene_begin();
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.way, ITERATIONS_WHOLE);
    expect(0, ITERATION_LATENCY, 0);
    assert_true(summary.throughput == 0 && summary.period == 0);
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_outermost_name_with_work),
        cmocka_unit_test(overlapping_ranges),
        cmocka_unit_test(threads_have_their_own),
        cmocka_unit_test(capture_ranges),
        cmocka_unit_test(graph_launches),
        cmocka_unit_test(graphs_as_a_whole),
        cmocka_unit_test(repeating_kernels),
        cmocka_unit_test(waits_tell_iterations_from_layers),
        cmocka_unit_test(irregular_waits),
        cmocka_unit_test(kernels_that_do_not_repeat),
        cmocka_unit_test(repeats_in_one_launch),
        cmocka_unit_test(without_calls),
        cmocka_unit_test(without_work),
        cmocka_unit_test(many_streams_and_unbalanced_ranges),
        cmocka_unit_test(without_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
