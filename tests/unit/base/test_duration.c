/* forms.h: times and limits of steps as settings write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings/forms.h"

static void times_are_read_with_their_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } rows[] = {
        {"0s", 0},
        {"1ns", 1},
        {"1us", 1000},
        {"50ms", 50000000},
        {"1s", 1000000000},
        {"1min", UINT64_C(60000000000)},
        {"1h", UINT64_C(3600000000000)},
        {"1.5s", 1500000000},
        {"0.25h", UINT64_C(900000000000)},
        {"0.000000001s", 1},
        {"0.000000001h", 3600},
        {"1.999999999ns", 1},
        {"2.5us", 2500},
        {"007ms", 7000000},
        {"1000h", UINT64_C(3600000000000000)},
    };
    uint64_t ns;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ns = 99;
        assert_true(mp_duration_parse(rows[i].text, &ns));
        assert_int_equal(ns, rows[i].ns);
    }
}

static void anything_else_is_no_time(void **state)
{
    static const char *const wrong[] = {
        "",
        "s",
        "1",
        "30",
        "1 s",
        " 1s",
        "1s ",
        "-1s",
        "+1s",
        "1.s",
        ".5s",
        "1..5s",
        "1.5.5s",
        "1m",
        "1S",
        "1sec",
        "1e3s",
        "0x10s",
        "1ks",
        "1s1s",
        "1,5s",
        "s1",
        "infs",
        "nans",
        "1.0000000001s", /* ten digits behind the point */
        "99999999999999999999999999999ns",
        "4611686019h",
        "18446744073709551616ns",
    };
    uint64_t ns = 99;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (mp_duration_parse(wrong[i], &ns))
            fail_msg("'%s' was taken", wrong[i]);
    assert_int_equal(ns, 99);
}

static void a_flight_is_from_a_second_to_an_hour(void **state)
{
    (void)state;
    assert_true(mp_flight_check("1s"));
    assert_true(mp_flight_check("30s"));
    assert_true(mp_flight_check("1h"));
    assert_true(mp_flight_check("3600s"));
    assert_true(mp_flight_check("1000ms"));
    assert_false(mp_flight_check("999ms"));
    assert_false(mp_flight_check("0s"));
    assert_false(mp_flight_check("3600.000000001s"));
    assert_false(mp_flight_check("2h"));
    assert_false(mp_flight_check("off"));
    assert_false(mp_flight_check(""));
}

static void a_limit_is_a_time_or_a_percentile(void **state)
{
    struct mp_slow_step slow;

    (void)state;
    assert_true(mp_slow_step_parse("50ms", &slow));
    assert_int_equal(slow.limit_ns, 50000000);
    assert_true(mp_slow_step_parse("p99x2", &slow));
    assert_int_equal(slow.limit_ns, 0);
    assert_int_equal(slow.percent, 99);
    assert_float_equal(slow.factor, 2, 0);
    assert_true(mp_slow_step_parse("p50", &slow));
    assert_int_equal(slow.percent, 50);
    assert_float_equal(slow.factor, 1, 0);
    assert_true(mp_slow_step_parse("p90x1.25", &slow));
    assert_int_equal(slow.percent, 90);
    assert_float_equal(slow.factor, 1.25, 0);
    assert_true(mp_slow_step_parse("p95x0.5", &slow));
    assert_int_equal(slow.percent, 95);
    assert_float_equal(slow.factor, 0.5, 0);
    assert_true(mp_slow_step_parse("p99x1000", &slow));
    assert_true(mp_slow_step_parse("p01x3", &slow));
    assert_int_equal(slow.percent, 1);
    assert_true(mp_slow_step_parse("p70x1000.0", &slow));
    assert_int_equal(slow.percent, 70);
}

static void anything_else_is_no_limit(void **state)
{
    static const char *const wrong[] = {
        "",           "0ms",    "50",      "p",       "p9",       "p00",     "p100",
        "pp9",        "p9p",    "P99",     "p99x",    "p99x0",    "p99*2",   "p99x-1",
        "p99x2 ",     "p99 x2", "p99x2x2", "99x2",    "p99x1001", "p99xp99", "p99x0.0",
        "p99x1000.5", "px2",    "x2",      "p99x1e3",
    };
    struct mp_slow_step slow;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (mp_slow_step_parse(wrong[i], &slow) || mp_slow_step_check(wrong[i]))
            fail_msg("'%s' was taken", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read_with_their_units),
        cmocka_unit_test(anything_else_is_no_time),
        cmocka_unit_test(a_flight_is_from_a_second_to_an_hour),
        cmocka_unit_test(a_limit_is_a_time_or_a_percentile),
        cmocka_unit_test(anything_else_is_no_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
