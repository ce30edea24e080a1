/* Kinds of programs that strangers wrote: what an iteration is in each, and what is said first of
 * them. Times in the scenes are us.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "unit/layers/iterations_fixture.h"

/* ---- What ends an iteration ---- */

/* Every fourth time a prefill runs beside the two decodes that are waited for. */
static void waits_that_are_mostly_alike(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 40; i++) {
        uint64_t at = 100 + i * 100;

        launch(1, 7, "decode", at, at + 5, at + 40);
        launch(1, 7, "decode", at + 3, at + 40, at + 80);
        if (i % 4 == 0)
            launch(1, 8, "prefill", at + 6, at + 10, at + 300);
        wait_for(1, at + 10, at + 82);
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.count, 40);
    expect(7, ITERATION_HOST, 100);
    done();
}

/* An input begins an iteration: of four waits only the first has one. */
static void waits_inside_of_an_iteration(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 40; i++) {
        uint64_t at = 100 + i * 100;

        if (i % 4 == 0)
            copy(1, 7, MP_copy_kind_HtoD, at, at + 2, at + 5);
        launch(1, 7, "layer", at + 3, at + 5, at + 80);
        wait_for(1, at + 10, at + 82);
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.count, 10);
    done();
}

/* Four contexts, each with as many launches as it likes, and a reset behind it. */
static void a_reset_ends_what_came_before(void **state)
{
    uint64_t at = 100;

    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 4; i++) {
        for (uint64_t k = 0; k < 30 + i; k++, at += 10)
            launch(1, 7, "k", at, at + 3, at + 9);
        put_call(1, "cudaDeviceReset", at, at + 500, next_correlation());
        at += 600;
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.count, 4);
    done();
}

/* Nothing says where an iteration begins. */
static void one_kernel_again_and_again(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 300; i++)
        launch(1, 7, "k", 100 + i * 10, 103 + i * 10, 109 + i * 10);
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_WHOLE);
    done();
}

/* An evaluation in the middle does not hide the iterations before it. */
static void an_interruption(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 30; i++) {
        uint64_t at = 100 + i * 100 + (i >= 10 ? 1000 : 0);

        launch(1, 7, "a", at, at + 5, at + 30);
        launch(1, 7, "b", at + 3, at + 30, at + 60);
        wait_for(1, at + 10, at + 62);
        if (i == 9)
            for (uint64_t k = 0; k < 9; k++)
                launch(1, 7, "other", at + 100 + k * 10, at + 105 + k * 10, at + 109 + k * 10);
    }
    load(ITERATIONS_KERNELS, NULL, 0);
    assert_int_equal(found.count, 30);
    expect(9, ITERATION_LATENCY, 62);
    done();
}

/* A sequence begins with what it also begins with one later: "a b c a" is not the end of one. */
static void a_sequence_that_begins_twice(void **state)
{
    const char *const before[] = {"a", "b", "c", "a", "x"};
    const char *const step[] = {"a", "a", "b", "c"};
    uint64_t at = 100;

    (void)state;
    begin_program();
    for (size_t i = 0; i < sizeof before / sizeof *before; i++, at += 10)
        launch(1, 7, before[i], at, at + 3, at + 9);
    for (size_t i = 0; i < 20 * (sizeof step / sizeof *step); i++, at += 10)
        launch(1, 7, step[i % 4], at, at + 3, at + 9);
    load(ITERATIONS_KERNELS, NULL, 0);
    assert_int_equal(found.period, 4);
    assert_int_equal(found.count, 20);
    done();
}

/* The main thread launches work of its own and waits once: it serves no request. */
static void a_thread_that_waits_once(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t thread = 1; thread <= 3; thread++) {
        for (uint64_t i = 0; i < 20; i++) {
            uint64_t at = 100 + i * 100 + thread * 7;

            launch(thread, thread, "k", at, at + 5, at + 40);
            wait_for(thread, at + 10, at + 42);
        }
    }
    launch(9, 9, "legacy", 500, 505, 540);
    launch(9, 9, "legacy", 510, 540, 580);
    wait_for(9, 520, 582);
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_REQUESTS);
    assert_int_equal(found.count, 60);
    done();
}

/* A thread for each request: all launch the same. */
static void a_thread_for_each_request(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t thread = 1; thread <= 20; thread++) {
        uint64_t at = 100 + thread * 50;

        launch(thread, thread, "k", at, at + 5, at + 40);
        wait_for(thread, at + 10, at + 42);
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_REQUESTS);
    assert_int_equal(found.count, 20);
    done();
}

