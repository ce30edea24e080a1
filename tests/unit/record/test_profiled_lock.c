/* profiling.h: the profiler lock, which every launch has from ENTER to EXIT, and what happens when
 * EXIT does not come, comes late, or comes when something else has happened. */
#include "unit/record/test_profiled.h"

#include <sched.h>
#include <unistd.h>

/* ---- Other threads ---- */

static _Atomic pid_t other_tid; /* of the last one that began; 0: it has not begun */

/* Whether the other thread has ended, or sleeps. It sleeps nowhere but in the profiler lock. */
static bool other_sleeps(void)
{
    const pid_t tid = atomic_load(&other_tid);
    char path[64], text[512] = "";
    const char *state;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
    file = tid ? fopen(path, "re") : NULL;
    if (!file)
        return tid != 0;
    state = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
    fclose(file);
    return !state || state[2] == 'S';
}

static void await_other(void)
{
    while (!other_sleeps())
        sched_yield();
}

static void *launch_alpha(void *unused)
{
    (void)unused;
    atomic_store(&other_tid, gettid());
    launch("alpha");
    return NULL;
}

static void *enter_and_end(void *unused)
{
    struct call call;

    (void)unused;
    enter(&call, LAUNCH, "alpha");
    return NULL;
}

static void *begin_capture(void *went_on)
{
    struct call call;

    atomic_store(&other_tid, gettid());
    enter(&call, BEGIN_CAPTURE, NULL);
    atomic_store((_Atomic int *)went_on, 1);
    leave(&call);
    return NULL;
}

static pthread_t thread_of(void *(*run)(void *), void *argument)
{
    pthread_t thread;

    atomic_store(&other_tid, 0);
    assert_int_equal(pthread_create(&thread, NULL, run, argument), 0);
    return thread;
}

static void run_aside(void *(*run)(void *), void *argument)
{
    assert_int_equal(pthread_join(thread_of(run, argument), NULL), 0);
}

/* ---- Tests ---- */

static void context_ends(int address)
{
    CUpti_ResourceData data = {.context = (CUcontext)(void *)&addresses[address]};

    played.callback(played.userdata, CUPTI_CB_DOMAIN_RESOURCE,
                    CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &data);
}

static size_t values_waiting(void)
{
    return recorder.profiling.profiled.waiting;
}

static void a_launch_is_profiled_from_enter_to_exit(void **state)
{
    struct call call;

    (void)state;
    recorder_set_up("", "");
    enter(&call, LAUNCH, "alpha");
    assert_true(played.started);
    leave(&call);
    assert_false(played.started);
    assert_int_equal(values_waiting(), 1);
    assert_string_equal(recorder.profiling.profiled.first->kernel, "alpha");
    assert_true(recorder.profiling.profiled.first->values[1] == 101);
    assert_int_equal(recorder.profiling.profiled.first->correlation, call.data.correlationId);
    recorder_tear_down();
}

static void a_launch_that_failed_has_no_values_and_that_is_no_error(void **state)
{
    struct call call;

    (void)state;
    recorder_set_up("", "");
    enter(&call, LAUNCH, "alpha");
    played.launches = 0;
    leave(&call);
    assert_int_equal(values_waiting(), 0);
    launch("beta");
    assert_int_equal(values_waiting(), 1);
    assert_string_equal(played.said, "");
    recorder_tear_down();
}

static void an_exit_after_the_end_of_the_recording_releases_the_profiler_lock(void **state)
{
    struct call call;

    (void)state;
    recorder_set_up("", "");
    enter(&call, LAUNCH, "alpha");
    atomic_store(&recorder.gpu.core.phase, PHASE_FINISHING);
    leave(&call);
    assert_false(played.started);
    assert_int_equal(values_waiting(), 1);
    atomic_store(&recorder.gpu.core.phase, PHASE_RECORDING);
    run_aside(launch_alpha, NULL);
    assert_int_equal(values_waiting(), 2);
    recorder_tear_down();
}

