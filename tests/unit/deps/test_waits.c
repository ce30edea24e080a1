/* D9 and the division of host code (docs/dependency-analysis.md, sections 2 and 5): threads that
 * wait for each other outside of CUDA, host functions of streams, and rows that cannot be true.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

static const struct deps_window *whole(void)
{
    return scene.windows.items;
}

/*     thread 1  |10 A 12|   |20 ------ pthread_cond_wait ------ 60|  |64 B 65|
 *     thread 2                |22 C 40|   wakes at 55
 *
 * From 65: B 1, host 64-60, return 60-55, then thread 2: host 55-40, C 18, host 22-10. */
static void the_path_goes_on_with_the_waker(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "A", 10, 12, 1);
    put_call(2, "C", 22, 40, 2);
    put_host_wait(1, MP_wait_kind_condition, 20, 60, 2, 55);
    put_call(1, "B", 64, 65, 3);
    scene_load();
    assert_string_equal(path(whole()), "B 1, C 18 | host 31, return 5");
    assert_string_equal(bound("pthread_cond_wait"), "woken C#2");
    assert_string_equal(waiting(whole()), "pthread_cond_wait 35 | ");
    /* C 10 longer moves the wake-up and what follows. */
    assert_int_equal(length_with("C=+10us"), 65);
    assert_int_equal(length_with("A=+5us"), 55);
    /* Twice its own time after the wake-up. */
    assert_int_equal(length_with("pthread_cond_wait=2x"), 60);
    scene_end(SOUND);
}

/* The waker was inside its call, 8 behind its begin. */
static void a_wake_up_may_lie_inside_a_call(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "A", 10, 12, 1);
    put_call(2, "C", 22, 40, 2);
    put_host_wait(1, MP_wait_kind_futex, 20, 33, 2, 30);
    put_call(1, "B", 64, 65, 3);
    scene_load();
    assert_string_equal(path(whole()), "B 1, C 8 | host 43, return 3");
    assert_int_equal(length_with("C=4us"), 51); /* C ends at 26, which is then the wake-up */
    scene_end(SOUND);
}

/* A JAX loop: the thread sleeps until a host function behind the kernel wakes it.
 *
 *     thread 1  |10 launch 15| |16 host 20|   |22 ---- pthread_cond_wait ---- 73|   |80 end 81|
 *     stream 7       |18 ----- kernel ------ 60| |62 host function 70|
 *     thread 9                                    runs it, wakes at 68 */
static void the_path_goes_through_a_host_function_to_the_kernel(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "kernel", 10, 18, 60, 1);
    put_call(1, "cuLaunchHostFunc", 16, 20, 2);
    put_host_function(7, "done", 9, 62, 70, 2);
    put_host_wait(1, MP_wait_kind_condition, 22, 73, 9, 68);
    put_call(1, "end", 80, 81, 3);
    scene_load();
    assert_string_equal(bound("[host function done]"), "stream order kernel");
    assert_string_equal(bound("pthread_cond_wait"), "woken [host function done]");
    assert_string_equal(path(whole()), "[host function done] 6, end 1, kernel 42 | "
                                       "host 7, launch 8, gap 2, return 5");
    assert_int_equal(length_with("kernel=0.5x"), 50);
    /* The wake-up lies three quarters into the function. */
    assert_int_equal(length_with("[[]host*=0.5x"), 68);
    scene_end(SOUND);
}

/* A stream waits for its host function as for a kernel. */
static void a_host_function_is_work_of_its_stream(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "cuLaunchHostFunc", 10, 15, 1);
    put_host_function(7, "f", 9, 20, 50, 1);
    put_launch(7, "kernel", 16, 52, 60, 2);
    put_stream_sync(7, 22, 63, 3);
    scene_load();
    assert_string_equal(bound("kernel"), "stream order [host function f]");
    assert_string_equal(path(whole()),
                        "[host function f] 30, kernel 8 | launch 10, gap 2, return 3");
    scene_end(SOUND);
}

/* A wait without a waker has a time of its own; a sleep waits for nobody. */
static void a_wait_without_a_waker_has_its_own_time(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "A", 10, 12, 1);
    put_host_wait(1, MP_wait_kind_poll, 20, 30, 0, 20);
    put_host_wait(1, MP_wait_kind_sleep, 40, 60, 0, 40);
    put_call(1, "B", 64, 65, 3);
    scene_load();
    assert_string_equal(path(whole()), "A 2, B 1, nanosleep 20, poll 10 | host 22");
    assert_string_equal(waiting(whole()), "poll 10 | ");
    assert_int_equal(length_with("nanosleep=0"), 35);
    scene_end(SOUND);
}

/* What waits inside a call is the call's own. */
static void a_wait_inside_a_call_is_left_out(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "A", 10, 40, 1);
    put_call(2, "C", 12, 20, 2);
    put_host_wait(1, MP_wait_kind_mutex, 15, 30, 2, 25);
    put_call(1, "B", 64, 65, 3);
    scene_load();
    assert_string_equal(path(whole()), "A 30, B 1 | host 24");
    scene_end(SOUND);
}

