/* Samples of threads: timers that go off, a ring that is full, threads that come and go, and a
 * signal that somebody else takes. No Python is there, so samples have no stack. */
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
#include "record/core/state.h"
#include "record/gaps/sampled_thread.h"

#define TICK_MS 20 /* no kernel has fewer ticks than 100 a second */

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

    gaps_drain(recorder, use, &taken);
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
    gaps_call(recorder, true);
    gaps_call(recorder, false);
}

static int open_recorder(void **state)
{
    (void)state;
    recorder = mp_recorder;
    recorder->pid = getpid();
    recorder->config.stacks = MP_STACKS_PYTHON;
    recorder->config.stacks_gaps = 1000;
    recorder->recording.begin_time = mp_clock_now();
    assert_int_equal(call_logs_open(&recorder->logs), MP_OK);
    gaps_open(recorder);
    assert_true(recorder->gaps.period == 1000000);
    atomic_store(&recorder->cupti_state.enabled, true);
    atomic_store(&recorder->phase, PHASE_RECORDING);
    return 0;
}

static void a_thread_that_computes_is_sampled(void **state)
{
    uint64_t before;
    struct taken taken;

    (void)state;
    call();
    before = cpu_ns();
    compute(20 * TICK_MS);
    call();
    taken = drain();
    assert_true(taken.count >= 8);
    assert_true(taken.computing <= cpu_ns() - before);
    assert_true(taken.computing >= (cpu_ns() - before) / 2);
}

static void not_inside_of_a_call(void **state)
{
    (void)state;
    compute(2 * TICK_MS);
    drain();
    gaps_call(recorder, true);
    compute(5 * TICK_MS);
    gaps_call(recorder, false);
    assert_true(drain().count <= 1); /* of the time before */
}

static void not_outside_of_ranges(void **state)
{
    (void)state;
    drain();
    atomic_store(&recorder->cupti_state.enabled, false);
    compute(40 * TICK_MS);
    assert_true(drain().count <= 1);
    assert_false(atomic_load(&recorder->gaps.threads[0])->armed);
    atomic_store(&recorder->cupti_state.enabled, true);
    call();
    compute(10 * TICK_MS);
    assert_true(drain().count >= 3);
}

static void a_full_ring_loses_and_counts(void **state)
{
    struct gap_thread *thread = atomic_load(&recorder->gaps.threads[0]);

    (void)state;
    call();
    drain();
    atomic_store(&recorder->gaps.lost, 0);
    for (unsigned i = 0; i < GAP_SAMPLES + 3; i++) {
        call(); /* so that no timer puts one */
        gaps_take(recorder, thread, 7);
    }
    assert_int_equal(atomic_load(&recorder->gaps.lost), 3);
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
        struct gap_thread *thread = atomic_load(&recorder->gaps.threads[i]);

        count += thread && atomic_load(&thread->tid);
    }
    return count;
}

/* All are there at a time. Those for whom there is no place are not sampled. */
static void threads_give_back_what_they_had(void **state)
{
    (void)state;
    assert_int_equal(owned(), 1);
    run_threads(GAP_THREADS + 20);
    assert_int_equal(owned(), 1);
    run_threads(10);
    assert_int_equal(owned(), 1);
    assert_false(atomic_load(&recorder->gaps.off));
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
        gaps_reset(recorder);
        _exit(is_default(atomic_load(&recorder->gaps.signal)) ? 3 : 4);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 3 << 8);
    assert_false(is_default(atomic_load(&recorder->gaps.signal)));
}

static _Atomic unsigned got;

static void on_signal(int number)
{
    (void)number;
    got++;
}

static void a_signal_that_is_taken_ends_it(void **state)
{
    struct sigaction action = {.sa_handler = on_signal};

    (void)state;
    call();
    compute(TICK_MS);
    sigaction(atomic_load(&recorder->gaps.signal), &action, NULL);
    drain();
    assert_true(atomic_load(&recorder->gaps.off));
    got = 0;
    call();
    compute(5 * TICK_MS);
    assert_int_equal(got, 0);
    gaps_reset(recorder);
    assert_false(is_default(atomic_load(&recorder->gaps.signal))); /* it is not ours */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_computes_is_sampled),
        cmocka_unit_test(not_inside_of_a_call),
        cmocka_unit_test(not_outside_of_ranges),
        cmocka_unit_test(a_full_ring_loses_and_counts),
        cmocka_unit_test(threads_give_back_what_they_had),
        cmocka_unit_test(a_child_has_no_handler),
        cmocka_unit_test(a_signal_that_is_taken_ends_it),
    };

    return cmocka_run_group_tests_name("samples of threads", tests, open_recorder, NULL);
}