static void a_forked_child_calls_nothing_of_cupti(void **state)
{
    struct call call;

    (void)state;
    recorder_set_up("", "");
    enter(&call, LAUNCH, "alpha");
    atomic_store(&recorder.gpu.core.phase, PHASE_INERT);
    context_ends(A_CONTEXT);
    leave(&call);
    context_ends(A_CONTEXT);
    assert_int_equal(played.stops + played.disables, 0);
    free(recorder.profiling.launch);
    recorder_tear_down();
}

static void a_thread_that_ends_inside_of_a_launch_stops_no_other(void **state)
{
    (void)state;
    recorder_set_up("", "");
    run_aside(enter_and_end, NULL);
    assert_true(played.started);
    launch("beta");
    launch("beta");
    assert_false(played.started);
    assert_int_equal(values_waiting(), 0);
    assert_non_null(strstr(played.said, "no metrics: a thread ended inside of a launch\n"));
    recorder_tear_down();
}

static void nobody_waits_for_ever(void **state)
{
    struct call call;

    (void)state;
    recorder_set_up("", "");
    recorder.profiling.lock.patience = 1000000;
    enter(&call, LAUNCH, "alpha");
    run_aside(launch_alpha, NULL);
    assert_non_null(strstr(played.said, "no metrics: a launch has taken over 0.001 s"));
    leave(&call); /* the other kernel may have been counted for it */
    assert_false(played.started);
    assert_int_equal(values_waiting(), 0);
    recorder_tear_down();
}

static void launches_inside_of_a_launch_are_part_of_it(void **state)
{
    struct call outer;
    struct call inner;

    (void)state;
    recorder_set_up("", "");
    enter(&outer, LAUNCH, "alpha");
    enter(&inner, LAUNCH, "inner");
    leave(&inner);
    assert_true(played.started);
    leave(&outer);
    assert_int_equal(played.starts, 1);
    assert_int_equal(values_waiting(), 1);
    assert_string_equal(recorder.profiling.profiled.first->kernel, "alpha");
    recorder_tear_down();
}

/* A launch of the call `cbid` is under way: no other thread's counters may start. */
static void expect_apart(uint32_t cbid, const char *kernel)
{
    struct call call;
    pthread_t other;

    enter(&call, cbid, kernel);
    assert_false(played.started);
    other = thread_of(launch_alpha, NULL);
    await_other();
    assert_int_equal(played.starts, 0);
    leave(&call);
    pthread_join(other, NULL);
    assert_int_equal(played.starts, 1);
    assert_string_equal(recorder.profiling.profiled.first->kernel, "alpha");
}

static void a_kernel_that_is_not_wanted_is_not_counted_for_another(void **state)
{
    (void)state;
    recorder_set_up("alpha", "");
    expect_apart(LAUNCH, "beta");
    recorder_tear_down();
}

static void a_graph_is_not_counted_for_a_kernel(void **state)
{
    (void)state;
    recorder_set_up("", "");
    expect_apart(GRAPH_LAUNCH, NULL);
    assert_non_null(strstr(played.said, "kernels in CUDA graphs are not profiled"));
    recorder_tear_down();
}

static void a_capture_waits_for_the_launch_that_is_profiled(void **state)
{
    _Atomic int went_on = 0;
    struct call call;
    pthread_t other;

    (void)state;
    recorder_set_up("", "");
    enter(&call, LAUNCH, "alpha");
    other = thread_of(begin_capture, &went_on);
    await_other();
    assert_false(went_on);
    leave(&call);
    pthread_join(other, NULL);
    launch("alpha");
    assert_int_equal(played.starts, 1);
    enter(&call, END_CAPTURE, NULL);
    leave(&call);
    launch("alpha");
    assert_int_equal(played.starts, 2);
    recorder_tear_down();
}

