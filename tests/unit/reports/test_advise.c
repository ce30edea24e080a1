/* Every rule of `advise` on launches, copies and waits on a loop in which its gain is known by
 * hand, and on one that stays just below its threshold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "unit/reports/advise_fixture.h"

/* ---- launch_bound ----
 *
 *     thread   10|l0| .. 110|l1| .. 210|l2| .. 310|l3|316|wait         355| 360
 *     stream     20|k 30|  120|k 30|  220|k 30|  320|k 30 + more|350
 *
 * As a graph: kernels from 20 on one behind the other, 4 * 30; return 5, host code 5: 150. Of the
 * 210 us gained 3 nodes take 0.35 each. */
static void put_launches(uint64_t t, uint64_t id, uint64_t more)
{
    for (uint64_t k = 0; k < 4; k++)
        put_launch(7, "k", t + 10 + 100 * k, t + 20 + 100 * k, t + 50 + 100 * k + (k / 3) * more,
                   id + k);
    put_stream_sync(7, t + 316, t + 355 + more, id + 4);
}

static void put_other_launches(uint64_t t, uint64_t id, uint64_t more)
{
    static unsigned number;
    char name[16];

    put_launches(t, id, more);
    snprintf(name, sizeof name, "other %u", number++);
    put_launch(7, name, t + 340, t + 351, t + 353, id + 5);
}

static void launches_become_a_graph(void **state)
{
    (void)state;
    put_loop(LOOPS, 400, 360, 0, put_launches);
    advise_loop();
    expect_gain(ADVISE_LAUNCH_BOUND, 208950);
    expect_number(ADVISE_LAUNCH_BOUND, "kernels", 3);
    expect_number(ADVISE_LAUNCH_BOUND, "calls_ns", 15000);
    expect_number(ADVISE_LAUNCH_BOUND, "host_ns", 285000);
    assert_int_equal(advice.step, 400000);
    advised();
}

/* Idle for 20 before the first kernel, 3 * 70 between them and 5 at the end: 235 of 4700 is 5 %. */
static void launches_behind_long_kernels_stay(void **state)
{
    (void)state;
    expect_limit(ADVISE_LAUNCH_BOUND, 400, 360, 4340, put_launches);
}

static void launches_that_differ_stay(void **state)
{
    (void)state;
    put_loop(LOOPS, 400, 360, 0, put_other_launches);
    advise_loop();
    expect_none(ADVISE_LAUNCH_BOUND);
    advised();
}

/* ---- pageable_copies ----
 *
 *     thread   10|copy, pageable   217|220|copy|226|l|232|wait             345| 350
 *     stream      12|200 us        212|  230|50 us|280  290|k 50 + more|340
 *
 * Four times as fast, and not awaited: copies at 12 to 62 to 112, kernel 10 later, return and host
 * code 5 each: 182. */
static void put_pageable(uint64_t t, uint64_t id, uint64_t more)
{
    put_call(1, "cudaMemcpyAsync", t + 10, t + 217, id);
    put_copy_of(7, MP_copy_kind_HtoD, PAGEABLE, MIB, t + 12, t + 212, id);
    put_call(1, "cudaMemcpyAsync", t + 220, t + 225, id + 1);
    put_copy_of(7, MP_copy_kind_HtoD, ASYNCHRONOUS, MIB, t + 230, t + 280, id + 1);
    put_launch(7, "k", t + 226, t + 290, t + 340 + more, id + 2);
    put_stream_sync(7, t + 232, t + 345 + more, id + 3);
}

static void pageable_copies_are_slow(void **state)
{
    (void)state;
    put_loop(LOOPS, 400, 350, 0, put_pageable);
    advise_loop();
    expect_gain(ADVISE_PAGEABLE_COPIES, 168000);
    expect_number(ADVISE_PAGEABLE_COPIES, "copies", 1);
    expect_number(ADVISE_PAGEABLE_COPIES, "copied_bytes", MIB);
    expect_number(ADVISE_PAGEABLE_COPIES, "copies_ns", 200000);
    advised();
    expect_limit(ADVISE_PAGEABLE_COPIES, 400, 350, 16400, put_pageable);
}

/* ---- synchronous_copies ----
 *
 *     thread   10|copy         115|120|l|126|wait       185| 190
 *     stream      20|90 us  110|        130|k 50 + more|180
 *
 * Not awaited, the kernel is launched in time and begins at 110: 170. */
static void put_synchronous(uint64_t t, uint64_t id, uint64_t more)
{
    put_call(1, "cudaMemcpy", t + 10, t + 115, id);
    put_copy(7, MP_copy_kind_HtoD, BLOCKING_COPY, t + 20, t + 110, id);
    put_launch(7, "k", t + 120, t + 130, t + 180 + more, id + 1);
    put_stream_sync(7, t + 126, t + 185 + more, id + 2);
}

