/* D1 to D5 of docs/dependency-analysis.md: what device work waits for in its own stream, through
 * events, and because of the legacy default stream.
 *
 * Every scene begins with a launch that gets to the device in 2 us, on a stream that nothing else
 * uses. It is the shortest launch, so that a launch explains the begin of later work only where it
 * is as short.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reports/replay/replay.h"
#include "unit/deps/deps_fixture.h"

#define APART ON(9, 99) /* in a context of its own */
#define E1    0xe1
#define E2    0xe2

/*     thread   |launch 1-6|
 *     APART      |fast 3-4| */
static void begin(void)
{
    scene_begin();
    put_call(1, "cudaLaunchKernel", 1, 6, 1);
    put_kernel(APART, "fast", 3, 4, 1);
}

/* ---- D1, D2, D3 ---- */

static void a_call_waits_for_the_call_before_it(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cudaGetDevice", 10, 20, 1);
    put_call(2, "cudaSetDevice", 22, 25, 2);
    put_call(1, "cudaGetLastError", 30, 40, 3);
    scene_load();
    assert_string_equal(bound_call(1), "program order");
    assert_string_equal(bound_call(2), "program order");
    assert_string_equal(bound_call(3), "program order cudaGetDevice#1");
    assert_string_equal(path(scene.windows.items),
                        "cudaGetDevice 10, cudaGetLastError 10 | host 10");
    scene_end(SOUND);
}

static void work_waits_for_the_begin_of_its_launch_in_any_thread(void **state)
{
    (void)state;
    begin();
    put_call(2, "cudaLaunchKernel", 10, 60, 2);
    put_kernel(7, "a", 12, 40, 2);
    put_call(3, "cudaMemsetAsync", 11, 15, 3);
    put_set(8, 17, 20, 3);
    scene_load();
    assert_string_equal(bound("a"), "launch cudaLaunchKernel#2");
    assert_string_equal(bound("[CUDA memset]"), "launch cudaMemsetAsync#3");
    scene_end(SOUND);
}

static void work_without_a_call_has_no_known_cause(void **state)
{
    (void)state;
    begin();
    put_kernel(7, "lost", 20, 30, 77);
    put_kernel(8, "numberless", 40, 50, 0);
    scene_load();
    assert_string_equal(bound("lost"), "unknown");
    assert_string_equal(bound("numberless"), "unknown");
    assert_int_equal(scene.deps.counts.unlaunched, 2);
    /* The last to end has no dependency: all before it is unknown. */
    assert_string_equal(path(scene.windows.items), "numberless 10 | unknown 39");
    scene_end(SOUND);
}

/* In the lane by begin, whatever the order of the file or of the calls: c between a and b. */
static void the_previous_launch_is_the_one_before_in_the_lane(void **state)
{
    (void)state;
    begin();
    put_launch(7, "b", 16, 60, 70, 3);
    put_launch(7, "a", 10, 15, 30, 2);
    put_launch(7, "c", 22, 31, 58, 4);
    scene_load();
    assert_string_equal(bound("c"), "stream order a");
    assert_string_equal(bound("b"), "stream order c");
    scene_end(SOUND);
}

static void streams_of_two_contexts_are_two_streams(void **state)
{
    (void)state;
    begin();
    put_launch(ON(1, 7), "a", 10, 15, 30, 2);
    put_launch(ON(2, 7), "b", 20, 32, 40, 3);
    scene_load();
    assert_string_equal(bound("b"), "launch cudaLaunchKernel#3");
    scene_end(SOUND);
}

/* Programmatic dependent launch: b begins 10 before its predecessor's end, and runs 20 alone. */
static void work_that_overlaps_its_predecessor_goes_on_alone(void **state)
{
    (void)state;
    begin();
    put_launch(7, "a", 10, 15, 60, 2);
    put_launch(7, "b", 16, 50, 80, 3);
    scene_load();
    assert_int_equal(scene.deps.counts.overlapping, 1);
    assert_int_equal(scene.deps.counts.contradicted, 0);
    assert_int_equal(scene.deps.counts.clamped, 0);
    assert_string_equal(bound("b"), "stream order a");
    assert_string_equal(path(scene.windows.items),
                        "a 45, b 20, cudaLaunchKernel 5 | host 4, launch 5");
    scene_end(SOUND);
}

