/* Windows and where the path begins: section 5 of docs/dependency-analysis.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <string.h>

static const struct deps_window *whole(void)
{
    return scene.windows.items;
}

static void expect_window(const struct deps_window *window, uint64_t begin, uint64_t end)
{
    assert_int_equal(window->begin, begin * 1000);
    assert_int_equal(window->end, end * 1000);
}

/* ---- The whole trace, capture ranges ---- */

static void without_ranges_the_window_is_the_whole_trace(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 60, 1);
    put_call(2, "cudaGetDevice", 5, 7, 2);
    scene_load();
    assert_int_equal(scene.windows.count, 1);
    expect_window(whole(), 5, 60);
    scene_end(SOUND);
}

static void an_empty_trace_has_an_empty_window(void **state)
{
    (void)state;
    scene_begin();
    scene_load();
    assert_int_equal(scene.windows.count, 1);
    expect_window(whole(), 0, 0);
    assert_true(scene.deps.no_calls);
    assert_string_equal(path(whole()), "| ");
    scene_end(SOUND);
}

/* Without any call at the work that ends last: b 10, gap 5, a 20. */
static void without_calls_the_path_begins_at_the_last_work(void **state)
{
    (void)state;
    scene_begin();
    put_kernel(7, "a", 10, 30, 1);
    put_kernel(7, "b", 35, 45, 2);
    put_kernel(8, "c", 12, 40, 3);
    scene_load();
    assert_true(scene.deps.no_calls);
    assert_string_equal(path(whole()), "a 20, b 10 | gap 5");
    assert_int_equal(length_with("b=0"), 30); /* c ends at 40 */
    scene_end(SOUND);
}

/*     range 1 [ 5                30 ]                launched in it: a, which ends at 60
 *     range 2                         [ 40        70 ]  */
static void a_range_reaches_to_the_end_of_what_it_launched(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 60, 1);
    put_launch(8, "b", 45, 50, 55, 2);
    put_range(1, 5, 30, 1, 2);
    put_range(2, 40, 70, 2, 3);
    scene_load();
    assert_int_equal(scene.windows.count, 2);
    expect_window(&scene.windows.items[0], 5, 60);
    expect_window(&scene.windows.items[1], 40, 70);
    /* a 45, launch 5, host 10-5 5; and of the second host 70-50 20, the call 5, host 5. */
    assert_string_equal(path(&scene.windows.items[0]), "a 45 | host 5, launch 5");
    assert_string_equal(path(&scene.windows.items[1]), "cudaLaunchKernel 5 | host 25");
    scene_end(SOUND);
}

static void one_range_can_be_asked_for(void **state)
{
    struct deps_windows windows;
    struct mp_error error;

    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 20, 1);
    put_range(3, 5, 30, 1, 2);
    put_range(8, 40, 70, 2, 3);
    scene_load();
    assert_int_equal(deps_windows_ranges(&scene.deps, 8, &windows, &error), MP_OK);
    assert_int_equal(windows.count, 1);
    assert_int_equal(windows.items[0].id, 8);
    expect_window(windows.items, 40, 70);
    scene_check(&windows, SOUND);
    deps_windows_free(&windows);
    assert_int_equal(deps_windows_ranges(&scene.deps, 4, &windows, &error), MP_ERR_ARGUMENT);
    assert_string_equal(error.text, "there is no capture range 4; the trace has 2");
    scene_end(SOUND);
}

static void a_range_that_was_not_ended_reaches_to_the_last_end(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 60, 1);
    put_range(1, 5, 0, 1, 0);
    scene_load();
    expect_window(whole(), 5, 60);
    scene_end(SOUND);
}

/* Nothing was called or ran in it: 20 us of nobody, and a replay leaves them as they are. */
static void a_range_with_nothing_in_it_keeps_its_length(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 30, 1);
    put_range(1, 40, 60, 2, 3);
    scene_load();
    assert_string_equal(path(whole()), "| unknown 20");
    assert_int_equal(length_with("a=0"), 20);
    scene_end(SOUND);
}

