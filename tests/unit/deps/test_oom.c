/* The dependency analysis when memory runs out: every allocation fails once, in turn. What is left
 * behind, a sanitizer finds (make SAN=address check).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <stdlib.h>

#include "reports/deps/deps.h"
#include "reports/replay/replay.h"
#include "unit/failing_malloc.h"

/* ---- A trace that needs every kind of memory ---- */

static void put_everything(void)
{
    scene_begin();
    put_stream_flag(7, MP_stream_flag_null);
    put_null_stream(2, 7);
    put_launch(8, "a", 10, 15, 60, 1);
    put_record(8, 0xe1, 16, 2);
    put_wait(9, 0xe1, 18, 3);
    put_stream_value(8, MP_value_operation_write, 32, 0x1000, 1, 16, 2);
    put_stream_value(9, MP_value_operation_wait_eq, 32, 0x1000, 1, 18, 3);
    put_launch(9, "b", 20, 63, 90, 4);
    put_launch(ON(2, 7), "other", 26, 31, 40, 5);
    put_copy(7, MP_copy_kind_HtoD, PAGEABLE, 92, 95, 6);
    put_call(1, "cudaMemcpy", 32, 97, 6);
    put_call(1, "cudaGraphLaunch", 100, 110, 7);
    put_node(9, "n1", 5, 1, 112, 120, 7);
    put_node(10, "n2", 5, 2, 121, 140, 7);
    put_edge(5, 1, 3);
    put_edge(5, 3, 2);
    put_graph(8, 6, 113, 125, 8);
    put_set(8, 126, 127, 9);
    put_call(2, "outer", 100, 150, 10);
    put_call(2, "cudaFree", 105, 145, 11);
    put_sync(MP_sync_kind_event_query, 1, NO_STREAM, 0xe1, 150, 160, 12); /* without a call */
    put_context_sync(161, 165, 13);
    put_range(1, 5, 98, 1, 7);
    put_range(2, 99, 170, 7, 14);
    for (uint64_t i = 0; i < 40; i++) /* enough to grow every array */
        put_nvtx_range("it", 10 + 4 * i, 14 + 4 * i);
    put_nvtx(MP_nvtx_kind_start, 1, NULL, "it", 20, 1);
    put_nvtx(MP_nvtx_kind_end, 1, NULL, NULL, 30, 1);
    scene_load();
}

/* ---- Every step, with one allocation after the other failing ---- */

/* Runs `step` until no allocation is left to fail; it failed at least `least` times. */
static void expect_memory_errors(enum mp_status (*step)(void), unsigned min)
{
    enum mp_status status = MP_ERR_MEMORY;
    unsigned failing;

    put_everything();
    for (failing = 1; status != MP_OK; failing++) {
        bool failed;

        countdown = failing;
        status = step();
        failed = countdown == 0;
        countdown = 0;
        assert_int_equal(status, failed ? MP_ERR_MEMORY : MP_OK);
    }
    assert_true(failing > min);
    scene_end(SOUND);
}

static enum mp_status load(bool fronts)
{
    struct deps_options options = {.fronts = fronts};
    struct mp_error error = {.text = ""};
    struct deps deps;
    enum mp_status status = deps_load(scene.trace, &options, &deps, &error);

    if (status) {
        assert_int_equal(error.status, status);
        assert_true(*error.text);
        assert_null(deps.activities);
        assert_null(deps.lanes);
        assert_null(deps.fronts);
        assert_int_equal(deps.count, 0);
    } else {
        assert_int_equal(deps.count, scene.deps.count);
    }
    deps_free(&deps); /* does nothing to what is empty */
    return status;
}

static enum mp_status load_with_fronts(void)
{
    return load(true);
}

static enum mp_status load_without_fronts(void)
{
    return load(false);
}

static void loading_says_so(void **state)
{
    (void)state;
    expect_memory_errors(load_with_fronts, 40);
    expect_memory_errors(load_without_fronts, 40);
}