static void synchronous_copies_hold_up(void **state)
{
    (void)state;
    put_loop(LOOPS, 200, 190, 0, put_synchronous);
    advise_loop();
    expect_gain(ADVISE_SYNCHRONOUS_COPIES, 20000);
    expect_number(ADVISE_SYNCHRONOUS_COPIES, "calls_ns", 105000);
    advised();
    expect_limit(ADVISE_SYNCHRONOUS_COPIES, 200, 190, 1800, put_synchronous);
}

/* ---- needless_wait ----
 *
 *     thread   10|l a|16|wait       75|80|l b|86|copy|92|wait       165| 170
 *     stream     20|a 50 + more|70        90|b 50|140   150|copy|160
 *
 * Without the first wait b begins at 70: 150. */
static void put_needless(uint64_t t, uint64_t id, uint64_t more)
{
    put_launch(7, "a", t + 10, t + 20, t + 70 + more, id);
    put_stream_sync(7, t + 16, t + 75 + more, id + 1);
    put_launch(7, "b", t + 80 + more, t + 90 + more, t + 140 + more, id + 2);
    put_call(1, "cudaMemcpyAsync", t + 86 + more, t + 91 + more, id + 3);
    put_copy(7, MP_copy_kind_DtoH, ASYNCHRONOUS, t + 150 + more, t + 160 + more, id + 3);
    put_stream_sync(7, t + 92 + more, t + 165 + more, id + 4);
}

/* The same, but a result is copied before the first wait. */
static void put_needed(uint64_t t, uint64_t id, uint64_t more)
{
    put_needless(t, id, more);
    put_call(1, "cudaMemcpyAsync", t + 15, t + 16, id + 5);
    put_copy(8, MP_copy_kind_DtoH, ASYNCHRONOUS, t + 30, t + 31, id + 5);
}

static void put_measured(uint64_t t, uint64_t id, uint64_t more)
{
    put_needless(t, id, more);
    put_call(1, "cudaEventElapsedTime", t + 76, t + 77, id + 5);
}

static void waits_that_nothing_needs(void **state)
{
    (void)state;
    put_loop(LOOPS, 200, 170, 0, put_needless);
    advise_loop();
    expect_gain(ADVISE_NEEDLESS_WAIT, 20000);
    expect_number(ADVISE_NEEDLESS_WAIT, "calls", 1);
    expect_number(ADVISE_NEEDLESS_WAIT, "waiting_ns", 54000);
    advised();
    expect_limit(ADVISE_NEEDLESS_WAIT, 200, 170, 1800, put_needless);
}

static void waits_for_results_are_needed(void **state)
{
    (void)state;
    put_loop(LOOPS, 200, 170, 0, put_needed);
    advise_loop();
    expect_none(ADVISE_NEEDLESS_WAIT);
    advised();
    put_loop(LOOPS, 200, 170, 0, put_measured);
    advise_loop();
    expect_none(ADVISE_NEEDLESS_WAIT);
    advised();
}

/* ---- exposed_copies ----
 *
 *     thread   10|in|16|l|22|out|28|wait                                      545| 550
 *     stream      20|in 100|120  130|k 300 + more|430  440|out 100|540
 *
 * Both copies hidden: 350. */
static void put_exposed(uint64_t t, uint64_t id, uint64_t more)
{
    put_call(1, "cudaMemcpyAsync", t + 10, t + 15, id);
    put_copy(7, MP_copy_kind_HtoD, ASYNCHRONOUS, t + 20, t + 120, id);
    put_launch(7, "k", t + 16, t + 130, t + 430 + more, id + 1);
    put_call(1, "cudaMemcpyAsync", t + 22, t + 27, id + 2);
    put_copy(7, MP_copy_kind_DtoH, ASYNCHRONOUS, t + 440 + more, t + 540 + more, id + 2);
    put_stream_sync(7, t + 28, t + 545 + more, id + 3);
}

/* The kernel takes 50 us: it can hide no more. */
static void put_exposed_to_little(uint64_t t, uint64_t id, uint64_t more)
{
    put_exposed(t, id, more - 250);
}

static void copies_that_nothing_overlaps(void **state)
{
    (void)state;
    put_loop(LOOPS, 600, 550, 0, put_exposed);
    advise_loop();
    expect_gain(ADVISE_EXPOSED_COPIES, 200000);
    expect_number(ADVISE_EXPOSED_COPIES, "exposed_ns", 200000);
    advised();
    put_loop(LOOPS, 600, 550, 0, put_exposed_to_little);
    advise_loop();
    expect_gain(ADVISE_EXPOSED_COPIES, 50000);
    advised();
    expect_limit(ADVISE_EXPOSED_COPIES, 600, 550, 19400, put_exposed);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_become_a_graph),
        cmocka_unit_test(launches_behind_long_kernels_stay),
        cmocka_unit_test(launches_that_differ_stay),
        cmocka_unit_test(pageable_copies_are_slow),
        cmocka_unit_test(synchronous_copies_hold_up),
        cmocka_unit_test(waits_that_nothing_needs),
        cmocka_unit_test(waits_for_results_are_needed),
        cmocka_unit_test(copies_that_nothing_overlaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
