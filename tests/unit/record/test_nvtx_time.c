/* Stamps of the time stamp counter become times of the clock. Most tests have clocks of their own,
 * whose times are known for any moment; the last one looks at those of this machine. */
#include "unit/record/test_nvtx.h"

#include "record/nvtx/buffer.h"

#include "base/poison.h"

/* ---- A clock that is steered ---- */

/* The counter runs at 2.6 GHz; the clock is fast by `ppm`, from `change` ns on by `ppm_after`. */
struct clock {
    long double ppm, ppm_after;
    long double change;
};

enum { WINDOW = 70 }; /* ticks: 27 ns */

static uint64_t ticks_at(long double ns)
{
    return 91564272055729u + (uint64_t)(ns * 2.6L);
}

static uint64_t clock_at(const struct clock *clock, long double ns)
{
    const long double before = ns < clock->change ? ns : clock->change;

    return 35000000000000u +
           (uint64_t)(ns + (before * clock->ppm + (ns - before) * clock->ppm_after) / 1e6L);
}

static uint32_t random_below(uint32_t limit)
{
    static uint64_t state = 7;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % limit;
}

/* A drain at that moment. The clock is read anywhere within the window. */
static enum nvtx_time_state add_at(struct nvtx_time *time, const struct clock *clock,
                                   long double ns)
{
    const uint32_t within = random_below(WINDOW);
    const struct nvtx_pair pair = {.ticks = ticks_at(ns) + WINDOW / 2,
                                   .ns = clock_at(clock, ns + within / 2.6L),
                                   .window = WINDOW};

    return nvtx_time_add(time, &pair);
}

/* How far the time told for a moment is off the clock's. */
static uint64_t error_at(struct nvtx_time *time, const struct clock *clock, long double ns)
{
    const uint64_t told = nvtx_time_of(time, ticks_at(ns));
    const uint64_t known = clock_at(clock, ns);

    return told > known ? told - known : known - told;
}

#define MS 1e6L

/* Drains every 90 ms from `from` to `to`, and the worst error of moments between them. */
static uint64_t worst_between(struct nvtx_time *time, const struct clock *clock, long double from,
                              long double to)
{
    uint64_t worst = 0;

    for (int drains = 0; from + drains * 90 * MS < to; drains++) {
        const long double ns = from + drains * 90 * MS;

        assert_int_equal(add_at(time, clock, ns), NVTX_TIME_GOOD);
        for (int i = 1; i < 90; i++) {
            const uint64_t error = error_at(time, clock, ns - i * MS);
            worst = error > worst ? error : worst;
        }
    }
    return worst;
}

static void learn(struct nvtx_time *time, const struct clock *clock)
{
    assert_int_equal(add_at(time, clock, 0), NVTX_TIME_MEASURES);
    assert_int_equal(add_at(time, clock, 1 * MS), NVTX_TIME_MEASURES);
    assert_int_equal(add_at(time, clock, 49 * MS), NVTX_TIME_MEASURES);
    assert_int_equal(add_at(time, clock, 90 * MS), NVTX_TIME_GOOD);
}

static void a_steady_clock_is_told_within_half_a_window(void **state)
{
    const struct clock clock = {.ppm = 37.25L, .ppm_after = 37.25L, .change = 0};
    struct nvtx_time time = {.rate = 0};

    (void)state;
    learn(&time, &clock);
    assert_in_range(worst_between(&time, &clock, 180 * MS, 60e9L), 1, 14 + 1);
    assert_int_equal(time.inexact, 0);
}

/* What NTP does to a clock that it has: the error is T * r / 4 beside the window. */
static void a_small_change_of_rate_stays_within_30_ns(void **state)
{
    struct clock clock = {.ppm = 37.0L, .ppm_after = 37.5L};
    struct nvtx_time time = {.rate = 0};

    (void)state;
    clock.change = 90 * MS * 20.5L; /* in the middle of an interval, where it is worst */
    learn(&time, &clock);
    assert_in_range(worst_between(&time, &clock, 180 * MS, 6e9L), 1, 30);
    assert_int_equal(time.inexact, 0);
}

