/* How a thread's time between two calls is divided: the rule, with times and answers of the kernel
 * that are made up, and what this machine's kernel answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "record/core/call_log.h"
#include "record/core/clock.h"

#include "base/poison.h"

#define US UINT64_C(1000)
#define MS (US * 1000)
#define T0 (500 * MS)

/* ---- The rule, with times that are made up ---- */

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

/* ---- Answers of a kernel that is made up ---- */

static struct {
    uint64_t running, ready;
    bool knows_ready;
    unsigned asked_ready;
} played;

static uint64_t play_running(void)
{
    return played.running;
}

static bool play_ready(uint64_t *ready)
{
    played.asked_ready++;
    *ready = played.ready;
    return played.knows_ready;
}

static const struct host_kernel played_kernel = {play_running, play_ready};

/* Up to T0 + 2 us, after a life in which the thread ran for 5 s and was ready for 3. */
static struct host_time played_begun(void)
{
    struct host_time time = {.kernel = &played_kernel};
    struct host_stretch stretch;

    played.running = 5000 * MS;
    played.ready = 3000 * MS;
    played.knows_ready = true;
    played.asked_ready = 0;
    assert_false(host_time_enter(&time, T0, &stretch));
    host_time_leave(&time, T0 + 2 * US);
    return time;
}

/* The stretch of `length` in which the thread ran and was ready for so long. */
static struct host_stretch stretch_of(uint64_t length, uint64_t running, uint64_t ready)
{
    struct host_time time = played_begun();
    struct host_stretch stretch;

    played.running += running;
    played.ready += ready;
    assert_true(host_time_enter(&time, T0 + length, &stretch));
    assert_int_equal(stretch.begin, T0);
    assert_int_equal(stretch.end, T0 + length);
    return stretch;
}

static void a_thread_that_computes(void **state)
{
    struct host_stretch stretch = stretch_of(30 * MS, 30 * MS, 0);

    (void)state;
    assert_int_equal(stretch.computing, 30 * MS);
    assert_int_equal(stretch.ready, 0);
}

static void a_thread_that_sleeps(void **state)
{
    struct host_stretch stretch = stretch_of(30 * MS, 20 * US, 10 * US);

    (void)state;
    assert_int_equal(stretch.computing, 20 * US);
    assert_int_equal(stretch.ready, 10 * US);
}

static void a_thread_that_has_to_share(void **state)
{
    struct host_stretch stretch = stretch_of(60 * MS, 30 * MS, 29 * MS);

    (void)state;
    assert_int_equal(stretch.computing, 30 * MS);
    assert_int_equal(stretch.ready, 29 * MS);
}

/* The kernel's numbers may be a bit ahead of the clock's. */
static void no_part_is_longer_than_the_stretch(void **state)
{
    struct host_stretch stretch = stretch_of(30 * MS, 31 * MS, 5 * MS);

    (void)state;
    assert_int_equal(stretch.computing, 30 * MS);
    assert_int_equal(stretch.ready, 0);
    stretch = stretch_of(30 * MS, 20 * MS, 15 * MS);
    assert_int_equal(stretch.computing, 20 * MS);
    assert_int_equal(stretch.ready, 10 * MS);
}

static void a_short_stretch_is_not_asked_about_being_ready(void **state)
{
    struct host_stretch stretch = stretch_of(HOST_TIME_LONG - 1, US, MS);

    (void)state;
    assert_int_equal(stretch.ready, 0);
    assert_int_equal(played.asked_ready, 1); /* at the first call */
    stretch = stretch_of(HOST_TIME_LONG, US, MS);
    assert_int_equal(stretch.ready, MS);
    assert_int_equal(played.asked_ready, 2);
}

static void a_kernel_that_does_not_say_who_is_ready(void **state)
{
    struct host_time time = played_begun();
    struct host_stretch stretch;

    (void)state;
    played.knows_ready = false;
    played.ready += 20 * MS;
    assert_true(host_time_enter(&time, T0 + 30 * MS, &stretch));
    assert_int_equal(stretch.computing, 0);
    assert_int_equal(stretch.ready, 0);
}