static void nothing_is_profiled_while_a_capture_begins(void **state)
{
    struct call capture;

    (void)state;
    recorder_set_up("", "");
    enter(&capture, BEGIN_CAPTURE, NULL);
    run_aside(launch_alpha, NULL);
    assert_int_equal(played.starts, 0);
    capture.result = CUDA_ERROR_ILLEGAL_STATE;
    leave(&capture);
    run_aside(launch_alpha, NULL);
    assert_int_equal(played.starts, 1);
    recorder_tear_down();
}

static void a_context_that_ends_takes_its_counters_along(void **state)
{
    struct call call;

    (void)state;
    recorder_set_up("", "");
    launch("alpha");
    context_ends(OTHER_CONTEXT);
    assert_int_equal(played.disables, 0);
    enter(&call, LAUNCH, "alpha");
    context_ends(A_CONTEXT); /* a handler ends the process: no deadlock, and the object is in use */
    assert_int_equal(played.disables, 0);
    leave(&call);
    context_ends(A_CONTEXT);
    assert_int_equal(played.disables, 1);
    launch("alpha");
    assert_int_equal(played.enables, 2);
    assert_int_equal(values_waiting(), 3);
    recorder_tear_down();
}

static void a_device_that_is_left_out_is_asked_for_once(void **state)
{
    int i;

    (void)state;
    recorder_set_up("", "1");
    for (i = 0; i < 10; i++)
        launch("alpha");
    assert_int_equal(played.devices_asked, 1);
    assert_int_equal(played.starts, 0);
    assert_int_equal(recorder.gpu.core.logs.own.count, 1); /* cuCtxGetDevice, which has no row */
    recorder_tear_down();
}

static void a_forced_flush_waits_until_buffers_are_few(void **state)
{
    size_t bytes;
    int i;

    (void)state;
    recorder_set_up("", "");
    played.passes = 3;
    for (i = 0; i < 100; i++)
        launch("alpha");
    assert_int_equal(played.forced, 0);
    while (!buffer_pool_is_low(&recorder.gpu.pool))
        assert_non_null(buffer_request(&recorder.gpu.pool, &bytes));
    assert_true((size_t)recorder.gpu.pool.free_count * 2 < recorder.gpu.pool.count);
    launch("alpha");
    assert_int_equal(played.forced, 1);
    recorder_tear_down();
}

static void counters_that_do_not_stop_end_the_metrics(void **state)
{
    (void)state;
    recorder_set_up("", "");
    played.fails_to_stop = 1;
    launch("alpha");
    launch("alpha");
    assert_int_equal(played.starts, 1);
    assert_int_equal(values_waiting(), 0);
    assert_non_null(strstr(played.said, "no metrics: the counters cannot be stopped"));
    recorder_tear_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_is_profiled_from_enter_to_exit),
        cmocka_unit_test(a_launch_that_failed_has_no_values_and_that_is_no_error),
        cmocka_unit_test(an_exit_after_the_end_of_the_recording_releases_the_profiler_lock),
        cmocka_unit_test(a_forked_child_calls_nothing_of_cupti),
        cmocka_unit_test(a_thread_that_ends_inside_of_a_launch_stops_no_other),
        cmocka_unit_test(nobody_waits_for_ever),
        cmocka_unit_test(launches_inside_of_a_launch_are_part_of_it),
        cmocka_unit_test(a_kernel_that_is_not_wanted_is_not_counted_for_another),
        cmocka_unit_test(a_graph_is_not_counted_for_a_kernel),
        cmocka_unit_test(a_capture_waits_for_the_launch_that_is_profiled),
        cmocka_unit_test(nothing_is_profiled_while_a_capture_begins),
        cmocka_unit_test(a_context_that_ends_takes_its_counters_along),
        cmocka_unit_test(a_device_that_is_left_out_is_asked_for_once),
        cmocka_unit_test(a_forced_flush_waits_until_buffers_are_few),
        cmocka_unit_test(counters_that_do_not_stop_end_the_metrics),
    };

    return cmocka_run_group_tests_name("the profiler lock", tests, NULL, NULL);
}
