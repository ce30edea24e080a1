/* D6, D8 and calls inside calls: what host activities wait for, and how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#include <stdio.h>
#include <string.h>

#define E1 0xe1

static const struct deps_window *whole(void)
{
    return scene.windows.items;
}

/*     thread     |launch 10-15|    |wait 20------------63|
 *     stream 7        |a 15-------------------------60|
 *     stream 8          |b 18-40|                          launched by thread 2 */
static void put_two_kernels(void)
{
    scene_begin();
    put_launch(7, "a", 10, 15, 60, 1);
    put_call(2, "cudaLaunchKernel", 13, 17, 2);
    put_kernel(8, "b", 18, 40, 2);
}

/* ---- D6 ---- */

static void expect_wait(const char *how, const char *what)
{
    scene_load();
    assert_string_equal(bound_call(5), how);
    assert_string_equal(waiting(whole()), what);
    scene_end(SOUND);
}

static void a_stream_is_awaited(void **state)
{
    (void)state;
    put_two_kernels();
    put_stream_sync(7, 20, 63, 5);
    expect_wait("synchronisation a", "cudaStreamSynchronize 40 | ");
    put_two_kernels();
    put_stream_sync(8, 20, 63, 5);
    expect_wait("synchronisation b", "cudaStreamSynchronize 20 | ");
}

static void a_context_is_awaited(void **state)
{
    (void)state;
    put_two_kernels();
    put_launch(ON(2, 7), "other", 16, 22, 61, 3);
    put_context_sync(24, 63, 5);
    expect_wait("synchronisation a", "cudaDeviceSynchronize 36 | ");
}

static void an_unknown_context_means_all_of_them(void **state)
{
    (void)state;
    put_two_kernels();
    put_launch(ON(2, 7), "other", 16, 22, 61, 3);
    put_call(1, "cuCtxSynchronize", 24, 63, 5);
    put_sync_in_context(MP_sync_kind_context_synchronize, 0, 24, 63, 5);
    expect_wait("synchronisation other", "cuCtxSynchronize 37 | ");
}

static void a_context_without_work_has_nothing_to_wait_for(void **state)
{
    (void)state;
    put_two_kernels();
    put_call(1, "cuCtxSynchronize", 24, 63, 5);
    put_sync_in_context(MP_sync_kind_context_synchronize, 2, 24, 63, 5);
    expect_wait("program order cudaLaunchKernel#1", "| ");
}

/* It was called before b was launched. */
static void what_is_launched_later_is_not_awaited(void **state)
{
    (void)state;
    put_two_kernels();
    put_call(3, "cudaLaunchKernel", 30, 35, 6);
    put_kernel(7, "later", 61, 62, 6);
    put_stream_sync(7, 20, 63, 5);
    expect_wait("synchronisation a", "cudaStreamSynchronize 40 | ");
}

static void a_call_for_what_has_ended_does_not_wait(void **state)
{
    (void)state;
    put_two_kernels();
    put_stream_sync(8, 45, 47, 5);
    scene_load();
    assert_string_equal(bound_call(5), "program order cudaLaunchKernel#1");
    assert_string_equal(waiting(whole()), "| ");
    scene_end(SOUND);
}

static void queries_that_succeed_wait(void **state)
{
    (void)state;
    put_two_kernels();
    put_call(1, "cudaStreamQuery", 20, 63, 5);
    put_sync(MP_sync_kind_stream_query, 1, 7, 0, 20, 63, 5);
    expect_wait("synchronisation a", "cudaStreamQuery 40 | ");
    put_two_kernels();
    put_record(8, E1, 19, 3);
    put_call(1, "cudaEventQuery", 20, 63, 5);
    put_sync(MP_sync_kind_event_query, 1, NO_STREAM, E1, 20, 63, 5);
    expect_wait("synchronisation b", "cudaEventQuery 20 | ");
}

static void calls_that_failed_wait_for_nothing(void **state)
{
    (void)state;
    put_two_kernels();
    put_call(1, "cudaStreamQuery", 20, 63, 5);
    put_failed_sync(MP_sync_kind_stream_query, 7, 0, 20, 63, 5);
    expect_wait("program order cudaLaunchKernel#1", "| ");
}

