/* Section 3 and 4 of docs/dependency-analysis.md: shortest latencies, arrivals, what binds, ties,
 * and the waiting of device work.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#define E1 0xe1
#define E2 0xe2

static const struct deps_window *whole(void)
{
    return scene.windows.items;
}

/* ---- Shortest latencies ---- */

/*     thread     |10-15|           |40-45|                |70-75|
 *     stream 7      |a 15-30|         |b 46-60|              |c 78-90|
 *
 * Every call returned after the end of the work before: the stream had run dry, and each is an
 * example of a launch, 5, 6 and 8, and none of a gap. All are bound by their launches. */
static void work_that_meets_a_free_stream_shows_the_launch_latency(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 30, 1);
    put_launch(7, "b", 40, 46, 60, 2);
    put_launch(7, "c", 70, 78, 90, 3);
    scene_load();
    assert_int_equal(scene.deps.launch_latencies[0].shortest, 5000);
    assert_int_equal(scene.deps.latencies[DEPS_KERNEL].shortest, UINT64_MAX);
    assert_string_equal(bound("b"), "launch cudaLaunchKernel#2");
    assert_string_equal(bound("c"), "launch cudaLaunchKernel#3");
    /* From 90: c 12, launch 8, host 70-45 25, call 5, host 40-15 25, call 5. */
    assert_string_equal(path(whole()), "c 12, cudaLaunchKernel 10 | host 50, launch 8");
    scene_end(SOUND);
}

/*     thread     |10-15|        |40-45|        |70-75|          |100--call of 25--or 26--|
 *     stream 7      |a 15-20|      |b 45-50|      |c 75-80|                       |d 130-140|
 *
 * The usual latency is 5. Of a latency of 30, 26 inside of a call are late by 21; 25 are not late.
 */
static void a_launch_is_late_if_its_call_does_something_else_first(void **state)
{
    (void)state;
    for (uint64_t length = 25; length <= 26; length++) {
        struct deps_result result;

        scene_begin();
        put_launch(7, "a", 10, 15, 20, 1);
        put_launch(7, "b", 40, 45, 50, 2);
        put_launch(7, "c", 70, 75, 80, 3);
        put_call(1, "cudaLaunchKernel", 100, 100 + length, 4);
        put_kernel(7, "d", 130, 140, 4);
        scene_load();
        assert_int_equal(deps_result_init(&scene.deps, &result), MP_OK);
        deps_path(&scene.deps, whole(), &result, NULL);
        assert_int_equal(result.parts[DEPS_LAUNCH_LATENCY], 30000);
        assert_int_equal(result.late_launches, length == 25 ? 0 : 21000);
        deps_result_free(&result);
        scene_end(SOUND);
    }
}

/*     thread     |10-15|16-21|22-27|
 *     stream 7      |a 15-30||b 31-60| |c 63-70|       gaps 1 and 3
 *
 * b and c were queued: examples of the gap, and bound by the stream. */
static void queued_work_shows_the_gap(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 30, 1);
    put_launch(7, "b", 16, 31, 60, 2);
    put_launch(7, "c", 22, 63, 70, 3);
    scene_load();
    assert_int_equal(scene.deps.launch_latencies[0].shortest, 5000);
    assert_int_equal(scene.deps.latencies[DEPS_KERNEL].shortest, 1000);
    assert_string_equal(bound("b"), "stream order a");
    assert_string_equal(bound("c"), "stream order b");
    assert_string_equal(path(whole()), "a 15, b 29, c 7 | launch 5, gap 4");
    scene_end(SOUND);
}

/* The launch of d takes 5 and its call begins at 28, before b's end at 30 + the gap of 1: at 33 the
 * launch is what it waited for, though b ended 3 before. */
