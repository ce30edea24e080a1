/* Every rule of `advise` on kernels, the host and memory on a loop in which its gain is known by
 * hand, and on one that stays just below its threshold; and a loop that leaves nothing to wish.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "unit/reports/advise_fixture.h"

/* ---- small_kernels ----
 *
 *     thread   10|l|16|l|22|l|28|l|36|wait                     79| 84
 *     stream              40|k|44  50|k|54  60|k|64  70|k|74
 *
 * As one kernel: 18 us of gaps less. `more` is added to each kernel, and to its gap taken off. */
static void put_small(uint64_t t, uint64_t id, uint64_t more)
{
    for (uint64_t k = 0; k < 4; k++)
        put_launch(7, "k", t + 10 + 6 * k, t + 40 + 10 * k, t + 44 + 10 * k + more, id + k);
    put_stream_sync(7, t + 36, t + 79 + more, id + 4);
}

/* The last two take 6 us. */
static void put_two_small(uint64_t t, uint64_t id, uint64_t more)
{
    (void)more;
    for (uint64_t k = 0; k < 4; k++)
        put_launch(7, "k", t + 10 + 6 * k, t + 40 + 10 * k, t + 44 + 10 * k + (k < 2 ? 0 : 2),
                   id + k);
    put_stream_sync(7, t + 36, t + 81, id + 4);
}

static void small_kernels_could_be_one(void **state)
{
    (void)state;
    put_loop(LOOPS, 100, 84, 0, put_small);
    advise_loop();
    expect_gain(ADVISE_SMALL_KERNELS, 18000);
    expect_number(ADVISE_SMALL_KERNELS, "runs", 1);
    expect_number(ADVISE_SMALL_KERNELS, "kernels", 4);
    expect_number(ADVISE_SMALL_KERNELS, "gaps_ns", 18000);
    advised();
    put_loop(LOOPS, 100, 84, 1, put_small); /* 5 us each */
    advise_loop();
    expect_none(ADVISE_SMALL_KERNELS);
    advised();
    put_loop(LOOPS, 100, 86, 0, put_two_small);
    advise_loop();
    expect_none(ADVISE_SMALL_KERNELS);
    advised();
}

/* ---- allocation ----
 *
 *     thread   10|cudaMalloc|60  65|l|71|wait      180|181|cudaFree|191  195
 *     stream                       75|k 100 + more|175
 */
static void put_allocation(uint64_t t, uint64_t id, uint64_t more)
{
    put_call(1, "cudaMalloc", t + 10, t + 60, id);
    put_launch(7, "k", t + 65, t + 75, t + 175 + more, id + 1);
    put_stream_sync(7, t + 71, t + 180 + more, id + 2);
    put_call(1, "cudaFree", t + 181 + more, t + 191 + more, id + 3);
}

static void allocation_in_the_loop(void **state)
{
    (void)state;
    put_loop(LOOPS, 200, 195, 0, put_allocation);
    advise_loop();
    expect_gain(ADVISE_ALLOCATION, 60000);
    expect_number(ADVISE_ALLOCATION, "calls", 2);
    expect_number(ADVISE_ALLOCATION, "calls_ns", 60000);
    advised();
    expect_limit(ADVISE_ALLOCATION, 200, 195, 5800, put_allocation);
}

/* ---- host_bound ----
 *
 *     thread   0  host code  100|l|106|wait           215| 220 .. 250
 *     stream                     110|k 100 + more|210
 *
 * 100 before the launch and 5 behind the wait, but behind the last wait: (6 * 105 - 5) / 6. */
static void put_host_code(uint64_t t, uint64_t id, uint64_t more)
{
    put_launch(7, "k", t + 100, t + 110, t + 210 + more, id);
    put_stream_sync(7, t + 106, t + 215 + more, id + 1);
}

static void the_gpu_waits_for_the_host(void **state)
{
    (void)state;
    put_loop(LOOPS, 250, 220, 0, put_host_code);
    advise_loop();
    expect_gain(ADVISE_HOST_BOUND, 104166);
    expect_number(ADVISE_HOST_BOUND, "idle_ns", 105000);
    advised();
    expect_limit(ADVISE_HOST_BOUND, 250, 220, 10166, put_host_code);
}

