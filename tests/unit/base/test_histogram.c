/* algorithms.h: percentiles against those of the sorted numbers. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/data/algorithms.h"
#include "unit/trace_fixture.h"

enum { MAX = 5000 };

static struct mp_histogram histogram;

static int empty(void **state)
{
    (void)state;
    memset(&histogram, 0, sizeof(histogram));
    return 0;
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* The least of the numbers that so many percent of all do not exceed. */
static uint64_t sorted_percentile(const uint64_t *numbers, size_t count, unsigned percent)
{
    size_t rank = (count * percent + 99) / 100;

    return numbers[rank - 1];
}

static void expect_near(const uint64_t *numbers, size_t count)
{
    static const unsigned percents[] = {1, 10, 50, 90, 95, 99, 100};
    size_t i;

    for (i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
        uint64_t true_one = sorted_percentile(numbers, count, percents[i]);
        uint64_t got = mp_histogram_percentile(&histogram, percents[i]);

        assert_true(got >= true_one);
        assert_true(got - true_one <= true_one / 16);
    }
}

static void percentiles_are_a_sixteenth_too_large_at_most(void **state)
{
    static uint64_t numbers[MAX];
    uint64_t seed = 1;
    unsigned bits;
    size_t i;

    (void)state;
    for (bits = 1; bits <= 64; bits += 3) {
        empty(NULL);
        for (i = 0; i < MAX; i++) {
            numbers[i] = fixture_random(&seed) >> (64 - bits);
            mp_histogram_add(&histogram, numbers[i]);
        }
        assert_int_equal(mp_histogram_count(&histogram), MAX);
        qsort(numbers, MAX, sizeof(numbers[0]), compare);
        expect_near(numbers, MAX);
    }
}

static void few_numbers_have_percentiles_too(void **state)
{
    uint64_t numbers[100];
    size_t count;
    size_t i;

    (void)state;
    assert_int_equal(mp_histogram_percentile(&histogram, 99), 0);
    for (count = 1; count <= 100; count++) {
        empty(NULL);
        for (i = 0; i < count; i++) {
            numbers[i] = 1000 * (i + 1);
            mp_histogram_add(&histogram, numbers[i]);
        }
        expect_near(numbers, count);
    }
}

static void numbers_below_32_are_exact(void **state)
{
    uint64_t number;

    (void)state;
    for (number = 0; number < 32; number++) {
        empty(NULL);
        mp_histogram_add(&histogram, number);
        assert_int_equal(mp_histogram_percentile(&histogram, 50), number);
    }
}

static void the_ends_of_all_powers_find_their_bucket(void **state)
{
    unsigned bit;
    int step;

    (void)state;
    for (bit = 1; bit < 64; bit++)
        for (step = -1; step <= 1; step++) {
            uint64_t number = (UINT64_C(1) << bit) + (uint64_t)(int64_t)step;

            empty(NULL);
            mp_histogram_add(&histogram, number);
            expect_near(&number, 1);
        }
    empty(NULL);
    mp_histogram_add(&histogram, UINT64_MAX);
    assert_true(mp_histogram_percentile(&histogram, 99) == UINT64_MAX);
}

static void *add_many(void *argument)
{
    uint64_t i;

    for (i = 0; i < 100000; i++)
        mp_histogram_add(&histogram, i % 1000);
    return argument;
}

static void threads_add_at_once(void **state)
{
    pthread_t threads[4];
    size_t i;

    (void)state;
    for (i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, NULL), 0);
    for (i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(mp_histogram_count(&histogram), 400000);
    assert_in_range(mp_histogram_percentile(&histogram, 50), 499, 499 + 499 / 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(percentiles_are_a_sixteenth_too_large_at_most, empty),
        cmocka_unit_test_setup(few_numbers_have_percentiles_too, empty),
        cmocka_unit_test_setup(numbers_below_32_are_exact, empty),
        cmocka_unit_test_setup(the_ends_of_all_powers_find_their_bucket, empty),
        cmocka_unit_test_setup(threads_add_at_once, empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
