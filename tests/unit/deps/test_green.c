/* Green contexts: work names the green context of its stream, all other rows name the parent, which
 * is current (profile/contexts.h). Context 1 is the parent of 2 and 3.
 *
 *     thread        |launch 10-15||launch 16-21|
 *     SMALL               |a 20 -- 60|            of context 2
 *     LARGE               |b 22 ------- 90|       of context 3
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#define SMALL 17 /* as the parent's rows name them: ON(1, 17) */
#define LARGE 18
#define E1    0xe1

static void put_parts(void)
{
    put_green(2, 1, 16);
    put_green(3, 1, 112);
}

static void put_work(void)
{
    put_launch(ON(2, SMALL), "a", 10, 20, 60, 1);
    put_launch(ON(3, LARGE), "b", 16, 22, 90, 2);
}

static void expect_bound(uint64_t correlation, const char *reason)
{
    scene_load();
    assert_string_equal(bound_call(correlation), reason);
    scene_end(SOUND);
}

/* ---- Whose a stream is ---- */

static void a_wait_that_names_the_parent_is_for_the_green_stream(void **state)
{
    (void)state;
    scene_begin();
    put_parts();
    put_work();
    put_stream_sync(SMALL, 24, 63, 3);
    expect_bound(3, "synchronisation a");
}

/* CUPTI may report a context after the first rows that name it. */
static void contexts_may_come_after_the_rows(void **state)
{
    (void)state;
    scene_begin();
    put_stream_sync(SMALL, 24, 63, 3);
    put_work();
    put_parts();
    expect_bound(3, "synchronisation a");
}

static void traces_without_parents_read_as_before(void **state)
{
    (void)state;
    scene_begin();
    put_green(2, 0, 0);
    put_green(3, 0, 0);
    put_work();
    put_stream_sync(SMALL, 24, 63, 3);
    expect_bound(3, "program order cudaLaunchKernel#2");
}

static void streams_of_the_parent_stay_its_own(void **state)
{
    (void)state;
    scene_begin();
    put_parts();
    put_work();
    put_launch(7, "c", 22, 30, 65, 4);
    put_stream_sync(7, 28, 68, 5);
    expect_bound(5, "synchronisation c");
}

static void events_go_from_one_part_to_the_other(void **state)
{
    (void)state;
    scene_begin();
    put_parts();
    put_work();
    put_record(SMALL, E1, 22, 3);
    put_wait(LARGE, E1, 24, 4);
    put_launch(ON(3, LARGE), "c", 26, 93, 95, 5);
    put_record(LARGE, E1, 31, 6);
    put_wait(SMALL, E1, 33, 7);
    put_launch(ON(2, SMALL), "d", 34, 97, 99, 8);
    scene_load();
    assert_string_equal(bound("c"), "stream order b");
    assert_string_equal(bound("d"), "event c");
    scene_end(SOUND);
}

/* Rows of both names are of one stream: e begins after a, in the same lane. */
static void rows_of_both_names_are_in_one_lane(void **state)
{
    (void)state;
    scene_begin();
    put_parts();
    put_work();
    put_host_function(SMALL, "e", 9, 62, 64, 3);
    scene_load();
    const uint32_t lane = scene.deps.activities[find("a")].lane;
    assert_int_equal(scene.deps.activities[find("[host function e]")].lane, lane);
    assert_int_equal(scene.deps.lanes[lane].context, 2);
    assert_int_equal(scene.deps.lane_count - scene.deps.thread_count, 2);
    scene_end(UNSOUND);
}

/* ---- Default streams ---- */

/* Non-blocking by the row that names the parent: it does not wait for the default stream. */
static void flags_that_name_the_parent_are_the_green_streams(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        scene_begin();
        put_parts();
        if (known)
            put_stream_flag(SMALL, MP_stream_flag_non_blocking);
        put_launch(ON(2, 14), "default", 10, 20, 60, 1);
        put_launch(ON(2, SMALL), "a", 16, 62, 70, 2);
        scene_load();
        assert_string_equal(bound("a"),
                            known ? "launch cudaLaunchKernel#2" : "default stream default");
        scene_end(SOUND);
    }
}

/* ---- Whole contexts ---- */

static void waiting_for_the_parent_is_waiting_for_its_parts(void **state)
{
    (void)state;
    scene_begin();
    put_parts();
    put_work();
    put_launch(ON(4, 7), "other", 22, 30, 92, 3);
    put_context_sync(28, 93, 4);
    expect_bound(4, "synchronisation b");
}

static void waiting_for_a_part_is_not_waiting_for_the_others(void **state)
{
    (void)state;
    scene_begin();
    put_parts();
    put_work();
    put_call(1, "cuCtxSynchronize", 24, 63, 3);
    put_sync_in_context(MP_sync_kind_context_synchronize, 2, 24, 63, 3);
    expect_bound(3, "synchronisation a");
}

/* Both parts are of the context that is current, whichever it launched in last. */
static void calls_that_wait_in_effect_wait_for_all_parts(void **state)
{
    (void)state;
    scene_begin();
    put_parts();
    put_launch(ON(3, LARGE), "b", 10, 22, 90, 1);
    put_launch(ON(2, SMALL), "a", 16, 26, 60, 2);
    put_call(1, "cudaFree", 24, 92, 3);
    expect_bound(3, "in effect b");
}

/* ---- Forged traces ---- */

static void parents_in_a_circle(void **state)
{
    (void)state;
    scene_begin();
    put_green(1, 3, 8);
    put_green(2, 1, 8);
    put_green(3, 2, 8);
    put_green(5, 5, 8);
    put_work();
    put_launch(17, "c", 22, 30, 61, 3);
    put_launch(ON(5, SMALL), "d", 28, 36, 61, 4);
    put_stream_sync(SMALL, 34, 65, 5);
    expect_bound(5, "synchronisation c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_that_names_the_parent_is_for_the_green_stream),
        cmocka_unit_test(contexts_may_come_after_the_rows),
        cmocka_unit_test(traces_without_parents_read_as_before),
        cmocka_unit_test(streams_of_the_parent_stay_its_own),
        cmocka_unit_test(events_go_from_one_part_to_the_other),
        cmocka_unit_test(rows_of_both_names_are_in_one_lane),
        cmocka_unit_test(flags_that_name_the_parent_are_the_green_streams),
        cmocka_unit_test(waiting_for_the_parent_is_waiting_for_its_parts),
        cmocka_unit_test(waiting_for_a_part_is_not_waiting_for_the_others),
        cmocka_unit_test(calls_that_wait_in_effect_wait_for_all_parts),
        cmocka_unit_test(parents_in_a_circle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