/* Steps that differ: 100 and 500, the host code 80 and 480 of them; a third is an outlier. The mean
 * gain is more than the P50. */
static void no_gain_is_more_than_the_step(void **state)
{
    static const uint64_t lengths[] = {100, 500, 5000};
    uint64_t t = BEGIN;

    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t end = t + lengths[i];

        put_nvtx_range("it", t, end);
        put_launch(7, "k", end - 20, end - 14, end - 5, 10 * i + 1);
        put_stream_sync(7, end - 13, end, 10 * i + 2);
        t = end;
    }
    advise_loop();
    assert_int_equal(advice.judged, 2);
    assert_int_equal(advice.step, 100000);
    expect_number(ADVISE_HOST_BOUND, "idle_ns", 280000);
    expect_gain(ADVISE_HOST_BOUND, 93333); /* 280 of 300, of 100 */
    advised();
}

/* ---- slow_layer ----
 *
 *     stream   20|a 50 + more|  +10 |b 100|  +10 |c 100|    return 5, host code 5
 */
static void put_slow(uint64_t t, uint64_t id, uint64_t more)
{
    put_launch(7, "a", t + 2, t + 20, t + 70 + more, id);
    put_launch(7, "b", t + 8, t + 80 + more, t + 180 + more, id + 1);
    put_launch(7, "c", t + 14, t + 190 + more, t + 290 + more, id + 2);
    put_stream_sync(7, t + 20, t + 295 + more, id + 3);
}

/* Of 6 * (310 + more) - 10 us 6 * (50 + more). */
static void one_kernel_dominates(void **state)
{
    (void)state;
    put_loop(LOOPS, 310, 300, 150, put_slow);
    advise_loop();
    expect_gain(ADVISE_SLOW_LAYER, 100000);
    expect_number(ADVISE_SLOW_LAYER, "critical_ns", UINT64_C(1200000));
    assert_string_equal(finding(ADVISE_SLOW_LAYER)->lines[0].name, "a");
    advised();
    put_loop(LOOPS, 310, 300, 80, put_slow); /* 780 of 2330 */
    advise_loop();
    expect_gain(ADVISE_SLOW_LAYER, 65000);
    advised();
    put_loop(LOOPS, 310, 300, 79, put_slow); /* 774 of 2324 */
    advise_loop();
    expect_none(ADVISE_SLOW_LAYER);
    advised();
}

/* ---- unused_streams ----
 *
 *     thread      10|l a|16|l b|22|wait                      227| 230
 *     stream 8      20|a 100 + more|120
 *     default                          122|b 100 + more|222
 *
 * b could begin 10 us after its launch, as a does: 134. */
static void put_default_stream(uint64_t t, uint64_t id, uint64_t more)
{
    put_launch(8, "a", t + 10, t + 20, t + 120, id);
    put_launch(7, "b", t + 16, t + 122, t + 222 + more, id + 1);
    put_context_sync(t + 22, t + 227 + more, id + 2);
}

static void the_default_stream_orders(void **state)
{
    (void)state;
    put_loop(LOOPS, 250, 230, 0, put_default_stream);
    put_null_stream(1, 7);
    advise_loop();
    expect_gain(ADVISE_UNUSED_STREAMS, 96000);
    expect_number(ADVISE_UNUSED_STREAMS, "by_default_stream", 1);
    advised();
    put_loop(LOOPS, 250, 230, 9351, put_default_stream); /* 96 of 9601 */
    put_null_stream(1, 7);
    advise_loop();
    expect_none(ADVISE_UNUSED_STREAMS);
    advised();
}

/* Nodes b and c need a only, and c runs behind b; it could begin at 30: 132 + 10. */
static void put_branches(uint64_t t, uint64_t id, uint64_t more)
{
    put_call(1, "cudaGraphLaunch", t + 10, t + 15, id);
    put_node(7, "a", 1, 1, t + 20, t + 30, id);
    put_node(7, "b", 1, 2, t + 32, t + 132, id);
    put_node(7, "c", 1, 3, t + 134, t + 234, id);
    put_stream_sync(7, t + 16, t + 239, id + 1);
    (void)more;
}

static void put_chain(uint64_t t, uint64_t id, uint64_t more)
{
    put_branches(t, id, more);
}

