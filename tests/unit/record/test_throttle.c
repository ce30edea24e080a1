/* How much of a core the writer takes: the rule by itself, a writer that lives by it in a world of
 * our own, and the rest that the work queue gives it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "record/core/work.h"

#include "base/poison.h"

#define MS UINT64_C(1000000)
#define S  (1000 * MS)

/* ---- The rule ---- */

static struct throttle begun(void)
{
    struct throttle throttle;

    throttle_begin(&throttle, 5 * S, 1 * MS);
    return throttle;
}

static void a_round_within_the_credit_needs_no_rest(void **state)
{
    struct throttle throttle = begun();

    (void)state;
    assert_int_equal(throttle_rest(&throttle, 5 * S + 9 * MS, 10 * MS, THROTTLE_CALM), 0);
}

/* 11 ms of work in 11 ms: 5.5 beyond the half, 0.5 beyond the credit, which 1 ms of rest pays. */
static void what_is_beyond_is_rested(void **state)
{
    struct throttle throttle = begun();

    (void)state;
    assert_int_equal(throttle_rest(&throttle, 5 * S + 11 * MS, 12 * MS, THROTTLE_CALM), 1 * MS);
    assert_int_equal(throttle_rest(&throttle, 5 * S + 12 * MS, 12 * MS, THROTTLE_CALM), 0);
    assert_int_equal(
        throttle_rest(&throttle, 5 * S + 12 * MS + MS / 2, 12 * MS + MS / 2, THROTTLE_CALM),
        MS / 2);
}

static void a_long_debt_is_rested_piece_by_piece(void **state)
{
    struct throttle throttle = begun();
    uint64_t wall = 5 * S + 50 * MS;

    (void)state;
    /* 50 ms of work: 25 beyond the half, 20 beyond the credit, 40 to rest. */
    for (int i = 0; i < 40; i++, wall += 1 * MS)
        assert_int_equal(throttle_rest(&throttle, wall, 51 * MS, THROTTLE_CALM), 1 * MS);
    assert_int_equal(throttle_rest(&throttle, wall, 51 * MS, THROTTLE_CALM), 0);
}

static void idle_time_is_not_saved_up(void **state)
{
    struct throttle throttle = begun();

    (void)state;
    assert_int_equal(throttle_rest(&throttle, 3600 * S, 1 * MS, THROTTLE_CALM), 0);
    assert_int_equal(throttle_rest(&throttle, 3600 * S + 11 * MS, 12 * MS, THROTTLE_CALM), 1 * MS);
}

static void who_is_pressed_does_not_rest_for_ten_seconds(void **state)
{
    struct throttle throttle = begun();

    (void)state;
    assert_int_equal(throttle_rest(&throttle, 15 * S, 10 * S, THROTTLE_PRESSED), 0);
    assert_int_equal(throttle_rest(&throttle, 20 * S, 15 * S, THROTTLE_CALM), 0);
    assert_int_equal(throttle_rest(&throttle, 25 * S - 1, 20 * S - 1, THROTTLE_CALM), 0);
    /* Nor pays it back then. */
    assert_int_equal(throttle_rest(&throttle, 25 * S + MS - 1, 20 * S + MS - 1, THROTTLE_CALM), MS);
}

static void who_is_in_haste_rests_later(void **state)
{
    struct throttle throttle = begun();

    (void)state;
    assert_int_equal(throttle_rest(&throttle, 5 * S + 11 * MS, 12 * MS, THROTTLE_HASTE), 0);
    assert_int_equal(throttle_rest(&throttle, 5 * S + 11 * MS, 12 * MS, THROTTLE_CALM), MS);
}

/* Nothing was kept from it. */
static void pressure_without_a_debt_means_nothing(void **state)
{
    struct throttle throttle = begun();

    (void)state;
    assert_int_equal(throttle_rest(&throttle, 5 * S + 9 * MS, 10 * MS, THROTTLE_PRESSED), 0);
    assert_int_equal(throttle_rest(&throttle, 5 * S + 11 * MS, 12 * MS, THROTTLE_CALM), MS);
}

