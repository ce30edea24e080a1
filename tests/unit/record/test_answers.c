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
    struct answers answers;

    (void)state;
    answers_open(&answers, hear, &heard);
    answers_launch(&answers, 7);
    answers_work(&answers, 9);
    answers_launch(&answers, 9);
    answers_launch(&answers, 9); /* the runtime's call and the driver's */
    answers_work(&answers, 11);  /* its call was not recorded */
    assert_int_equal(heard.said, 0);
    answers_end(&answers);
    assert_int_equal(heard.sum, 1);
    assert_int_equal(heard.last, 7);
    answers_end(&answers);
    assert_int_equal(heard.said, 1);
    answers_close(&answers);
}

static void a_late_record_takes_it_back(void **state)
{
    struct heard heard = {.sum = 0};
    struct answers answers;

    (void)state;
    answers_open(&answers, hear, &heard);
    answers_launch(&answers, 100);
    answers_launch(&answers, 100 + 2 * ANSWERS_WINDOW);
    assert_int_equal(heard.sum, 1);
    answers_work(&answers, 100);
    answers_work(&answers, 100); /* a second one changes nothing */
    answers_work(&answers, 99);
    assert_int_equal(heard.sum, 0);
    answers_launch(&answers, 50); /* too old to tell */
    answers_work(&answers, 100 + 2 * ANSWERS_WINDOW);
    answers_end(&answers);
    assert_int_equal(heard.sum, 0);
    answers_close(&answers);
}

static void ids_may_be_anything(void **state)
{
    static const uint64_t ids[] = {
        1, UINT64_C(1) << 40, UINT32_MAX, UINT64_MAX - UINT64_C(4) * ANSWERS_WINDOW, 0, 5};
    struct heard heard = {.sum = 0};
    struct answers answers;

    (void)state;
    answers_open(&answers, hear, &heard);
    answers_end(&answers);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        answers_launch(&answers, ids[i]);
        answers_work(&answers, ids[i]);
    }
    answers_end(&answers);
    assert_int_equal(heard.sum, 0);
    answers_close(&answers);
}

static void a_restart_forgets(void **state)
{
    struct heard heard = {.sum = 0};
    struct answers answers;

    (void)state;
    answers_open(&answers, hear, &heard);
    answers_launch(&answers, 5);
    answers_restart(&answers);
    answers_work(&answers, 5);
    answers_launch(&answers, 6);
    answers_end(&answers);
    assert_int_equal(heard.sum, 1);
    assert_int_equal(heard.last, 6);
    answers_close(&answers);
}

/* Of three million launches each has a record or none, which comes 100,000 launches later. */
static void what_is_unanswered_is_what_has_no_record(void **state)
{
    enum { LAUNCHES = 3000000, APART = 100000 };
    struct heard heard = {.sum = 0};
    struct answers answers;
    uint32_t seed = 4711;
    long missing = 0;

    (void)state;
    answers_open(&answers, hear, &heard);
    for (uint64_t id = 1; id <= LAUNCHES + APART; id++) {
        if (id <= LAUNCHES)
            answers_launch(&answers, id);
        if (id > APART) {
            seed = seed * 1664525u + 1013904223u;
            if (seed >> 24)
                answers_work(&answers, id - APART);
            else
                missing++;
        }
    }
    answers_end(&answers);
    assert_int_equal(heard.sum, missing);
    assert_true(missing > 10000);
    answers_close(&answers);
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
