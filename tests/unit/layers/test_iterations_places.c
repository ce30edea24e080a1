/* Where iterations begin, and which of two periods are they, for programs whose iterations are
 * known by construction. Times in the scenes are us.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/layers/iterations_fixture.h"

/* ---- Where they begin ---- */

/* Three short kernels that are polled for, then a longer one: the longest pause is in the middle of
 * the iteration. It takes 150 us. */
static void poll_twice(uint64_t at)
{
    launch(1, 7, "first", at, at + 5, at + 35);
    launch(1, 7, "first", at + 3, at + 35, at + 65);
    launch(1, 7, "first", at + 6, at + 65, at + 95);
    wait_for(1, at + 9, at + 96);
    launch(1, 7, "second", at + 100, at + 105, at + 135);
    wait_for(1, at + 103, at + 136);
}

/* The program begins to record where an iteration begins, and ends where one ends. */
static void recording_begins_an_iteration(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 20; i++)
        poll_twice(100 + i * 150);
    scene_load();
    analyse(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_KERNELS);
    assert_int_equal(found.count, 20);
    expect_window(0, 100, 250, 250);
    expect_window(19, 2950, 3086, 3086);
    forget();
    analyse(ITERATIONS_SYNCS, NULL, 0);
    assert_int_equal(found.count, 20);
    expect_window(0, 100, 250, 250);
    done();
}

/* A kernel too many says that recording did not: the longest pause decides. */
static void recording_begins_anywhere(void **state)
{
    (void)state;
    begin_program();
    launch(1, 7, "second", 50, 55, 85);
    wait_for(1, 53, 86);
    for (uint64_t i = 0; i < 20; i++)
        poll_twice(100 + i * 150);
    scene_load();
    analyse(ITERATIONS_KERNELS, NULL, 0);
    assert_int_equal(found.count, 20);
    expect_window(0, 50, 200, 200);
    done();
}

/* The pass of a model, with a wait in its middle. What it launches at first is not recorded of the
 * first pass: recording begins inside of it. */
static void put_pass(uint64_t at, uint64_t number)
{
    static const char *const growing[] = {"a", "b", "c", "d", "e", "f", "g"};

    if (number) {
        copy(1, 7, MP_copy_kind_HtoD, at, at + 5, at + 8);
        copy(1, 7, MP_copy_kind_DtoH, at + 3, at + 8, at + 9);
    }
    launch(1, 7, "mask", at + 6, at + 10, at + 12);
    wait_for(1, at + 9, at + 14);
    launch(1, 7, growing[number * number % 7], at + 20, at + 25, at + 65);
    launch(1, 7, growing[(number * number + number) % 7], at + 23, at + 65, at + 90);
    wait_for(1, at + 26, at + 92);
}

static void recording_begins_inside(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 30; i++)
        put_pass(100 + i * 200, i);
    scene_load();
    analyse(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_SYNCS);
    assert_int_equal(found.count, 30);
    expect_window(0, 106, 300, 300);
    assert_true(found.coverage == 1);
    done();
}

/* What else comes first is no part of an iteration. */
static void something_else_comes_first(void **state)
{
    (void)state;
    begin_program();
    copy(1, 7, MP_copy_kind_DtoH, 20, 25, 30);
    wait_for(1, 23, 32);
    for (uint64_t i = 1; i < 30; i++)
        put_pass(100 + i * 200, i);
    scene_load();
    analyse(ITERATIONS_SYNCS, NULL, 0);
    assert_int_equal(found.count, 29);
    expect_window(0, 300, 500, 500);
    done();
}

/* ---- Which period ---- */

/* A batch: a copy from the host, then eight equal layers. A caching allocator asks for an event in
 * one layer or another. */
static void put_batch(uint64_t at, uint64_t number)
{
    copy(1, 8, MP_copy_kind_HtoD, at, at + 2, at + 30);
    for (uint64_t layer = 0; layer < 8; layer++) {
        uint64_t begin = at + 40 + layer * 20;

        if (layer == number * number % 7)
            wait_for(1, begin - 2, begin - 1);
        launch(1, 7, "multiply", begin, begin + 3, begin + 15);
        launch(1, 7, "relu", begin + 4, begin + 15, begin + 18);
    }
}

static void equal_layers(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 20; i++)
        put_batch(100 + i * 250, i);
    scene_load();
    analyse(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_KERNELS);
    assert_int_equal(found.period, 16);
    assert_int_equal(found.count, 20);
    expect_window(1, 350, 600, 600);
    done();
}

