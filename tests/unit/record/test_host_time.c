/* How a thread's time between two calls is divided: the rule by itself, and threads that compute,
 * sleep and fight for a processor on the machine's own clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "record/core/clock.h"
#include "record/core/host_time.h"

#include "base/poison.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define T0 (500 * MS)

/* ---- The rule, with times of our own ---- */

/* A thread that has made one call, of 2 us. */
static struct host_time begun(void)
{
    struct host_time time = {.asked = 0};
    struct host_stretch stretch;

    assert_false(host_time_enter(&time, T0, &stretch));
    host_time_leave(&time, T0 + 2 * US);
    return time;
}

static void short_gaps_are_not_asked_about(void **state)
{
    struct host_time time = begun();
    struct host_stretch stretch;

    (void)state;
    for (uint64_t at = 20; at < 190; at += 20) {
        assert_false(host_time_enter(&time, T0 + at * US, &stretch));
        host_time_leave(&time, T0 + (at + 2) * US);
    }
    assert_int_equal(time.asked, T0);
}

static void a_stretch_lies_between_two_askings(void **state)
{
    struct host_time time = begun();
    struct host_stretch stretch;

    (void)state;
    assert_true(host_time_enter(&time, T0 + 60 * US, &stretch));
    assert_int_equal(stretch.begin, T0);
    assert_int_equal(stretch.end, T0 + 60 * US);
    assert_true(stretch.computing <= 60 * US);
    assert_int_equal(stretch.ready, 0);
    host_time_leave(&time, T0 + 260 * US); /* long enough to ask again */
    assert_true(host_time_enter(&time, T0 + 320 * US, &stretch));
    assert_int_equal(stretch.begin, T0 + 260 * US);
}

static void a_stretch_that_is_mostly_calls_is_dropped(void **state)
{
    struct host_time time = begun();
    struct host_stretch stretch;

    (void)state;
    host_time_leave(&time, T0 + 150 * US);
    assert_false(host_time_enter(&time, T0 + 210 * US, &stretch));
    host_time_leave(&time, T0 + 211 * US);
    assert_true(host_time_enter(&time, T0 + 270 * US, &stretch));
    assert_int_equal(stretch.begin, T0 + 210 * US);
}

/* Times that go back, as those of two processors may. */
static void reversed_times_give_no_stretch(void **state)
{
    struct host_time time = begun();
    struct host_stretch stretch;

    (void)state;
    assert_false(host_time_enter(&time, T0 - 100 * US, &stretch));
    host_time_leave(&time, T0 - 90 * US);
    assert_int_equal(time.asked, T0);
}

/* ---- Threads ---- */

static uint64_t running(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000 * MS + (uint64_t)time.tv_nsec;
}

static void compute(uint64_t ns)
{
    uint64_t end = running() + ns;

    while (running() < end)
        continue;
}

static void pause_for(long ms)
{
    const struct timespec time = {.tv_nsec = ms * 1000000};

    nanosleep(&time, NULL);
}

/* The stretch from one call to the next, in which `work` is done. */
static struct host_stretch stretch_of(void (*work)(void))
{
    struct host_time time = {.asked = 0};
    struct host_stretch stretch = {.begin = 0};

    host_time_enter(&time, mp_monotonic_ns(), &stretch);
    host_time_leave(&time, mp_monotonic_ns());
    work();
    assert_true(host_time_enter(&time, mp_monotonic_ns(), &stretch));
    assert_true(stretch.computing + stretch.ready <= stretch.end - stretch.begin);
    return stretch;
}

static void work_30(void)
{
    compute(30 * MS);
}

static void sleep_30(void)
{
    pause_for(30);
}

static void a_thread_that_computes(void **state)
{
    struct host_stretch stretch = stretch_of(work_30);

    (void)state;
    assert_in_range(stretch.computing, 30 * MS, 32 * MS);
}

