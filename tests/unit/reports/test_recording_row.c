/* What recording costs on the path, in an idle gap, and in a replay, worked out by hand from
 * profile/costs.def: a launch takes 1,500 ns more inside of its call and 800 before it, another
 * call 320 and 650, the return of a wait 500, and a kernel comes 300 ns later after another one.
 * Times of scenes are us.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "reports/recording_cost/recording_cost.h"
#include "reports/replay/replay.h"
#include "unit/deps/deps_fixture.h"

#define STREAM 7
#define LOOPS  20

static struct deps_result result;

static void begin(void)
{
    scene_begin_with("cupti_version=130001\n");
}

static void load(void)
{
    scene_load();
    assert_int_equal(recording_cost_lay(&scene.deps, scene.trace), MP_OK);
    assert_int_equal(deps_result_init(&scene.deps, &result), MP_OK);
    for (size_t i = 0; i < scene.windows.count; i++)
        deps_path(&scene.deps, &scene.windows.items[i], &result, NULL);
}

static void end(void)
{
    deps_result_free(&result);
    scene_end(UNSOUND);
}

/* The sum of the windows with a change. */
static uint64_t with(const char *change, bool *without_recording)
{
    struct deps_changes changes = {.items = NULL};
    struct deps_what_if what_if;
    uint64_t sum = 0;

    assert_int_equal(deps_changes_add(&changes, change, NULL), MP_OK);
    assert_int_equal(deps_what_if(&scene.deps, &changes, &scene.windows, &what_if), MP_OK);
    for (size_t i = 0; i < scene.windows.count; i++)
        sum += what_if.after[i];
    *without_recording = what_if.without_recording;
    deps_what_if_free(&what_if);
    deps_changes_free(&changes);
    return sum;
}

static void each_part_of_the_path_ends_with_its_cost(void **state)
{
    bool bare;

    (void)state;
    begin();
    put_launch(STREAM, "a", 10, 20, 50, 1);
    put_launch(STREAM, "b", 16, 50, 60, 2); /* no gap: what CUPTI takes is in the kernel's time */
    put_stream_sync(STREAM, 22, 62, 3);
    load();
    assert_int_equal(result.window, 52000);
    assert_int_equal(result.parts[DEPS_RECORDING], 500 + 300 + 1500);
    assert_int_equal(result.recording_inside, 300);
    assert_int_equal(result.parts[DEPS_RETURN], 1500);
    assert_int_equal(result.parts[DEPS_LAUNCH_LATENCY], 8500);
    assert_int_equal(with("recording=0", &bare), 52000 - 2300);
    assert_false(bare);
    assert_int_equal(with("recording=0.5x", &bare), 52000 - 1150);
    assert_int_equal(with("b=0", &bare), 52000 - 2300 - 9700);
    assert_true(bare);
    end();
}

static void a_part_is_all_that_recording_can_take(void **state)
{
    (void)state;
    begin();
    put_launch(STREAM, "a", 10, 11, 50, 1); /* 1 us of latency, of which 1.5 would be recording */
    put_stream_sync(STREAM, 16, 50, 2);
    load();
    assert_int_equal(result.parts[DEPS_RECORDING], 1000);
    assert_int_equal(result.parts[DEPS_LAUNCH_LATENCY], 0);
    end();
}

static void host_code_and_calls_have_it_at_their_end(void **state)
{
    (void)state;
    begin();
    put_launch(STREAM, "a", 10, 20, 21, 1);
    put_call(1, "cudaEventRecord", 30, 33, 2);
    put_call(1, "cudaEventRecord", 40, 43, 3);
    load();
    /* the path is the thread's: 10-15 the launch, 30-33, 40-43 */
    assert_int_equal(result.window, 33000);
    assert_int_equal(result.parts[DEPS_RECORDING], 1500 + 650 + 320 + 650 + 320);
    assert_int_equal(result.parts[DEPS_HOST_CODE], 15000 + 7000 - 2 * 650);
    end();
}