/* Rows of `sync` without a call are calls of the driver: from 63 return 3, a 45, launch 5. */
static void waits_without_a_call_are_host_activities(void **state)
{
    static const struct {
        unsigned kind;
        const char *name;
    } waits[] = {{MP_sync_kind_stream_synchronize, "cuStreamSynchronize"},
                 {MP_sync_kind_context_synchronize, "cuCtxSynchronize"},
                 {MP_sync_kind_event_synchronize, "cuEventSynchronize"},
                 {MP_sync_kind_stream_query, "cuStreamQuery"},
                 {MP_sync_kind_event_query, "cuEventQuery"}};

    (void)state;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        char expected[64];

        put_two_kernels();
        put_record(7, E1, 16, 3);
        put_sync(waits[i].kind, 1, 7, E1, 20, 63, 5);
        snprintf(expected, sizeof expected, "%s 40 | ", waits[i].name);
        scene_load();
        assert_string_equal(bound_call(5), "synchronisation a");
        assert_string_equal(waiting(whole()), expected);
        assert_string_equal(path(whole()), "a 45 | launch 5, return 3");
        scene_end(SOUND);
    }
}

static void other_rows_of_sync_are_no_host_activities(void **state)
{
    (void)state;
    put_two_kernels();
    put_record(7, E1, 20, 3);
    put_wait(8, E1, 22, 4);
    scene_load();
    assert_int_equal(scene.deps.host_count, 2);
    scene_end(SOUND);
}

/* One call can leave several rows; it waits for the latest, and is one activity. */
static void a_call_with_two_rows_of_sync_is_one_call(void **state)
{
    (void)state;
    put_two_kernels();
    put_call(1, "cudaDeviceSynchronize", 20, 63, 5);
    put_sync(MP_sync_kind_stream_synchronize, 1, 7, 0, 20, 61, 5);
    put_sync(MP_sync_kind_stream_synchronize, 1, 8, 0, 61, 63, 5);
    scene_load();
    assert_int_equal(scene.deps.host_count, 3);
    assert_string_equal(bound_call(5), "synchronisation a");
    assert_string_equal(waiting(whole()), "cudaDeviceSynchronize 40 | ");
    scene_end(SOUND);
}

/* ---- Polling ---- */

/*     queries    |20-22|  |30-32|         |61-63|
 *     the loop   |20-----------------------------63|
 *
 * Each waits to its end or a's, 60: 2, 2 and none. From 63: query 2, host 61-32 29; the query
 * before waited for a, which has the time from there, 32-15; launch 5. */
static void queries_of_a_polling_loop_wait_for_what_it_waits_for(void **state)
{
    (void)state;
    put_two_kernels();
    put_record(7, E1, 16, 3);
    put_call(1, "cudaEventQuery", 20, 22, 4);
    put_call(1, "cudaEventQuery", 30, 32, 6);
    put_call(1, "cudaEventQuery", 61, 63, 7);
    put_sync(MP_sync_kind_event_query, 1, NO_STREAM, E1, 20, 63, 7);
    scene_load();
    assert_string_equal(bound_call(4), "synchronisation a");
    assert_string_equal(bound_call(6), "synchronisation a");
    assert_string_equal(waiting(whole()), "cudaEventQuery 4 | ");
    assert_string_equal(path(whole()), "a 17, cudaEventQuery 2 | host 29, launch 5");
    scene_end(SOUND);
}

/*     outer      |20----------30|            |59----------63|
 *     inner         |22-24|                    |60-61|            a ends at 62
 *
 * Last pieces: 24-30 waits 6, 61-63 waits 1. Inner calls 2 and 1. First pieces never wait. */
static void queries_in_pieces_wait_with_their_last(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 62, 1);
    put_record(7, E1, 16, 3);
    put_call(1, "cudaEventQuery", 20, 30, 4);
    put_call(1, "cuEventQuery", 22, 24, 5);
    put_call(1, "cudaEventQuery", 59, 63, 6);
    put_call(1, "cuEventQuery", 60, 61, 7);
    put_sync(MP_sync_kind_event_query, 1, NO_STREAM, E1, 20, 63, 6);
    scene_load();
    assert_string_equal(waiting(whole()), "cuEventQuery 3, cudaEventQuery 7 | ");
    scene_end(SOUND);
}

