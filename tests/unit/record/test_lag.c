/* record/behind: when the GPU's records count as behind its launches, and when not. */
#include "record/cupti/launch_matching.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/poison.h"

#define MS UINT64_C(1000000)

/* ---- Cases step by step ---- */

enum what { LAUNCH, WORK, LOOK, RESTART };

/* `ms`: when the launch began or the work ended; of a look, the lag that it says. */
struct step {
    enum what what;
    uint64_t ms;
};

#define MAX_STEPS 24

static const struct {
    const char *name;
    struct step steps[MAX_STEPS];
    size_t count;
    uint64_t max; /* ms */
} cases[] = {
    {"steady",
     {{LAUNCH, 1000}, {LOOK, 0}, {WORK, 1001}, {LAUNCH, 2000}, {LOOK, 0}, {WORK, 2001}, {LOOK, 0}},
     7,
     0},
    {"a pause, then launches whose records come a look later",
     {{LAUNCH, 1000},
      {WORK, 1001},
      {LOOK, 0},
      {LAUNCH, 60000},
      {LOOK, 0},
      {LAUNCH, 60090},
      {LOOK, 0},
      {WORK, 60001},
      {LOOK, 0}},
     9,
     0},
    {"a pause in which the record of the last launch is late",
     {{LAUNCH, 1000},
      {WORK, 1001},
      {LAUNCH, 2000},
      {LOOK, 0},
      {LOOK, 0},
      {WORK, 2001},
      {LAUNCH, 60000},
      {LOOK, 0},
      {WORK, 60001},
      {LOOK, 0}},
     10,
     0},
    {"a process that was stopped: calls come a look before work",
     {{WORK, 1}, {LAUNCH, 1000}, {LAUNCH, 60000}, {LOOK, 0}, {WORK, 60001}, {LOOK, 0}},
     6,
     0},
    {"a process that was stopped, with work that had not come before",
     {{WORK, 500},
      {LAUNCH, 900},
      {LOOK, 0},
      {LAUNCH, 1000},
      {LAUNCH, 61000},
      {WORK, 1001},
      {LOOK, 0},
      {LOOK, 0},
      {WORK, 61001},
      {LOOK, 0}},
     10,
     0},
    {"a kernel of 3 s with launches behind it",
     {{WORK, 1},
      {LAUNCH, 1000},
      {LAUNCH, 2000},
      {LAUNCH, 3900},
      {LOOK, 0},
      {LOOK, 0},
      {WORK, 4000},
      {WORK, 4001},
      {LOOK, 0}},
     9,
     0},
    {"a kernel of 10 s with launches behind it",
     {{WORK, 1},
      {LAUNCH, 1000},
      {LAUNCH, 10900},
      {LOOK, 0},
      {LOOK, 9900},
      {WORK, 11000},
      {LOOK, 0}},
     7,
     9900},
    {"a kernel of 10 s without launches behind it",
     {{WORK, 1}, {LAUNCH, 1000}, {LOOK, 0}, {LOOK, 0}, {WORK, 11000}, {LAUNCH, 11001}, {LOOK, 0}},
     7,
     0},
    {"just not 5 s",
     {{WORK, 1}, {LAUNCH, 1000}, {LAUNCH, 5999}, {LOOK, 0}, {LOOK, 0}, {LOOK, 0}},
     6,
     0},
    {"just 5 s, by the call that is there for the second time",
     {{WORK, 1}, {LAUNCH, 1000}, {LAUNCH, 6000}, {LOOK, 0}, {LOOK, 5000}, {LOOK, 0}},
     6,
     5000},
    {"records stop: said once, and the lag grows",
     {{LAUNCH, 1000},
      {WORK, 1001},
      {LAUNCH, 2000},
      {LAUNCH, 7500},
      {LOOK, 0},
      {LAUNCH, 30000},
      {LOOK, 5500},
      {LAUNCH, 90000},
      {LOOK, 0},
      {LAUNCH, 200000},
      {LOOK, 0},
      {LOOK, 0}},
     12,
     198000},
    {"records come ever later: the lag is that to the newest work",
     {{LAUNCH, 1000},
      {LAUNCH, 4000},
      {LAUNCH, 8000},
      {LOOK, 0},
      {WORK, 1500},
      {LOOK, 6500},
      {LAUNCH, 12000},
      {WORK, 4500},
      {LOOK, 0},
      {LOOK, 0}},
     10,
     7500},
    {"caught up: over, with what was greatest",
     {{LAUNCH, 1000},
      {LAUNCH, 9000},
      {LOOK, 0},
      {WORK, 1500},
      {LOOK, 7500},
      {WORK, 9001},
      {LOOK, 0},
      {LAUNCH, 9500},
      {LOOK, 0},
      {WORK, 9501},
      {LOOK, 0}},
     11,
     7500},
    {"back within a minute: not said again, but measured",
     {{WORK, 1},
      {LAUNCH, 1000},
      {LAUNCH, 6000},
      {LOOK, 0},
      {LOOK, 5000},
      {WORK, 6001},
      {LOOK, 0},
      {LAUNCH, 50000},
      {LAUNCH, 65000},
      {LOOK, 0},
      {LOOK, 0},
      {LAUNCH, 200000},
      {LOOK, 0},
      {LOOK, 0}},
     14,
     150000},
    {"back after a minute: said again",
     {{WORK, 1},
      {LAUNCH, 1000},
      {LAUNCH, 6000},
      {LOOK, 0},
      {LOOK, 5000},
      {WORK, 6001},
      {LOOK, 0},
      {LAUNCH, 60000},
      {LAUNCH, 66000},
      {LOOK, 0},
      {LOOK, 6000}},
     11,
     6000},
    {"work without known times is no work",
     {{WORK, 1}, {LAUNCH, 1000}, {LAUNCH, 6000}, {LOOK, 0}, {WORK, 0}, {LOOK, 5000}},
     6,
     5000},
    {"no work ever: not behind", {{LAUNCH, 1000}, {LAUNCH, 60000}, {LOOK, 0}, {LOOK, 0}}, 4, 0},
    {"no launches: not behind", {{WORK, 1000}, {LOOK, 0}, {WORK, 60000}, {LOOK, 0}}, 4, 0},
    {"what another thread launched earlier comes later",
     {{WORK, 1}, {LAUNCH, 6000}, {LOOK, 0}, {LAUNCH, 1000}, {LOOK, 5000}},
     5,
     5000},
    {"and what was launched before work that has come is no news",
     {{LAUNCH, 7000}, {WORK, 6500}, {LAUNCH, 1000}, {LAUNCH, 6400}, {LOOK, 0}, {LOOK, 0}},
     6,
     0},
    {"work of streams comes in any order",
     {{LAUNCH, 1000},
      {WORK, 9000},
      {LAUNCH, 9500},
      {WORK, 2000},
      {LAUNCH, 9800},
      {LOOK, 0},
      {LOOK, 0}},
     7,
     0},
    {"a range ends with launches that have no record, and another one begins",
     {{WORK, 1},
      {LAUNCH, 1000},
      {LOOK, 0},
      {RESTART, 0},
      {LAUNCH, 60000},
      {LOOK, 0},
      {LAUNCH, 60090},
      {LOOK, 0},
      {LOOK, 0}},
     9,
     0},
};

