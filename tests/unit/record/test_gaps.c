/* Samples of threads: timers that go off, a ring that is full, threads that come and go, and a
 * signal that somebody else takes. No Python is there, so samples have no stack.
 *
 * Timers run only where a test says so. Elsewhere the test says when they go off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/core/call_log.h"
#include "record/core/clock.h"
#include "record/process/recorder.h"
#include "record/stacks/gaps.h"

#define MS      UINT64_C(1000000)
#define AN_HOUR (MS * 1000 * 3600) /* of CPU time: no timer of that period goes off */

static struct recorder *recorder;

struct taken {
    unsigned count;
    uint64_t computing;
};

static void use(void *context, const struct gap_sample *sample)
{
    struct taken *taken = context;

    assert_int_equal(sample->count, 0);
    assert_int_equal(sample->gil, GAP_GIL_UNKNOWN);
    taken->count++;
    taken->computing += sample->computing;
}

static struct taken drain(void)
{
    struct taken taken = {0};

    gaps_drain(&recorder->stacks, &recorder->gpu.core, use, &taken);
    return taken;
}

static uint64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void compute(unsigned ms)
{
    uint64_t end = cpu_ns() + (uint64_t)ms * 1000000u;

    while (cpu_ns() < end)
        continue;
}

static void call(void)
{
    gaps_call(&recorder->stacks, &recorder->gpu.core, true);
    gaps_call(&recorder->stacks, &recorder->gpu.core, false);
}

static int open_recorder(void **state)
{
    (void)state;
    recorder = mp_recorder;
    recorder->gpu.core.pid = getpid();
    recorder->gpu.core.config.stacks = MP_STACKS_PYTHON;
    recorder->gpu.core.config.stacks_gaps = 1000;
    recorder->recording.begin_time = mp_clock_now();
    assert_int_equal(call_logs_open(&recorder->gpu.core.logs), MP_OK);
    gaps_open(&recorder->stacks, &recorder->gpu.core);
    assert_true(recorder->stacks.gaps.period == 1000000);
    recorder->stacks.gaps.period = AN_HOUR;
    atomic_store(&recorder->gpu.core.enabled, true);
    atomic_store(&recorder->gpu.core.phase, PHASE_RECORDING);
    return 0;
}

static struct gap_thread *mine(void)
{
    return atomic_load(&recorder->stacks.gaps.threads[0]);
}

/* This thread's timer goes off after `ms` more of computing. */
static void tick_after(unsigned ms)
{
    gaps_tick(&recorder->stacks, &recorder->gpu.core, mine(), mine()->computed + ms * MS);
}

static void a_thread_that_computes_is_sampled(void **state)
{
    struct taken taken;

    (void)state;
    call();
    tick_after(4); /* the call was since */
    tick_after(7);
    tick_after(1);
    tick_after(20);
    taken = drain();
    assert_int_equal(taken.count, 3);
    assert_int_equal(taken.computing, 28 * MS);
}

/* What was computed since the timer went off before may lie on both sides of the call. */
static void a_call_ends_the_gap(void **state)
{
    struct taken taken;

    (void)state;
    tick_after(5);
    drain();
    call();
    tick_after(5);
    assert_int_equal(drain().count, 0);
    tick_after(6);
    taken = drain();
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.computing, 6 * MS);
}

static void not_inside_of_a_call(void **state)
{
    (void)state;
    gaps_call(&recorder->stacks, &recorder->gpu.core, true);
    tick_after(5);
    tick_after(5);
    assert_int_equal(drain().count, 0);
    gaps_call(&recorder->stacks, &recorder->gpu.core, false);
    tick_after(5);
    assert_int_equal(drain().count, 0);
    tick_after(5);
    assert_int_equal(drain().count, 1);
}

static void not_outside_of_ranges(void **state)
{
    (void)state;
    call();
    atomic_store(&recorder->gpu.core.enabled, false);
    for (unsigned i = 0; i < 16; i++) {
        assert_true(mine()->armed);
        tick_after(5);
    }
    assert_int_equal(drain().count, 0);
    assert_false(mine()->armed); /* until the next call */
    atomic_store(&recorder->gpu.core.enabled, true);
    call();
    assert_true(mine()->armed);
    tick_after(5);
    tick_after(5);
    assert_int_equal(drain().count, 1);
}

/* The real timer. The bounds are readings of the thread's CPU clock; a timer that never goes off
 * keeps the test busy for a minute. */