/* The path does not depend on how far they overlap, not even at 0. */
static void the_path_has_no_cliff_at_any_overlap(void **state)
{
    (void)state;
    for (uint64_t overlap = 0; overlap < 45; overlap++) {
        begin();
        put_launch(7, "a", 10, 15, 60, 2);
        put_launch(7, "b", 16, 60 - overlap, 80, 3);
        scene_load();
        assert_string_equal(path(scene.windows.items),
                            "a 45, b 20, cudaLaunchKernel 5 | host 4, launch 5");
        scene_end(SOUND);
    }
}

/* b runs inside of a and so never alone; c, launched behind both, waits for a, which ends last. */
static void what_is_launched_later_waits_for_the_last_end(void **state)
{
    (void)state;
    begin();
    put_launch(7, "a", 10, 15, 60, 2);
    put_launch(7, "b", 16, 30, 40, 3);
    put_launch(7, "c", 22, 61, 80, 4);
    scene_load();
    assert_int_equal(scene.deps.counts.overlapping, 1);
    assert_string_equal(bound("b"), "stream order a");
    assert_string_equal(bound("c"), "stream order a");
    assert_string_equal(path(scene.windows.items),
                        "a 45, c 19, cudaLaunchKernel 5 | host 4, launch 5, gap 1");
    scene_end(SOUND);
}

/* Twice as fast, each of three that overlap has half of what it ran alone. */
static void a_what_if_changes_what_work_runs_alone(void **state)
{
    struct deps_changes changes = {.items = NULL};
    uint64_t length;

    (void)state;
    begin();
    put_launch(7, "k", 10, 15, 60, 2);
    put_launch(7, "k", 16, 20, 80, 3);
    put_launch(7, "k", 22, 25, 100, 4);
    scene_load();
    assert_string_equal(path(scene.windows.items), "cudaLaunchKernel 5, k 85 | host 4, launch 5");
    assert_int_equal(deps_changes_add(&changes, "k=0.5x", NULL), MP_OK);
    assert_int_equal(deps_replay(&scene.deps, &changes, &scene.windows, &length), MP_OK);
    assert_int_equal(length, (99 - 85) * 1000 + 42500);
    deps_changes_free(&changes);
    scene_end(SOUND);
}

/* b begins `early` before the end of a, which it waits for by an event, and c before that of b: in
 * its own stream, where there is no tolerance. */
static void expect_tolerance(uint64_t early, uint64_t clamped)
{
    begin();
    put_launch(7, "a", 10, 15, 60, 2);
    put_record(7, E1, 16, 3);
    put_wait(8, E1, 17, 4);
    put_launch(8, "b", 18, 60 - early, 80, 5);
    put_launch(8, "c", 24, 80 - early, 90, 6);
    scene_load();
    assert_int_equal(scene.deps.counts.clamped, clamped);
    assert_int_equal(scene.deps.counts.contradicted, clamped ? 0 : 1);
    assert_int_equal(scene.deps.counts.overlapping, 1);
    scene_end(SOUND);
}

static void two_microseconds_are_the_limit(void **state)
{
    (void)state;
    expect_tolerance(2, 1);
    expect_tolerance(3, 0);
}

/* a has no duration and lies a microsecond behind b's begin: within the tolerance, but later. */
static void work_does_not_wait_for_work_that_begins_later(void **state)
{
    (void)state;
    begin();
    put_launch(7, "a", 10, 61, 61, 2);
    put_record(7, E1, 16, 3);
    put_wait(8, E1, 17, 4);
    put_launch(8, "b", 18, 60, 80, 5);
    scene_load();
    assert_int_equal(scene.deps.counts.contradicted, 1);
    assert_string_equal(bound("b"), "launch cudaLaunchKernel#5");
    scene_end(SOUND);
}

/* ---- D4: events ---- */

/*     stream 7   |a 15--------60|
 *     stream 8                    |b 63-70|     b launched 20 + 2, event 60 + 3 */