static void of_the_path_to_a_moment_only_what_is_before_counts(void **state)
{
    uint32_t work;

    (void)state;
    begin();
    put_launch(STREAM, "a", 10, 20, 30, 1);
    put_launch(STREAM, "b", 40, 50, 60, 2);
    put_stream_sync(STREAM, 45, 62, 3);
    load();
    work = find("b");
    /* from 30 to 50: 10 of launch latency with 1,500, 10 of host code with 800 */
    assert_int_equal(deps_recording_before(&scene.deps, work, DEPS_NONE, 30000, 50000), 2300);
    assert_int_equal(deps_recording_before(&scene.deps, work, DEPS_NONE, 39900, 50000), 1600);
    assert_int_equal(deps_recording_before(&scene.deps, work, DEPS_NONE, 49000, 50000), 1000);
    assert_int_equal(deps_recording_before(&scene.deps, DEPS_NONE, 0, 60000, 62000), 500);
    end();
}

static void without_costs_there_is_no_row(void **state)
{
    bool bare;

    (void)state;
    scene_begin();
    put_launch(STREAM, "a", 10, 20, 50, 1);
    put_stream_sync(STREAM, 16, 52, 2);
    load();
    assert_null(scene.deps.recording.before);
    assert_int_equal(result.parts[DEPS_RECORDING], 0);
    assert_int_equal(with("a=0", &bare), 12000);
    assert_false(bare);
    end();
}

/* ---- Costs that a measurement fits ---- */

/* An iteration is 100 us from launch to launch. What recording costs of it by costs.def: 1,500 of
 * the latency, 500 of the return, 800 of the host code before the next launch. */
static void put_loops(void)
{
    for (uint64_t i = 0; i < LOOPS; i++) {
        put_launch(STREAM, "a", 100 * i + 10, 100 * i + 20, 100 * i + 60, 2 * i + 1);
        put_stream_sync(STREAM, 100 * i + 16, 100 * i + 70, 2 * i + 2);
    }
}

static void study(struct iterations_study *found)
{
    const struct iterations_options options = {.way = ITERATIONS_KERNELS};
    struct mp_error error;

    assert_int_equal(iterations_study(&scene.deps, scene.trace, &options, found, &error), MP_OK);
}

/* Of 100,000 ns; the interval is 1,000 ns to each side. `scale`: 1 + thousandths. */
static void fit_to(uint64_t without, uint64_t scale)
{
    const struct recording_cost cost = {.source = RECORDING_COST_PAIRED,
                                        .of = 100000,
                                        .without = without,
                                        .low = without - 1000,
                                        .high = without + 1000};
    struct iterations_study found;
    uint64_t is;

    begin();
    put_loops();
    load();
    study(&found);
    assert_int_equal(found.summary.headline.p50, 100000);
    assert_int_equal(recording_cost_fit(&scene.deps, scene.trace, &found, &cost, &is), MP_OK);
    assert_in_range(is, scale * 97 / 100, scale * 103 / 100);
    iterations_study_free(&found);
    end();
}

static void costs_are_scaled_to_what_was_measured(void **state)
{
    (void)state;
    fit_to(100000 - 2800, 1001);
    fit_to(100000 - 5600, 2001);
    fit_to(100000 - 1400, 501);
}

static void what_no_scale_explains_is_not_known(void **state)
{
    (void)state;
    fit_to(100000 - 60000, RECORDING_NO_SCALE);
    fit_to(102000, RECORDING_NO_SCALE);
    fit_to(100500, 1); /* noise: recording costs nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_of_the_path_ends_with_its_cost),
        cmocka_unit_test(a_part_is_all_that_recording_can_take),
        cmocka_unit_test(host_code_and_calls_have_it_at_their_end),
        cmocka_unit_test(of_the_path_to_a_moment_only_what_is_before_counts),
        cmocka_unit_test(without_costs_there_is_no_row),
        cmocka_unit_test(costs_are_scaled_to_what_was_measured),
        cmocka_unit_test(what_no_scale_explains_is_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