static void a_lag_is_told_from_a_pause(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lag lag;

        print_message("%s\n", cases[i].name);
        lag_open(&lag);
        for (size_t j = 0; j < cases[i].count; j++) {
            const uint64_t ms = cases[i].steps[j].ms;

            switch (cases[i].steps[j].what) {
            case LAUNCH:
                lag_launch(&lag, false, ms * MS, 1);
                break;
            case WORK:
                lag_work(&lag, ms * MS);
                break;
            case LOOK:
                assert_int_equal(lag_look(&lag), ms * MS);
                break;
            case RESTART:
            default:
                lag_restart(&lag);
                break;
            }
        }
        assert_int_equal(lag.max, cases[i].max * MS);
    }
}

/* Those of a capture of 10 s. */
static void launches_into_a_capture_do_not_count(void **state)
{
    struct lag lag;

    (void)state;
    lag_open(&lag);
    lag_work(&lag, 1 * MS);
    lag.captured = UINT64_MAX; /* while it is open */
    lag_launch(&lag, false, 1000 * MS, 100);
    lag.captured = 120; /* its end */
    lag_launch(&lag, false, 11000 * MS, 110);
    lag_look(&lag);
    assert_int_equal(lag_look(&lag), 0);
    lag_launch(&lag, false, 12000 * MS, 121);
    lag_launch(&lag, false, 18000 * MS, 122);
    lag_look(&lag);
    assert_int_equal(lag_look(&lag), 6000 * MS);
}

