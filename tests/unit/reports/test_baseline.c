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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_side_has_its_own_times),
        cmocka_unit_test(of_two_names_that_take_the_same_the_first_counts),
        cmocka_unit_test(nobody_asked),
    };

    return cmocka_run_group_tests_name("reports/baseline", tests, NULL, NULL);
}