static void a_thread_that_sleeps(void **state)
{
    struct host_stretch stretch = stretch_of(sleep_30);

    (void)state;
    assert_true(stretch.computing < 3 * MS);
    assert_true(stretch.end - stretch.begin - stretch.ready >= 20 * MS);
}

static atomic_bool over;

static void *keep_busy(void *unused)
{
    while (!atomic_load(&over))
        continue;
    return unused;
}

/* `work`, for which the thread has only one processor, together with another one that computes.
 * False: the machine does not let it. */
static bool share(void (*work)(void *), void *context)
{
    cpu_set_t before, one;
    pthread_t other;
    int cpu = sched_getcpu();

    CPU_ZERO(&one);
    CPU_SET(cpu < 0 ? 0 : cpu, &one);
    if (sched_getaffinity(0, sizeof(before), &before) != 0 ||
        sched_setaffinity(0, sizeof(one), &one) != 0)
        return false;
    atomic_store(&over, false);
    assert_int_equal(pthread_create(&other, NULL, keep_busy, NULL), 0);
    work(context);
    atomic_store(&over, true);
    pthread_join(other, NULL);
    sched_setaffinity(0, sizeof(before), &before);
    return true;
}

static void take_stretch(void *stretch)
{
    *(struct host_stretch *)stretch = stretch_of(work_30);
}

/* Two threads on one processor: each is ready for about as long as it runs. */
static void a_thread_that_has_to_share(void **state)
{
    struct host_stretch stretch = {0};

    (void)state;
    if (!share(take_stretch, &stretch))
        skip();
    assert_in_range(stretch.computing, 30 * MS, 32 * MS);
    assert_true(stretch.ready >= 10 * MS);
}

/* It has a processor only now and then while it makes calls of 1 ms, one after the other. */
static void make_calls(void *context)
{
    struct host_time *time = context;
    struct host_stretch stretch;
    uint64_t begin = mp_monotonic_ns(), end;

    host_time_enter(time, begin, &stretch);
    compute(30 * MS);
    end = mp_monotonic_ns();
    while (begin < end)
        host_time_leave(time, begin += MS);
}

static void what_was_ready_before_is_not_counted(void **state)
{
    struct host_time time = {.asked = 0};
    struct host_stretch stretch = {0};

    (void)state;
    if (!share(make_calls, &time))
        skip();
    pause_for(30);
    assert_true(host_time_enter(&time, mp_monotonic_ns(), &stretch));
    /* Of the 30 ms that it waited for the processor before. Other tests run beside this one. */
    assert_true(stretch.computing < 15 * MS);
    assert_true(stretch.ready < 15 * MS);
}

/* As a program's thread inside a CUDA call, with a cancellation that has come before. */
static void *be_cancelled(void *passed)
{
    struct host_time time = {.asked = 0};
    struct host_stretch stretch;

    pthread_cancel(pthread_self());
    host_time_enter(&time, T0, &stretch);
    host_time_leave(&time, T0 + HOST_TIME_LONG);
    host_time_enter(&time, T0 + 10 * HOST_TIME_LONG, &stretch);
    atomic_store((atomic_bool *)passed, true);
    pthread_testcancel();
    return NULL;
}

static void a_thread_that_is_to_be_cancelled(void **state)
{
    atomic_bool passed = false;
    pthread_t thread;
    void *result;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, be_cancelled, &passed), 0);
    pthread_join(thread, &result);
    assert_true(atomic_load(&passed));
    assert_ptr_equal(result, PTHREAD_CANCELED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_gaps_are_not_asked_about),
        cmocka_unit_test(a_stretch_lies_between_two_askings),
        cmocka_unit_test(a_stretch_that_is_mostly_calls_is_dropped),
        cmocka_unit_test(reversed_times_give_no_stretch),
        cmocka_unit_test(a_thread_that_computes),
        cmocka_unit_test(a_thread_that_sleeps),
        cmocka_unit_test(a_thread_that_has_to_share),
        cmocka_unit_test(what_was_ready_before_is_not_counted),
        cmocka_unit_test(a_thread_that_is_to_be_cancelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