static enum mp_status find_ranges(void)
{
    struct deps_windows windows;
    struct mp_error error = {.text = ""};
    enum mp_status status = deps_windows_ranges(&scene.deps, 0, &windows, &error);

    assert_int_equal(error.status, status);
    deps_windows_free(&windows);
    return status;
}

static void finding_capture_ranges_says_so(void **state)
{
    (void)state;
    expect_memory_errors(find_ranges, 1);
}

static enum mp_status find_iterations(void)
{
    struct deps_windows windows;
    struct mp_error error = {.text = ""};
    enum mp_status status = scene_iterations("it", 0, &windows, &error);

    assert_int_equal(error.status, status);
    assert_true(status == MP_OK || *error.text);
    assert_true(status == MP_OK || !windows.items);
    deps_windows_free(&windows);
    return status;
}

static void finding_iterations_says_so(void **state)
{
    (void)state;
    expect_memory_errors(find_iterations, 5);
}

static enum mp_status make_result(void)
{
    struct deps_result result;
    enum mp_status status = deps_result_init(&scene.deps, &result);

    deps_result_free(&result);
    return status;
}

static void a_result_says_so(void **state)
{
    (void)state;
    expect_memory_errors(make_result, 1);
}

static enum mp_status find_slack(void)
{
    static uint64_t slack[200];

    assert_true(scene.deps.count < 200);
    return deps_slack(&scene.deps, &scene.windows, slack);
}

static enum mp_status replay(void)
{
    struct deps_change half = {.pattern = (char[]){"a"}, .kind = DEPS_SCALE, .factor = 0.5};
    struct deps_changes changes = {.items = &half, .count = 1};
    uint64_t lengths[8];

    assert_true(scene.windows.count < 8);
    return deps_replay(&scene.deps, &changes, &scene.windows, lengths);
}

static enum mp_status compare(void)
{
    struct deps_change half = {.pattern = (char[]){"a"}, .kind = DEPS_SCALE, .factor = 0.5};
    struct deps_changes changes = {.items = &half, .count = 1};
    struct deps_what_if what_if;
    enum mp_status status = deps_what_if(&scene.deps, &changes, &scene.windows, &what_if);

    deps_what_if_free(&what_if);
    return status;
}

static void slack_and_replay_say_so(void **state)
{
    (void)state;
    expect_memory_errors(find_slack, 4);
    expect_memory_errors(replay, 4);
    expect_memory_errors(compare, 6);
}

static enum mp_status find_gains(void)
{
    struct deps_gains gains;
    enum mp_status status = deps_top_gains(&scene.deps, &scene.windows, &gains, 3);

    assert_true(gains.count <= 3);
    free(gains.items);
    return status;
}

static void top_gains_say_so(void **state)
{
    (void)state;
    expect_memory_errors(find_gains, 5);
}

static enum mp_status build_iterations(void)
{
    struct deps_iterations iterations;
    enum mp_status status = deps_iterations_build(&scene.deps, &scene.windows, &iterations);

    deps_iterations_free(&iterations);
    return status;
}

static void statistics_say_so(void **state)
{
    (void)state;
    expect_memory_errors(build_iterations, 7);
}

static enum mp_status add_changes(void)
{
    struct deps_changes changes = {.items = NULL};
    struct mp_error error = {.text = ""};
    enum mp_status status = deps_changes_add(&changes, "a=0.5x", &error);

    if (status)
        assert_int_equal(changes.count, 0);
    deps_changes_free(&changes);
    return status;
}

static void changes_say_so(void **state)
{
    (void)state;
    expect_memory_errors(add_changes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading_says_so),
        cmocka_unit_test(finding_capture_ranges_says_so),
        cmocka_unit_test(finding_iterations_says_so),
        cmocka_unit_test(a_result_says_so),
        cmocka_unit_test(slack_and_replay_say_so),
        cmocka_unit_test(top_gains_say_so),
        cmocka_unit_test(statistics_say_so),
        cmocka_unit_test(changes_say_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