static void the_next_launch_waits_for_the_event(void **state)
{
    (void)state;
    begin();
    put_launch(7, "a", 10, 15, 60, 2);
    put_record(7, E1, 16, 3);
    put_wait(8, E1, 17, 4);
    put_launch(8, "b", 20, 63, 70, 5);
    put_launch(8, "c", 26, 73, 80, 6);
    scene_load();
    assert_string_equal(bound("b"), "event a");
    assert_string_equal(bound("c"), "stream order b"); /* not the next one */
    assert_string_equal(
        path(scene.windows.items),
        "a 45, b 7, c 7, cudaLaunchKernel 5 | host 4, launch 5, gap 3, dependency 3");
    assert_string_equal(waiting(scene.windows.items), "| b 41"); /* 63 - 22 */
    scene_end(SOUND);
}

static void an_event_is_recorded_in_api_order(void **state)
{
    (void)state;
    begin();
    put_launch(7, "a", 10, 15, 30, 2);
    put_record(7, E1, 16, 3);
    put_launch(7, "behind", 17, 31, 58, 4);
    put_wait(8, E1, 23, 5);
    put_launch(8, "b", 24, 60, 70, 6);
    scene_load();
    /* a alone: 30 + the shortest gap (1, of behind) = 31, and the launch 24 + 2 = 26. */
    assert_string_equal(bound("b"), "event a");
    assert_string_equal(waiting(scene.windows.items), "| b 5");
    scene_end(SOUND);
}

static void a_wait_in_an_idle_stream_goes_into_its_events(void **state)
{
    (void)state;
    begin();
    put_launch(7, "a", 10, 15, 60, 2);
    put_record(7, E1, 16, 3);
    put_wait(8, E1, 17, 4);
    put_record(8, E2, 18, 5); /* nothing was ever launched in stream 8 */
    put_wait(9, E2, 19, 6);
    put_launch(9, "c", 20, 63, 70, 7);
    scene_load();
    assert_string_equal(bound("c"), "event a");
    scene_end(SOUND);
}

static void a_wait_in_a_stream_that_ran_before_goes_into_its_events(void **state)
{
    (void)state;
    begin();
    put_launch(7, "a", 10, 15, 60, 2);
    put_launch(8, "b", 16, 20, 30, 3);
    put_record(7, E1, 22, 4);
    put_wait(8, E1, 23, 5);
    put_record(8, E2, 24, 6);
    put_event_sync(E2, 26, 63, 7);
    scene_load();
    assert_string_equal(bound_call(7), "synchronisation a");
    scene_end(SOUND);
}

static void an_event_of_a_stream_without_work_stands_for_nothing(void **state)
{
    (void)state;
    begin();
    put_launch(7, "a", 10, 15, 60, 2);
    put_record(8, E1, 16, 3);
    put_wait(9, E1, 17, 4);
    put_launch(9, "c", 20, 63, 70, 5);
    scene_load();
    assert_string_equal(bound("c"), "launch cudaLaunchKernel#5");
    assert_int_equal(scene.deps.counts.unknown_events, 0);
    scene_end(SOUND);
}

/* Only the call names it: it is of the first device, as long as no work tells another one. */
static void a_stream_without_work_is_a_lane(void **state)
{
    const struct deps_lane *lane;

    (void)state;
    begin();
    put_record(5, E1, 8, 2);
    scene_load();
    lane = &scene.deps.lanes[scene.deps.thread_count];
    while (lane->id != 5)
        assert_true(++lane < scene.deps.lanes + scene.deps.lane_count);
    assert_int_equal(lane->context, DEFAULT_CONTEXT);
    assert_int_equal(lane->device, 0);
    assert_int_equal(lane->count, 0);
    scene_end(SOUND);
}

static void recording_again_replaces_what_an_event_stands_for(void **state)
{
    (void)state;
    begin();
    put_launch(7, "a", 10, 15, 60, 2);
    put_launch(8, "b", 16, 18, 40, 3);
    put_record(7, E1, 22, 4);
    put_record(8, E1, 23, 5);
    put_wait(9, E1, 24, 6);
    put_launch(9, "c", 26, 44, 50, 7);
    scene_load();
    assert_string_equal(bound("c"), "event b");
    assert_int_equal(scene.deps.counts.contradicted, 0);
    scene_end(SOUND);
}