static void what_a_range_launched_just_before_its_clock_belongs_to_it(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 9, 60, 1); /* the device's clock is 1 us behind */
    put_range(1, 10, 30, 1, 2);
    scene_load();
    expect_window(whole(), 10, 60);
    assert_string_equal(path(whole()), "a 50 | ");
    scene_end(SOUND);
}

/* ---- Which thread ---- */

/*     thread 1   |10------40|     |50-60|
 *     thread 2     |15-20|   |45----------70|     70 is the window's end */
static void the_path_begins_on_the_thread_whose_last_call_ends_last(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "one", 10, 40, 1);
    put_call(2, "two", 15, 20, 2);
    put_call(2, "two", 45, 70, 3);
    put_call(1, "one", 50, 60, 4);
    scene_load();
    assert_string_equal(path(whole()), "two 30 | host 30");
    scene_end(SOUND);
}

/* Both calls reach past the range's end, where they are cut: equal, so the lower thread. */
static void of_threads_that_end_together_the_first_counts(void **state)
{
    (void)state;
    scene_begin();
    put_call(2, "two", 15, 90, 1);
    put_call(1, "one", 20, 60, 2);
    put_range(1, 10, 50, 1, 3);
    scene_load();
    assert_string_equal(path(whole()), "one 30 | host 10");
    scene_end(SOUND);
}

/* Windows of a thread that is asked for, or what is said if there is none. */
static const char *of_thread(const char *asked)
{
    static struct mp_error error;
    struct deps_windows windows;

    assert_int_equal(deps_windows_ranges(&scene.deps, 0, &windows, &error), MP_OK);
    if (deps_windows_of_thread(&scene.deps, asked, &windows, &error) != MP_OK)
        return error.text;
    assert_int_equal(windows.count, 1);
    expect_window(windows.items, 10, 30);
    assert_string_equal(path(windows.items), "two 15 | host 5");
    deps_windows_free(&windows);
    return "found";
}

static void a_thread_is_asked_for_by_id_or_name(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "one", 10, 40, 1);
    put_call(2, "two", 15, 30, 2);
    mp_append_thread(scene.writer,
                     &(struct mp_row_thread){.id = 2, .tid = 4002, .name = put_string("loader")});
    scene_load();
    assert_string_equal(of_thread("4002"), "found");
    assert_string_equal(of_thread("loader"), "found");
    assert_string_equal(of_thread("2"), "there is no thread '2'; there are: 4001, 4002 'loader'");
    scene_end(SOUND);
}

/* Threads inherit the system's name of the one that made them. */
static void a_name_of_several_threads_is_refused(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "one", 10, 40, 1);
    put_call(2, "two", 15, 30, 2);
    for (uint32_t thread = 1; thread <= 2; thread++)
        mp_append_thread(scene.writer, &(struct mp_row_thread){.id = thread,
                                                               .tid = 4000 + thread,
                                                               .name = put_string("python3")});
    scene_load();
    assert_string_equal(of_thread("4002"), "found");
    assert_string_equal(of_thread("python3"),
                        "several threads are called 'python3', name one by its id; there are: "
                        "4001 'python3', 4002 'python3'");
    scene_end(SOUND);
}

static void of_many_threads_six_are_told(void **state)
{
    (void)state;
    scene_begin();
    for (uint64_t thread = 1; thread <= 7; thread++)
        put_call(thread, "work", 10, 20, thread);
    scene_load();
    assert_string_equal(of_thread("x"), "there is no thread 'x'; there are: 4001, 4002, 4003, "
                                        "4004, 4005, 4006, ...");
    scene_end(SOUND);
}

/* ---- Iterations ---- */

static struct deps_windows iterations;
static struct mp_error error;

static enum mp_status load_iterations(const char *name, uint64_t range)
{
    return scene_iterations(name, range, &iterations, &error);
}