static void the_share_is_of_the_time_since_the_begin(void **state)
{
    struct throttle throttle = begun();

    (void)state;
    assert_true(throttle_percent(&throttle, 9 * S, 1 * S) == 25.0);
    assert_true(throttle_percent(&throttle, 5 * S, 1 * S) == 0);
}

/* ---- A writer that lives by it ---- */

#define DUE      (90 * MS)
#define CATCH_UP (30 * MS)
#define SECONDS  20

/* So many buffers come at once every so often, and each costs the writer so much CPU time. It rests
 * between them but when the next round is near, and a round ends when none waits. */
struct world {
    unsigned at_once;
    uint64_t every, cost;
    unsigned room; /* buffers in the pool */
    /* How it goes. */
    struct throttle throttle;
    uint64_t now, due, next;
    uint64_t cpu, rested;
    unsigned waiting, most_waiting, lost;
    uint64_t cpu_at[SECONDS * 1000 + 1000]; /* of each ms */
};

static void pass(struct world *world, uint64_t ns, bool works)
{
    for (uint64_t at = world->now / MS + 1; at * MS <= world->now + ns; at++)
        world->cpu_at[at] = world->cpu + (works ? at * MS - world->now : 0);
    world->now += ns;
    world->cpu += works ? ns : 0;
    for (; world->next <= world->now; world->next += world->every) {
        world->waiting += world->at_once;
        if (world->waiting > world->room) {
            world->lost += world->waiting - world->room;
            world->waiting = world->room;
        }
        if (world->waiting > world->most_waiting)
            world->most_waiting = world->waiting;
    }
}

static enum throttle_pressure pressure_of(const struct world *world)
{
    if ((world->room - world->waiting) * 2 < world->room || world->now >= world->due)
        return THROTTLE_PRESSED;
    return world->now + CATCH_UP > world->due ? THROTTLE_HASTE : THROTTLE_CALM;
}

static void take_one(struct world *world)
{
    uint64_t rest;

    pass(world, world->cost, true);
    world->waiting--;
    while ((rest = throttle_rest(&world->throttle, world->now, world->cpu, pressure_of(world)))) {
        world->rested += rest;
        pass(world, rest, false);
    }
}

/* Times in us. */
static struct world *live(unsigned at_once, uint64_t every, uint64_t cost, unsigned room)
{
    static struct world world;

    world = (struct world){
        .at_once = at_once, .every = every * 1000, .cost = cost * 1000, .room = room};
    throttle_begin(&world.throttle, 0, 0);
    while (world.now < SECONDS * S) {
        if (!world.waiting)
            pass(&world, world.next - world.now, false);
        if (world.now >= world.due)
            world.due = world.now + DUE;
        while (world.waiting)
            take_one(&world);
    }
    return &world;
}

/* The most CPU time in any window of so many ms. */
static uint64_t most_in(const struct world *world, size_t window)
{
    uint64_t max = 0;

    for (size_t at = window; at < (size_t)SECONDS * 1000; at++) {
        const uint64_t used = world->cpu_at[at] - world->cpu_at[at - window];
        max = used > max ? used : max;
    }
    return max;
}

static void light_work_is_not_delayed(void **state)
{
    const struct world *world = live(1, 1000, 350, 64);

    (void)state;
    assert_int_equal(world->rested, 0);
    assert_int_equal(world->most_waiting, 1);
    assert_int_equal(world->lost, 0);
}

/* 24.5 ms of work at once, five times a second: half of a window and the credit. */
static void a_burst_takes_no_more_than_half_a_core(void **state)
{
    const struct world *world = live(70, 200000, 350, 1024);

    (void)state;
    assert_in_range(most_in(world, 20), 15 * MS - MS / 2, 15 * MS + MS / 2);
    assert_in_range(most_in(world, 30), 20 * MS - MS / 2, 20 * MS + MS / 2);
    assert_int_equal(world->lost, 0);
    assert_int_equal(world->most_waiting, 70);
}

