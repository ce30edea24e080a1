/* What the page of a comparison holds besides the JSON of the comparison: latencies in order of
 * time, thinned where there are many, and percentiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/diff.h"
#include "page/page.h"
#include "unit/deps/deps_fixture.h"

enum { MANY = 100000, MAX_VALUES = 20000 };

static char *written;
static size_t written_bytes;

/* The document of two sides with these latencies. */
static void write_of(uint64_t *a, size_t a_count, uint64_t *b, size_t b_count)
{
    const struct diff diff = {
        .sides = {{.latencies = a, .iterations = a_count}, {.latencies = b, .iterations = b_count}},
    };
    FILE *out;

    free(written);
    written = NULL;
    out = open_memstream(&written, &written_bytes);
    assert_non_null(out);
    assert_int_equal(html_diff_latencies(out, &diff, 7), MP_OK);
    fclose(out);
}

static double values[MAX_VALUES];

/* The numbers of the array behind `key` in the object of a side, or of the document. */
static size_t read_array(const char *side, const char *key)
{
    char quoted[64];
    const char *at = written;
    size_t count = 0;

    if (side) {
        snprintf(quoted, sizeof quoted, "\"%s\": {", side);
        at = strstr(at, quoted);
        assert_non_null(at);
    }
    snprintf(quoted, sizeof quoted, "\"%s\": [", key);
    at = strstr(at, quoted);
    assert_non_null(at);
    at += strlen(quoted);
    while (*at != ']') {
        char *end;

        assert_true(count < MAX_VALUES);
        values[count++] = strtod(at, &end);
        assert_true(end > at);
        at = *end == ',' ? end + 1 : end;
    }
    return count;
}

static void expect(const char *side, const char *key, size_t count, const double *expected)
{
    assert_int_equal(read_array(side, key), count);
    for (size_t i = 0; i < count; i++)
        assert_true(values[i] == expected[i]);
}

static void latencies_stand_in_order_of_time(void **state)
{
    uint64_t a[] = {30, 10, 20};
    uint64_t b[] = {5};

    (void)state;
    write_of(a, 3, b, 1);
    expect("a", "iterations", 3, (const double[]){1, 2, 3});
    expect("a", "latencies_ns", 3, (const double[]){30, 10, 20});
    expect("b", "iterations", 1, (const double[]){1});
    expect("b", "latencies_ns", 1, (const double[]){5});
    assert_non_null(strstr(written, "\"positions_left_out\": 7"));
}

/* Of n iterations, tails that less than one of them could be in are left out. */
static void percentiles_end_where_iterations_do(void **state)
{
    uint64_t values_of[1000];

    (void)state;
    for (uint64_t i = 0; i < 1000; i++)
        values_of[i] = 1000 - i; /* sorted, value i is i + 1 */
    write_of(values_of, 1000, values_of, 10);
    assert_int_equal(read_array(NULL, "percents"), 100 + 9 + 1);
    assert_true(values[50] == 50 && values[99] == 99 && values[100] == 99.1);
    assert_true(values[108] == 99.9 && values[109] == 100);
    assert_int_equal(read_array("a", "percentiles_ns"), 110);
    assert_true(values[0] == 1 && values[50] == 500 && values[99] == 990);
    assert_true(values[100] == 991 && values[108] == 999 && values[109] == 1000);
    /* 991 to 1000: the eleventh percent is the second of ten. */
    assert_int_equal(read_array("b", "percentiles_ns"), 110);
    assert_true(values[10] == 991 && values[11] == 992 && values[90] == 999);
    assert_true(values[91] == 1000 && values[109] == 1000);
}

static void few_iterations_have_few_percentiles(void **state)
{
    uint64_t two[] = {9, 4};

    (void)state;
    write_of(two, 1, two, 1);
    expect(NULL, "percents", 2, (const double[]){0, 100});
    expect("a", "percentiles_ns", 2, (const double[]){9, 9});
    write_of(two, 2, two, 0);
    assert_int_equal(read_array(NULL, "percents"), 51 + 1);
    assert_int_equal(read_array("a", "percentiles_ns"), 52);
    assert_true(values[50] == 4 && values[51] == 9);
    assert_int_equal(read_array("b", "percentiles_ns"), 0);
    assert_int_equal(read_array("b", "latencies_ns"), 0);
}

static void many_iterations_are_thinned_without_losing_an_outlier(void **state)
{
    uint64_t *many = malloc(MANY * sizeof *many);
    uint64_t random = 1;
    size_t count, outliers = 0;

    (void)state;
    assert_non_null(many);
    for (size_t i = 0; i < MANY; i++)
        many[i] = 1000 + fixture_random(&random) % 100;
    for (size_t i = 777; i < MANY; i += 9973)
        many[i] = i % 2 ? 5000 + i : 10;
    write_of(many, MANY, many, HTML_DIFF_ITERATIONS);
    count = read_array("a", "iterations");
    assert_true(count <= HTML_DIFF_ITERATIONS && count > HTML_DIFF_ITERATIONS / 2);
    for (size_t i = 0; i < count; i++) {
        size_t at = (size_t)values[i] - 1;

        assert_true(!i || values[i] > values[i - 1]);
        assert_true(at < MANY);
        outliers += many[at] < 1000 || many[at] >= 1100;
    }
    assert_int_equal(outliers, (MANY - 777 + 9972) / 9973);
    assert_int_equal(read_array("a", "latencies_ns"), count);
    assert_true(strstr(written, "\"count\": 100000") != NULL);
    /* As many as fit are all there. */
    assert_int_equal(read_array("b", "iterations"), HTML_DIFF_ITERATIONS);
    /* Percentiles are of all. */
    count = read_array("a", "percentiles_ns");
    assert_int_equal(count, 100 + 9 + 9 + 9 + 1);
    assert_true(values[0] == 10 && values[count - 1] == 5000 + 80561);
    free(many);
}

/* As long as a latency can be: numbers that a script cannot hold are strings in a page. */
static void long_latencies_stay_whole(void **state)
{
    uint64_t longest[] = {SHIFT_MAX, 1};
    struct diff diff = {
        .sides = {{.latencies = longest, .iterations = 2}, {.latencies = longest, .iterations = 2}},
    };
    const struct diff_report report = {.diff = &diff};
    struct mp_error error;
    FILE *out;

    (void)state;
    write_of(longest, 2, longest, 2);
    assert_non_null(strstr(written, "\"latencies_ns\": [2305843009213693951, 1]"));
    free(written);
    written = NULL;
    out = open_memstream(&written, &written_bytes);
    assert_int_equal(html_diff_write(out, &report, &error), MP_OK);
    fclose(out);
    assert_non_null(strstr(written, "\"latencies_ns\": [\"2305843009213693951\", 1]"));
}

static int free_written(void **state)
{
    (void)state;
    free(written);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latencies_stand_in_order_of_time),
        cmocka_unit_test(percentiles_end_where_iterations_do),
        cmocka_unit_test(few_iterations_have_few_percentiles),
        cmocka_unit_test(many_iterations_are_thinned_without_losing_an_outlier),
        cmocka_unit_test(long_latencies_stay_whole),
    };
    return cmocka_run_group_tests(tests, NULL, free_written);
}
