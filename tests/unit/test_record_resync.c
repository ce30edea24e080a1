/* record/resync: when CUPTI is given its clock again, and when not. */
#include "record/resync.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/poison.h"

#define SECOND UINT64_C(1000000000)

/* The clock is given at 1000 s; ends of work are now, where `late` does not say otherwise. */
struct look {
    double seconds; /* since then */
    double million; /* records of work so far */
    bool quiet;
    bool due;
    double late; /* the newest end of work is so many seconds old */
};

#define MOST_LOOKS 16

static const struct {
    const char *name;
    struct look looks[MOST_LOOKS];
    size_t count;
} cases[] = {
    {"nothing under way: five minutes",
     {{1, 0.1, true, false, 0}, {299, 0.2, true, false, 0}, {300, 0.3, true, true, 0}},
     3},
    {"and again after five more",
     {{1, 0.1, true, false, 0},
      {310, 0.3, true, true, 0},
      {311, 0.4, true, false, 0},
      {609, 0.5, true, false, 0},
      {610, 0.6, true, true, 0}},
     5},
    {"work is always under way, but little: an hour",
     {{1, 0.1, false, false, 0},
      {300, 0.2, false, false, 0},
      {3599, 0.3, false, false, 0},
      {3600, 0.4, false, true, 0},
      {3601, 0.5, false, false, 0}},
     5},
    {"the first moment without work after five minutes",
     {{1, 0.1, false, false, 0},
      {500, 0.2, false, false, 0},
      {501, 0.3, true, true, 0},
      {502, 0.3, true, false, 0}},
     4},
    {"nothing more is launched: by the time that passes, once",
     {{1, 0.1, true, false, 0}, {299, 0.1, true, false, 298}, {300, 0.1, true, true, 299}},
     3},
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
        struct resync resync = {0};

        print_message("%s\n", cases[i].name);
        resync_given(&resync, 1000 * SECOND);
        for (size_t j = 0; j < cases[i].count; j++) {
            const struct look *look = &cases[i].looks[j];
            uint64_t now = (uint64_t)((1000 + look->seconds) * 1e9);
            bool due = resync_is_due(&resync, now, (uint64_t)(look->million * 1e6),
                                     now - (uint64_t)(look->late * 1e9), look->quiet);

            if (due != look->due)
                fail_msg("look %zu: %s", j + 1, due ? "due" : "not due");
        }
    }
}

static void a_clock_that_was_not_given_is_not_given_again(void **state)
{
    struct resync resync = {0};

    (void)state;
    assert_false(resync_is_due(&resync, 8000 * SECOND, 1000000, 8000 * SECOND, true));
}

/* The trace's clock may be another one than the writer's, as on the software GPU: the newest work
 * counts where it is later than now. */
static void work_may_end_later_than_now(void **state)
{
    struct resync resync = {0};

    (void)state;
    resync_given(&resync, 1000 * SECOND);
    assert_false(resync_is_due(&resync, 1000 * SECOND, 1, 1299 * SECOND, true));
    assert_true(resync_is_due(&resync, 1000 * SECOND, 2, 1300 * SECOND, true));
    assert_false(resync_is_due(&resync, 1000 * SECOND, 3, 1301 * SECOND, true));
}

/* A range that begins after an hour without records is in need of it, but not before its work. */
static void a_range_that_begins_has_it_after_its_first_work(void **state)
{
    struct resync resync = {0};

    (void)state;
    resync_given(&resync, 1000 * SECOND);
    assert_false(resync_is_due(&resync, 1002 * SECOND, 500, 1002 * SECOND, true));
    resync_restart(&resync, 500);
    assert_false(resync_is_due(&resync, 9000 * SECOND, 500, 1002 * SECOND, true));
    assert_true(resync_is_due(&resync, 9000 * SECOND, 501, 9000 * SECOND, false));
}

/* Another CUPTI client had the clock, and it was given again when that was through. */
static void whoever_gives_it_the_time_begins_anew(void **state)
{
    struct resync resync = {0};

    (void)state;
    resync_given(&resync, 1000 * SECOND);
    assert_false(resync_is_due(&resync, 1290 * SECOND, 1, 1290 * SECOND, true));
    resync_given(&resync, 1295 * SECOND);
    assert_false(resync_is_due(&resync, 1310 * SECOND, 2, 1310 * SECOND, true));
    assert_true(resync_is_due(&resync, 1595 * SECOND, 3, 1595 * SECOND, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_is_given_again_when_it_has_to_be),
        cmocka_unit_test(a_clock_that_was_not_given_is_not_given_again),
        cmocka_unit_test(work_may_end_later_than_now),
        cmocka_unit_test(a_range_that_begins_has_it_after_its_first_work),
        cmocka_unit_test(whoever_gives_it_the_time_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