static void a_launch_that_arrives_after_the_stream_binds(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 20, 1);
    put_launch(7, "b", 12, 21, 30, 2);
    put_launch(7, "d", 28, 33, 40, 3);
    scene_load();
    assert_int_equal(scene.deps.latencies[DEPS_KERNEL].shortest, 1000);
    assert_string_equal(bound("d"), "launch cudaLaunchKernel#3");
    scene_end(UNSOUND); /* the calls overlap */
}

/* Launched 28 + 5 = 33, b's end 32 + 1 = 33: equal, the launch. With b 1 longer it is b. */
static void of_equal_arrivals_the_launch_binds(void **state)
{
    (void)state;
    for (uint64_t late = 0; late < 2; late++) {
        scene_begin();
        put_launch(7, "a", 10, 15, 20, 1);
        put_launch(7, "b", 15, 21, 32 + late, 2);
        put_launch(7, "d", 28, 34, 40, 3);
        scene_load();
        assert_string_equal(bound("d"), late ? "stream order b" : "launch cudaLaunchKernel#3");
        scene_end(SOUND);
    }
}

/* `count` launches with a latency of 5, 6, 7, ..., and before them one of 1 if `odd`. Answers the
 * class. */
static struct deps_latency latency_of_launches(unsigned count, bool odd)
{
    struct deps_latency latency;

    scene_begin();
    if (odd)
        put_launch(7, "k", 10, 11, 12, 1);
    for (unsigned i = 0; i < count; i++) {
        uint64_t call = UINT64_C(100) * (i + 1);

        put_launch(7, "k", call, call + 5 + i, call + 6 + i, 2 + i);
    }
    scene_load();
    latency = scene.deps.launch_latencies[0];
    scene_end(SOUND);
    return latency;
}

/* From 20 examples on it is the value of rank n / 10, rounded up, which a single odd time does not
 * move by more than a rank. With fewer it is the least. */
static void one_odd_launch_does_not_move_the_shortest(void **state)
{
    struct deps_latency latency = latency_of_launches(40, false);

    (void)state;
    assert_int_equal(latency.examples, 40);
    assert_int_equal(latency.shortest, 8000); /* rank 4 of 5, 6, 7, 8, ... */
    assert_int_equal(latency.p50, 24000);     /* rank 20 */
    assert_int_equal(latency.p90, 40000);     /* rank 36 */
    assert_int_equal(latency_of_launches(39, true).shortest, 7000);
    assert_int_equal(latency_of_launches(20, false).shortest, 6000);
    assert_int_equal(latency_of_launches(19, true).shortest, 5000); /* rank 2 of 1, 5, 6, ... */
    assert_int_equal(latency_of_launches(19, false).shortest, 5000);
    assert_int_equal(latency_of_launches(18, true).shortest, 1000);
}

/* One function, four classes: kernels 2, sets 3, copies to the device 4, from it 5. */
static void launches_are_classed_by_function_and_work(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cuAnything", 10, 11, 1);
    put_kernel(7, "a", 12, 13, 1);
    put_call(1, "cuAnything", 20, 21, 2);
    put_set(7, 23, 24, 2);
    put_call(1, "cuAnything", 30, 31, 3);
    put_copy(7, MP_copy_kind_HtoD, ASYNCHRONOUS, 34, 35, 3);
    put_call(1, "cuAnything", 40, 41, 4);
    put_copy(7, MP_copy_kind_DtoH, ASYNCHRONOUS, 45, 46, 4);
    put_call(1, "cuOther", 50, 51, 5);
    put_kernel(7, "b", 56, 57, 5);
    put_call(1, "cuAnything", 60, 61, 6);
    put_kernel(7, "a", 67, 68, 6); /* 7, not the shortest */
    scene_load();
    assert_int_equal(scene.deps.launch_classes.count, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(scene.deps.launch_latencies[i].shortest, (i + 2) * 1000);
    scene_end(SOUND);
}

/* A blocking copy's call returns late, whatever it waited for: its begin, 20, is before a's end, so
 * the copy was queued and shows the gap, 3. */
static void of_a_launch_that_waits_the_begin_decides(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 30, 1);
    put_call(1, "cudaMemcpy", 20, 60, 2);
    put_copy(7, MP_copy_kind_HtoD, BLOCKING_COPY, 33, 58, 2);
    scene_load();
    assert_int_equal(scene.deps.latencies[DEPS_COPY].shortest, 3000);
    assert_string_equal(bound("[CUDA memcpy HtoD]"), "stream order a");
    assert_string_equal(path(whole()), "[CUDA memcpy HtoD] 25, a 15 | launch 5, gap 3, return 2");
    scene_end(SOUND);
}