static void calls_before_a_polling_loop_do_not_wait(void **state)
{
    (void)state;
    put_two_kernels();
    put_record(7, E1, 16, 3);
    put_call(1, "cudaGetDevice", 17, 19, 4);
    put_call(1, "cudaEventQuery", 20, 22, 6);
    put_call(1, "cudaEventQuery", 59, 63, 7);
    put_sync(MP_sync_kind_event_query, 1, NO_STREAM, E1, 20, 63, 7);
    scene_load();
    assert_string_equal(bound_call(4), "program order cudaLaunchKernel#1");
    assert_string_equal(bound_call(7), "synchronisation a");
    assert_string_equal(waiting(whole()), "cudaEventQuery 3 | "); /* 2 and 60-59 */
    scene_end(SOUND);
}

static void a_polling_loop_without_calls_is_one_wait(void **state)
{
    (void)state;
    put_two_kernels();
    put_record(7, E1, 16, 3);
    put_sync(MP_sync_kind_event_query, 1, NO_STREAM, E1, 20, 63, 5);
    expect_wait("synchronisation a", "cuEventQuery 40 | ");
}

/* ---- Copies ---- */

/*     thread     |copy 10------------------60|
 *     stream 7       |15---------------55|        waits 55-10; return 5, copy 40, launch 5 */
static void expect_copy(enum mp_copy_kind kind, enum copy_manner manner, uint64_t end, bool awaited)
{
    scene_begin();
    put_call(1, "cudaMemcpy", 10, 60, 5);
    put_copy(7, kind, manner, 15, end, 5);
    put_call(1, "cudaGetLastError", 90, 100, 6);
    scene_load();
    if (awaited) {
        assert_true(!strncmp(bound_call(5), "synchronisation [CUDA memcpy", 28));
        assert_string_equal(waiting(whole()), "cudaMemcpy 45 | ");
    } else {
        assert_string_equal(bound_call(5), "program order");
        assert_string_equal(path(whole()), "cudaGetLastError 10, cudaMemcpy 50 | host 30");
    }
    assert_int_equal(scene.deps.counts.contradicted, 0);
    scene_end(SOUND);
}

static void a_blocking_copy_is_awaited_by_its_call(void **state)
{
    (void)state;
    expect_copy(MP_copy_kind_HtoD, BLOCKING_COPY, 55, true);
    expect_copy(MP_copy_kind_DtoH, BLOCKING_COPY, 55, true);
    expect_copy(MP_copy_kind_DtoD, BLOCKING_COPY, 55, true);
}

static void an_asynchronous_copy_of_pageable_memory_is_awaited(void **state)
{
    (void)state;
    expect_copy(MP_copy_kind_HtoD, PAGEABLE, 55, true);
    expect_copy(MP_copy_kind_DtoH, PAGEABLE, 55, true);
}

static void an_asynchronous_copy_is_not_awaited(void **state)
{
    (void)state;
    expect_copy(MP_copy_kind_HtoD, ASYNCHRONOUS, 55, false);
}

/* A staged copy to the device, or one from device to device, may end after its call. */
static void a_copy_that_ends_after_its_call_is_not_awaited(void **state)
{
    (void)state;
    expect_copy(MP_copy_kind_DtoD, BLOCKING_COPY, 70, false);
    expect_copy(MP_copy_kind_HtoD, BLOCKING_COPY, 70, false);
    expect_copy(MP_copy_kind_HtoD, PAGEABLE, 70, false);
}

/* ---- D8 ---- */

/*     thread     |launch 10-15|    |cudaFree 20--------63|
 *     stream 7        |a 15---------------60|               */
static void expect_in_effect(const char *function, uint64_t begin, uint64_t end, const char *how)
{
    scene_begin();
    put_launch(7, "a", 10, 15, 60, 1);
    put_call(1, function, begin, end, 5);
    scene_load();
    assert_string_equal(bound_call(5), how);
    assert_int_equal(scene.deps.counts.contradicted, 0);
    assert_int_equal(scene.deps.counts.clamped, 0);
    scene_end(SOUND);
}