static void iterations_are_numbered_in_order(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "work", 12, 15, 1);
    put_call(1, "work", 22, 28, 2);
    put_nvtx_range("it", 10, 20);
    put_nvtx_range("it", 20, 30);
    put_nvtx(MP_nvtx_kind_push, 1, NULL, "it", 40, 0);
    scene_load();
    assert_int_equal(load_iterations("it", 0), MP_OK);
    assert_int_equal(iterations.count, 2);
    assert_int_equal(iterations.unfinished, 1);
    assert_int_equal(iterations.items[0].id, 1);
    assert_int_equal(iterations.items[1].id, 2);
    assert_string_equal(path(&iterations.items[0]), "work 3 | host 7");
    assert_string_equal(path(&iterations.items[1]), "work 6 | host 4");
    scene_check(&iterations, SOUND);
    deps_windows_free(&iterations);
    scene_end(SOUND);
}

/* Of the second thread, though the first calls later. */
static void an_iteration_belongs_to_its_thread(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "one", 12, 38, 1);
    put_call(2, "two", 14, 20, 2);
    put_nvtx(MP_nvtx_kind_push, 2, NULL, "it", 10, 0);
    put_nvtx(MP_nvtx_kind_pop, 2, NULL, NULL, 40, 0);
    scene_load();
    assert_int_equal(load_iterations("it", 0), MP_OK);
    assert_string_equal(path(iterations.items), "two 6 | host 24");
    scene_check(&iterations, SOUND);
    deps_windows_free(&iterations);
    scene_end(SOUND);
}

/* Its work counts to its end, also where the next one has begun. */
static void an_iteration_lasts_until_its_work_ends(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 12, 17, 60, 1);
    put_stream_sync(7, 42, 63, 2);
    put_nvtx_range("it", 10, 40);
    put_nvtx_range("it", 40, 70);
    scene_load();
    assert_int_equal(load_iterations("it", 0), MP_OK);
    expect_window(&iterations.items[0], 10, 60);
    assert_string_equal(path(&iterations.items[0]), "a 43 | host 2, launch 5");
    assert_string_equal(path(&iterations.items[1]), "a 20 | host 7, return 3");
    scene_check(&iterations, SOUND);
    deps_windows_free(&iterations);
    scene_end(SOUND);
}

/* Where one ends and the next begins, a call is in the next. */
static void a_call_at_the_border_is_in_one_iteration(void **state)
{
    uint32_t call;

    (void)state;
    scene_begin();
    put_call(1, "work", 12, 15, 1);
    put_call(1, "border", 40, 43, 2);
    put_nvtx_range("it", 10, 40);
    put_nvtx_range("it", 40, 70);
    scene_load();
    assert_int_equal(load_iterations("it", 0), MP_OK);
    call = find("border");
    assert_false(deps_in_window(&scene.deps, &iterations.items[0], &scene.deps.activities[call]));
    assert_true(deps_in_window(&scene.deps, &iterations.items[1], &scene.deps.activities[call]));
    deps_windows_free(&iterations);
    scene_end(SOUND);
}

static void iterations_can_be_those_of_one_capture_range(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "work", 12, 15, 1);
    put_nvtx_range("it", 10, 20);
    put_nvtx_range("it", 50, 60);
    put_nvtx_range("once", 10, 20);
    put_range(1, 5, 30, 1, 2);
    put_range(2, 40, 70, 2, 3);
    scene_load();
    assert_int_equal(load_iterations("it", 2), MP_OK);
    assert_int_equal(iterations.count, 1);
    expect_window(iterations.items, 50, 60);
    deps_windows_free(&iterations);
    assert_int_equal(load_iterations("once", 2), MP_ERR_ARGUMENT);
    assert_string_equal(error.text,
                        "no NVTX range 'once' begins in the capture range; the trace has 2 "
                        "capture ranges, 0 kernels and copies");
    assert_int_equal(load_iterations("it", 9), MP_ERR_ARGUMENT);
    assert_string_equal(error.text, "there is no capture range 9; the trace has 2");
    scene_end(SOUND);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "work", 12, 15, 1);
    scene_load();
    assert_int_equal(load_iterations("it", 0), MP_ERR_ARGUMENT);
    assert_non_null(strstr(error.text, "there is no NVTX range 'it', nor any other"));
    scene_end(SOUND);
    scene_begin();
    put_nvtx_range("epoch", 10, 20);
    scene_load();
    assert_int_equal(load_iterations("it", 0), MP_ERR_ARGUMENT);
    assert_non_null(strstr(error.text, "there is no NVTX range 'it'; there are for example epoch"));
    scene_end(SOUND);
    scene_begin();
    put_nvtx(MP_nvtx_kind_push, 1, NULL, "it", 10, 0);
    scene_load();
    assert_int_equal(load_iterations("it", 0), MP_ERR_ARGUMENT);
    assert_non_null(strstr(error.text, "no NVTX range 'it' ends inside the trace (1 begin)"));
    scene_end(SOUND);
}

