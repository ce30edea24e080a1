/* Finding the sequence of kernels that repeats: by hand, and against trying every period. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/kernel_period.h"
#include "unit/trace_fixture.h"

#define MOST 4096

static uint32_t shapes[MOST];

/* "start+length*count" of a sequence given as letters, or "none". */
static const char *period_of(const char *letters)
{
    static char text[64];
    struct kernel_period period;
    size_t count = strlen(letters);

    for (size_t i = 0; i < count; i++)
        shapes[i] = (uint32_t)letters[i];
    assert_int_equal(kernel_period_find(shapes, count, &period), MP_OK);
    if (!period.length)
        return "none";
    snprintf(text, sizeof text, "%zu+%zu*%zu", period.start, period.length, period.count);
    return text;
}

static void a_loop_is_found_wherever_it_stands(void **state)
{
    (void)state;
    assert_string_equal(period_of("abcabcabc"), "0+3*3");
    assert_string_equal(period_of("wwxabccabccabccaby"), "3+4*3");
    assert_string_equal(period_of("vwxyzuabcabcabc"), "6+3*3");
    assert_string_equal(period_of("abcabcabcvwxyzu"), "0+3*3");
    assert_string_equal(period_of("vwxyzabcabcabcuts"), "5+3*3");
    assert_string_equal(period_of("aaa"), "0+1*3");
}

static void the_shortest_period_counts(void **state)
{
    (void)state;
    assert_string_equal(period_of("abababababab"), "0+2*6");
    assert_string_equal(period_of("aabaabaabaab"), "0+3*4");
}

static void too_little_is_no_loop(void **state)
{
    (void)state;
    assert_string_equal(period_of(""), "none");
    assert_string_equal(period_of("a"), "none");
    assert_string_equal(period_of("aa"), "none");
    assert_string_equal(period_of("abcabc"), "none");
    assert_string_equal(period_of("abcdefgh"), "none");
    assert_string_equal(period_of("abcabcabcwvuxyzmnop"), "none"); /* 9 of 19 */
    assert_string_equal(period_of("abcabcabcwvuxyzmno"), "0+3*3"); /* 9 of 18 */
}

/* The first of the shortest, by trying. */
static bool try_all(const uint32_t *items, size_t count, struct kernel_period *period)
{
    for (size_t p = 1; p * KERNEL_PERIOD_LEAST_COUNT <= count; p++) {
        for (size_t from = 0; from < count;) {
            size_t at = from;
            while (at + p < count && items[at] == items[at + p])
                at++;
            size_t stretch = at + p - from < count - from ? at + p - from : count - from;
            if (stretch >= KERNEL_PERIOD_LEAST_COUNT * p && 2 * stretch >= count) {
                *period = (struct kernel_period){from, p, stretch / p};
                return true;
            }
            from = at + 1;
        }
    }
    return false;
}

/* Two stretches of half of all could both do: then either may be said. */
static void expect_as_tried(size_t count, unsigned round)
{
    struct kernel_period found, tried;
    bool any = try_all(shapes, count, &tried);

    assert_int_equal(kernel_period_find(shapes, count, &found), MP_OK);
    if (any != (found.length != 0) || (any && tried.length != found.length)) {
        print_message("round %u: %zu kernels\n", round, count);
        assert_true(false);
    }
    for (size_t i = 0; any && i + found.length < found.length * found.count; i++)
        assert_int_equal(shapes[found.start + i], shapes[found.start + i + found.length]);
    assert_true(!any || (found.count >= 3 && found.start + found.length * found.count <= count));
}

static void random_sequences_are_as_tried_out(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        size_t count = fixture_random(&random) % 60;
        size_t warm = fixture_random(&random) % 20;
        size_t length = 1 + fixture_random(&random) % 12;
        uint32_t kinds = 1 + (uint32_t)(fixture_random(&random) % 4);

        for (size_t i = 0; i < count; i++) {
            bool loop = i >= warm + length && fixture_random(&random) % 50;
            shapes[i] = loop ? shapes[i - length] : (uint32_t)(fixture_random(&random) % kinds);
        }
        expect_as_tried(count, round);
    }
}

static void a_long_loop_takes_linear_time(void **state)
{
    /* A quadratic one would take hours. */
    size_t count = 3000000;
    uint32_t *many = malloc(count * sizeof *many);
    struct kernel_period period;

    (void)state;
    assert_non_null(many);
    for (size_t i = 0; i < count; i++)
        many[i] = i == count / 8 ? 2 : 1; /* a long stretch of one, the worst for comparing */
    assert_int_equal(kernel_period_find(many, count, &period), MP_OK);
    assert_int_equal(period.length, 1);
    assert_int_equal(period.start, count / 8 + 1);
    assert_int_equal(period.count, count - count / 8 - 1);
    free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_is_found_wherever_it_stands),
        cmocka_unit_test(the_shortest_period_counts),
        cmocka_unit_test(too_little_is_no_loop),
        cmocka_unit_test(random_sequences_are_as_tried_out),
        cmocka_unit_test(a_long_loop_takes_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