static void a_wait_keeps_what_the_event_stood_for(void **state)
{
    (void)state;
    begin();
    put_launch(7, "a", 10, 15, 60, 2);
    put_launch(8, "b", 16, 18, 40, 3);
    put_record(7, E1, 22, 4);
    put_wait(9, E1, 23, 5);
    put_record(8, E1, 24, 6);
    put_launch(9, "c", 26, 64, 70, 7);
    scene_load();
    assert_string_equal(bound("c"), "event a");
    scene_end(SOUND);
}

/* The handle of a destroyed event is given out again. */
static void a_new_event_of_the_same_handle_stands_for_nothing(void **state)
{
    static const unsigned kinds[] = {MP_sync_kind_event_destroy, MP_sync_kind_event_create};

    (void)state;
    for (int i = 0; i < 2; i++) {
        begin();
        put_launch(7, "a", 10, 15, 60, 2);
        put_record(7, E1, 16, 3);
        put_sync(kinds[i], 1, NO_STREAM, E1, 17, 18, 4);
        put_wait(8, E1, 18, 5);
        put_launch(8, "b", 20, 63, 70, 6);
        scene_load();
        assert_string_equal(bound("b"), "launch cudaLaunchKernel#6");
        assert_int_equal(scene.deps.counts.unknown_events, 1);
        scene_end(SOUND);
    }
}

static void a_recreated_event_can_be_recorded(void **state)
{
    (void)state;
    begin();
    put_launch(7, "a", 10, 15, 60, 2);
    put_record(7, E1, 16, 3);
    put_sync(MP_sync_kind_event_destroy, 1, NO_STREAM, E1, 17, 18, 4);
    put_sync(MP_sync_kind_event_create, 1, NO_STREAM, E1, 18, 19, 5);
    put_launch(8, "b", 20, 22, 40, 6);
    put_record(8, E1, 26, 7);
    put_wait(9, E1, 27, 8);
    put_launch(9, "c", 28, 45, 50, 9);
    scene_load();
    assert_string_equal(bound("c"), "event b");
    assert_int_equal(scene.deps.counts.unknown_events, 0);
    scene_end(SOUND);
}

static void events_connect_devices(void **state)
{
    (void)state;
    begin();
    put_launch(ON(1, 7), "a", 10, 15, 60, 2);
    put_record(ON(1, 7), E1, 16, 3);
    put_wait(ON(2, 7), E1, 17, 4);
    put_launch(ON(2, 7), "b", 20, 63, 70, 5);
    scene_load();
    assert_string_equal(bound("b"), "event a");
    assert_int_equal(scene.deps.lanes[scene.deps.activities[find("b")].lane].device, 1);
    scene_end(SOUND);
}

static void of_several_events_the_latest_end_counts(void **state)
{
    (void)state;
    begin();
    put_launch(7, "a", 10, 15, 60, 2);
    put_launch(8, "b", 16, 18, 40, 3);
    put_record(7, E1, 22, 4);
    put_record(8, E2, 23, 5);
    put_wait(9, E1, 24, 6);
    put_wait(9, E2, 25, 7);
    put_launch(9, "c", 26, 64, 70, 8);
    scene_load();
    assert_string_equal(bound("c"), "event a");
    scene_end(SOUND);
}

static void calls_that_failed_connect_nothing(void **state)
{
    (void)state;
    begin();
    put_launch(7, "a", 10, 15, 60, 2);
    put_record(8, E1, 16, 3);
    put_failed_sync(MP_sync_kind_event_record, 7, E1, 17, 18, 4);
    put_wait(9, E1, 18, 5);
    put_launch(9, "c", 20, 63, 70, 6);
    scene_load();
    assert_string_equal(bound("c"), "launch cudaLaunchKernel#6");
    scene_end(SOUND);
}

/* Not the order of time: the second thread's wait was entered first but has the later number. */
static void api_order_is_that_of_correlation_ids(void **state)
{
    (void)state;
    begin();
    put_launch(7, "a", 10, 15, 60, 2);
    put_wait(8, E1, 12, 4);
    put_record(7, E1, 30, 3);
    put_launch(8, "b", 32, 63, 70, 5);
    scene_load();
    assert_string_equal(bound("b"), "event a");
    scene_end(SOUND);
}

/* ---- D5: the default stream ---- */

/* Work in the default stream 7 and then in stream 8, and the other way round:
 *
 *     first     |a 15-----60|
 *     second                 |b 63-70|       launched 20 + 2, the other stream's end 60 + 3 */