/* Work without a launching call shows the gap; 4, although queued work shows 7. */
static void work_without_a_call_shows_the_gap(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 30, 1);
    put_kernel(7, "lost", 34, 40, 99);
    put_launch(7, "b", 16, 47, 60, 100);
    scene_load();
    assert_int_equal(scene.deps.latencies[DEPS_KERNEL].shortest, 4000);
    assert_string_equal(bound("lost"), "stream order a");
    scene_end(SOUND);
}

/* ---- Ties between dependencies ---- */

/* a in stream 7 and b in stream 8 end together at 60; c waits for both. */
static void put_tie(uint64_t first_stream, uint64_t second_stream)
{
    scene_begin();
    put_launch(first_stream, "a", 10, 15, 60, 1);
    put_launch(second_stream, "b", 16, 21, 60, 2);
}

static void of_equal_ends_stream_order_comes_before_events(void **state)
{
    (void)state;
    put_tie(7, 8);
    put_record(8, E1, 22, 3);
    put_wait(7, E1, 23, 4);
    put_launch(7, "c", 25, 63, 70, 5);
    scene_load();
    assert_string_equal(bound("c"), "stream order a");
    assert_string_equal(waiting(whole()), "| ");
    scene_end(SOUND);
}

static void of_equal_ends_events_come_before_the_default_stream(void **state)
{
    (void)state;
    put_tie(7, 8);
    put_stream_flag(7, MP_stream_flag_null);
    put_stream_flag(8, MP_stream_flag_non_blocking);
    put_record(8, E1, 22, 3);
    put_wait(9, E1, 23, 4);
    put_launch(9, "c", 25, 63, 70, 5);
    scene_load();
    assert_string_equal(bound("c"), "event b");
    scene_end(SOUND);
}

/* In either order of waiting, and of the lanes. */
static void of_equal_ends_the_highest_correlation_id_counts(void **state)
{
    (void)state;
    for (int turned = 0; turned < 4; turned++) {
        put_tie(turned & 1 ? 8 : 7, turned & 1 ? 7 : 8);
        put_record(7, E1, 22, 3);
        put_record(8, E2, 23, 4);
        put_wait(9, turned & 2 ? E1 : E2, 24, 5);
        put_wait(9, turned & 2 ? E2 : E1, 25, 6);
        put_launch(9, "c", 27, 63, 70, 7);
        scene_load();
        assert_string_equal(bound("c"), "event b");
        scene_end(SOUND);
    }
}

/* ---- The waiting of device work ---- */

/*     stream 7   |a 15-40||b 41-44|        |c 63-70|         gap 1
 *     stream 8     |w 21----------------60|
 *
 * c: launched 28 + 5 = 33; b's end 44 + 1 = 45; w's end 60 + 1 = 61. It waited 61 - 45 = 16 for
 * the other stream; the launch was in time. */
static void device_work_waits_for_other_streams_beyond_what_holds_it_anyway(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 40, 1);
    put_launch(8, "w", 16, 21, 60, 2);
    put_launch(7, "b", 22, 41, 44, 3);
    put_record(8, E1, 27, 4);
    put_wait(7, E1, 28, 5);
    put_launch(7, "c", 30, 63, 70, 6);
    scene_load();
    assert_string_equal(bound("c"), "event w");
    assert_string_equal(waiting(whole()), "| c 16");
    assert_string_equal(path(whole()), "c 7, cudaLaunchKernel 5, w 39 | host 1, launch 5, "
                                       "dependency 3");
    scene_end(SOUND);
}

