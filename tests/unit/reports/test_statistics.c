/* Mean, deviation and nearest-rank percentiles of numbers worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/common/statistics.h"

static void expect(uint64_t *values, size_t count, struct statistics expected)
{
    struct statistics found = statistics_of(values, count);

    assert_true(fabs(found.mean - expected.mean) <= 1e-9 * expected.mean);
    assert_true(fabs(found.deviation - expected.deviation) <= 1e-9 * expected.deviation);
    assert_int_equal(found.min, expected.min);
    assert_int_equal(found.p50, expected.p50);
    assert_int_equal(found.p90, expected.p90);
    assert_int_equal(found.p95, expected.p95);
    assert_int_equal(found.p99, expected.p99);
    assert_int_equal(found.max, expected.max);
}

static void few_values(void **state)
{
    uint64_t one[] = {7};
    uint64_t two[] = {9, 5};
    uint64_t three[] = {30, 10, 20};

    (void)state;
    expect(one, 0, (struct statistics){.mean = 0});
    expect(one, 1, (struct statistics){7, 0, 7, 7, 7, 7, 7, 7});
    expect(two, 2, (struct statistics){7, sqrt(8), 5, 5, 9, 9, 9, 9}); /* ranks 1 and 2 */
    expect(three, 3, (struct statistics){20, 10, 10, 20, 30, 30, 30, 30});
}

/* The deviation of 1 to n is the root of n (n + 1) / 12. */
static void percentiles_are_nearest_ranks(void **state)
{
    uint64_t many[200];

    (void)state;
    for (uint64_t i = 0; i < 200; i++)
        many[i] = (i * 77) % 200 + 1; /* 1 to 200 in disorder */
    expect(many, 200, (struct statistics){100.5, sqrt(3350), 1, 100, 180, 190, 198, 200});
    for (uint64_t i = 0; i < 100; i++)
        many[i] = 100 - i;
    expect(many, 100, (struct statistics){50.5, sqrt(10100.0 / 12), 1, 50, 90, 95, 99, 100});
    for (uint64_t i = 0; i < 101; i++)
        many[i] = 101 - i; /* 99.99 of 101: the last */
    expect(many, 101, (struct statistics){51, sqrt(10302.0 / 12), 1, 51, 91, 96, 100, 101});
}

static void large_values_do_not_overflow(void **state)
{
    const uint64_t max = UINT64_MAX;
    uint64_t values[] = {max, max};

    (void)state;
    expect(values, 2, (struct statistics){(double)max, 0, max, max, max, max, max, max});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_values),
        cmocka_unit_test(percentiles_are_nearest_ranks),
        cmocka_unit_test(large_values_do_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