static void calls_that_block_in_effect_wait_for_what_ends_inside(void **state)
{
    (void)state;
    expect_in_effect("cudaFree", 20, 63, "in effect a");
    expect_in_effect("cudaFree", 20, 60, "in effect a");
    expect_in_effect("cudaFree", 61, 63, "program order cudaLaunchKernel#1");
    expect_in_effect("cudaFree", 60, 63, "program order cudaLaunchKernel#1");
    expect_in_effect("cudaFree", 20, 59, "program order cudaLaunchKernel#1"); /* no tolerance */
}

static void the_calls_that_block_in_effect_are_these(void **state)
{
    static const char *const blocking[] = {"cudaFree_v3020",
                                           "cudaFreeHost",
                                           "cudaFreeArray",
                                           "cudaFreeMipmappedArray",
                                           "cudaMalloc",
                                           "cudaMalloc3D",
                                           "cudaMalloc3DArray",
                                           "cudaMallocArray",
                                           "cudaMallocHost",
                                           "cudaMallocManaged",
                                           "cudaMallocMipmappedArray",
                                           "cudaMallocPitch",
                                           "cudaHostAlloc",
                                           "cudaHostRegister",
                                           "cudaHostUnregister",
                                           "cudaDeviceReset",
                                           "cudaLibraryUnload",
                                           "cuMemFree_v2",
                                           "cuMemFreeHost",
                                           "cuMemAlloc_v2",
                                           "cuMemAllocHost_v2",
                                           "cuMemAllocManaged",
                                           "cuMemAllocPitch_v2",
                                           "cuMemHostAlloc",
                                           "cuMemHostRegister_v2",
                                           "cuMemHostUnregister",
                                           "cuArrayDestroy",
                                           "cuMipmappedArrayDestroy",
                                           "cuModuleLoad",
                                           "cuModuleLoadData",
                                           "cuModuleLoadDataEx",
                                           "cuModuleLoadFatBinary",
                                           "cuModuleUnload",
                                           "cuLibraryLoadData",
                                           "cuLibraryLoadFromFile",
                                           "cuLibraryUnload",
                                           "cuCtxDestroy_v2",
                                           "cuDevicePrimaryCtxReset_v2",
                                           "cudaDeviceSynchronize",
                                           "cudaStreamSynchronize_ptsz",
                                           "cudaEventSynchronize",
                                           "cuCtxSynchronize",
                                           "cuStreamSynchronize_ptsz",
                                           "cuEventSynchronize"};
    static const char *const others[] = {
        "cudaFreeAsync",   "cudaMallocAsync", "cudaMallocFromPoolAsync", "cuMemFreeAsync",
        "cudaMemcpyAsync", "cudaMemset",      "cudaGetDevice",           "cuModuleGetFunction",
        "cudaFreed",       "cuCtxGetCurrent", "cudaStreamQuery",         "cudaLaunchKernel"};

    (void)state;
    for (size_t i = 0; i < sizeof blocking / sizeof *blocking; i++)
        expect_in_effect(blocking[i], 20, 63, "in effect a");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect_in_effect(others[i], 20, 63, "program order cudaLaunchKernel#1");
}

/* A row of `sync` says more than the name of the call: b, not the later a. */
static void a_row_of_sync_takes_the_place_of_the_name(void **state)
{
    (void)state;
    put_two_kernels();
    put_stream_sync(8, 20, 63, 5);
    expect_wait("synchronisation b", "cudaStreamSynchronize 20 | ");
}

/*     thread 1   launched a in context 1, ends at 50
 *     thread 2   launched b in context 2, ends at 60
 *     thread 3   did nothing yet */
static void put_two_contexts(void)
{
    scene_begin();
    put_launch(ON(1, 7), "a", 10, 15, 50, 1);
    put_call(2, "cudaLaunchKernel", 11, 14, 2);
    put_kernel(ON(2, 7), "b", 16, 60, 2);
}

static void the_context_is_the_one_that_the_thread_used_last(void **state)
{
    static const char *const expected[] = {"in effect a", "in effect b", "in effect b"};

    (void)state;
    for (uint64_t thread = 1; thread <= 3; thread++) {
        put_two_contexts();
        put_call(thread, "cudaFree", 20, 63, 5);
        scene_load();
        assert_string_equal(bound_call(5), expected[thread - 1]);
        scene_end(SOUND);
    }
}

