/* The grid of a device's clock: found where there is one, not imagined where there is none, and
 * never at the cost of a nanosecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/codec.h"
#include "unit/trace_fixture.h"

#define ROWS 6000

static struct mp_predictor predictors[2];

/* Times, what they become, and what comes back of them. */
static struct {
    uint64_t start[ROWS], span[ROWS];
    uint64_t start_residuals[ROWS], span_residuals[ROWS];
    uint64_t start_correction[ROWS], span_correction[ROWS];
    uint64_t start_back[ROWS], span_back[ROWS];
} times;

/* Kernels one behind the other on a device whose clock steps `step` ns, seen by a host whose clock
 * runs `ppm` faster; times are rounded down to ns. */
static void make_device_times(double step, double ppm, uint64_t base, uint32_t rows, uint64_t seed)
{
    uint64_t random = seed;
    uint64_t tick = 0;
    long double width = (long double)step * (1.0L + (long double)ppm * 1e-6L);
    for (uint32_t i = 0; i < rows; i++) {
        tick += 1 + fixture_random(&random) % 40;
        uint64_t begin = base + (uint64_t)(width * (long double)tick + 0.25L);
        tick += 10 + fixture_random(&random) % 3000;
        times.start[i] = begin;
        times.span[i] = base + (uint64_t)(width * (long double)tick + 0.25L) - begin;
    }
}

/* Encodes and decodes the times on the grid found; returns how many corrections are not 0. */
static uint32_t expect_lossless(uint32_t rows, bool with_span, uint64_t hint, struct mp_grid *found)
{
    struct mp_interval interval = {
        .start = times.start,
        .span = with_span ? times.span : NULL,
        .start_residuals = times.start_residuals,
        .span_residuals = times.span_residuals,
        .start_correction = times.start_correction,
        .span_correction = times.span_correction,
        .rows = rows,
        .start_predict = MP_PREDICT_CONTEXT_MEAN,
        .span_predict = MP_PREDICT_CONTEXT_MEAN,
    };
    *found = mp_grid_find(interval.start, interval.span, rows, hint);
    mp_interval_residuals(predictors, found, &interval);
    interval.start = times.start_back;
    interval.span = with_span ? times.span_back : NULL;
    mp_interval_values(predictors, found, &interval);
    assert_memory_equal(times.start_back, times.start, rows * sizeof(uint64_t));
    if (with_span)
        assert_memory_equal(times.span_back, times.span, rows * sizeof(uint64_t));
    uint32_t corrected = 0;
    for (uint32_t i = 0; i < rows; i++)
        corrected +=
            (times.start_correction[i] != 0) + (with_span && times.span_correction[i] != 0);
    return corrected;
}

static double step_of(const struct mp_grid *grid)
{
    return (double)grid->step / 4294967296.0;
}

static void expect_step(const struct mp_grid *grid, double expected, double tolerance)
{
    double off = step_of(grid) - expected;
    if (off > tolerance || off < -tolerance)
        fail_msg("step %.9f ns instead of %.9f", step_of(grid), expected);
}

static void a_grid_is_found_to_a_millionth_of_a_nanosecond(void **state)
{
    (void)state;
    static const double steps[] = {32, 512, 1000, 1024};
    static const double slopes[] = {-40, -18.25, 0, 18.25, 40};
    struct mp_grid grid;
    for (unsigned s = 0; s < 4; s++)
        for (unsigned p = 0; p < 5; p++) {
            make_device_times(steps[s], slopes[p], 1700000000000000000, ROWS, s * 10 + p + 1);
            uint32_t corrected = expect_lossless(ROWS, true, 0, &grid);
            expect_step(&grid, steps[s] * (1 + slopes[p] * 1e-6), 1e-6);
            assert_true(corrected < ROWS * 2 / 50);
        }
}

static void points_in_time_show_the_grid_too(void **state)
{
    (void)state;
    struct mp_grid grid;
    make_device_times(32, 25, 123456789, ROWS, 5);
    assert_true(expect_lossless(ROWS, false, 0, &grid) < ROWS / 50);
    expect_step(&grid, 32 * (1 + 25e-6), 1e-6);
}

static void the_last_chunk_s_step_is_taken_over(void **state)
{
    (void)state;
    struct mp_grid first;
    struct mp_grid next;
    make_device_times(32, -30, 1000, ROWS, 6);
    expect_lossless(ROWS, true, 0, &first);
    make_device_times(32, -31, 5000000000, 400, 7);
    assert_true(expect_lossless(400, true, first.step, &next) < 400 * 2 / 20);
    expect_step(&next, 32 * (1 - 31e-6), 1e-4);
}

static void a_wrong_hint_does_not_hide_the_grid(void **state)
{
    (void)state;
    struct mp_grid grid;
    make_device_times(32, 10, 5000, ROWS, 8);
    expect_lossless(ROWS, true, UINT64_C(1024) << 32, &grid);
    expect_step(&grid, 32 * (1 + 10e-6), 1e-6);
}