static void a_large_change_of_rate_is_counted(void **state)
{
    struct clock clock = {.ppm = 0, .ppm_after = 500};
    struct nvtx_time time = {.rate = 0};

    (void)state;
    clock.change = 90 * MS * 20.5L;
    learn(&time, &clock);
    assert_in_range(worst_between(&time, &clock, 180 * MS, 90 * MS * 20.5L), 1, 15);
    assert_int_equal(time.inexact, 0);
    /* 90 ms * 500 ppm / 4 = 11,250 ns, in the interval of the change alone. */
    assert_in_range(worst_between(&time, &clock, 90 * MS * 21, 90 * MS * 21.5L), 11000, 11250 + 15);
    assert_int_equal(time.inexact, 89);
    assert_in_range(worst_between(&time, &clock, 90 * MS * 22, 90 * MS * 24.5L), 1, 15);
    time.inexact = 0;
    assert_in_range(worst_between(&time, &clock, 90 * MS * 25, 90 * MS * 60), 1, 15);
    assert_int_equal(time.inexact, 0); /* the new rate is known */
}

/* Drains at all distances: some with nothing between them, one so long that its writer slept. */
static void times_never_go_backwards(void **state)
{
    const struct clock clock = {.ppm = -20, .ppm_after = 40, .change = 3e9L};
    struct nvtx_time time = {.rate = 0};
    long double ns = 90 * MS;
    uint64_t before = 0;

    (void)state;
    learn(&time, &clock);
    for (int drains = 0; drains < 3000; drains++) {
        const long double next = ns + (drains % 500 ? random_below(4000000) + 100.0L : 3e9L);
        assert_int_equal(add_at(&time, &clock, next), NVTX_TIME_GOOD);
        for (int i = 0; i < 20; i++) {
            const uint64_t told = nvtx_time_of(&time, ticks_at(ns + (next - ns) * i / 20));
            assert_true(told >= before);
            before = told;
        }
        ns = next;
    }
}

/* A thread that was held up between reading the counter and writing its record. */
static void old_stamps_are_told_by_the_rate_before(void **state)
{
    const struct clock clock = {.ppm = 10, .ppm_after = 10};
    struct nvtx_time time = {.rate = 0};

    (void)state;
    learn(&time, &clock);
    worst_between(&time, &clock, 180 * MS, 1e9L);
    assert_in_range(error_at(&time, &clock, 700 * MS), 0, 200); /* three drains ago */
}

static void what_is_later_than_the_pair_waits(void **state)
{
    const struct clock clock = {.ppm = 0};
    struct nvtx_time time = {.rate = 0};

    (void)state;
    learn(&time, &clock);
    assert_false(nvtx_time_is_later(&time, ticks_at(90 * MS)));
    assert_true(nvtx_time_is_later(&time, ticks_at(90 * MS + 100)));
    assert_false(nvtx_time_is_later(&time, clock_at(&clock, 95 * MS) | NVTX_STAMP_IS_CLOCK));
    add_at(&time, &clock, 90 * MS + 200);
    assert_false(nvtx_time_is_later(&time, ticks_at(90 * MS + 100)));
}

static void stamps_of_the_clock_are_times(void **state)
{
    struct nvtx_time time = {.rate = 0};

    (void)state;
    assert_int_equal(nvtx_time_of(&time, 1700000000000000123u | NVTX_STAMP_IS_CLOCK),
                     1700000000000000123u);
}

/* ---- A counter that jumps ---- */

/* The pair at 180 ms with a counter that is `ticks` further. */
static void jump(struct nvtx_time *time, int64_t ticks)
{
    const struct clock clock = {.ppm = 0};
    const struct nvtx_pair pair = {.ticks = ticks_at(180 * MS) + (uint64_t)ticks,
                                   .ns = clock_at(&clock, 180 * MS),
                                   .window = WINDOW};

    learn(time, &clock);
    assert_int_equal(nvtx_time_add(time, &pair), NVTX_TIME_BROKEN);
    assert_int_equal(nvtx_time_add(time, &pair), NVTX_TIME_BROKEN);
    assert_int_equal(add_at(time, &clock, 270 * MS), NVTX_TIME_BROKEN);
}

