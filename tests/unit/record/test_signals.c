/* The recorder's signal handlers, each test in a forked child that says how it ended. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/core/clock.h"
#include "record/process/recorder.h"
#include "record/process/signals.h"

#include "base/poison.h"

enum { FINE, WRONG };

static const int used[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};

/* Of waitpid: how the child ended that calls `what` while this process records. */
static int ending_of(int (*what)(void))
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        /* A caller may ignore some of them: a shell does for what runs in the background. */
        for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++)
            signal(used[i], SIG_DFL);
        mp_recorder->gpu.core.pid = getpid();
        atomic_store(&mp_recorder->gpu.core.phase, PHASE_RECORDING);
        _exit(what());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void ends_well(int (*what)(void))
{
    int status = ending_of(what);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), FINE);
}

static void dies_of(int number, int (*what)(void))
{
    int status = ending_of(what);

    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
}

static int noted(void)
{
    return atomic_load(&mp_recorder->ending.signal);
}

/* ---- SIGINT and SIGTERM ---- */

static int one_request(void)
{
    uint64_t before = mp_monotonic_ns();

    signals_open(NULL);
    raise(SIGTERM);
    if (noted() != SIGTERM || atomic_load(&mp_recorder->ending.signal_time) < before)
        return WRONG;
    return FINE;
}

/* While the first one's time is not known, its handler runs. */
static int a_second_one_at_once(void)
{
    signals_open(NULL);
    raise(SIGINT);
    atomic_store(&mp_recorder->ending.signal_time, 0);
    raise(SIGTERM);
    return noted() == SIGINT ? FINE : WRONG;
}

static int a_second_one_later(void)
{
    signals_open(NULL);
    raise(SIGINT);
    atomic_store(&mp_recorder->ending.signal_time, mp_monotonic_ns() - 600000000);
    raise(SIGTERM);
    return FINE;
}

static int when_all_is_done(void)
{
    signals_open(NULL);
    atomic_store(&mp_recorder->gpu.core.phase, PHASE_INERT);
    raise(SIGINT);
    return FINE;
}

/* A child that the fork handler has not reached yet. */
static int of_another_process(void)
{
    signals_open(NULL);
    mp_recorder->gpu.core.pid = getppid();
    raise(SIGTERM);
    return FINE;
}

static void the_first_request_is_noted(void **state)
{
    (void)state;
    ends_well(one_request);
    ends_well(a_second_one_at_once);
}

static void a_second_request_kills(void **state)
{
    (void)state;
    dies_of(SIGTERM, a_second_one_later);
}

static void without_a_recording_a_signal_kills_as_ever(void **state)
{
    (void)state;
    dies_of(SIGINT, when_all_is_done);
    dies_of(SIGTERM, of_another_process);
}

static int after_a_reset(void)
{
    signals_open("toggle");
    signals_reset();
    raise(SIGINT);
    return FINE;
}

static int after_a_reset_usr2(void)
{
    signals_open("toggle");
    signals_reset();
    raise(SIGUSR2);
    return FINE;
}

static void a_reset_gives_the_default_back(void **state)
{
    (void)state;
    dies_of(SIGINT, after_a_reset);
    dies_of(SIGUSR2, after_a_reset_usr2);
}

static int calls;

static void count_call(int number)
{
    (void)number;
    calls++;
}

static int with_own_handlers(void)
{
    signal(SIGINT, count_call);
    signal(SIGTERM, SIG_IGN);
    signal(SIGUSR2, count_call);
    signals_open("toggle");
    raise(SIGINT);
    raise(SIGTERM);
    raise(SIGUSR2);
    signals_reset();
    raise(SIGINT);
    return calls == 3 && !noted() && !atomic_load(&mp_recorder->ranges.toggles) ? FINE : WRONG;
}

static void the_programs_own_handlers_stay(void **state)
{
    (void)state;
    ends_well(with_own_handlers);
}

static int raised_while_blocked(void)
{
    sigset_t all;

    signals_open(NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    signals_raise(SIGTERM);
    return FINE;
}

static void a_signal_that_is_raised_again_ends_the_process(void **state)
{
    (void)state;
    dies_of(SIGTERM, raised_while_blocked);
}

/* ---- In a handler ---- */

static bool seen_in_handler;

static void look(int number)
{
    (void)number;
    seen_in_handler = signals_in_handler(); /* NOLINT(bugprone-signal-handler,cert-sig30-c) */
}

static int in_a_handler(void)
{
    signal(SIGHUP, look);
    if (signals_in_handler())
        return WRONG;
    raise(SIGHUP);
    return seen_in_handler && !signals_in_handler() ? FINE : WRONG;
}

static int on_the_alternate_stack(void)
{
    static char memory[1 << 16];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
    struct sigaction action = {.sa_handler = look, .sa_flags = SA_ONSTACK | SA_NODEFER};

    sigaltstack(&stack, NULL);
    sigaction(SIGHUP, &action, NULL);
    raise(SIGHUP);
    return seen_in_handler ? FINE : WRONG;
}

/* With the recorder's handlers or none. */
static int with_signals_blocked(void)
{
    sigset_t some;

    signals_open("toggle");
    sigemptyset(&some);
    for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++)
        sigaddset(&some, used[i]);
    pthread_sigmask(SIG_SETMASK, &some, NULL);
    return signals_in_handler() ? WRONG : FINE;
}

static void a_handler_of_the_program_is_noticed(void **state)
{
    (void)state;
    ends_well(in_a_handler);
    ends_well(on_the_alternate_stack);
    ends_well(with_signals_blocked);
}

/* ---- SIGUSR2 ---- */

static int toggled_twice(void)
{
    signals_open("toggle");
    raise(SIGUSR2);
    raise(SIGUSR2);
    if (atomic_load(&mp_recorder->ranges.toggles) != 2)
        return WRONG;
    atomic_store(&mp_recorder->gpu.core.phase, PHASE_FINISHING);
    raise(SIGUSR2);
    atomic_store(&mp_recorder->gpu.core.phase, PHASE_RECORDING);
    mp_recorder->gpu.core.pid = getppid();
    raise(SIGUSR2);
    return atomic_load(&mp_recorder->ranges.toggles) == 2 ? FINE : WRONG;
}

static int not_asked_for(void)
{
    signals_open(NULL);
    raise(SIGUSR2);
    return FINE;
}

static void usr2_is_counted_while_this_process_records(void **state)
{
    (void)state;
    ends_well(toggled_twice);
    dies_of(SIGUSR2, not_asked_for);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_request_is_noted),
        cmocka_unit_test(a_second_request_kills),
        cmocka_unit_test(without_a_recording_a_signal_kills_as_ever),
        cmocka_unit_test(a_reset_gives_the_default_back),
        cmocka_unit_test(the_programs_own_handlers_stay),
        cmocka_unit_test(a_signal_that_is_raised_again_ends_the_process),
        cmocka_unit_test(a_handler_of_the_program_is_noticed),
        cmocka_unit_test(usr2_is_counted_while_this_process_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