/* A CUDA call inside a wait, as of a signal handler: only the rest of the wait is woken. */
static void a_call_inside_a_wait_cuts_it(void **state)
{
    (void)state;
    scene_begin();
    put_call(2, "C", 12, 50, 2);
    put_host_wait(1, MP_wait_kind_semaphore, 15, 60, 2, 55);
    put_call(1, "in handler", 20, 30, 3);
    put_call(1, "B", 64, 65, 4);
    scene_load();
    assert_string_equal(path(whole()), "B 1, C 38 | host 9, return 5");
    assert_string_equal(waiting(whole()), "sem_wait 30 | ");
    scene_end(SOUND);
}

/* Idle threads wait beyond the end: the thread of the last call decides, whatever waits. */
static void waits_do_not_decide_where_a_window_ends(void **state)
{
    (void)state;
    scene_begin();
    put_range(1, 5, 70, 0, 0);
    put_call(1, "A", 10, 60, 1);
    put_call(2, "C", 11, 12, 2);
    put_host_wait(2, MP_wait_kind_condition, 20, 90, 1, 85);
    scene_load();
    assert_string_equal(path(whole()), "A 50 | host 15");
    assert_int_equal(length_with("A=0.5x"), 40);
    scene_end(SOUND);
}

/* Both threads wait beyond the end, where thread 1's wait is cut: the path is in it. */
static void a_wait_that_goes_on_holds_up_its_thread_only(void **state)
{
    (void)state;
    scene_begin();
    put_range(1, 5, 70, 0, 0);
    put_call(1, "A", 10, 12, 1);
    put_call(2, "C", 8, 9, 2);
    put_host_wait(1, MP_wait_kind_condition, 20, 90, 0, 0);
    put_host_wait(2, MP_wait_kind_semaphore, 21, 90, 0, 0);
    scene_load();
    assert_string_equal(path(whole()), "A 2, pthread_cond_wait 50 | host 13");
    assert_int_equal(slack_of(&scene.windows, find("A")), 0);
    assert_int_equal(slack_of(&scene.windows, find("C")), 61);
    scene_end(SOUND);
}

/* ---- Threads that only watch ---- */

/*     thread 1    |launch 10-15|  |wait 22------55|  |lock 56-66|          in 5-70
 *     stream 7            |k 20-----------50|
 *     thread 2               |asks 30---------60|        64 */
static void put_watched(void)
{
    scene_begin();
    put_range(1, 5, 70, 0, 0);
    put_launch(7, "k", 10, 20, 50, 1);
    put_record(7, 0xe1, 16, 2);
    put_stream_sync(7, 22, 55, 3);
    put_sync(MP_sync_kind_event_query, 2, NO_STREAM, 0xe1, 30, 60, 4);
}

static void a_thread_that_only_asks_carries_no_path(void **state)
{
    char text[DEPS_THREADS_BYTES];

    (void)state;
    put_watched();
    scene_load();
    assert_string_equal(path(whole()), "k 30 | host 20, launch 10, return 5");
    assert_int_equal(deps_list_watchers(&scene.deps, text), 1);
    assert_string_equal(text, "4002");
    scene_end(SOUND);
}

/* A wait for its lock has a time of its own. */
static void the_lock_of_a_watcher_does_not_lead_to_it(void **state)
{
    (void)state;
    put_watched();
    put_host_wait(1, MP_wait_kind_mutex, 56, 66, 2, 64);
    scene_load();
    assert_string_equal(path(whole()),
                        "k 30, pthread_mutex_lock 10 | host 10, launch 10, return 5");
    scene_end(SOUND);
}

/* What it learns is needed: from 66 return 2, host 4, return 10, k 30, launch 10, host 5. */
static void a_thread_that_asks_for_others_does_not_only_watch(void **state)
{
    char text[DEPS_THREADS_BYTES];

    (void)state;
    put_watched();
    put_host_wait(1, MP_wait_kind_condition, 56, 66, 2, 64);
    scene_load();
    assert_string_equal(path(whole()), "k 30 | host 13, launch 10, return 12");
    assert_int_equal(deps_list_watchers(&scene.deps, text), 0);
    scene_end(SOUND);
}

/* ---- Rows that cannot be true ---- */

static void an_unknown_waker_is_counted(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "A", 10, 12, 1);
    put_unknown_waker(1, 20, 30, 77);                   /* no such thread */
    put_host_wait(1, MP_wait_kind_join, 40, 50, 1, 45); /* itself */
    put_call(1, "B", 64, 65, 3);
    scene_load();
    assert_int_equal(scene.deps.counts.unknown_wakers, 2);
    assert_string_equal(path(whole()), "A 2, B 1, pthread_join 20 | host 32");
    scene_end(SOUND);
}

static void a_wake_up_outside_of_the_wait_is_counted(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "A", 10, 12, 1);
    put_call(2, "C", 11, 12, 2);
    put_host_wait(1, MP_wait_kind_condition, 20, 30, 2, 31);
    put_host_wait(1, MP_wait_kind_condition, 40, 50, 2, 40); /* at its begin: it did not wait */
    put_call(1, "B", 64, 65, 3);
    scene_load();
    assert_int_equal(scene.deps.counts.wrong_wakers, 1);
    assert_string_equal(path(whole()), "A 2, B 1, pthread_cond_wait 20 | host 32");
    scene_end(SOUND);
}