static void nanoseconds_remain_nanoseconds(void **state)
{
    (void)state;
    struct mp_grid grid;
    uint64_t random = 9;
    uint64_t now = 1700000000000000000;
    for (uint32_t i = 0; i < ROWS; i++) {
        now += 500 + fixture_random(&random) % 5000;
        times.start[i] = now;
        times.span[i] = 100 + fixture_random(&random) % 1000;
    }
    assert_int_equal(expect_lossless(ROWS, true, 0, &grid), 0);
    assert_int_equal(grid.step, UINT64_C(1) << 32);
    /* Nor is a grid believed because the last chunk had one. */
    assert_int_equal(expect_lossless(ROWS, true, UINT64_C(32) << 32, &grid), 0);
    assert_int_equal(grid.step, UINT64_C(1) << 32);
}

static void few_rows_show_no_grid_and_come_back(void **state)
{
    (void)state;
    struct mp_grid grid;
    for (uint32_t rows = 1; rows <= 11; rows++) {
        make_device_times(32, 0, 77, rows, rows);
        assert_int_equal(expect_lossless(rows, true, 0, &grid), 0);
        assert_int_equal(grid.step, UINT64_C(1) << 32);
    }
    times.start[0] = times.span[0] = 0;
    expect_lossless(1, true, 0, &grid);
}

static void unknown_times_do_not_spoil_the_grid(void **state)
{
    (void)state;
    struct mp_grid grid;
    make_device_times(32, 18, 1700000000000000000, ROWS, 11);
    for (uint32_t i = 0; i < ROWS; i += 500)
        times.start[i] = times.span[i] = 0;
    expect_lossless(ROWS, true, 0, &grid);
    expect_step(&grid, 32 * (1 + 18e-6), 1e-6);
    memset(times.start, 0, sizeof times.start);
    memset(times.span, 0, sizeof times.span);
    expect_lossless(ROWS, true, 0, &grid);
}

static void reversed_and_falling_times_come_back(void **state)
{
    (void)state;
    struct mp_grid grid;
    make_device_times(32, 18, 1700000000000000000, ROWS, 12);
    for (uint32_t i = 0; i < ROWS; i += 3) { /* an end before its begin */
        times.start[i] += times.span[i];
        times.span[i] = -times.span[i];
    }
    expect_lossless(ROWS, true, 0, &grid);
    for (uint32_t i = 0; i < ROWS / 2; i++) { /* the last first */
        uint64_t start = times.start[i];
        times.start[i] = times.start[ROWS - 1 - i];
        times.start[ROWS - 1 - i] = start;
    }
    expect_lossless(ROWS, true, 0, &grid);
    expect_step(&grid, 32 * (1 + 18e-6), 1e-3);
}

static void times_at_the_ends_of_the_number_line_come_back(void **state)
{
    (void)state;
    static const uint64_t bases[] = {1, (UINT64_C(1) << 53) - 100000, INT64_MAX - (uint64_t)100000,
                                     (uint64_t)INT64_MAX + 1, UINT64_MAX - 1000000};
    struct mp_grid grid;
    for (unsigned i = 0; i < sizeof bases / sizeof *bases; i++) {
        make_device_times(32, 18, bases[i], ROWS, i + 1); /* some wrap around */
        expect_lossless(ROWS, true, 0, &grid);
        expect_lossless(ROWS, true, UINT64_C(32) << 32, &grid);
    }
}

static void any_numbers_come_back_whatever_the_hint(void **state)
{
    (void)state;
    static const uint64_t hints[] = {0, UINT64_C(1) << 32, UINT64_C(2) << 32, UINT64_C(32) << 32,
                                     UINT64_C(1) << 60};
    struct mp_grid grid;
    uint64_t random = 13;
    for (unsigned h = 0; h < sizeof hints / sizeof *hints; h++)
        for (unsigned bits = 0; bits < 64; bits += 3) {
            for (uint32_t i = 0; i < ROWS; i++) {
                times.start[i] = fixture_random(&random) >> bits;
                times.span[i] = fixture_random(&random) >> (fixture_random(&random) % 64);
            }
            expect_lossless(ROWS, true, hints[h], &grid);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grid_is_found_to_a_millionth_of_a_nanosecond),
        cmocka_unit_test(points_in_time_show_the_grid_too),
        cmocka_unit_test(the_last_chunk_s_step_is_taken_over),
        cmocka_unit_test(a_wrong_hint_does_not_hide_the_grid),
        cmocka_unit_test(nanoseconds_remain_nanoseconds),
        cmocka_unit_test(few_rows_show_no_grid_and_come_back),
        cmocka_unit_test(unknown_times_do_not_spoil_the_grid),
        cmocka_unit_test(reversed_and_falling_times_come_back),
        cmocka_unit_test(times_at_the_ends_of_the_number_line_come_back),
        cmocka_unit_test(any_numbers_come_back_whatever_the_hint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
