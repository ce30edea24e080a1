/* What counters were in iterations and by cause of idle time, in scenes whose truth is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "reports/counters/counters.h"
#include "unit/layers/counters_fixture.h"

#define STEPS  20u
#define LENGTH 100u /* us of a step */
#define FIRST  1000u

static struct counters_result result;

/* An iteration: 10 us of host code, 10 us until its kernel begins, 40 us of kernel, 10 us until the
 * call that waits for it returns, and 30 us of host code. */
static void put_step(uint64_t begin, uint64_t stream)
{
    mark(1, NULL, "step", begin, begin + LENGTH);
    launch(1, stream, "kernel", begin + 10, begin + 20, begin + 60);
    wait_for(1, begin + 64, begin + 70);
}

/* Of a moment of such an iteration. */
static double truth_at(uint64_t time)
{
    uint64_t at = (time - FIRST) % LENGTH;

    if (at < 10 || at >= 70)
        return 5;
    if (at < 20)
        return 10;
    if (at < 60)
        return 80;
    return at < 64 ? 5 : 30;
}

/* Samples of the whole program, each the mean of its microseconds. */
static void put_true_samples(uint64_t counter, uint64_t length)
{
    for (uint64_t end = FIRST + length; end <= FIRST + STEPS * LENGTH; end += length) {
        double sum = 0;

        for (uint64_t at = end - length; at < end; at++)
            sum += truth_at(at);
        put_sample(counter, end, length, sum / (double)length);
    }
}

static void build(enum counters_by by)
{
    struct counters_options options = {.by = by, .deps = &scene.deps};
    struct mp_error error;

    load(ITERATIONS_NVTX, "step", 0);
    options.iterations = &found;
    assert_int_equal(counters_build(scene.trace, &options, &result, &error), MP_OK);
}

static void built(void)
{
    counters_result_free(&result);
    done();
}

static const struct counters_group *group_of(uint64_t device, const char *name)
{
    for (size_t i = 0; i < result.group_count; i++)
        if (result.groups[i].device == device && result.groups[i].name &&
            !strcmp(result.groups[i].name, name))
            return &result.groups[i];
    fail_msg("no %s", name);
    return result.groups; /* not reached */
}

static const struct counters_cell *cell_of(uint64_t device, const char *name)
{
    return counters_find(&result, group_of(device, name), "sm_active");
}

static void expect_mean(const char *name, double mean, double within)
{
    const struct counters_cell *cell = cell_of(0, name);

    if (!(fabs(cell->mean - mean) <= within))
        fail_msg("%s: %f +- %f, not %f", name, cell->mean, cell->error, mean);
}

/* ---- Iterations ---- */

static void an_iteration_has_the_mean_of_its_samples(void **state)
{
    (void)state;
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    for (uint64_t i = 0; i < 3; i++) {
        put_step(FIRST + i * LENGTH, 1);
        for (uint64_t s = 1; s <= 10; s++)
            put_sample(1, FIRST + i * LENGTH + s * 10, 10, s == 10 ? 40 : 20 + 10 * (double)i);
    }
    build(COUNTERS_BY_ITERATION);
    assert_int_equal(result.group_count, 3);
    for (uint64_t i = 0; i < 3; i++) {
        const char *name = (const char *[]){"1", "2", "3"}[i];
        const struct counters_cell *cell = cell_of(0, name);

        expect_mean(name, (9 * (20 + 10 * (double)i) + 40) / 10, 1e-6);
        assert_true(cell->error < 1e-6); /* no sample is cut */
        assert_true(fabs(cell->samples - 10) < 1e-6);
        assert_int_equal(cell->whole, 10);
        assert_true(fabs(cell->p50 - (20 + 10 * (double)i)) < 1e-6);
        assert_true(fabs(cell->max - 40) < 1e-6);
        assert_int_equal(group_of(0, name)->time, LENGTH * US);
        assert_int_equal(group_of(0, name)->calls, 1);
    }
    built();
}

/* Samples lie half in one and half in the other. The truth is 20, 60 and 40. */
static void samples_that_are_cut_are_its_error(void **state)
{
    static const double truth[] = {20, 60, 40, 40};
    const struct counters_cell *cell;

    (void)state;
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    for (uint64_t i = 0; i < 3; i++) {
        put_step(FIRST + i * LENGTH, 1);
        for (uint64_t s = 1; s <= 10; s++)
            put_sample(1, FIRST + i * LENGTH + s * 10 + 5, 10,
                       s == 10 ? (truth[i] + truth[i + 1]) / 2 : truth[i]);
    }
    build(COUNTERS_BY_ITERATION);
    cell = cell_of(0, "2");
    expect_mean("2", (5 * 40 + 90 * 60 + 5 * 50) / 100.0, 1e-6);
    assert_true(cell->error > 1.5 && cell->error < 5); /* which is off by 1.5 */
    assert_true(fabs(cell->samples - 10) < 1e-6);
    assert_int_equal(cell->whole, 9);
    built();
}

