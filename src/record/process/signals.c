/* SIGINT and SIGTERM where the application leaves them to their default. The handler only notes
 * the signal; the writer completes the file and raises it again.
 */
#include "record/process/signals.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings/time_limits.h"
#include "record/core/clock.h"
#include "record/process/recorder.h"

#include "base/poison.h"

static const int watched[] = {SIGINT, SIGTERM};

#define WATCHED_COUNT (sizeof(watched) / sizeof(watched[0]))

static void set_default(int number)
{
    struct sigaction action = {.sa_handler = SIG_DFL};

    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

/* Whether this is a second request, from a user who has lost patience. One request often comes
 * twice: timeout(1) signals the process and then its group, a terminal signals the group and a
 * shell its job. If the first one's time is 0, another thread is still in the handler with it. */
static bool is_impatient(struct recorder *recorder)
{
    uint64_t first = atomic_load(&recorder->ending.signal_time);

    return first && mp_monotonic_ns() - first > mp_time_limit_ns(MP_TIME_SAME_SIGNAL);
}

/* Async-signal-safe: atomics, getpid, clock_gettime, sigaction, raise, and a write in work_wake. */
static void on_signal(int number)
{
    struct recorder *recorder = mp_recorder;
    int saved_errno = errno;
    int expected = 0;
    bool ours =
        core_is_of_process(&recorder->gpu.core) && core_phase(&recorder->gpu.core) != PHASE_INERT;

    if (ours && atomic_compare_exchange_strong(&recorder->ending.signal, &expected, number)) {
        atomic_store(&recorder->ending.signal_time, mp_monotonic_ns());
        work_wake(&recorder->gpu.core.work);
    } else if (!ours || is_impatient(recorder)) {
        set_default(number);
        raise(number); /* delivered when this handler returns */
    }
    errno = saved_errno;
}

/* SIGUSR2. A forked child has the handler until signals_reset. */
static void on_toggle(int number)
{
    struct recorder *recorder = mp_recorder;
    int saved_errno = errno;

    (void)number;
    if (core_is_of_process(&recorder->gpu.core) && core_is_recording(&recorder->gpu.core)) {
        atomic_fetch_add(&recorder->ranges.toggles, 1);
        work_wake(&recorder->gpu.core.work);
    }
    errno = saved_errno;
}

static bool is_handled_by(int number, void (*handler)(int))
{
    struct sigaction present;

    return sigaction(number, NULL, &present) == 0 && !(present.sa_flags & SA_SIGINFO) &&
           present.sa_handler == handler;
}

void signals_open(const char *usr2)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    size_t i;

    sigemptyset(&action.sa_mask);
    for (i = 0; i < WATCHED_COUNT; i++)
        if (is_handled_by(watched[i], SIG_DFL))
            sigaction(watched[i], &action, NULL);
    action.sa_handler = on_toggle;
    if (usr2 && is_handled_by(SIGUSR2, SIG_DFL))
        sigaction(SIGUSR2, &action, NULL);
    else if (usr2)
        mp_log_warn("SIGUSR2 is the program's own: use `miniprof ctl %d %s`",
                    (int)mp_recorder->gpu.core.pid, usr2);
}

void signals_reset(void)
{
    size_t i;

    for (i = 0; i < WATCHED_COUNT; i++)
        if (is_handled_by(watched[i], on_signal))
            set_default(watched[i]);
    if (is_handled_by(SIGUSR2, on_toggle))
        set_default(SIGUSR2);
}

static bool is_handled_by_program(int number)
{
    struct sigaction present;

    return sigaction(number, NULL, &present) == 0 &&
           (present.sa_flags & SA_SIGINFO ||
            (present.sa_handler != SIG_DFL && present.sa_handler != SIG_IGN &&
             present.sa_handler != on_signal && present.sa_handler != on_toggle));
}

bool signals_in_handler(void)
{
    stack_t stack;
    sigset_t blocked;
    bool found = sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_ONSTACK;

    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    for (int number = 1; number < NSIG; number++)
        found |= sigismember(&blocked, number) == 1 && is_handled_by_program(number);
    return found;
}

void signals_raise(int number)
{
    sigset_t only;

    set_default(number);
    sigemptyset(&only);
    sigaddset(&only, number);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
}
