/* Layers: which work belongs to which path of NVTX ranges, and to which instance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "unit/layers/layers_fixture.h"

/* ---- Which layer ---- */

static void the_begin_of_the_call_decides(void **state)
{
    (void)state;
    scene_begin();
    push("first", 10);
    put_launch(1, "a", 18, 100, 130, 1); /* ends at 23, behind the range */
    pop(20);
    push("second", 21);
    put_launch(1, "b", 21, 130, 135, 2);
    pop(30);
    put_launch(1, "c", 30, 140, 141, 3);
    layers_load();
    assert_string_equal(said(), "first 30/30 x1, second 5/5 x1, - 1/1 x0");
    layers_done();
}

static void ranges_around_have_it_in_their_total(void **state)
{
    (void)state;
    scene_begin();
    push("outer", 10);
    put_launch(1, "a", 12, 100, 101, 1);
    push("inner", 20);
    put_launch(1, "b", 22, 102, 104, 2);
    put_launch(1, "b", 30, 104, 106, 3);
    pop(40);
    put_launch(1, "c", 42, 106, 110, 4);
    pop(60);
    push("inner", 70);
    put_launch(1, "b", 72, 110, 113, 5);
    pop(80);
    layers_load();
    assert_string_equal(said(), "outer 9/5 x1, outer>inner 4/4 x1, inner 3/3 x1");
    assert_int_equal(result.device, 12000);
    assert_int_equal(result.activities, 5);
    assert_true(layers_percent(&result, result.layers[0].total->device) == 75);
    assert_int_equal(layer_called("outer")->total->counts[LAYER_KERNEL], 4);
    assert_int_equal(layer_called("outer")->self->counts[LAYER_KERNEL], 2);
    layers_done();
}

static void a_call_is_an_instance_with_work(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 4; i++) {
        push("it", 100 * i + 10);
        push("idle", 100 * i + 11);
        pop(100 * i + 12);
        if (i != 2) {
            put_launch(1, "a", 100 * i + 20, 1000 + 20 * i, 1001 + 21 * i, 2 * i + 1);
            put_launch(1, "a", 100 * i + 30, 1010 + 20 * i, 1011 + 20 * i, 2 * i + 2);
        }
        pop(100 * i + 50);
    }
    layers_load();
    assert_string_equal(said(), "it 10/10 x3"); /* 2, 3 and 5 */
    assert_int_equal(result.layers[0].instances, 4);
    assert_true(result.layers[0].device.mean > 3333 && result.layers[0].device.mean < 3334);
    assert_int_equal(result.layers[0].device.p50, 3000);
    assert_int_equal(result.layers[0].device.p99, 5000);
    assert_int_equal(result.layers[0].device.min, 2000);
    load_again((struct layers_options){.all = true});
    assert_string_equal(said(), "it 10/10 x3, it>idle 0/0 x0");
    assert_int_equal(result.layers[1].instances, 4);
    layers_done();
}

static void domains_nest_by_time(void **state)
{
    struct layers_options one = {.domain = "lib"};
    struct layers_options none = {.domain = ""};

    (void)state;
    scene_begin();
    push("it", 10);
    put_nvtx(PUSH, 1, "lib", "conv", 20, 0);
    push("inside", 30);
    put_launch(1, "a", 32, 100, 110, 1);
    put_nvtx(POP, 1, "lib", NULL, 40, 0); /* while the other domain's is open */
    put_launch(1, "b", 42, 110, 115, 2);
    pop(50);
    put_launch(1, "c", 52, 115, 117, 3);
    pop(60);
    layers_load();
    assert_string_equal(said(), "it 17/2 x1, it>conv@lib 10/0 x1, it>conv@lib>inside 10/10 x1, "
                                "it>inside 5/5 x1");
    load_again(one);
    assert_string_equal(said(), "conv@lib 10/10 x1, - 7/7 x0");
    load_again(none);
    assert_string_equal(said(), "it 17/2 x1, it>inside 15/15 x1");
    layers_done();
}

static void ranges_that_overlap_nest_by_their_begin(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(START, 1, NULL, "r1", 10, 101);
    put_nvtx(START, 1, NULL, "r2", 20, 102);
    put_launch(1, "a", 22, 100, 110, 1);
    put_nvtx(END, 1, NULL, NULL, 30, 101);
    put_launch(1, "b", 32, 110, 115, 2);
    put_nvtx(END, 1, NULL, NULL, 40, 102);
    put_launch(1, "c", 42, 115, 116, 3);
    layers_load();
    assert_string_equal(said(), "r1 10/0 x1, r1>r2 10/10 x1, r2 5/5 x1, - 1/1 x0");
    layers_done();
}

static void put_launch_of(uint64_t thread, const char *name, uint64_t call, uint64_t begin,
                          uint64_t end, uint64_t correlation)
{
    put_call(thread, "cudaLaunchKernel", call, call + 5, correlation);
    put_kernel(1, name, begin, end, correlation);
}

