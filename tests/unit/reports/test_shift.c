/* shift_between: against all differences formed and sorted, and whether its interval holds the true
 * shift as often as it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "profile/common/statistics.h"

enum { MAX = 60 };

static uint32_t seed = 7;

static uint32_t any(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* The differences of all pairs, sorted; how many. */
static size_t all_differences(const uint64_t *before, size_t n, const uint64_t *after, size_t m,
                              int64_t *differences)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            differences[count++] = (int64_t)after[j] - (int64_t)before[i];
    qsort(differences, count, sizeof *differences, compare);
    return count;
}

static void the_median_of_all_differences(void **state)
{
    static int64_t differences[MAX * MAX];
    uint64_t before[MAX], after[MAX];

    (void)state;
    for (int round = 0; round < 500; round++) {
        size_t n = 1 + any(MAX), m = 1 + any(MAX);
        uint32_t spread = 1 + any(round % 2 ? 5 : 1000000);
        struct shift shift;
        size_t count, lower, upper;

        for (size_t i = 0; i < n; i++)
            before[i] = 1000 + any(spread);
        for (size_t i = 0; i < m; i++)
            after[i] = 900 + any(spread);
        count = all_differences(before, n, after, m, differences);
        shift = shift_between(before, n, after, m);
        lower = (count - 1) / 2;
        upper = count / 2;
        assert_true(shift.center ==
                    (double)differences[lower] / 2 + (double)differences[upper] / 2);
        if (shift.bounded)
            assert_true((double)shift.low <= shift.center && shift.center <= (double)shift.high);
    }
}

/* 16 * (4 + 4 + 1) / 12 = 12; 8 - 1.96 * sqrt(12) = 1.2: the least and the greatest difference. */
static void four_and_four_are_enough(void **state)
{
    uint64_t before[] = {40, 10, 30, 20};
    uint64_t after[] = {100, 140, 120, 110};
    struct shift shift = shift_between(before, 4, after, 4);

    (void)state;
    assert_true(shift.bounded);
    assert_int_equal(shift.low, 60);
    assert_int_equal(shift.high, 130);
    assert_false(shift_between(before, 3, after, 4).bounded);
}

/* 100 * 21 / 12 = 175; 50 - 1.96 * 13.23 = 24.07: the 24th difference from either end. */
static void ranks_of_ten_and_ten(void **state)
{
    static int64_t differences[MAX * MAX];
    uint64_t before[10], after[10];
    struct shift shift;
    size_t count;

    (void)state;
    for (size_t i = 0; i < 10; i++) {
        before[i] = 5000 + any(100000);
        after[i] = 9000 + any(100000);
    }
    count = all_differences(before, 10, after, 10, differences);
    shift = shift_between(before, 10, after, 10);
    assert_int_equal(shift.low, differences[23]);
    assert_int_equal(shift.high, differences[count - 24]);
}

/* Long tails, and a shift of 500: 95 % of 1000 intervals hold it, give or take. */
static void the_interval_holds_the_shift(void **state)
{
    uint64_t before[25], after[20];
    int held = 0;

    (void)state;
    for (int round = 0; round < 1000; round++) {
        struct shift shift;

        for (size_t i = 0; i < 25; i++)
            before[i] = 10000 + any(2000) + (any(10) ? 0 : any(20000));
        for (size_t i = 0; i < 20; i++)
            after[i] = 10500 + any(2000) + (any(10) ? 0 : any(20000));
        shift = shift_between(before, 25, after, 20);
        held += shift.bounded && shift.low <= 500 && shift.high >= 500;
    }
    assert_in_range(held, 930, 970);
}

static void a_side_without_values_has_no_shift(void **state)
{
    uint64_t values[5] = {5, 4, 3, 2, 1};

    (void)state;
    for (size_t before = 0; before <= 4; before += 4) {
        /* Inside of the array, so that a value before or behind what is given is a number. */
        struct shift shift = shift_between(values + 1, before, values + 1, before ? 0 : 4);

        assert_true(shift.center == 0 && !shift.bounded && !shift.low && !shift.high);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_of_all_differences),
        cmocka_unit_test(four_and_four_are_enough),
        cmocka_unit_test(ranks_of_ten_and_ten),
        cmocka_unit_test(a_side_without_values_has_no_shift),
        cmocka_unit_test(the_interval_holds_the_shift),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
