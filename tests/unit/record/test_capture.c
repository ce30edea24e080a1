/* Which range a launch belongs to. Range r lies between the calls with ids 10 r and 10 r + 5, so
 * the number of every id is known by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings/config.h"
#include "record/names/capture.h"

#define FEW UINT64_C(5)

static struct capture capture;

static void make_ranges(uint64_t count)
{
    memset(&capture, 0, sizeof capture);
    for (uint64_t range = 1; range <= count; range++) {
        uint64_t begin = 10 * range, end = begin + 5;

        assert_int_equal(capture_start(&capture, begin, begin, false), CAPTURE_BEGIN);
        assert_int_equal(capture_stop(&capture, end, end), CAPTURE_END);
    }
}

/* The first range that is remembered is `oldest`. */
static void expect_numbers(uint64_t oldest, uint64_t from, uint64_t until)
{
    for (uint64_t id = from; id < until; id++) {
        bool inside = id / 10 >= oldest && id / 10 <= capture.count && id % 10 > 0 && id % 10 < 5;

        assert_int_equal(capture_number_of(&capture, id), inside ? id / 10 : 0);
        assert_int_equal(capture_keeps_work(&capture, id, 0), inside && id);
    }
}

static void a_launch_belongs_to_the_range_it_was_made_in(void **state)
{
    (void)state;
    make_ranges(FEW);
    expect_numbers(1, 0, 10 * (FEW + 2));
}

static void the_last_range_may_be_open(void **state)
{
    (void)state;
    make_ranges(FEW);
    assert_int_equal(capture_start(&capture, 60, 60, false), CAPTURE_BEGIN);
    assert_int_equal(capture_number_of(&capture, 60), 0);
    assert_int_equal(capture_number_of(&capture, 61), FEW + 1);
    assert_int_equal(capture_number_of(&capture, UINT64_C(1) << 40), FEW + 1);
    assert_int_equal(capture_number_of(&capture, 54), FEW);
}

/* One more than there is room for: the older half goes, and numbers stay. */
static void old_ranges_are_forgotten(void **state)
{
    const uint64_t max = CAPTURE_REMEMBERED, half = max / 2;

    (void)state;
    make_ranges(max + 1);
    assert_int_equal(capture.count, max + 1);
    expect_numbers(half + 1, 10 * (half - 1), 10 * (half + 3));
    expect_numbers(half + 1, 10 * (max - 1), 10 * (max + 3));
}

static void expect_earlier(uint64_t correlation, uint64_t end, uint64_t range, uint64_t more)
{
    uint64_t number = 0;

    assert_int_equal(capture_note_earlier(&capture, correlation, end, &number), more);
    assert_int_equal(number, range);
}

/* Range 3 is from 30 to 35, by its ids and its times. */
static void work_from_before_a_range_counts_as_far_as_it_reaches_into_it(void **state)
{
    (void)state;
    make_ranges(FEW);
    expect_earlier(26, 29, 0, 0); /* launched behind range 2, before range 3 */
    expect_earlier(26, 30, 0, 0);
    expect_earlier(26, 32, 3, 2);
    expect_earlier(28, 31, 0, 0); /* known already */
    expect_earlier(30, 33, 3, 1); /* the id of the call that begins it */
    expect_earlier(31, 34, 0, 0);
    expect_earlier(25, 39, 3, 2); /* to the range's end */
    expect_earlier(36, 39, 0, 0); /* launched behind it */
    expect_earlier(0, 41, 4, 1);  /* known to be earlier */
}

static void a_range_from_the_process_start_has_nothing_before_it(void **state)
{
    (void)state;
    memset(&capture, 0, sizeof capture);
    assert_int_equal(capture_open(&capture, MP_CAPTURE_AUTO, true), CAPTURE_BEGIN);
    expect_earlier(1, 100, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_belongs_to_the_range_it_was_made_in),
        cmocka_unit_test(the_last_range_may_be_open),
        cmocka_unit_test(old_ranges_are_forgotten),
        cmocka_unit_test(work_from_before_a_range_counts_as_far_as_it_reaches_into_it),
        cmocka_unit_test(a_range_from_the_process_start_has_nothing_before_it),
    };

    return cmocka_run_group_tests_name("record/capture", tests, NULL, NULL);
}