/* What c needs ended after b had begun: c did not wait for b. */
static void put_beside(uint64_t t, uint64_t id, uint64_t more)
{
    (void)more;
    put_call(1, "cudaGraphLaunch", t + 10, t + 15, id);
    put_node(7, "a", 1, 1, t + 20, t + 60, id);
    put_node(7, "b", 1, 2, t + 32, t + 50, id);
    put_node(7, "c", 1, 3, t + 72, t + 234, id);
    put_stream_sync(7, t + 16, t + 239, id + 1);
}

static void branches_of_a_graph_in_one_stream(void **state)
{
    (void)state;
    put_loop(LOOPS, 250, 244, 0, put_branches);
    put_edge(1, 1, 2);
    put_edge(1, 1, 3);
    advise_loop();
    expect_gain(ADVISE_UNUSED_STREAMS, 102000);
    expect_number(ADVISE_UNUSED_STREAMS, "by_graph", 1);
    advised();
    put_loop(LOOPS, 250, 244, 0, put_beside);
    put_edge(1, 1, 3);
    advise_loop();
    expect_none(ADVISE_UNUSED_STREAMS);
    advised();
    put_loop(LOOPS, 250, 244, 0, put_chain);
    put_edge(1, 1, 2);
    put_edge(1, 2, 3);
    advise_loop();
    expect_none(ADVISE_UNUSED_STREAMS);
    advised();
}

/* ---- tail ---- */

#define MANY 20

static uint64_t slow_one, longer;

static void put_tail(uint64_t t, uint64_t id, uint64_t more)
{
    uint64_t end = t + 90 + (id / 100 == slow_one ? longer : 0);

    (void)more;
    put_launch(7, "k", t + 2, t + 10, end, id);
    put_stream_sync(7, t + 8, end + 5, id + 1);
}

static void load_tail(uint64_t which, uint64_t by)
{
    slow_one = which;
    longer = by;
    scene_begin();
    for (uint64_t i = 1; i <= MANY; i++) {
        uint64_t t = BEGIN + i * 200;

        put_nvtx_range("it", t, t + 100 + (i == which ? by : 0));
        put_tail(t, 100 * i, 0);
    }
    advise_loop();
}

static void one_of_twenty_is_slow(void **state)
{
    (void)state;
    load_tail(7, 80);
    expect_gain(ADVISE_TAIL, 4000);
    expect_number(ADVISE_TAIL, "outliers", 1);
    expect_number(ADVISE_TAIL, "excess_ns", 80000);
    assert_int_equal(advice.judged, MANY - 1);
    assert_string_equal(finding(ADVISE_TAIL)->lines[1].name, "k");
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(finding(ADVISE_TAIL)->lines[i].iteration, 7);
    advised();
    load_tail(7, 39); /* 1.95 us of 200 */
    expect_none(ADVISE_TAIL);
    advised();
    load_tail(1, 80); /* warm-up */
    expect_none(ADVISE_TAIL);
    advised();
}

/* ---- page_faults ---- */

static void put_unified(unsigned kind, uint64_t value, uint64_t begin, uint64_t end)
{
    mp_append_unified(scene.writer, &(struct mp_row_unified){.kind = kind,
                                                             .value = value,
                                                             .start = begin * 1000,
                                                             .duration = (end - begin) * 1000});
}

/* 10 us of faults and 10 us of a migration, half of them at once: 15. */
static void put_faults(uint64_t t, uint64_t id, uint64_t more)
{
    put_host_code(t, id, more);
    put_unified(MP_unified_kind_gpu_page_fault, 4, t + 110, t + 120);
    put_unified(MP_unified_kind_bytes_HtoD, 65536, t + 115, t + 125);
    put_unified(MP_unified_kind_bytes_DtoH, 65536, t + 230 + more, t + 240 + more); /* outside */
}

static void pages_that_move(void **state)
{
    (void)state;
    put_loop(LOOPS, 250, 220, 0, put_faults);
    advise_loop();
    expect_gain(ADVISE_PAGE_FAULTS, 15000);
    expect_number(ADVISE_PAGE_FAULTS, "migrations", 1);
    expect_number(ADVISE_PAGE_FAULTS, "migrated_bytes", 65536);
    expect_number(ADVISE_PAGE_FAULTS, "gpu_fault_groups", 1);
    advised();
    expect_limit(ADVISE_PAGE_FAULTS, 250, 220, 1250, put_faults);
}

