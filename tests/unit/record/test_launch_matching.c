/* Launches and the records of their kernels, in any order: what is unanswered at the end is exactly
 * what has no record, however long the window has been left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/cupti/launch_matching.h"

struct heard {
    uint64_t last;
    long sum; /* of the changes */
    long said;
};

static void hear(void *context, uint64_t correlation, int change)
{
    struct heard *heard = context;

    heard->last = correlation;
    heard->sum += change;
    heard->said++;
}

static void a_launch_without_a_record_is_said_at_the_end(void **state)
{
    struct heard heard = {.sum = 0};
    struct launch_matching matching;

    (void)state;
    matching_open(&matching, hear, &heard);
    matching_launch(&matching, 7);
    matching_record(&matching, 9);
    matching_launch(&matching, 9);
    matching_launch(&matching, 9);  /* the runtime's call and the driver's */
    matching_record(&matching, 11); /* its call was not recorded */
    assert_int_equal(heard.said, 0);
    matching_end(&matching);
    assert_int_equal(heard.sum, 1);
    assert_int_equal(heard.last, 7);
    matching_end(&matching);
    assert_int_equal(heard.said, 1);
    matching_close(&matching);
}

static void a_late_record_takes_it_back(void **state)
{
    struct heard heard = {.sum = 0};
    struct launch_matching matching;

    (void)state;
    matching_open(&matching, hear, &heard);
    matching_launch(&matching, 100);
    matching_launch(&matching, 100 + 2 * MATCHING_WINDOW);
    assert_int_equal(heard.sum, 1);
    matching_record(&matching, 100);
    matching_record(&matching, 100); /* a second one changes nothing */
    matching_record(&matching, 99);
    assert_int_equal(heard.sum, 0);
    matching_launch(&matching, 50); /* too old to tell */
    matching_record(&matching, 100 + 2 * MATCHING_WINDOW);
    matching_end(&matching);
    assert_int_equal(heard.sum, 0);
    matching_close(&matching);
}

static void ids_may_be_anything(void **state)
{
    static const uint64_t ids[] = {
        1, UINT64_C(1) << 40, UINT32_MAX, UINT64_MAX - UINT64_C(4) * MATCHING_WINDOW, 0, 5};
    struct heard heard = {.sum = 0};
    struct launch_matching matching;

    (void)state;
    matching_open(&matching, hear, &heard);
    matching_end(&matching);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        matching_launch(&matching, ids[i]);
        matching_record(&matching, ids[i]);
    }
    matching_end(&matching);
    assert_int_equal(heard.sum, 0);
    matching_close(&matching);
}

static void a_restart_forgets(void **state)
{
    struct heard heard = {.sum = 0};
    struct launch_matching matching;

    (void)state;
    matching_open(&matching, hear, &heard);
    matching_launch(&matching, 5);
    matching_restart(&matching);
    matching_record(&matching, 5);
    matching_launch(&matching, 6);
    matching_end(&matching);
    assert_int_equal(heard.sum, 1);
    assert_int_equal(heard.last, 6);
    matching_close(&matching);
}

/* Of three million launches each has a record or none, which comes 100,000 launches later. */
static void what_is_unanswered_is_what_has_no_record(void **state)
{
    enum { LAUNCHES = 3000000, APART = 100000 };
    struct heard heard = {.sum = 0};
    struct launch_matching matching;
    uint32_t seed = 4711;
    long missing = 0;

    (void)state;
    matching_open(&matching, hear, &heard);
    for (uint64_t id = 1; id <= LAUNCHES + APART; id++) {
        if (id <= LAUNCHES)
            matching_launch(&matching, id);
        if (id > APART) {
            seed = seed * 1664525u + 1013904223u;
            if (seed >> 24)
                matching_record(&matching, id - APART);
            else
                missing++;
        }
    }
    matching_end(&matching);
    assert_int_equal(heard.sum, missing);
    assert_true(missing > 10000);
    matching_close(&matching);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_without_a_record_is_said_at_the_end),
        cmocka_unit_test(a_late_record_takes_it_back),
        cmocka_unit_test(ids_may_be_anything),
        cmocka_unit_test(a_restart_forgets),
        cmocka_unit_test(what_is_unanswered_is_what_has_no_record),
    };

    return cmocka_run_group_tests_name("record/answers", tests, NULL, NULL);
}