static void what_is_not_known_of_iterations(void **state)
{
    (void)state;
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    for (uint64_t i = 0; i < 3; i++)
        put_step(FIRST + i * LENGTH, 1);
    put_sample(1, FIRST + 150, 150, 20); /* longer than an iteration */
    put_sample(1, FIRST + 210, 10, 30);  /* little of the third */
    build(COUNTERS_BY_ITERATION);
    for (int i = 0; i < 3; i++)
        assert_true(isnan(cell_of(0, (const char *[]){"1", "2", "3"}[i])->mean));
    built();
}

/* Iterations 1 and 3 run on GPU 0, 2 on GPU 1. */
static void an_iteration_is_of_the_devices_that_it_uses(void **state)
{
    (void)state;
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    put_counter(2, 1, "sm_active", MP_counter_source_cupti);
    for (uint64_t i = 0; i < 3; i++)
        put_step(FIRST + i * LENGTH, i == 1 ? ON(2, 1) : 1);
    for (uint64_t s = 1; s <= 30; s++)
        for (uint64_t counter = 1; counter <= 2; counter++)
            put_sample(counter, FIRST + s * 10, 10, counter == 1 ? 30 : 70);
    build(COUNTERS_BY_ITERATION);
    assert_int_equal(result.group_count, 3);
    expect_mean("1", 30, 1e-6);
    expect_mean("3", 30, 1e-6);
    assert_true(fabs(cell_of(1, "2")->mean - 70) < 1e-6);
    built();
}

/* ---- Idle time ---- */

static void idle_time_by_cause(void **state)
{
    static const enum iteration_quantity causes[] = {ITERATION_IDLE_LAUNCH, ITERATION_IDLE_HOST,
                                                     ITERATION_IDLE_SYNC};
    static const uint64_t times[] = {10, 44, 6};
    static const double values[] = {10, 5, 30};

    (void)state;
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    for (uint64_t i = 0; i < STEPS; i++)
        put_step(FIRST + i * LENGTH, 1);
    put_true_samples(1, 3); /* which mix causes and kernels */
    build(COUNTERS_BY_IDLE);
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        const char *name = iteration_quantity_name(causes[i]);
        uint64_t sum = 0;

        for (uint64_t s = 0; s < STEPS; s++)
            sum += measures[s].values[causes[i]];
        assert_int_equal(sum, STEPS * times[i] * US);
        assert_int_equal(group_of(0, name)->time, sum);
        assert_true(group_of(0, name)->is_cause);
        expect_mean(name, values[i], 0.2);
        assert_true(cell_of(0, name)->error < 1);
        assert_int_equal(group_of(0, name)->class, COUNTERS_UNKNOWN);
    }
    for (size_t i = 0; i < result.group_count; i++)
        assert_true(result.groups[i].is_cause || result.groups[i].idle);
    built();
}

/* Samples of 10 us: `inside` while the kernel runs, 5 elsewhere. */
static void build_kernel(double inside)
{
    begin_program();
    put_counter(1, 0, "sm_active", MP_counter_source_cupti);
    for (uint64_t i = 0; i < STEPS; i++) {
        put_step(FIRST + i * LENGTH, 1);
        for (uint64_t s = 0; s < 10; s++)
            put_sample(1, FIRST + i * LENGTH + (s + 1) * 10, 10, s >= 2 && s < 6 ? inside : 5);
    }
    build(COUNTERS_BY_KERNEL);
}

static void more_than_all_is_not_said(void **state)
{
    (void)state;
    build_kernel(99);
    expect_mean("kernel", 99, 0.1);
    built();
    build_kernel(120);
    assert_true(isnan(cell_of(0, "kernel")->mean));
    built();
}

static void no_samples_no_rows(void **state)
{
    (void)state;
    for (int by = COUNTERS_BY_ITERATION; by <= COUNTERS_BY_IDLE; by++) {
        begin_program();
        put_counter(1, 0, "sm_active", MP_counter_source_nobody);
        put_step(FIRST, 1);
        put_step(FIRST + LENGTH, 1);
        build((enum counters_by)by);
        for (size_t i = 0; i < result.group_count; i++)
            assert_true(
                isnan(counters_cell(&result, &result.groups[i], &result.counters[0])->mean));
        built();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_iteration_has_the_mean_of_its_samples),
        cmocka_unit_test(samples_that_are_cut_are_its_error),
        cmocka_unit_test(what_is_not_known_of_iterations),
        cmocka_unit_test(an_iteration_is_of_the_devices_that_it_uses),
        cmocka_unit_test(idle_time_by_cause),
        cmocka_unit_test(more_than_all_is_not_said),
        cmocka_unit_test(no_samples_no_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