/* Calls of 1 ms, one after the other for 62 ms. The thread runs for half of each and waits for a
 * processor in the other half. What follows is a sleep of 30 ms. */
static void what_was_ready_before_is_not_counted(void **state)
{
    struct host_time time = played_begun();
    struct host_stretch stretch;

    (void)state;
    for (unsigned ms = 1; ms <= 62; ms++) {
        played.running += MS / 2;
        played.ready += MS / 2;
        host_time_leave(&time, T0 + ms * MS);
    }
    assert_true(host_time_enter(&time, T0 + 92 * MS, &stretch));
    assert_int_equal(stretch.begin, T0 + 62 * MS);
    assert_int_equal(stretch.computing, 0);
    assert_int_equal(stretch.ready, 0);
}

/* ---- This kernel's answers. The bounds are readings of the test's own, before and after ---- */

static uint64_t running(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000 * MS + (uint64_t)time.tv_nsec;
}

static uint64_t ready(void)
{
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    char line[128] = "", *end;

    if (!file)
        return 0;
    if (!fgets(line, sizeof line, file))
        *line = '\0';
    fclose(file);
    strtoull(line, &end, 10); /* how long it ran */
    return strtoull(end, NULL, 10);
}

static atomic_bool over;

static void *keep_busy(void *unused)
{
    while (!atomic_load(&over))
        continue;
    return unused;
}

/* Computes on one processor together with another thread, until it has been ready for 5 ms, by the
 * kernel's count. False if the kernel does not count that. */
static bool share_until_ready(void)
{
    const uint64_t begin = running(), before = ready();
    cpu_set_t all, one;
    pthread_t other;
    int cpu = sched_getcpu();

    CPU_ZERO(&one);
    CPU_SET(cpu < 0 ? 0 : cpu, &one);
    if (sched_getaffinity(0, sizeof(all), &all) != 0 ||
        sched_setaffinity(0, sizeof(one), &one) != 0)
        return false;
    atomic_store(&over, false);
    assert_int_equal(pthread_create(&other, NULL, keep_busy, NULL), 0);
    while (ready() < before + 5 * MS && running() < begin + 2000 * MS)
        continue;
    atomic_store(&over, true);
    pthread_join(other, NULL);
    sched_setaffinity(0, sizeof(all), &all);
    return ready() >= before + 5 * MS;
}

static void the_kernel_is_asked_about_this_thread(void **state)
{
    struct host_time time = {.asked = 0};
    struct host_stretch stretch;
    uint64_t ran[4], was_ready[4];

    (void)state;
    ran[0] = running();
    was_ready[0] = ready();
    assert_false(host_time_enter(&time, mp_monotonic_ns(), &stretch));
    host_time_leave(&time, time.asked); /* a call that takes no time */
    was_ready[1] = ready();
    ran[1] = running();
    if (!share_until_ready())
        skip();
    ran[2] = running();
    was_ready[2] = ready();
    assert_true(host_time_enter(&time, mp_monotonic_ns(), &stretch));
    was_ready[3] = ready();
    ran[3] = running();
    assert_in_range(stretch.computing, ran[2] - ran[1], ran[3] - ran[0]);
    assert_in_range(stretch.ready, was_ready[2] - was_ready[1], was_ready[3] - was_ready[0]);
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
        cmocka_unit_test(no_part_is_longer_than_the_stretch),
        cmocka_unit_test(a_short_stretch_is_not_asked_about_being_ready),
        cmocka_unit_test(a_kernel_that_does_not_say_who_is_ready),
        cmocka_unit_test(what_was_ready_before_is_not_counted),
        cmocka_unit_test(the_kernel_is_asked_about_this_thread),
        cmocka_unit_test(a_thread_that_is_to_be_cancelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