static void a_started_range_counts_for_other_threads_where_it_is_clear(void **state)
{
    (void)state;
    scene_begin();
    put_nvtx(START, 1, NULL, "request", 10, 101);
    put_launch_of(1, "a", 12, 100, 101, 1);
    put_launch_of(2, "a", 12, 102, 104, 2);
    put_nvtx(PUSH, 2, NULL, "own", 20, 0);
    put_launch_of(2, "a", 22, 105, 109, 3); /* a push of the domain is open */
    put_nvtx(POP, 2, NULL, NULL, 30, 0);
    put_nvtx(PUSH, 2, "lib", "conv", 31, 0);
    put_launch_of(2, "a", 32, 110, 118, 4); /* of another domain: both */
    put_nvtx(START, 3, NULL, "other", 40, 102);
    put_launch_of(2, "a", 42, 120, 136, 5); /* two enclose it */
    put_launch_of(1, "a", 42, 140, 172, 6);
    put_nvtx(END, 2, NULL, NULL, 50, 101);
    put_launch_of(2, "a", 52, 180, 244, 7); /* one again */
    put_launch_of(1, "a", 52, 250, 378, 8);
    put_nvtx(POP, 2, "lib", NULL, 60, 0);
    layers_load();
    assert_string_equal(said(), "other 128/128 x1, conv@lib 80/16 x1, conv@lib>other 64/64 x1, "
                                "request 43/35 x1, request>conv@lib 8/8 x1, own 4/4 x1");
    layers_done();
}

static void of_calls_with_one_id_the_first_launched(void **state)
{
    const struct layer *layer;

    (void)state;
    scene_begin();
    push("it", 10);
    put_call(1, "cudaLaunchKernel", 12, 20, 1);
    put_call(1, "cuLaunchKernel", 14, 18, 1);
    put_kernel(1, "a", 30, 35, 1);
    put_call(1, "cudaMemcpyAsync", 21, 24, 2);
    put_copy(1, MP_copy_kind_HtoD, ASYNCHRONOUS, 40, 42, 2);
    put_call(1, "cudaStreamSynchronize", 25, 45, 3);
    pop(50);
    layers_load();
    layer = layer_called("it");
    assert_int_equal(layer->total->launches, 2);
    assert_int_equal(layer->total->launch_time, 11000);
    assert_int_equal(layer->total->counts[LAYER_KERNEL], 1);
    assert_int_equal(layer->total->counts[LAYER_COPY], 1);
    layers_done();
}

static void work_without_a_call_has_no_range(void **state)
{
    (void)state;
    scene_begin();
    push("it", 10);
    put_launch(1, "a", 12, 100, 110, 1);
    put_kernel(1, "b", 20, 23, 77);
    put_kernel(1, "c", 30, 31, 0);
    layers_load();
    assert_string_equal(said(), "it 10/10 x1, - 4/4 x0");
    assert_int_equal(result.unlaunched, 2);
    assert_int_equal(result.unfinished, 1);
    layers_done();
}

static void unbalanced_pops_and_deep_pushes_are_survived(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 5; i++)
        pop(1 + i);
    put_nvtx(END, 1, NULL, NULL, 6, 4711);
    for (uint64_t i = 0; i < UINT64_C(3) * LAYER_MAX_DEPTH; i++)
        push("deep", 10 + i);
    put_launch(1, "a", 1000, 2000, 2010, 1);
    for (uint64_t i = 0; i < UINT64_C(2) * LAYER_MAX_DEPTH; i++)
        pop(1010 + i);
    put_launch(1, "a", 1500, 2010, 2011, 2);
    pop(1510);
    put_launch(1, "a", 1520, 2011, 2013, 3);
    layers_load();
    assert_int_equal(result.count, LAYER_MAX_DEPTH);
    for (uint32_t i = 0; i < LAYER_MAX_DEPTH; i++) {
        const struct layer *layer = &result.layers[i];
        bool last = i + 1 == LAYER_MAX_DEPTH;

        assert_int_equal(layer->depth, i + 1);
        assert_int_equal(layer->total->device, last ? 11000 : 13000);
        assert_int_equal(layer->self->device, last ? 11000 : i + 2 == LAYER_MAX_DEPTH ? 2000 : 0);
        assert_int_equal(layer->calls, 1);
    }
    assert_int_equal(result.unfinished, LAYER_MAX_DEPTH - 1);
    layers_done();
}

/* ---- Gaps ---- */

static void expect_gaps(const char *path, uint64_t gaps, uint64_t total)
{
    const struct layer *layer = layer_called(path);

    assert_int_equal(layer->self->gaps, gaps);
    assert_int_equal(layer->self->gap_time, total * 1000);
}

static void gaps_are_to_the_next_activity_outside(void **state)
{
    (void)state;
    scene_begin();
    push("it", 10);
    push("x", 11);
    put_launch(1, "a", 12, 100, 110, 1);
    put_launch(1, "a", 13, 115, 120, 2); /* 5 us inside x are no gap */
    put_launch(2, "s", 14, 100, 500, 3); /* another stream */
    pop(20);
    push("y", 21);
    put_launch(1, "b", 22, 127, 130, 4); /* 7 behind x */
    pop(30);
    pop(31);
    push("it", 40);
    push("x", 41);
    put_launch(1, "a", 42, 150, 160, 5); /* 20 behind y and behind it */
    put_launch(1, "a", 43, 155, 165, 6); /* overlaps */
    pop(50);
    pop(51);
    layers_load();
    expect_gaps("it>x", 1, 7);
    expect_gaps("it>y", 1, 20);
    expect_gaps("it", 1, 20);
    layers_done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_begin_of_the_call_decides),
        cmocka_unit_test(ranges_around_have_it_in_their_total),
        cmocka_unit_test(a_call_is_an_instance_with_work),
        cmocka_unit_test(domains_nest_by_time),
        cmocka_unit_test(ranges_that_overlap_nest_by_their_begin),
        cmocka_unit_test(a_started_range_counts_for_other_threads_where_it_is_clear),
        cmocka_unit_test(of_calls_with_one_id_the_first_launched),
        cmocka_unit_test(work_without_a_call_has_no_range),
        cmocka_unit_test(unbalanced_pops_and_deep_pushes_are_survived),
        cmocka_unit_test(gaps_are_to_the_next_activity_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
