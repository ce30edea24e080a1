/* Numbers as nvprof prints them; the expected texts are nvprof 11.8's own output. Then what our own
 * style has else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/units.h"

static void time_is_printed_as_nvprof_does(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {
        {0, "0ns"},
        {900, "900ns"},
        {999, "999ns"},
        {1088, "1.0880us"},
        {1234, "1.2340us"},
        {12345, "12.345us"},
        {123456, "123.46us"},
        {999994, "999.99us"},
        {999999, "1000.0us"},
        {1772900, "1.7729ms"},
        {35459000, "35.459ms"},
        {141280000, "141.28ms"},
        {999999999, "1000.0ms"},
        {1234567890, "1.23457s"},
        {3108100000, "3.10810s"},
        {123456789012, "123.457s"},
        {1234567890123, "1.2e+03s"},
        {UINT64_MAX, "1.8e+10s"},
    };
    char text[MP_FORMATTED_BYTES];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_string_equal(mp_show_time(text, sizeof(text), cases[i].ns, MP_STYLE_NVPROF),
                            cases[i].text);
}

/* Of the dependency analysis in nvprof's documentation, and of its boundaries. */
static void dependency_times_have_six_decimals(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {
        {0, "0ns"},
        {909, "909ns"},
        {4588, "4.588000us"},
        {7968, "7.968000us"},
        {999999, "999.999000us"},
        {28124515, "28.124515ms"},
        {647659179, "647.659179ms"},
        {999999999, "999.999999ms"},
        {2629210000, "2.629210s"},
        {2629209999, "2.629210s"},
        {UINT64_MAX, "18446744073.709553s"},
    };
    char text[MP_FORMATTED_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_string_equal(mp_format_time_decimals(text, sizeof(text), cases[i].ns),
                            cases[i].text);
}

static void the_unit_is_chosen_before_rounding(void **state)
{
    char text[MP_FORMATTED_BYTES];

    (void)state;
    assert_string_equal(mp_format_time(text, sizeof(text), 1000), "1.000us");
    assert_string_equal(mp_format_time(text, sizeof(text), 999949), "999.9us");
    assert_string_equal(mp_format_time(text, sizeof(text), 999999), "1,000us");
    assert_string_equal(mp_format_time(text, sizeof(text), 1000000), "1.000ms");
    assert_string_equal(mp_format_time(text, sizeof(text), 1000000000), "1.000s");
}

static void no_time_is_wider_than_eight_characters(void **state)
{
    char text[MP_FORMATTED_BYTES];
    uint64_t ns;

    (void)state;
    for (ns = 1; ns < UINT64_MAX / 2; ns += ns / 3 + 1)
        assert_true(strlen(mp_show_time(text, sizeof(text), ns, MP_STYLE_NVPROF)) <= 8);
}

static void a_mean_is_rounded_to_whole_nanoseconds(void **state)
{
    char text[MP_FORMATTED_BYTES];

    (void)state;
    assert_string_equal(mp_format_time_mean(text, sizeof(text), 0.4), "0ns");
    assert_string_equal(mp_format_time_mean(text, sizeof(text), 0.5), "1ns");
    assert_string_equal(mp_format_time_mean(text, sizeof(text), 1772931.25), "1.773ms");
    assert_string_equal(mp_format_time_mean(text, sizeof(text), -3.0), "0ns");
}

static void sizes_change_unit_at_1000_and_divide_by_1024(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0B"},
        {112, "112B"},
        {999, "999B"},
        {1000, "0.9766KB"},
        {1023, "0.9990KB"},
        {1024, "1.0000KB"},
        {1536, "1.5000KB"},
        {1023999, "1000.0KB"}, /* below 1000 of them, before rounding */
        {1024000, "0.9766MB"},
        {1048575, "1.0000MB"},
        {1048576, "1.0000MB"},
        {1048576000, "0.9766GB"},
        {1073741824, "1.0000GB"},
        {1000ull << 30, "1e+03GB"},
        {4096ull << 20, "4.0000GB"},
    };
    char text[MP_FORMATTED_BYTES];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_string_equal(mp_show_size(text, sizeof(text), cases[i].bytes, MP_STYLE_NVPROF),
                            cases[i].text);
}