/* Launched late, 58 + 5 = 63 > 60 + 1: it waited for no stream. */
static void work_that_is_launched_late_does_not_wait(void **state)
{
    (void)state;
    scene_begin();
    put_launch(8, "w", 16, 21, 60, 2);
    put_launch(8, "x", 22, 61, 62, 3); /* the gap of 1 */
    put_record(8, E1, 30, 4);
    put_wait(7, E1, 31, 5);
    put_launch(7, "c", 58, 63, 70, 6);
    scene_load();
    assert_string_equal(bound("c"), "launch cudaLaunchKernel#6");
    assert_string_equal(waiting(whole()), "| ");
    scene_end(SOUND);
}

/* A kernel without a launch or a predecessor: nothing else would have held it up. */
static void without_anything_else_there_is_no_waiting(void **state)
{
    (void)state;
    scene_begin();
    put_stream_flag(7, MP_stream_flag_null);
    put_launch(8, "w", 10, 15, 60, 1);
    put_kernel(7, "lost", 63, 70, 99);
    scene_load();
    assert_string_equal(bound("lost"), "default stream w");
    assert_string_equal(waiting(whole()), "| ");
    scene_end(SOUND);
}

/* nvprof's dependency analysis printed cudaLaunchKernel_v7000, cuDeviceTotalMem_v2 and cudaMalloc.
 */
static void version_suffixes_are_kept_on_request_but_that_of_cuda_3_2(void **state)
{
    static const char *const given[] = {"cudaLaunchKernel_v7000", "cuMemAlloc_v2",
                                        "cudaMalloc_v3020", "cudaFree"};
    static const char *const kept[] = {"cudaLaunchKernel_v7000", "cuMemAlloc_v2", "cudaMalloc",
                                       "cudaFree"};
    static const char *const plain[] = {"cudaLaunchKernel", "cuMemAlloc", "cudaMalloc", "cudaFree"};
    struct deps_options options = {.suffixes = true};
    struct deps deps;

    (void)state;
    scene_begin();
    for (uint64_t i = 0; i < 4; i++)
        put_call(1, given[i], 10 + 10 * i, 15 + 10 * i, i + 1);
    scene_load();
    assert_int_equal(deps_load(scene.trace, &options, &deps, NULL), MP_OK);
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(deps_name(&deps, &deps.activities[i]), kept[i]);
        assert_string_equal(deps_name(&scene.deps, &scene.deps.activities[i]), plain[i]);
    }
    deps_free(&deps);
    scene_end(SOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_that_meets_a_free_stream_shows_the_launch_latency),
        cmocka_unit_test(a_launch_is_late_if_its_call_does_something_else_first),
        cmocka_unit_test(queued_work_shows_the_gap),
        cmocka_unit_test(a_launch_that_arrives_after_the_stream_binds),
        cmocka_unit_test(of_equal_arrivals_the_launch_binds),
        cmocka_unit_test(one_odd_launch_does_not_move_the_shortest),
        cmocka_unit_test(launches_are_classed_by_function_and_work),
        cmocka_unit_test(of_a_launch_that_waits_the_begin_decides),
        cmocka_unit_test(work_without_a_call_shows_the_gap),
        cmocka_unit_test(of_equal_ends_stream_order_comes_before_events),
        cmocka_unit_test(of_equal_ends_events_come_before_the_default_stream),
        cmocka_unit_test(of_equal_ends_the_highest_correlation_id_counts),
        cmocka_unit_test(device_work_waits_for_other_streams_beyond_what_holds_it_anyway),
        cmocka_unit_test(work_that_is_launched_late_does_not_wait),
        cmocka_unit_test(without_anything_else_there_is_no_waiting),
        cmocka_unit_test(version_suffixes_are_kept_on_request_but_that_of_cuda_3_2),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