/* The thread of the range makes no call at all; what another one launches meanwhile is its own. */
static void an_iteration_may_be_of_a_thread_without_calls(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 12, 17, 60, 1);
    put_nvtx(MP_nvtx_kind_push, 5, NULL, "it", 10, 0);
    put_nvtx(MP_nvtx_kind_pop, 5, NULL, NULL, 40, 0);
    put_nvtx(MP_nvtx_kind_push, 5, NULL, "it", 50, 0);
    put_nvtx(MP_nvtx_kind_pop, 5, NULL, NULL, 55, 0);
    scene_load();
    assert_int_equal(load_iterations("it", 0), MP_OK);
    assert_int_equal(iterations.count, 2);
    expect_window(&iterations.items[0], 10, 60);
    expect_window(&iterations.items[1], 50, 55);
    scene_check(&iterations, SOUND);
    deps_windows_free(&iterations);
    scene_end(SOUND);
}

/* ---- Rows left out ---- */

static void rows_with_doubtful_times_are_left_out_and_counted(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 60, 1);
    put_kernel(7, "unknown", 0, 5, 2);
    put_kernel(7, "reversed", 40, 30, 3);
    put_call(1, "reversed call", 40, 30, 4);
    put_sync(MP_sync_kind_context_synchronize, 1, NO_STREAM, 0, 0, 5, 5);
    put_kernel(7, "far", UINT64_MAX / 1000 - 5, UINT64_MAX / 1000 - 1, 6);
    scene_load();
    assert_int_equal(scene.deps.count, 2);
    assert_int_equal(scene.deps.quality.unknown_times, 2);
    assert_int_equal(scene.deps.quality.reversed_times, 3);
    expect_window(whole(), 10, 60);
    scene_end(SOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_ranges_the_window_is_the_whole_trace),
        cmocka_unit_test(an_empty_trace_has_an_empty_window),
        cmocka_unit_test(without_calls_the_path_begins_at_the_last_work),
        cmocka_unit_test(a_range_reaches_to_the_end_of_what_it_launched),
        cmocka_unit_test(one_range_can_be_asked_for),
        cmocka_unit_test(a_range_that_was_not_ended_reaches_to_the_last_end),
        cmocka_unit_test(a_range_with_nothing_in_it_keeps_its_length),
        cmocka_unit_test(what_a_range_launched_just_before_its_clock_belongs_to_it),
        cmocka_unit_test(the_path_begins_on_the_thread_whose_last_call_ends_last),
        cmocka_unit_test(of_threads_that_end_together_the_first_counts),
        cmocka_unit_test(a_thread_is_asked_for_by_id_or_name),
        cmocka_unit_test(a_name_of_several_threads_is_refused),
        cmocka_unit_test(of_many_threads_six_are_told),
        cmocka_unit_test(iterations_are_numbered_in_order),
        cmocka_unit_test(an_iteration_belongs_to_its_thread),
        cmocka_unit_test(an_iteration_lasts_until_its_work_ends),
        cmocka_unit_test(a_call_at_the_border_is_in_one_iteration),
        cmocka_unit_test(iterations_can_be_those_of_one_capture_range),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(an_iteration_may_be_of_a_thread_without_calls),
        cmocka_unit_test(rows_with_doubtful_times_are_left_out_and_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