/* Within the two drains between which it happened, those from before it where they belong. */
static void expect_between(struct nvtx_time *time, uint64_t first_after, uint64_t last_after)
{
    const struct clock clock = {.ppm = 0};
    const uint64_t low = clock_at(&clock, 90 * MS), high = clock_at(&clock, 180 * MS);

    assert_in_range(error_at(time, &clock, 100 * MS), 0, 30);
    assert_in_range(nvtx_time_of(time, first_after), low, high);
    assert_in_range(nvtx_time_of(time, last_after), low, high);
    assert_int_equal(time->inexact, 3);
    assert_false(nvtx_time_is_later(time, last_after));
    assert_false(nvtx_time_is_later(time, ticks_at(1e15L)));
}

static void a_counter_that_jumps_ahead_is_given_up(void **state)
{
    struct nvtx_time time = {.rate = 0};

    (void)state;
    jump(&time, 26000000000); /* 10 s */
    expect_between(&time, ticks_at(120 * MS) + 26000000000u, ticks_at(185 * MS) + 26000000000u);
}

static void a_counter_that_jumps_back_is_given_up(void **state)
{
    struct nvtx_time time = {.rate = 0};

    (void)state;
    jump(&time, -80000000000000);
    expect_between(&time, ticks_at(120 * MS) - 80000000000000u,
                   ticks_at(185 * MS) - 80000000000000u);
}

static void a_counter_at_another_rate_is_given_up(void **state)
{
    struct nvtx_time time = {.rate = 0};

    (void)state;
    jump(&time, 2600000); /* 1 ms of 90: 11,000 ppm */
    assert_true(time.is_broken);
}

static void a_counter_that_stands_is_given_up(void **state)
{
    const struct clock clock = {.ppm = 0};
    struct nvtx_time time = {.rate = 0};
    struct nvtx_pair pair;

    (void)state;
    learn(&time, &clock);
    pair = time.now;
    assert_int_equal(nvtx_time_add(&time, &pair), NVTX_TIME_BROKEN);
}

/* ---- This machine's ---- */

static bool counter_is_used(void)
{
    return atomic_load(&nvtx_state()->counter) == NVTX_COUNTER_USED;
}

static uint64_t miss_of(uint64_t time, uint64_t before, uint64_t after)
{
    return time < before ? before - time : time > after ? time - after : 0;
}

/* Whatever interrupts this thread: a time that is off by more than NVTX_TIME_EXACT_NS is counted.
 */
static void times_lie_between_readings_of_the_clock(void **state)
{
    enum { MARKS = 1000, DRAINS = 4 };
    static uint64_t before[MARKS], after[MARKS];
    const uint64_t inexact = mp_nvtx_inexact();
    unsigned off = 0;

    (void)state;
    if (!counter_is_used())
        skip();
    for (unsigned drains = 0; drains < DRAINS; drains++) {
        for (unsigned i = 0; i < MARKS; i++) {
            before[i] = mp_clock_now();
            nvtxMarkA("here");
            after[i] = mp_clock_now();
        }
        usleep(20000);
        assert_int_equal(drain(), MARKS);
        for (unsigned i = 0; i < MARKS; i++)
            off += miss_of(seen[i].event.time, before[i], after[i]) > NVTX_TIME_EXACT_NS;
    }
    assert_in_range(off, 0, mp_nvtx_inexact() - inexact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steady_clock_is_told_within_half_a_window),
        cmocka_unit_test(a_small_change_of_rate_stays_within_30_ns),
        cmocka_unit_test(a_large_change_of_rate_is_counted),
        cmocka_unit_test(times_never_go_backwards),
        cmocka_unit_test(old_stamps_are_told_by_the_rate_before),
        cmocka_unit_test(what_is_later_than_the_pair_waits),
        cmocka_unit_test(stamps_of_the_clock_are_times),
        cmocka_unit_test(a_counter_that_jumps_ahead_is_given_up),
        cmocka_unit_test(a_counter_that_jumps_back_is_given_up),
        cmocka_unit_test(a_counter_at_another_rate_is_given_up),
        cmocka_unit_test(a_counter_that_stands_is_given_up),
        TEST(times_lie_between_readings_of_the_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