static void synchronising_is_using_a_context(void **state)
{
    (void)state;
    put_two_contexts();
    put_call(1, "cudaDeviceSynchronize", 18, 19, 3);
    put_sync_in_context(MP_sync_kind_event_query, 2, 18, 19, 3);
    put_call(1, "cudaFree", 20, 63, 5);
    scene_load();
    assert_string_equal(bound_call(5), "in effect b");
    scene_end(SOUND);
}

static void launching_elsewhere_changes_the_context(void **state)
{
    (void)state;
    put_two_contexts();
    put_call(1, "cudaLaunchKernel", 16, 18, 3);
    put_kernel(ON(2, 8), "c", 19, 58, 3);
    put_call(1, "cudaFree", 20, 63, 5);
    scene_load();
    assert_string_equal(bound_call(5), "in effect b");
    scene_end(SOUND);
}

/* ---- Calls inside calls ---- */

/*     outer    |10----|   |----|      |-----70|        10-20, 30-40, 60-70
 *     inner           |20-30|  |40--60|                                      */
static void an_inner_call_owns_its_time(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "outer", 10, 70, 1);
    put_call(1, "inner1", 20, 30, 2);
    put_call(1, "inner2", 40, 60, 3);
    put_call(1, "behind", 75, 80, 4);
    scene_load();
    assert_int_equal(scene.deps.host_count, 6);
    assert_string_equal(path(whole()), "behind 5, inner1 10, inner2 20, outer 30 | host 5");
    assert_int_equal(scene.deps.counts.clamped, 0);
    scene_end(SOUND);
}

static void a_call_in_pieces_is_counted_once(void **state)
{
    struct deps_result result;

    (void)state;
    scene_begin();
    put_call(1, "outer", 10, 70, 1);
    put_call(1, "inner1", 20, 30, 2);
    scene_load();
    assert_int_equal(deps_result_init(&scene.deps, &result), MP_OK);
    deps_path(&scene.deps, whole(), &result, NULL);
    assert_int_equal(result.rows[scene.deps.activities[find("outer")].name].calls, 1);
    deps_result_free(&result);
    scene_end(SOUND);
}

static void calls_can_lie_two_deep(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "outer", 10, 70, 1);
    put_call(1, "middle", 20, 60, 2);
    put_call(1, "inner", 30, 50, 3);
    put_call(1, "next", 62, 65, 4);
    scene_load();
    /* outer 10-20, 60-62, 65-70; middle 20-30, 50-60 */
    assert_string_equal(path(whole()), "inner 20, middle 20, next 3, outer 17 | ");
    scene_end(SOUND);
}

/*     outer    |cudaFree 10-------------------------------70|
 *     inner             |cudaGetDevice 20-25|
 *     stream 7   |a -------------------------------60|
 *
 * Its last piece, 25-70, waits 35 of it; the first does not, and the inner call does not. */
static void only_the_last_piece_of_a_call_waits(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 1, 6, 60, 1);
    put_call(1, "cudaFree", 10, 70, 2);
    put_call(1, "cudaGetDevice", 20, 25, 3);
    scene_load();
    assert_string_equal(bound_call(2), "in effect a");
    assert_string_equal(bound("cudaFree"), "program order cudaLaunchKernel#1"); /* its first */
    assert_string_equal(bound_call(3), "program order cudaFree#2");
    assert_string_equal(waiting(whole()), "cudaFree 35 | ");
    assert_string_equal(path(whole()), "a 54 | launch 5, return 10");
    scene_end(SOUND);
}

/* The runtime's call waits inside the driver's, which has the row of `sync`. */
static void an_inner_call_waits_in_the_place_of_the_outer_one(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 1, 6, 60, 1);
    put_call(1, "cudaStreamSynchronize", 10, 70, 2);
    put_call(1, "cuStreamSynchronize", 12, 68, 3);
    put_sync(MP_sync_kind_stream_synchronize, 1, 7, 0, 12, 68, 3);
    scene_load();
    assert_string_equal(bound_call(3), "synchronisation a");
    assert_string_equal(waiting(whole()), "cuStreamSynchronize 48 | ");
    /* From 70: the outer's last piece 2, return 8, a 54, launch 5. */
    assert_string_equal(path(whole()), "a 54, cudaStreamSynchronize 2 | launch 5, return 8");
    scene_end(SOUND);
}

