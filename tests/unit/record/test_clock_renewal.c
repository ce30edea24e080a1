/* record/clock_renewal: when CUPTI is given its clock again, and when not. */
#include "record/cupti/activity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/poison.h"

#define SECOND UINT64_C(1000000000)

/* CUPTI gets the clock at 1000 s; ends of work are now, where `late` does not say otherwise. */
struct look {
    double seconds; /* since then */
    double million; /* records of work so far */
    bool answered;
    bool due;
    double late; /* the newest end of work is so many seconds old */
};

#define MAX_LOOKS 16

static const struct {
    const char *name;
    struct look looks[MAX_LOOKS];
    size_t count;
} cases[] = {
    {"nothing under way for a look: five minutes",
     {{1, 0.1, true, false, 0},
      {298, 0.2, true, false, 0},
      {299, 0.2, true, false, 1},
      {300, 0.2, true, true, 2},
      {301, 0.2, true, false, 3}},
     5},
    {"and again after five more",
     {{310, 0.3, true, false, 0},
      {311, 0.3, true, true, 1},
      {600, 0.5, true, false, 0},
      {610, 0.5, true, false, 10},
      {611, 0.5, true, true, 11}},
     5},
    {"every launch is answered, but work comes all the time: a graph that is not through",
     {{299, 0.1, true, false, 0}, {301, 0.2, true, false, 0}, {302, 0.3, true, false, 0}},
     3},
    {"no work comes, but a launch waits for it",
     {{299, 0.1, false, false, 0}, {301, 0.1, false, false, 2}, {302, 0.1, false, false, 3}},
     3},
    {"always something under way, but little: an hour",
     {{1, 0.1, false, false, 0},
      {300, 0.2, false, false, 0},
      {3599, 0.3, false, false, 0},
      {3600, 0.4, false, true, 0},
      {3601, 0.5, false, false, 0}},
     5},
    {"a program that does nothing more: each five minutes, for when it does",
     {{1, 0.1, true, false, 0},
      {299, 0.1, true, false, 298},
      {300, 0.1, true, true, 299},
      {599, 0.1, true, false, 598},
      {600, 0.1, true, true, 599}},
     5},
    /* 200,000 a second: 64 million after 320 s. */
    {"a quarter of a core, by records a second and seconds",
     {{100, 20, false, false, 0},
      {110, 22, false, false, 0},
      {319, 63.8, false, false, 0},
      {321, 64.2, false, true, 0},
      {322, 64.4, false, false, 0},
      {640, 128.0, false, false, 0},
      {642, 128.4, false, true, 0}},
     7},
    {"as many as go, but not within a minute",
     {{10, 20, false, false, 0},
      {20, 40, false, false, 0},
      {59, 118, false, false, 0},
      {61, 122, false, true, 0}},
     4},
    {"what counts is the pace now: a burst after little for long",
     {{1, 0.001, false, false, 0},
      {1000, 0.002, false, false, 0},
      {2000, 0.003, false, false, 0},
      {2002, 0.043, false, false, 0},
      {2004, 0.183, false, true, 0}},
     5},
    {"many long ago, few now",
     {{10, 5, false, false, 0},
      {50, 60, false, false, 0},
      {100, 62, false, false, 0},
      {200, 62.1, false, false, 0},
      {1000, 62.2, false, false, 0}},
     5},
    {"the pace is that of the device, not of what comes at once",
     {{100, 1, false, false, 0},
      {101, 1.1, false, false, 0.5},
      {102, 2.0, false, false, 1.1},
      {103, 2.1, false, false, 0}},
     4},
    {"no work in the range", {{300, 0, true, false, 300}, {4000, 0, true, false, 4000}}, 2},
};

static void the_clock_is_given_again_when_it_has_to_be(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct clock_renewal clock_renewal = {0};

        print_message("%s\n", cases[i].name);
        clock_renewal_given(&clock_renewal, 1000 * SECOND);
        for (size_t j = 0; j < cases[i].count; j++) {
            const struct look *look = &cases[i].looks[j];
            uint64_t now = (uint64_t)((1000 + look->seconds) * 1e9);
            bool due = clock_renewal_is_due(&clock_renewal, now, (uint64_t)(look->million * 1e6),
                                            now - (uint64_t)(look->late * 1e9), look->answered);

            if (due)
                clock_renewal_done(&clock_renewal);
            if (due != look->due)
                fail_msg("look %zu: %s", j + 1, due ? "due" : "not due");
        }
    }
}

static void a_clock_that_was_not_given_is_not_given_again(void **state)
{
    struct clock_renewal clock_renewal = {0};

    (void)state;
    assert_false(clock_renewal_is_due(&clock_renewal, 8000 * SECOND, 1000000, 8000 * SECOND, true));
}

/* The trace's clock may be another one than the writer's, as on the software GPU: the newest work
 * counts where it is later than now. */
static void work_may_end_later_than_now(void **state)
{
    struct clock_renewal clock_renewal = {0};

    (void)state;
    clock_renewal_given(&clock_renewal, 1000 * SECOND);
    assert_false(clock_renewal_is_due(&clock_renewal, 1000 * SECOND, 1, 1300 * SECOND, true));
    assert_true(clock_renewal_is_due(&clock_renewal, 1000 * SECOND, 1, 1300 * SECOND, true));
    clock_renewal_done(&clock_renewal);
    assert_false(clock_renewal_is_due(&clock_renewal, 1000 * SECOND, 1, 1301 * SECOND, true));
}