/* Each of two threads says that the other one woke it, while that one was waiting: neither counts,
 * in whichever order they stand. */
static void a_circle_of_waits_is_forgotten(void **state)
{
    (void)state;
    for (uint64_t one = 1; one <= 2; one++) {
        scene_begin();
        put_call(1, "A", 10, 12, 1);
        put_call(2, "C", 10, 12, 2);
        put_host_wait(one, MP_wait_kind_condition, 20, 60, 3 - one, 60);
        put_host_wait(3 - one, MP_wait_kind_condition, 20, 60, one, 60);
        put_call(1, "B", 64, 65, 3);
        scene_load();
        assert_int_equal(scene.deps.counts.wrong_wakers, 2);
        assert_string_equal(path(whole()), "A 2, B 1, pthread_cond_wait 40 | host 12");
        scene_end(SOUND);
    }
}

/* A waker that was itself woken just before is no circle: 3 wakes 2, which wakes 1. */
static void a_chain_of_waits_is_followed(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "A", 10, 12, 1);
    put_call(2, "B", 10, 12, 2);
    put_call(3, "C", 10, 40, 3);
    put_host_wait(1, MP_wait_kind_condition, 20, 60, 2, 58);
    put_host_wait(2, MP_wait_kind_condition, 20, 55, 3, 50);
    put_call(1, "D", 64, 65, 4);
    scene_load();
    assert_int_equal(scene.deps.counts.wrong_wakers, 0);
    assert_string_equal(path(whole()), "C 30, D 1 | host 17, return 7");
    scene_end(SOUND);
}

/* ---- Host code, divided ---- */

/* Of 20 to 60, 30 are outside of the call: 12 blocked, 6 ready, the rest on a processor. The path
 * has 50 to 60 and 30 to 40 of them, and 10 of the call. */
static void host_code_is_divided_where_its_times_are_known(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "A", 10, 12, 1);
    put_call(1, "B", 40, 50, 2);
    put_call(1, "C", 64, 65, 3);
    put_host_time(1, 20, 60, 22, 6);
    scene_load();
    assert_string_equal(path(whole()),
                        "A 2, B 10, C 1 | host 12, computing 12, ready 6, blocked 12");
    scene_end(SOUND);
}

/* Blocked time of a recorded wait is the wait's: nothing of 20 is left for the host code. */
static void waits_come_out_of_the_blocked_time(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "A", 10, 20, 1);
    put_host_wait(1, MP_wait_kind_read, 30, 50, 0, 30);
    put_call(1, "C", 60, 65, 3);
    put_host_time(1, 20, 60, 20, 0);
    scene_load();
    assert_string_equal(path(whole()), "A 10, C 5, read 20 | computing 20");
    scene_end(SOUND);
}

/* More than the stretch is long, stretches that overlap, a thread without calls: nothing breaks. */
static void forged_host_times_are_cut(void **state)
{
    (void)state;
    scene_begin();
    put_call(1, "A", 10, 20, 1);
    put_call(1, "C", 60, 65, 3);
    put_host_time(1, 20, 60, 900, 900);
    put_host_time(1, 30, 62, 0, 0);
    put_host_time(8, 30, 62, 0, 0);
    scene_load();
    assert_string_equal(path(whole()), "A 10, C 5 | computing 40");
    scene_end(SOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_path_goes_on_with_the_waker),
        cmocka_unit_test(a_wake_up_may_lie_inside_a_call),
        cmocka_unit_test(the_path_goes_through_a_host_function_to_the_kernel),
        cmocka_unit_test(a_host_function_is_work_of_its_stream),
        cmocka_unit_test(a_wait_without_a_waker_has_its_own_time),
        cmocka_unit_test(a_wait_inside_a_call_is_left_out),
        cmocka_unit_test(a_call_inside_a_wait_cuts_it),
        cmocka_unit_test(waits_do_not_decide_where_a_window_ends),
        cmocka_unit_test(a_wait_that_goes_on_holds_up_its_thread_only),
        cmocka_unit_test(a_thread_that_only_asks_carries_no_path),
        cmocka_unit_test(the_lock_of_a_watcher_does_not_lead_to_it),
        cmocka_unit_test(a_thread_that_asks_for_others_does_not_only_watch),
        cmocka_unit_test(an_unknown_waker_is_counted),
        cmocka_unit_test(a_wake_up_outside_of_the_wait_is_counted),
        cmocka_unit_test(a_circle_of_waits_is_forgotten),
        cmocka_unit_test(a_chain_of_waits_is_followed),
        cmocka_unit_test(host_code_is_divided_where_its_times_are_known),
        cmocka_unit_test(waits_come_out_of_the_blocked_time),
        cmocka_unit_test(forged_host_times_are_cut),
    };

    return cmocka_run_group_tests_name("waits outside of CUDA", tests, NULL, NULL);
}