/* The same with room for 80: after the credit, more than half of it is still taken. */
static void a_burst_that_fills_the_pool_is_taken_at_once(void **state)
{
    const struct world *world = live(70, 200000, 350, 80);

    (void)state;
    assert_in_range(most_in(world, 19), 19 * MS - MS / 2, 19 * MS);
    assert_int_equal(world->lost, 0);
}

/* Who needs more than half of a core gets it in time, and nothing is lost that a writer without
 * rests would keep: at most what came in 60 ms at half the pace waits, or half of the pool. */
static void nothing_is_lost_or_late_for_rests(void **state)
{
    static const unsigned pools[] = {8, 64, 1024};
    static const uint64_t costs[] = {400, 600, 800, 950}; /* of 1000 us between buffers */

    (void)state;
    for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
        for (size_t j = 0; j < sizeof(costs) / sizeof(costs[0]); j++) {
            const struct world *world = live(1, 1000, costs[j], pools[i]);
            assert_int_equal(world->lost, 0);
            assert_in_range(world->most_waiting, 1, pools[i] / 2 + 2);
            assert_in_range(world->most_waiting, 1, 60 / 2 + 5);
        }
}

/* ---- The rest ---- */

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * S + (uint64_t)time.tv_nsec;
}

static void a_buffer_does_not_end_a_rest(void **state)
{
    static uint8_t data[8];
    struct work_queue queue = {.woken = 0};
    const struct work buffer = {.kind = WORK_BUFFER, .data = data, .bytes = sizeof(data)};
    uint64_t begin;

    (void)state;
    assert_int_equal(work_queue_open(&queue, 4), MP_OK);
    assert_true(work_put(&queue, &buffer));
    begin = now();
    assert_false(work_rest(&queue, 30 * MS));
    assert_true(now() - begin >= 30 * MS);
    work_wait(&queue, 3600 * 1000); /* but is there at once after it */
    work_queue_close(&queue);
}

static void a_wake_ends_a_rest(void **state)
{
    struct work_queue queue = {.woken = 0};

    (void)state;
    assert_int_equal(work_queue_open(&queue, 4), MP_OK);
    work_wake(&queue);
    assert_true(work_rest(&queue, 3600 * S));
    work_wait(&queue, 3600 * 1000);
    work_queue_close(&queue);
}

static void *wake(void *queue)
{
    const struct timespec pause = {.tv_nsec = 20 * (long)MS};

    nanosleep(&pause, NULL);
    work_wake(queue);
    return NULL;
}

static void another_thread_ends_a_rest(void **state)
{
    static struct work_queue queue;
    static uint8_t data[8];
    const struct work buffer = {.kind = WORK_BUFFER, .data = data, .bytes = sizeof(data)};
    pthread_t thread;

    (void)state;
    assert_int_equal(work_queue_open(&queue, 4), MP_OK);
    assert_true(work_put(&queue, &buffer)); /* the word is not 0 any more */
    assert_int_equal(pthread_create(&thread, NULL, wake, &queue), 0);
    assert_true(work_rest(&queue, 3600 * S));
    pthread_join(thread, NULL);
    work_queue_close(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_within_the_credit_needs_no_rest),
        cmocka_unit_test(what_is_beyond_is_rested),
        cmocka_unit_test(a_long_debt_is_rested_piece_by_piece),
        cmocka_unit_test(idle_time_is_not_saved_up),
        cmocka_unit_test(who_is_pressed_does_not_rest_for_ten_seconds),
        cmocka_unit_test(who_is_in_haste_rests_later),
        cmocka_unit_test(pressure_without_a_debt_means_nothing),
        cmocka_unit_test(the_share_is_of_the_time_since_the_begin),
        cmocka_unit_test(light_work_is_not_delayed),
        cmocka_unit_test(a_burst_takes_no_more_than_half_a_core),
        cmocka_unit_test(a_burst_that_fills_the_pool_is_taken_at_once),
        cmocka_unit_test(nothing_is_lost_or_late_for_rests),
        cmocka_unit_test(a_buffer_does_not_end_a_rest),
        cmocka_unit_test(a_wake_ends_a_rest),
        cmocka_unit_test(another_thread_ends_a_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