static void throughput_is_in_units_of_1024_or_1000(void **state)
{
    static const struct {
        double bytes;
        const char *nvprof;
        const char *own;
    } cases[] = {
        {0, "0.0000B/s", "0.000B/s"},
        {-1, "0.0000B/s", "0.000B/s"},
        {999, "999.00B/s", "999.0B/s"},
        {1000, "0.9766KB/s", "1.000KB/s"},
        {1e6, "976.56KB/s", "1.000MB/s"},
        {77.625 * 1048576, "77.625MB/s", "81.40MB/s"},
        {100000.0 * 1048576, "97.656GB/s", "104.9GB/s"},
        {4.81e12, "4e+03GB/s", "4,810GB/s"},
        {1e5 * 1073741824, "1e+05GB/s", "107,374GB/s"},
        {1e16, "9e+06GB/s", "10,000,000GB/s"},
    };
    char text[MP_FORMATTED_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_string_equal(mp_show_rate(text, sizeof(text), cases[i].bytes, MP_STYLE_NVPROF),
                            cases[i].nvprof);
        assert_string_equal(mp_format_throughput(text, sizeof(text), cases[i].bytes), cases[i].own);
    }
}

static void our_own_style_has_four_digits_and_commas(void **state)
{
    char text[MP_FORMATTED_BYTES];

    (void)state;
    assert_string_equal(mp_format_size(text, sizeof(text), 999), "999B");
    assert_string_equal(mp_format_size(text, sizeof(text), 1000), "0.9766KiB");
    assert_string_equal(mp_format_size(text, sizeof(text), 1536), "1.500KiB");
    assert_string_equal(mp_format_size(text, sizeof(text), 1048576), "1.000MiB");
    assert_string_equal(mp_format_size(text, sizeof(text), 4096ull << 20), "4.000GiB");
    assert_string_equal(mp_format_size(text, sizeof(text), 1234ull << 30), "1,234GiB");
    assert_string_equal(mp_format_time(text, sizeof(text), 12345), "12.35us");
    assert_string_equal(mp_format_time(text, sizeof(text), 1234567890123), "1,235s");
    assert_string_equal(mp_format_time(text, sizeof(text), UINT64_MAX), "18,446,744,074s");
    assert_string_equal(mp_show_number(text, sizeof(text), 1830.2, MP_STYLE_OWN), "1,830");
    assert_string_equal(mp_show_number(text, sizeof(text), 354586350, MP_STYLE_OWN), "354,586,350");
    assert_string_equal(mp_show_number(text, sizeof(text), 0.041317, MP_STYLE_OWN), "0.04132");
    assert_string_equal(mp_show_number(text, sizeof(text), 0.000229, MP_STYLE_OWN), "2.29e-04");
}

/* Of an output of nvprof -u ms: 8 characters, and exponents from 1000 on and below 0.01. */
static void numbers_without_a_unit_have_eight_characters(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {35.458635, "35.45864"}, {1.77293175, "1.772932"}, {0.001088, "1.09e-03"},
        {33.177568, "33.17757"}, {35458635, "3.55e+07"},   {916.65069, "916.6507"},
        {0.041317, "0.041317"},  {0.015576, "0.015576"},   {0.00993, "9.93e-03"},
        {0.000229, "2.29e-04"},  {1830.2, "1.83e+03"},     {999.99999, "1000.000"},
        {1000, "1.00e+03"},      {0.01, "0.010000"},       {0, "0.000000"},
    };
    char text[MP_FORMATTED_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_string_equal(mp_show_number(text, sizeof(text), cases[i].value, MP_STYLE_NVPROF),
                            cases[i].text);
}

static void units_of_sizes_have_names_and_bytes(void **state)
{
    (void)state;
    assert_int_equal(mp_size_unit(999), 0);
    assert_int_equal(mp_size_unit(1000), 1);
    assert_int_equal(mp_size_unit(1024000), 2);
    assert_int_equal(mp_size_unit(1e18), 3);
    assert_string_equal(mp_size_unit_name(2, MP_STYLE_NVPROF), "MB");
    assert_string_equal(mp_size_unit_name(2, MP_STYLE_OWN), "MiB");
    assert_true(mp_size_unit_bytes(2) == 1048576);
    assert_int_equal(mp_rate_unit(1e12, MP_STYLE_OWN), 3);
    assert_string_equal(mp_rate_unit_name(3), "GB/s");
    assert_true(mp_rate_unit_bytes(3, MP_STYLE_OWN) == 1e9);
    assert_true(mp_rate_unit_bytes(3, MP_STYLE_NVPROF) == 1073741824);
}