static void put_two_streams(uint64_t first, uint64_t second)
{
    put_launch(first, "a", 10, 15, 60, 2);
    put_launch(second, "b", 20, 63, 70, 3);
}

static void expect_default_stream_order(uint64_t flag, bool ordered)
{
    for (int turned = 0; turned < 2; turned++) {
        begin();
        put_stream_flag(7, MP_stream_flag_null);
        put_stream_flag(8, (unsigned)flag);
        put_two_streams(turned ? 8 : 7, turned ? 7 : 8);
        scene_load();
        assert_string_equal(bound("b"), ordered ? "default stream a" : "launch cudaLaunchKernel#3");
        assert_string_equal(waiting(scene.windows.items), ordered ? "| b 41" : "| ");
        scene_end(SOUND);
    }
}

static void streams_and_the_default_stream_wait_for_each_other(void **state)
{
    (void)state;
    expect_default_stream_order(MP_stream_flag_default, true);
    expect_default_stream_order(MP_stream_flag_unknown, true);
    expect_default_stream_order(MP_stream_flag_non_blocking, false);
    expect_default_stream_order(250, true); /* of a driver that is yet to come */
}

static void a_stream_of_which_nothing_is_known_is_blocking(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        begin();
        put_null_stream(DEFAULT_CONTEXT, 7); /* and the default stream by its context alone */
        put_two_streams(turned ? 8 : 7, turned ? 7 : 8);
        scene_load();
        assert_string_equal(bound("b"), "default stream a");
        scene_end(SOUND);
    }
}

static void without_a_default_stream_streams_do_not_wait(void **state)
{
    (void)state;
    begin();
    put_two_streams(7, 8);
    scene_load();
    assert_string_equal(bound("b"), "launch cudaLaunchKernel#3");
    scene_end(SOUND);
}

static void default_streams_are_those_of_their_context(void **state)
{
    (void)state;
    begin();
    put_stream_flag(ON(1, 7), MP_stream_flag_null);
    put_two_streams(ON(1, 7), ON(2, 8));
    scene_load();
    assert_string_equal(bound("b"), "launch cudaLaunchKernel#3");
    scene_end(SOUND);
}

static void blocking_streams_do_not_wait_for_each_other(void **state)
{
    (void)state;
    begin();
    put_stream_flag(7, MP_stream_flag_null);
    put_launch(8, "a", 10, 15, 60, 2);
    put_launch(9, "b", 20, 63, 70, 3);
    scene_load();
    assert_string_equal(bound("b"), "launch cudaLaunchKernel#3");
    scene_end(SOUND);
}

/* a in stream 8; d in the default stream waits for it; c in stream 9 waits for d. */
static void the_default_stream_orders_blocking_streams(void **state)
{
    (void)state;
    begin();
    put_stream_flag(7, MP_stream_flag_null);
    put_launch(8, "a", 10, 15, 60, 2);
    put_launch(7, "d", 20, 63, 70, 3);
    put_launch(9, "c", 26, 73, 80, 4);
    scene_load();
    assert_string_equal(bound("d"), "default stream a");
    assert_string_equal(bound("c"), "default stream d");
    scene_end(SOUND);
}

static void a_record_in_the_default_stream_gathers_blocking_streams(void **state)
{
    (void)state;
    begin();
    put_stream_flag(7, MP_stream_flag_null);
    put_stream_flag(10, MP_stream_flag_non_blocking);
    put_stream_flag(11, MP_stream_flag_non_blocking);
    put_launch(8, "a", 10, 15, 60, 2);
    put_launch(11, "free", 16, 18, 61, 3); /* no part of it */
    put_record(7, E1, 22, 4);
    put_wait(10, E1, 23, 5);
    put_launch(10, "b", 24, 63, 70, 6);
    put_launch(9, "c", 30, 73, 80, 7); /* the record is work of the default stream */
    scene_load();
    assert_string_equal(bound("b"), "event a");
    assert_string_equal(bound("c"), "default stream a");
    scene_end(SOUND);
}