/* A loop inside of the model launches a graph sixteen times; nothing waits for each. */
static void a_graph_in_a_loop(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t at = 100 + i * 600;

        launch(1, 7, "fill", at, at + 5, at + 6);
        for (uint64_t step = 0; step < 16; step++)
            launch_graph(1, 7, 3, at + 5 + step * 20, at + 10 + step * 20, at + 26 + step * 20);
        wait_for(1, at + 330, at + 340);
    }
    scene_load();
    analyse(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_KERNELS);
    assert_int_equal(found.count, 20);
    expect_window(1, 700, 1300, 1300);
    forget();
    analyse(ITERATIONS_GRAPH, "3", 0); /* it can be asked for */
    assert_int_equal(found.count, 320);
    done();
}

/* Sixteen tokens after a prompt: each is waited for, and so is an iteration. */
static void tokens_are_iterations(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t at = 100 + i * 1000;

        launch(1, 7, "prompt", at, at + 5, at + 15);
        for (uint64_t token = 1; token <= 16; token++) {
            launch_graph(1, 7, 3, at + token * 50, at + 5 + token * 50, at + 35 + token * 50);
            wait_for(1, at + 3 + token * 50, at + 36 + token * 50);
        }
    }
    scene_load();
    analyse(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_GRAPH);
    assert_int_equal(found.count, 320);
    done();
}

/* A training step with an input each, and a mean of the losses after every tenth; so without an
 * input, but with a wait alone. */
static void put_steps(uint64_t at, bool fed)
{
    for (uint64_t step = 0; step < 10; step++) {
        uint64_t begin = at + step * 50;

        if (fed)
            copy(1, 7, MP_copy_kind_HtoD, begin, begin + 3, begin + 5);
        launch_graph(1, 7, 3, begin + 3, begin + 8, begin + 38);
    }
    if (fed)
        launch(1, 7, "mean", at + 500, at + 505, at + 506);
    wait_for(1, at + 503, at + 508);
}

static void steps_between_waits(void **state)
{
    (void)state;
    for (int fed = 0; fed < 2; fed++) {
        begin_program();
        for (uint64_t i = 0; i < 20; i++)
            put_steps(100 + i * 600, fed);
        scene_load();
        analyse(ITERATIONS_AUTO, NULL, 0);
        assert_int_equal(found.way, ITERATIONS_GRAPH);
        assert_int_equal(found.count, 200);
        done();
    }
}

/* ---- Whose ---- */

/* XLA marks what it launches, in a domain of its own; the program waits longer. */
static void xla_does_not_compete(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t at = 100 + i * 400;

        mark(1, "TSL", "XlaModule:#hlo_module=jit_model#", at, at + 30);
        launch_graph(1, 7, 5, at + 10, at + 20, at + 320);
        wait_for(1, at + 40, at + 330);
    }
    scene_load();
    analyse(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_GRAPH);
    assert_int_equal(found.count, 20);
    expect(1, ITERATION_LATENCY, 400);
    done();
}

/* Autograd's thread launches most kernels, and never waits: iterations are those of the thread that
 * does, and begin with its first kernel. */
static void helpers_have_none(void **state)
{
    (void)state;
    begin_program();
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t at = 100 + i * 200;

        launch(1, 7, "forward", at, at + 5, at + 25);
        launch(2, 7, "backward", at + 20, at + 25, at + 45);
        launch(2, 7, "backward", at + 24, at + 45, at + 65);
        launch(1, 7, "update", at + 60, at + 65, at + 75);
        wait_for(1, at + 65, at + 80);
    }
    scene_load();
    analyse(ITERATIONS_AUTO, NULL, 0);
    assert_int_equal(found.way, ITERATIONS_KERNELS);
    assert_int_equal(found.count, 20);
    assert_int_equal(found.period, 2);
    assert_true(found.coverage == 1);
    expect_window(1, 300, 500, 500);
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recording_begins_an_iteration),
        cmocka_unit_test(recording_begins_anywhere),
        cmocka_unit_test(recording_begins_inside),
        cmocka_unit_test(something_else_comes_first),
        cmocka_unit_test(equal_layers),
        cmocka_unit_test(a_graph_in_a_loop),
        cmocka_unit_test(tokens_are_iterations),
        cmocka_unit_test(steps_between_waits),
        cmocka_unit_test(xla_does_not_compete),
        cmocka_unit_test(helpers_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