static void a_percentage_has_two_digits_behind_the_point(void **state)
{
    static const struct {
        double percent;
        const char *nvprof, *own;
    } cases[] = {
        {31.502737, "31.50%", "31.50%"}, {0, "0.00%", "0.00%"},
        {99.994, "99.99%", "99.99%"},    {99.996, "100.00%", "100.0%"},
        {100, "100.00%", "100.0%"},      {-157.23, "-157.23%", "-157.2%"},
        {1234.5, "1234.50%", "1,234%"},
    };
    char text[MP_FORMATTED_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_string_equal(mp_show_percent(text, sizeof(text), cases[i].percent, MP_STYLE_NVPROF),
                            cases[i].nvprof);
        assert_string_equal(mp_percent(cases[i].percent).text, cases[i].own);
    }
}

static void counts_have_a_comma_before_each_three_digits(void **state)
{
    char text[MP_FORMATTED_BYTES];

    (void)state;
    assert_string_equal(mp_count(0).text, "0");
    assert_string_equal(mp_count(999).text, "999");
    assert_string_equal(mp_count(1000).text, "1,000");
    assert_string_equal(mp_count(123456).text, "123,456");
    assert_string_equal(mp_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
    assert_string_equal(mp_show_count(text, sizeof(text), 15300, MP_STYLE_NVPROF), "15300");
    assert_string_equal(mp_show_count(text, 4, 15300, MP_STYLE_OWN), "15,");
    assert_string_equal(mp_figure(3).text, "3");
    assert_string_equal(mp_figure(0.98312).text, "0.9831");
    assert_string_equal(mp_figure(999.96).text, "1,000");
    assert_string_equal(mp_figure(12345.6).text, "12,346");
    assert_string_equal(mp_rounded(0.5).text, "0.50");
    assert_string_equal(mp_rounded(-1674.08).text, "-1,674");
    assert_string_equal(mp_rounded(-123456.7).text, "-123,457");
    assert_string_equal(mp_rounded(1e300).text, "1.000e+300");
}

/* To the second digit of the error. */
static void an_estimate_has_the_digits_that_its_error_allows(void **state)
{
    static const struct {
        uint64_t ns;
        double error;
        const char *text;
    } cases[] = {
        {1234567, 0, "1.235ms"}, {1234567, 20e3, "1.235ms"}, {1234567, 200e3, "1.23ms"},
        {1234567, 2e6, "1.2ms"}, {1234567, 20e6, "1ms"},     {123456, 20, "123.5us"},
        {123456, 20e3, "123us"}, {123456, 200e3, "120us"},   {42, 7, "42ns"},
        {4200, 1e6, "0ns"},      {999999, 200e3, "1.00ms"},  {12345678901, 99e6, "12.35s"},
    };
    char text[MP_FORMATTED_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_string_equal(mp_format_time_within(text, sizeof(text), cases[i].ns, cases[i].error),
                            cases[i].text);
    assert_int_equal(mp_places_within(0), 3);
    assert_int_equal(mp_places_within(0.2), 2);
    assert_int_equal(mp_places_within(2), 1);
    assert_int_equal(mp_places_within(20), 0);
}

static void a_moment_has_every_nanosecond(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {
        {0, "0ns"},
        {909, "909ns"},
        {4588, "4.588us"},
        {647659179, "647.659179ms"},
        {2629210042, "2.629210042s"},
        {UINT64_MAX, "18446744073.709551615s"},
    };
    char text[MP_FORMATTED_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_string_equal(mp_format_moment(text, sizeof(text), cases[i].ns), cases[i].text);
}

static void a_small_buffer_cuts_and_terminates(void **state)
{
    char text[4];

    (void)state;
    assert_string_equal(mp_format_time(text, sizeof(text), 123456), "123");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_printed_as_nvprof_does),
        cmocka_unit_test(dependency_times_have_six_decimals),
        cmocka_unit_test(the_unit_is_chosen_before_rounding),
        cmocka_unit_test(no_time_is_wider_than_eight_characters),
        cmocka_unit_test(a_mean_is_rounded_to_whole_nanoseconds),
        cmocka_unit_test(sizes_change_unit_at_1000_and_divide_by_1024),
        cmocka_unit_test(throughput_is_in_units_of_1024_or_1000),
        cmocka_unit_test(our_own_style_has_four_digits_and_commas),
        cmocka_unit_test(numbers_without_a_unit_have_eight_characters),
        cmocka_unit_test(units_of_sizes_have_names_and_bytes),
        cmocka_unit_test(a_percentage_has_two_digits_behind_the_point),
        cmocka_unit_test(counts_have_a_comma_before_each_three_digits),
        cmocka_unit_test(an_estimate_has_the_digits_that_its_error_allows),
        cmocka_unit_test(a_moment_has_every_nanosecond),
        cmocka_unit_test(a_small_buffer_cuts_and_terminates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