/* ---- NVTX ---- */

/* One thread starts a step, another one launches its work and ends it; in the file the one that
 * ends comes first. */
static void steps_across_threads(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t at = 100 + i * 100;

        put_nvtx(MP_nvtx_kind_end, 1, NULL, NULL, at + 90, i + 1);
        launch(1, 7, "a", at + 5, at + 10, at + 40);
        launch(1, 7, i % 3 ? "b" : "c", at + 20, at + 40, at + 60 + i);
        wait_for(1, at + 30, at + 85);
        wait_for(2, at + 2, at + 3);
    }
    for (uint64_t i = 0; i < 20; i++)
        put_nvtx(MP_nvtx_kind_start, 2, NULL, "step", 100 + i * 100, i + 1);
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_NVTX);
    assert_string_equal(found.name, "step");
    assert_int_equal(found.count, 20);
    assert_int_equal(found.outside, 0);
    expect(3, ITERATION_LATENCY, 90);
    done();
}

/* Irregular steps that the program marks, and a graph that is as regular as can be. */
static void marks_win(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 12; i++) {
        uint64_t at = 1000 + i * 1000;

        mark(1, NULL, "step", at, at + 900);
        for (uint64_t k = 0; k < (i % 3 ? 2 : 8); k++) {
            launch_graph(1, 7, 5, at + 10 + k * 100, at + 20 + k * 100, at + 90 + k * 100);
            wait_for(1, at + 15 + k * 100, at + 95 + k * 100);
        }
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_NVTX);
    assert_int_equal(found.count, 12);
    done();
}

/* ---- Capture ranges ---- */

/* `count` steps of so many us from `at` on, each waited for. */
static void steps(uint64_t at, uint64_t count, uint64_t length)
{
    for (uint64_t i = 0; i < count; i++, at += length) {
        launch(1, 7, "a", at, at + 5, at + length / 2);
        launch(1, 7, "b", at + 3, at + length / 2, at + length - 10);
        wait_for(1, at + 8, at + length - 8);
    }
}

/* Two phases: the second one's steps take three times as long. */
static void ranges_that_differ(void **state)
{
    (void)state;
    begin_program();
    steps(100, 30, 100);
    steps(90000, 30, 300);
    put_range(1, 90, 3101, 0, 0);
    put_range(2, 89990, 99001, 0, 0);
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.count, 60);
    /* The last one of a range ends with it, not where the next range begins. */
    expect(28, ITERATION_HOST, 100);
    assert_true(measures[29].values[ITERATION_LATENCY] < UINT64_C(102) * US);
    assert_int_equal(summary.headline.split, ITERATIONS_BY_RANGE);
    assert_int_equal(summary.headline.kind_count, 2);
    assert_int_equal(summary.headline.kinds[0].range, 1);
    assert_int_equal(summary.headline.kinds[0].count, 30);
    assert_int_equal(summary.headline.kinds[0].p50, 100 * US);
    assert_int_equal(summary.headline.kinds[1].p50, 300 * US);
    /* 60 in 3 ms and 9 ms, not in 99 ms. */
    assert_in_range(summary.throughput, 4950, 5050);
    assert_in_range(summary.period, 199 * US, 201 * US);
    done();
}

/* The first phase takes most time, also if its range goes on behind steps that nobody recorded. */
static void the_phase_that_takes_most_time(void **state)
{
    const struct iterations_kind *max;
    struct capture_range *first;
    uint8_t in[60];

    (void)state;
    begin_program();
    steps(100, 30, 300);
    steps(90000, 30, 100);
    put_range(1, 90, 9101, 0, 0);
    put_range(2, 89990, 93001, 0, 0);
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.count, 60);
    first = dense_at(&scene.deps.profile->ranges.items, 0);
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        first->goes_on = goes_on;
        memset(in, 2, sizeof in);
        assert_int_equal(
            iterations_find_main_kind(&scene.deps, &found, &summary.headline, in, &max), MP_OK);
        assert_ptr_equal(max, &summary.headline.kinds[0]);
        for (size_t i = 0; i < found.count; i++)
            assert_int_equal(in[i], i < 30);
    }
    done();
}

static void ranges_that_do_not_differ(void **state)
{
    (void)state;
    begin_program();
    steps(100, 30, 100);
    steps(90000, 30, 102);
    put_range(1, 90, 3101, 0, 0);
    put_range(2, 89990, 93061, 0, 0);
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.count, 60);
    assert_int_equal(summary.headline.split, ITERATIONS_ALIKE);
    done();
}

