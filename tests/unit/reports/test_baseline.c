/* Steps with and without recording, from rows that the test makes up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reports/recording_cost/baseline.h"
#include "unit/deps/deps_fixture.h"

static struct baseline baseline;

static void put_step(uint64_t name, bool recorded, uint64_t ns)
{
    mp_append_step(
        scene.writer,
        &(struct mp_row_step){.name = name, .recorded = recorded, .start = 1000, .duration = ns});
}

static void build(void)
{
    scene_load();
    assert_int_equal(baseline_build(scene.deps.profile, &baseline, NULL), MP_OK);
}

static void end(void)
{
    baseline_free(&baseline);
    scene_end(UNSOUND);
}

/* 100 to 108 ns recorded, 50 to 58 not; the steps of another name take less in all. */
static void each_side_has_its_own_times(void **state)
{
    uint64_t name, other;

    (void)state;
    scene_begin_with("MINIPROF_BASELINE=50\n");
    other = put_string("other");
    name = put_string("step");
    for (uint64_t i = 0; i < 9; i++) {
        put_step(name, true, 100 + i);
        put_step(other, i % 2, 20);
        put_step(name, false, 58 - i);
    }
    build();
    assert_true(baseline.asked);
    assert_int_equal(baseline.steps, 27);
    assert_string_equal(baseline.name, "step");
    assert_int_equal(baseline.recorded.count, 9);
    assert_int_equal(baseline.recorded.times.p50, 104);
    assert_int_equal(baseline.recorded.low, 102);
    assert_int_equal(baseline.recorded.high, 106);
    assert_int_equal(baseline.unrecorded.count, 9);
    assert_int_equal(baseline.unrecorded.times.p50, 54);
    assert_int_equal(baseline.unrecorded.low, 52);
    assert_int_equal(baseline.unrecorded.high, 56);
    assert_true(baseline_is_known(&baseline));
    end();
}

static void of_two_names_that_take_the_same_the_first_counts(void **state)
{
    uint64_t first, second;

    (void)state;
    scene_begin_with("MINIPROF_BASELINE=50\n");
    first = put_string("first");
    second = put_string("second");
    put_step(second, true, 60);
    put_step(first, true, 30);
    put_step(first, false, 30);
    build();
    assert_string_equal(baseline.name, "first");
    assert_int_equal(baseline.recorded.count, 1);
    assert_int_equal(baseline.unrecorded.count, 1);
    assert_false(baseline_is_known(&baseline));
    end();
}

static void nobody_asked(void **state)
{
    (void)state;
    scene_begin();
    put_step(put_string("step"), true, 60);
    build();
    assert_false(baseline.asked);
    assert_int_equal(baseline.steps, 0);
    end();
}

/* ---- Without CUPTI ---- */

static void put_run(uint64_t name, uint64_t run, bool bare, uint64_t ns)
{
    for (uint64_t i = 0; i < 3; i++)
        mp_append_step(scene.writer, &(struct mp_row_step){.name = name,
                                                           .recorded = !bare,
                                                           .duration = ns - 10 + 10 * i,
                                                           .run = run,
                                                           .bare = bare});
}

/* Runs with these medians, and recorded ones that take 1000 ns more. */
static void put_pairs(const uint64_t *medians, size_t count)
{
    uint64_t name = put_string("step");

    for (size_t i = 0; i < count; i++) {
        put_run(name, 2 * i + 1, true, medians[i]);
        put_run(name, 2 * i + 2, false, medians[i] + 1000);
    }
    build();
    assert_int_equal(baseline.paired.count, count);
    assert_int_equal(baseline.paired.steps, 3 * count);
    assert_string_equal(baseline.bare_name, "step");
    assert_int_equal(baseline.steps, 0);
    assert_int_equal(baseline.before.count, 0);
}

/* The bounds are computed by hand: t * s * sqrt(1 + 1/3), t = 4.303, s of the logarithms. */
static void each_run_counts_once(void **state)
{
    static const uint64_t medians[] = {100000, 102000, 98000};

    (void)state;
    scene_begin();
    put_pairs(medians, 3);
    assert_int_equal(baseline.paired.without, 100000);
    assert_int_equal(baseline.paired.with, 101000);
    assert_int_equal(baseline.paired.low, 90539);
    assert_int_equal(baseline.paired.high, 110449);
    end();
}

/* t = 2.776 and s = 0.003, the least that is believed. */
static void runs_that_agree_still_have_an_interval(void **state)
{
    static const uint64_t medians[] = {500000, 500000, 500000, 500000, 500000};

    (void)state;
    scene_begin();
    put_pairs(medians, 5);
    assert_int_equal(baseline.paired.low, 495459);
    assert_int_equal(baseline.paired.high, 504582);
    end();
}

/* 1.96 * 0.03 * sqrt(1 + 1/2): two runs do not tell how runs differ. */
static void few_runs_have_the_usual_interval(void **state)
{
    static const uint64_t medians[] = {100000, 110000};

    (void)state;
    scene_begin();
    put_pairs(medians, 2);
    assert_int_equal(baseline.paired.without, 105000);
    assert_int_equal(baseline.paired.low, 97704);
    assert_int_equal(baseline.paired.high, 112840);
    end();
}

static void a_side_without_runs_says_nothing(void **state)
{
    (void)state;
    scene_begin();
    put_run(put_string("step"), 1, true, 5000);
    build();
    assert_int_equal(baseline.paired.count, 0);
    end();
}

/* `count` steps before CUPTI came, and ten recorded ones of 7000 ns. */
static void put_before(size_t count, uint64_t first, uint64_t more)
{
    uint64_t name = put_string("step");

    for (size_t i = 0; i < count; i++)
        mp_append_step(scene.writer, &(struct mp_row_step){
                                         .name = name, .duration = first + more * i, .bare = true});
    for (size_t i = 0; i < 10; i++)
        put_step(name, true, 7000);
    build();
}

static void steps_before_cupti_came_count_if_they_are_steady(void **state)
{
    (void)state;
    scene_begin();
    put_before(40, 5000, 0);
    assert_int_equal(baseline.before.count, 40);
    assert_int_equal(baseline.before.without, 5000);
    assert_int_equal(baseline.before.with, 7000);
    assert_int_equal(baseline.before.low, 4852); /* at least 3 % */
    assert_int_equal(baseline.before.high, 5152);
    end();
}

static void steps_that_get_slower_say_nothing(void **state)
{
    (void)state;
    scene_begin();
    put_before(40, 5000, 500);
    assert_int_equal(baseline.before.count, 0);
    assert_non_null(baseline.before.why_not);
    end();
}

static void a_few_steps_say_nothing(void **state)
{
    (void)state;
    scene_begin();
    put_before(7, 5000, 0);
    assert_int_equal(baseline.before.count, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_side_has_its_own_times),
        cmocka_unit_test(of_two_names_that_take_the_same_the_first_counts),
        cmocka_unit_test(nobody_asked),
        cmocka_unit_test(each_run_counts_once),
        cmocka_unit_test(runs_that_agree_still_have_an_interval),
        cmocka_unit_test(few_runs_have_the_usual_interval),
        cmocka_unit_test(a_side_without_runs_says_nothing),
        cmocka_unit_test(steps_before_cupti_came_count_if_they_are_steady),
        cmocka_unit_test(steps_that_get_slower_say_nothing),
        cmocka_unit_test(a_few_steps_say_nothing),
    };

    return cmocka_run_group_tests_name("reports/baseline", tests, NULL, NULL);
}