static void a_call_that_reaches_past_its_outer_call_is_cut(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "outer", 10, 50, 1);
    put_call(1, "inner", 30, 60, 2);
    put_call(1, "behind", 70, 80, 3);
    scene_load();
    assert_int_equal(scene.deps.counts.clamped, 1);
    assert_string_equal(path(whole()), "behind 10, inner 20, outer 20 | host 20");
    scene_end(SOUND);
}

/* The longer one is the outer one, whatever stands first in the file, where ids are equal too. */
static void of_calls_that_begin_together_the_longer_is_the_outer(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        scene_begin();
        put_call(1, turned ? "long" : "short", 10, turned ? 50 : 30, 1);
        put_call(1, turned ? "short" : "long", 10, turned ? 30 : 50, 1);
        scene_load();
        assert_string_equal(path(whole()), "long 20, short 20 | ");
        assert_int_equal(scene.deps.counts.clamped, 0);
        scene_end(UNSOUND);
    }
}

/* The runtime's call has the lower id: it is the outer one as long as it is not shorter. */
static void of_calls_that_begin_together_the_first_called_is_the_outer(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "driver", 10, 30, 2);
    put_call(1, "runtime", 10, 30, 1);
    scene_load();
    assert_string_equal(path(whole()), "driver 20 | ");
    scene_end(SOUND);
}

static void a_launch_inside_a_call_begins_inside_it(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "outer", 10, 70, 1);
    put_call(1, "cudaLaunchKernel", 20, 30, 2);
    put_kernel(7, "a", 25, 90, 2);
    scene_load();
    /* From 90: a 65, launch 25-20 5, outer 10. */
    assert_string_equal(path(whole()), "a 65, outer 10 | launch 5");
    scene_end(SOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_is_awaited),
        cmocka_unit_test(a_context_is_awaited),
        cmocka_unit_test(an_unknown_context_means_all_of_them),
        cmocka_unit_test(a_context_without_work_has_nothing_to_wait_for),
        cmocka_unit_test(what_is_launched_later_is_not_awaited),
        cmocka_unit_test(a_call_for_what_has_ended_does_not_wait),
        cmocka_unit_test(queries_that_succeed_wait),
        cmocka_unit_test(calls_that_failed_wait_for_nothing),
        cmocka_unit_test(waits_without_a_call_are_host_activities),
        cmocka_unit_test(other_rows_of_sync_are_no_host_activities),
        cmocka_unit_test(a_call_with_two_rows_of_sync_is_one_call),
        cmocka_unit_test(queries_of_a_polling_loop_wait_for_what_it_waits_for),
        cmocka_unit_test(queries_in_pieces_wait_with_their_last),
        cmocka_unit_test(calls_before_a_polling_loop_do_not_wait),
        cmocka_unit_test(a_polling_loop_without_calls_is_one_wait),
        cmocka_unit_test(a_blocking_copy_is_awaited_by_its_call),
        cmocka_unit_test(an_asynchronous_copy_of_pageable_memory_is_awaited),
        cmocka_unit_test(an_asynchronous_copy_is_not_awaited),
        cmocka_unit_test(a_copy_that_ends_after_its_call_is_not_awaited),
        cmocka_unit_test(calls_that_block_in_effect_wait_for_what_ends_inside),
        cmocka_unit_test(the_calls_that_block_in_effect_are_these),
        cmocka_unit_test(a_row_of_sync_takes_the_place_of_the_name),
        cmocka_unit_test(the_context_is_the_one_that_the_thread_used_last),
        cmocka_unit_test(synchronising_is_using_a_context),
        cmocka_unit_test(launching_elsewhere_changes_the_context),
        cmocka_unit_test(an_inner_call_owns_its_time),
        cmocka_unit_test(a_call_in_pieces_is_counted_once),
        cmocka_unit_test(calls_can_lie_two_deep),
        cmocka_unit_test(only_the_last_piece_of_a_call_waits),
        cmocka_unit_test(an_inner_call_waits_in_the_place_of_the_outer_one),
        cmocka_unit_test(a_call_that_reaches_past_its_outer_call_is_cut),
        cmocka_unit_test(of_calls_that_begin_together_the_longer_is_the_outer),
        cmocka_unit_test(of_calls_that_begin_together_the_first_called_is_the_outer),
        cmocka_unit_test(a_launch_inside_a_call_begins_inside_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