/* Where CUPTI may have nothing to tell of them. */
static void launches_of_silent_graphs_do_not_count(void **state)
{
    struct lag lag;

    (void)state;
    lag_open(&lag);
    lag_work(&lag, 1 * MS);
    lag.silent_graphs = true;
    lag_launch(&lag, true, 1000 * MS, 1);
    lag_launch(&lag, true, 11000 * MS, 2);
    lag_look(&lag);
    assert_int_equal(lag_look(&lag), 0);
    lag_launch(&lag, false, 12000 * MS, 3);
    lag_launch(&lag, true, 15000 * MS, 4);
    lag_launch(&lag, false, 17500 * MS, 5);
    lag_look(&lag);
    assert_int_equal(lag_look(&lag), 5500 * MS);
}

/* ---- A program and a CUPTI ---- */

#define LAUNCHES 6000

/* Launches one every `step` ms, and after each `burst` of them a pause; work ends `work` ms after
 * its launch. Calls come up to 100 ms later, work after `late` ms, or `last` from the `turn`th on.
 * All of it is taken in before a look, calls first. */
struct world {
    unsigned step, burst, pause, work, late, last, turn;
    uint64_t begins[LAUNCHES];
    unsigned lines;
    struct lag lag;
};

static uint64_t call_comes(const struct world *world, size_t i)
{
    return world->begins[i] + i * 37 % 101;
}

static uint64_t work_comes(const struct world *world, size_t i)
{
    return world->begins[i] + world->work + (i < world->turn ? world->late : world->last);
}

static struct world *live(struct world parameters)
{
    static struct world world;
    uint64_t time = 1000;
    size_t calls = 0;
    size_t works = 0;

    world = parameters;
    for (size_t i = 0; i < LAUNCHES; i++) {
        world.begins[i] = time;
        time += world.step + (world.burst && i % world.burst == 0 ? world.pause : 0);
    }
    lag_open(&world.lag);
    for (uint64_t now = 1000; now < time + 20000; now += 90) {
        for (; calls < LAUNCHES && call_comes(&world, calls) <= now; calls++)
            lag_launch(&world.lag, false, world.begins[calls] * MS, calls + 1);
        for (; works < LAUNCHES && work_comes(&world, works) <= now; works++)
            lag_work(&world.lag, (world.begins[works] + world.work) * MS);
        world.lines += lag_look(&world.lag) > 0;
    }
    return &world;
}

/* Whatever the pauses, between 4 s and 10 minutes, and whatever comes between them. */
static void records_that_come_within_seconds_are_not_behind(void **state)
{
    static const unsigned pauses[] = {0, 4000, 5000, 20000, 600000};
    static const unsigned bursts[] = {0, 1, 2, 10, 500};
    static const unsigned late[] = {0, 90, 400, 2000};

    (void)state;
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++)
            for (size_t k = 0; k < 4; k++) {
                const struct world *world = live((struct world){.step = 15,
                                                                .burst = bursts[j],
                                                                .pause = pauses[i],
                                                                .work = 10,
                                                                .late = late[k],
                                                                .turn = LAUNCHES});

                assert_int_equal(world->lines, 0);
                assert_int_equal(world->lag.max, 0);
            }
}

/* From the middle on records come 8 s late: one line, and 8 s less what calls are late themselves,
 * two looks at most. */
static void records_that_come_late_are_behind_by_as_much(void **state)
{
    const struct world *world =
        live((struct world){.step = 15, .work = 10, .late = 90, .last = 8000, .turn = 3000});

    (void)state;
    assert_int_equal(world->lines, 1);
    assert_in_range(world->lag.max, 8000 * MS - 300 * MS, 8000 * MS + 100 * MS);
}

static void records_that_never_come_are_behind_to_the_end(void **state)
{
    const struct world *world =
        live((struct world){.step = 15, .work = 10, .late = 90, .last = 10000000, .turn = 3000});

    (void)state;
    assert_int_equal(world->lines, 1);
    /* Less what came in one look with the last work, which is not held apart. */
    assert_in_range(world->lag.max, (world->begins[LAUNCHES - 1] - world->begins[2999] - 400) * MS,
                    (world->begins[LAUNCHES - 1] - world->begins[2999] - 10) * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lag_is_told_from_a_pause),
        cmocka_unit_test(launches_into_a_capture_do_not_count),
        cmocka_unit_test(launches_of_silent_graphs_do_not_count),
        cmocka_unit_test(records_that_come_within_seconds_are_not_behind),
        cmocka_unit_test(records_that_come_late_are_behind_by_as_much),
        cmocka_unit_test(records_that_never_come_are_behind_to_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