/* Each range is too short for a period of its own. */
static void ranges_of_two_steps(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 4; i++) {
        steps(1000 + i * 1000, 2, 100);
        put_range(i + 1, 990 + i * 1000, 1201 + i * 1000, 0, 0);
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.count, 8);
    done();
}

/* Many ranges, all alike: still phases, since all of them hold five of what repeats. */
static void ranges_of_five_steps(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 10; i++) {
        steps(1000 + i * 1000, 5, 100);
        put_range(i + 1, 990 + i * 1000, 1501 + i * 1000, 0, 0);
    }
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.count, 50);
    done();
}

/* What goes on behind its range has no known end: it is left out and counted. */
static void cut_by_a_range(void **state)
{
    (void)state;
    begin_program();
    steps(100, 10, 100);
    steps(5000, 10, 100);
    put_range(1, 90, 1003, 0, 0); /* the tenth step begins at 1000 */
    put_range(2, 4990, 6001, 0, 0);
    load(ITERATIONS_REQUESTS, NULL, 0);
    assert_int_equal(found.count, 19);
    assert_int_equal(found.unfinished, 1);
    done();
}

/* ---- What is said first ---- */

static void two_modes(void **state)
{
    const struct iterations_kind *max;
    uint8_t in[40];

    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 40; i++)
        steps(100 + i * 1000, 1, i % 2 ? 900 : 100 + i % 5);
    load(ITERATIONS_REQUESTS, NULL, 0);
    assert_int_equal(found.count, 40);
    assert_int_equal(summary.headline.split, ITERATIONS_BY_MODE);
    assert_int_equal(iterations_find_main_kind(&scene.deps, &found, &summary.headline, in, &max),
                     MP_OK);
    assert_ptr_equal(max, &summary.headline.kinds[1]);
    for (size_t i = 0; i < found.count; i++)
        assert_int_equal(in[i], i % 2);
    assert_int_equal(summary.headline.kind_count, 2);
    assert_int_equal(summary.headline.kinds[0].count, 20);
    assert_int_equal(summary.headline.kinds[1].count, 20);
    assert_int_equal(summary.headline.kinds[0].p50, (102 - 8) * US);
    assert_int_equal(summary.headline.kinds[1].p50, (900 - 8) * US);
    done();
}

/* A long tail is no mode. */
static void a_tail(void **state)
{
    uint64_t at = 100;

    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 60; i++) {
        steps(at, 1, 100 + i * i / 8);
        at += 1000;
    }
    load(ITERATIONS_REQUESTS, NULL, 0);
    assert_int_equal(summary.headline.split, ITERATIONS_ALIKE);
    done();
}

/* The host launches 50 steps at once; the GPU takes 40 us for each. */
static void queued_ahead(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 50; i++) {
        mark(1, NULL, "step", 100 + i * 4, 103 + i * 4);
        launch(1, 7, "k", 101 + i * 4, 110 + i * 40, 150 + i * 40);
    }
    wait_for(1, 400, 2151);
    load(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.count, 50);
    assert_true(summary.headline.queued);
    assert_int_equal(summary.headline.p50, 40 * US);
    assert_true(summary.statistics[ITERATION_LATENCY].p50 > UINT64_C(800) * US);
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_that_are_mostly_alike),
        cmocka_unit_test(waits_inside_of_an_iteration),
        cmocka_unit_test(a_reset_ends_what_came_before),
        cmocka_unit_test(one_kernel_again_and_again),
        cmocka_unit_test(an_interruption),
        cmocka_unit_test(a_sequence_that_begins_twice),
        cmocka_unit_test(a_thread_that_waits_once),
        cmocka_unit_test(a_thread_for_each_request),
        cmocka_unit_test(steps_across_threads),
        cmocka_unit_test(marks_win),
        cmocka_unit_test(ranges_that_differ),
        cmocka_unit_test(the_phase_that_takes_most_time),
        cmocka_unit_test(ranges_that_do_not_differ),
        cmocka_unit_test(ranges_of_two_steps),
        cmocka_unit_test(ranges_of_five_steps),
        cmocka_unit_test(cut_by_a_range),
        cmocka_unit_test(two_modes),
        cmocka_unit_test(a_tail),
        cmocka_unit_test(queued_ahead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