/* A range that begins after an hour without records is in need of it, but not before its work. */
static void a_range_that_begins_has_it_after_its_first_work(void **state)
{
    struct clock_renewal clock_renewal = {0};

    (void)state;
    clock_renewal_given(&clock_renewal, 1000 * SECOND);
    assert_false(clock_renewal_is_due(&clock_renewal, 1002 * SECOND, 500, 1002 * SECOND, true));
    clock_renewal_restart(&clock_renewal, 500);
    assert_false(clock_renewal_is_due(&clock_renewal, 9000 * SECOND, 500, 1002 * SECOND, true));
    assert_true(clock_renewal_is_due(&clock_renewal, 9000 * SECOND, 501, 9000 * SECOND, false));
}

static bool is_due_at_edge(struct clock_renewal *clock_renewal, uint64_t now)
{
    return clock_renewal_is_old(clock_renewal, now) && clock_renewal_ask(clock_renewal, now);
}

/* No work is under way there: the work of ranges that are all short is never looked at. */
static void the_edge_of_a_range_is_a_moment_for_it(void **state)
{
    struct clock_renewal clock_renewal = {0};

    (void)state;
    assert_false(is_due_at_edge(&clock_renewal, 8000 * SECOND));
    clock_renewal_given(&clock_renewal, 1000 * SECOND);
    assert_false(is_due_at_edge(&clock_renewal, 999 * SECOND));
    assert_false(is_due_at_edge(&clock_renewal, 1299 * SECOND));
    assert_true(is_due_at_edge(&clock_renewal, 1300 * SECOND));
    assert_false(is_due_at_edge(&clock_renewal, 1359 * SECOND)); /* it was not done */
    assert_true(is_due_at_edge(&clock_renewal, 1360 * SECOND));
    /* Nor by the writer: quiet since the second of these looks. */
    assert_false(clock_renewal_is_due(&clock_renewal, 1361 * SECOND, 1, 1361 * SECOND, true));
    assert_false(clock_renewal_is_due(&clock_renewal, 1362 * SECOND, 1, 1361 * SECOND, true));
    assert_true(clock_renewal_is_due(&clock_renewal, 1420 * SECOND, 1, 1361 * SECOND, true));
    assert_false(is_due_at_edge(&clock_renewal, 1479 * SECOND));
    assert_true(is_due_at_edge(&clock_renewal, 1480 * SECOND));
    clock_renewal_done(&clock_renewal);
    assert_false(is_due_at_edge(&clock_renewal, 1779 * SECOND));
    assert_true(is_due_at_edge(&clock_renewal, 1780 * SECOND));
}

/* The range had ended meanwhile, say. */
static void what_was_not_done_is_asked_for_again_a_minute_later(void **state)
{
    struct clock_renewal clock_renewal = {0};

    (void)state;
    clock_renewal_given(&clock_renewal, 1000 * SECOND);
    assert_false(clock_renewal_is_due(&clock_renewal, 4590 * SECOND, 1, 4590 * SECOND, false));
    assert_true(clock_renewal_is_due(&clock_renewal, 4600 * SECOND, 2, 4600 * SECOND, false));
    assert_false(clock_renewal_is_due(&clock_renewal, 4659 * SECOND, 3, 4659 * SECOND, false));
    assert_true(clock_renewal_is_due(&clock_renewal, 4660 * SECOND, 4, 4660 * SECOND, false));
    clock_renewal_done(&clock_renewal);
    assert_false(clock_renewal_is_due(&clock_renewal, 4720 * SECOND, 5, 4720 * SECOND, false));
    assert_false(clock_renewal_is_due(&clock_renewal, 8259 * SECOND, 6, 8259 * SECOND, false));
    assert_true(clock_renewal_is_due(&clock_renewal, 8260 * SECOND, 7, 8260 * SECOND, false));
}

/* Another CUPTI client had the clock, and everything was registered again when it was through. */
static void whoever_registers_it_the_time_begins_anew(void **state)
{
    struct clock_renewal clock_renewal = {0};

    (void)state;
    clock_renewal_given(&clock_renewal, 1000 * SECOND);
    assert_false(clock_renewal_is_due(&clock_renewal, 1290 * SECOND, 1, 1290 * SECOND, true));
    clock_renewal_given(&clock_renewal, 1295 * SECOND);
    assert_false(clock_renewal_is_due(&clock_renewal, 1310 * SECOND, 1, 1290 * SECOND, true));
    assert_true(clock_renewal_is_due(&clock_renewal, 1595 * SECOND, 1, 1290 * SECOND, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_is_given_again_when_it_has_to_be),
        cmocka_unit_test(a_clock_that_was_not_given_is_not_given_again),
        cmocka_unit_test(work_may_end_later_than_now),
        cmocka_unit_test(a_range_that_begins_has_it_after_its_first_work),
        cmocka_unit_test(the_edge_of_a_range_is_a_moment_for_it),
        cmocka_unit_test(what_was_not_done_is_asked_for_again_a_minute_later),
        cmocka_unit_test(whoever_registers_it_the_time_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