static void an_event_of_a_blocking_stream_stands_for_the_default_stream_too(void **state)
{
    (void)state;
    begin();
    put_stream_flag(7, MP_stream_flag_null);
    put_stream_flag(10, MP_stream_flag_non_blocking);
    put_launch(7, "a", 10, 15, 60, 2);
    put_record(8, E1, 16, 3);
    put_wait(10, E1, 17, 4);
    put_launch(10, "b", 20, 63, 70, 5);
    scene_load();
    assert_string_equal(bound("b"), "event a");
    scene_end(SOUND);
}

/* What the default stream was told to wait for is part of its front. */
static void the_default_streams_waits_hold_up_blocking_streams(void **state)
{
    (void)state;
    begin();
    put_stream_flag(7, MP_stream_flag_null);
    put_stream_flag(10, MP_stream_flag_non_blocking);
    put_launch(10, "a", 10, 15, 60, 2);
    put_record(10, E1, 16, 3);
    put_wait(7, E1, 17, 4);
    put_launch(8, "b", 20, 63, 70, 5);
    scene_load();
    assert_string_equal(bound("b"), "default stream a");
    scene_end(SOUND);
}

static void synchronising_a_stream_means_the_default_stream_too(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        begin();
        put_stream_flag(7, MP_stream_flag_null);
        put_launch(turned ? 8 : 7, "a", 10, 15, 60, 2);
        put_stream_sync(turned ? 7 : 8, 20, 63, 3);
        scene_load();
        assert_string_equal(bound_call(3), "synchronisation a");
        assert_string_equal(waiting(scene.windows.items), "cudaStreamSynchronize 40 | ");
        scene_end(SOUND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_waits_for_the_call_before_it),
        cmocka_unit_test(work_waits_for_the_begin_of_its_launch_in_any_thread),
        cmocka_unit_test(work_without_a_call_has_no_known_cause),
        cmocka_unit_test(the_previous_launch_is_the_one_before_in_the_lane),
        cmocka_unit_test(streams_of_two_contexts_are_two_streams),
        cmocka_unit_test(work_that_overlaps_its_predecessor_goes_on_alone),
        cmocka_unit_test(the_path_has_no_cliff_at_any_overlap),
        cmocka_unit_test(what_is_launched_later_waits_for_the_last_end),
        cmocka_unit_test(a_what_if_changes_what_work_runs_alone),
        cmocka_unit_test(two_microseconds_are_the_limit),
        cmocka_unit_test(work_does_not_wait_for_work_that_begins_later),
        cmocka_unit_test(the_next_launch_waits_for_the_event),
        cmocka_unit_test(an_event_is_recorded_in_api_order),
        cmocka_unit_test(a_wait_in_an_idle_stream_goes_into_its_events),
        cmocka_unit_test(a_wait_in_a_stream_that_ran_before_goes_into_its_events),
        cmocka_unit_test(an_event_of_a_stream_without_work_stands_for_nothing),
        cmocka_unit_test(a_stream_without_work_is_a_lane),
        cmocka_unit_test(recording_again_replaces_what_an_event_stands_for),
        cmocka_unit_test(a_wait_keeps_what_the_event_stood_for),
        cmocka_unit_test(a_new_event_of_the_same_handle_stands_for_nothing),
        cmocka_unit_test(a_recreated_event_can_be_recorded),
        cmocka_unit_test(events_connect_devices),
        cmocka_unit_test(of_several_events_the_latest_end_counts),
        cmocka_unit_test(calls_that_failed_connect_nothing),
        cmocka_unit_test(api_order_is_that_of_correlation_ids),
        cmocka_unit_test(streams_and_the_default_stream_wait_for_each_other),
        cmocka_unit_test(a_stream_of_which_nothing_is_known_is_blocking),
        cmocka_unit_test(without_a_default_stream_streams_do_not_wait),
        cmocka_unit_test(default_streams_are_those_of_their_context),
        cmocka_unit_test(blocking_streams_do_not_wait_for_each_other),
        cmocka_unit_test(the_default_stream_orders_blocking_streams),
        cmocka_unit_test(a_record_in_the_default_stream_gathers_blocking_streams),
        cmocka_unit_test(an_event_of_a_blocking_stream_stands_for_the_default_stream_too),
        cmocka_unit_test(the_default_streams_waits_hold_up_blocking_streams),
        cmocka_unit_test(synchronising_a_stream_means_the_default_stream_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
