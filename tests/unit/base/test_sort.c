/* mp_sort: in order, stable, linear on what is sorted; mp_sort_u64: in order. Against qsort. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/data/algorithms.h"
#include "unit/trace_fixture.h"

/* Keys by item; the sort sees them only through `before`, which counts. */
static const uint64_t *keys;
static uint64_t comparisons;

static bool before(const void *context, uint32_t a, uint32_t b)
{
    const uint64_t *values = context;

    comparisons++;
    return values[a] < values[b];
}

/* The order of qsort with the place as the second key is the one stable order. */
static int compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;

    if (keys[a] != keys[b])
        return keys[a] < keys[b] ? -1 : 1;
    return (a > b) - (a < b);
}

static void expect_numbers_sorted(const uint64_t *values, size_t count)
{
    uint64_t *sorted = malloc(count * sizeof *sorted);
    uint64_t *expected = malloc(count * sizeof *expected);

    for (size_t i = 0; i < count; i++)
        sorted[i] = expected[i] = values[i];
    mp_sort_u64(sorted, count);
    if (count) {
        qsort(expected, count, sizeof *expected, mp_compare_u64);
        assert_memory_equal(sorted, expected, count * sizeof *sorted);
    }
    free(expected);
    free(sorted);
}

/* Sorts items 0, 1, 2, ... of these keys both ways; returns how many comparisons it took. The sort
 * has exactly `count` items of memory: a sanitizer sees what lies beyond. */
static uint64_t expect_sorted(const uint64_t *values, size_t count)
{
    uint32_t *items = malloc(count * sizeof *items);
    uint32_t *expected = malloc(count * sizeof *expected);
    uint32_t *scratch = malloc(count * sizeof *scratch);

    for (uint32_t i = 0; i < count; i++)
        items[i] = expected[i] = i;
    keys = values;
    comparisons = 0;
    mp_sort(items, count, scratch, before, values);
    if (count) {
        qsort(expected, count, sizeof *expected, compare);
        assert_memory_equal(items, expected, count * sizeof *items);
    }
    free(scratch);
    free(expected);
    free(items);
    expect_numbers_sorted(values, count);
    return comparisons;
}

enum shape { RANDOM, SORTED, REVERSED, EQUAL, FEW, RUNS, LANES, SAWTOOTH, NEARLY, SHAPES };

static uint64_t key_of(enum shape shape, uint64_t i, uint64_t count, uint64_t *random)
{
    uint64_t any = fixture_random(random);

    switch (shape) {
    case SORTED:
        return i;
    case REVERSED:
        return count - i;
    case EQUAL:
        return 5;
    case FEW:
        return any % 3;
    case RUNS: /* of lengths that grow, as those of merged threads do */
        return i - (i > count / 2 ? count / 2 : i > count / 5 ? count / 5 : 0);
    case LANES: /* 40 threads one behind the other */
        return count < 40 ? i : i % (count / 40);
    case SAWTOOTH:
        return i % 7;
    case NEARLY:
        return any % 50 ? i : any % (count + 1);
    case RANDOM:
    case SHAPES:
    default:
        return any;
    }
}

static uint64_t *make_keys(enum shape shape, size_t count, uint64_t seed)
{
    uint64_t *made = malloc((count + 1) * sizeof *made);
    uint64_t random = seed;

    for (size_t i = 0; i < count; i++)
        made[i] = key_of(shape, i, count, &random);
    return made;
}

static uint64_t expect_shape(enum shape shape, size_t count, uint64_t seed)
{
    uint64_t *made = make_keys(shape, count, seed);
    uint64_t took = expect_sorted(made, count);

    free(made);
    return took;
}

static void small_arrays_are_sorted_and_stable(void **state)
{
    (void)state;
    for (size_t count = 0; count <= 200; count++) {
        for (enum shape shape = RANDOM; shape < SHAPES; shape++)
            expect_shape(shape, count, count * SHAPES + shape);
    }
}

static void large_arrays_are_sorted_and_stable(void **state)
{
    (void)state;
    for (enum shape shape = RANDOM; shape < SHAPES; shape++) {
        expect_shape(shape, 100000, shape);
        expect_shape(shape, 65536, shape);
    }
}

static void what_is_sorted_takes_one_comparison_an_item(void **state)
{
    (void)state;
    assert_int_equal(expect_shape(SORTED, 100000, 1), 99999);
    assert_int_equal(expect_shape(EQUAL, 100000, 1), 99999);
}

/* 40 runs: n to find them and n log2 40, about 5.3, to merge. Random: n log2 n is 17 n, and the
 * short runs are made by insertion, 24 / 4 an item. */
static void comparisons_grow_with_the_number_of_runs(void **state)
{
    (void)state;
    assert_true(expect_shape(LANES, 100000, 1) < 800000);
    assert_true(expect_shape(RANDOM, 100000, 1) < 2400000);
    assert_true(expect_shape(REVERSED, 100000, 1) < 3200000);
}

/* Lengths of runs at random: whatever they are, few stay open, and the sum is n log n. */
static void runs_of_any_lengths_are_merged_in_balance(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        enum { COUNT = 20000 };
        uint64_t *made = malloc(COUNT * sizeof *made);
        uint64_t random = seed;
        uint64_t at = 0;

        while (at < COUNT) {
            uint64_t run = 1 + (fixture_random(&random) >> (50 + fixture_random(&random) % 14));
            uint64_t key = fixture_random(&random) % 1000;

            for (uint64_t i = 0; i < run && at < COUNT; i++)
                made[at++] = key += fixture_random(&random) % 3;
        }
        assert_true(expect_sorted(made, COUNT) < UINT64_C(22) * COUNT);
        free(made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_arrays_are_sorted_and_stable),
        cmocka_unit_test(large_arrays_are_sorted_and_stable),
        cmocka_unit_test(what_is_sorted_takes_one_comparison_an_item),
        cmocka_unit_test(comparisons_grow_with_the_number_of_runs),
        cmocka_unit_test(runs_of_any_lengths_are_merged_in_balance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