static void timers_go_off_while_the_thread_computes(void **state)
{
    const uint64_t before = cpu_ns();
    struct taken taken = {0};

    (void)state;
    recorder->stacks.gaps.period = MS;
    mine()->armed = false;
    call();
    while (taken.count < 3 && cpu_ns() < before + 60000 * MS) {
        struct taken more = drain();

        taken.count += more.count;
        taken.computing += more.computing;
    }
    assert_true(taken.count >= 3);
    assert_in_range(taken.computing, 1, cpu_ns() - before);
    recorder->stacks.gaps.period = AN_HOUR;
    mine()->armed = false;
    call();
    drain();
}

static void a_full_ring_loses_and_counts(void **state)
{
    struct gap_thread *thread = atomic_load(&recorder->stacks.gaps.threads[0]);

    (void)state;
    call();
    drain();
    atomic_store(&recorder->stacks.gaps.lost, 0);
    for (unsigned i = 0; i < GAP_SAMPLES + 3; i++) {
        gaps_take(&recorder->stacks, thread, 7);
    }
    assert_int_equal(atomic_load(&recorder->stacks.gaps.lost), 3);
    assert_int_equal(drain().computing, 7 * GAP_SAMPLES);
    assert_int_equal(drain().count, 0);
}

static void *call_and_compute(void *barrier)
{
    call();
    compute(5);
    pthread_barrier_wait(barrier);
    return NULL;
}

static void run_threads(unsigned count)
{
    pthread_t threads[2 * GAP_THREADS];
    pthread_barrier_t barrier;

    pthread_barrier_init(&barrier, NULL, count);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_and_compute, &barrier), 0);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
}

static unsigned owned(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < GAP_THREADS; i++) {
        struct gap_thread *thread = atomic_load(&recorder->stacks.gaps.threads[i]);

        count += thread && atomic_load(&thread->tid);
    }
    return count;
}

/* All are there at a time. Those for whom there is no place are not sampled. */
static void threads_give_back_what_they_had(void **state)
{
    (void)state;
    recorder->stacks.gaps.period = MS;
    assert_int_equal(owned(), 1);
    run_threads(GAP_THREADS + 20);
    assert_int_equal(owned(), 1);
    run_threads(10);
    assert_int_equal(owned(), 1);
    assert_false(atomic_load(&recorder->stacks.gaps.off));
    recorder->stacks.gaps.period = AN_HOUR;
}

static bool is_default(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL;
}

static void a_child_has_no_handler(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    pid = fork();
    if (pid == 0) {
        gaps_reset(&recorder->stacks);
        _exit(is_default(atomic_load(&recorder->stacks.gaps.signal)) ? 3 : 4);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 3 << 8);
    assert_false(is_default(atomic_load(&recorder->stacks.gaps.signal)));
}

static _Atomic unsigned got;

static void on_signal(int number)
{
    (void)number;
    got++;
}

static void a_signal_that_is_taken_ends_it(void **state)
{
    const int number = atomic_load(&recorder->stacks.gaps.signal);
    struct sigaction action = {.sa_handler = on_signal};
    const uint64_t before = cpu_ns();

    (void)state;
    recorder->stacks.gaps.period = MS;
    mine()->armed = false;
    sigaction(number, &action, NULL);
    got = 0;
    call();
    while (!got && cpu_ns() < before + 60000 * MS)
        continue;
    assert_true(got > 0); /* the timer still runs */
    drain();
    assert_true(atomic_load(&recorder->stacks.gaps.off));
    call();
    assert_int_equal(atomic_load(&mine()->timer), 0);
    gaps_reset(&recorder->stacks);
    assert_false(is_default(number)); /* it is not ours */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_computes_is_sampled),
        cmocka_unit_test(a_call_ends_the_gap),
        cmocka_unit_test(not_inside_of_a_call),
        cmocka_unit_test(not_outside_of_ranges),
        cmocka_unit_test(timers_go_off_while_the_thread_computes),
        cmocka_unit_test(a_full_ring_loses_and_counts),
        cmocka_unit_test(threads_give_back_what_they_had),
        cmocka_unit_test(a_child_has_no_handler),
        cmocka_unit_test(a_signal_that_is_taken_ends_it),
    };

    return cmocka_run_group_tests_name("samples of threads", tests, open_recorder, NULL);
}