/* ---- Nothing to find ----
 *
 * A graph that keeps the GPU busy, launched in a layer while the one before it runs; copies on
 * streams of their own meanwhile, and the host waits for the result before. */
static void put_clean(uint64_t t, uint64_t id, uint64_t more)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};

    (void)more;
    put_call(1, "cudaMemcpyAsync", t + 1, t + 5, id);
    put_copy_of(8, MP_copy_kind_HtoD, ASYNCHRONOUS, MIB, t + 120, t + 220, id);
    put_nvtx_range("model", t + 10, t + 20);
    put_call(1, "cudaGraphLaunch", t + 10, t + 20, id + 1);
    for (uint64_t k = 0; k < 5; k++)
        put_node(7, names[k], 1, k + 1, t + 100 + 200 * k, t + 299 + 200 * k + (k != 4), id + 1);
    put_call(1, "cudaMemcpyAsync", t + 30, t + 35, id + 2);
    put_copy(9, MP_copy_kind_DtoH, ASYNCHRONOUS, t + 110, t + 160, id + 2);
    put_stream_sync(9, t + 40, t + 165, id + 3);
}

static void nothing_to_find(void **state)
{
    (void)state;
    put_loop(12, 1000, 1000, 0, put_clean);
    for (uint64_t k = 1; k < 5; k++)
        put_edge(1, k, k + 1);
    for (uint64_t stream = 7; stream <= 9; stream++)
        put_stream_flag(stream, MP_stream_flag_non_blocking);
    advise_loop();
    for (int rule = 0; rule < ADVISE_RULES; rule++) {
        if (advice.reasons[rule] == ADVISE_NO_SAMPLES)
            continue;
        if (rule != ADVISE_SMALL_GRIDS) /* the scene has no GPU */
            expect_none((enum advise_rule_id)rule);
    }
    advised();
}

/* ---- What cannot be judged ---- */

static void without_calls(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t i = 1; i <= 12; i++)
        put_kernel(7, "k", 100 * i, 100 * i + 50, i);
    advise_by(ITERATIONS_AUTO, NULL);
    assert_int_equal(advice.reasons[ADVISE_LAUNCH_BOUND], ADVISE_NO_CALLS);
    assert_int_equal(advice.reasons[ADVISE_NEEDLESS_WAIT], ADVISE_NO_CALLS);
    assert_int_equal(advice.reasons[ADVISE_SMALL_KERNELS], ADVISE_TRIED);
    advised();
}

static void a_single_iteration(void **state)
{
    (void)state;
    put_loop(1, 200, 195, 0, put_allocation);
    advise_loop();
    assert_int_equal(advice.reasons[ADVISE_ALLOCATION], ADVISE_NO_LOOP);
    assert_int_equal(advice.reasons[ADVISE_TAIL], ADVISE_NO_LOOP);
    assert_int_equal(advice.reasons[ADVISE_SLOW_LAYER], ADVISE_TRIED);
    advised();
    put_loop(9, 200, 195, 0, put_allocation);
    advise_loop();
    assert_int_equal(advice.reasons[ADVISE_TAIL], ADVISE_FEW);
    advised();
}

static void no_work_at_all(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaMalloc", 10, 20, 1);
    advise_by(ITERATIONS_AUTO, NULL);
    assert_int_equal(advice.count, 0);
    for (int rule = 0; rule < ADVISE_RULES; rule++)
        assert_int_equal(advice.reasons[rule], ADVISE_NO_WORK);
    advised();
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_kernels_could_be_one),
        cmocka_unit_test(allocation_in_the_loop),
        cmocka_unit_test(the_gpu_waits_for_the_host),
        cmocka_unit_test(no_gain_is_more_than_the_step),
        cmocka_unit_test(one_kernel_dominates),
        cmocka_unit_test(the_default_stream_orders),
        cmocka_unit_test(branches_of_a_graph_in_one_stream),
        cmocka_unit_test(one_of_twenty_is_slow),
        cmocka_unit_test(pages_that_move),
        cmocka_unit_test(nothing_to_find),
        cmocka_unit_test(without_calls),
        cmocka_unit_test(a_single_iteration),
        cmocka_unit_test(no_work_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
