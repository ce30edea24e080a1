/* SIGINT and SIGTERM where the application leaves them to their default. The handler only notes
 * the signal; the writer completes the file and raises it again.
 */
#include "record/process/signals.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/settings/config.h"
#include "record/core/clock.h"
#include "record/core/thread.h"
#include "record/process/recorder.h"

#include "base/poison.h"

static const int watched[] = {SIGINT, SIGTERM};

#define WATCHED_COUNT (sizeof(watched) / sizeof(watched[0]))

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
        signal_set_default(number);
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

void signals_open(const char *usr2)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < WATCHED_COUNT; i++)
        if (signal_is_handled_by(watched[i], SIG_DFL))
            sigaction(watched[i], &action, NULL);
    action.sa_handler = on_toggle;
    if (usr2 && signal_is_handled_by(SIGUSR2, SIG_DFL))
        sigaction(SIGUSR2, &action, NULL);
    else if (usr2)
        mp_log_warn("SIGUSR2 is the program's own: use `miniprof ctl %d %s`",
                    (int)mp_recorder->gpu.core.pid, usr2);
}

void signals_reset(void)
{
    for (size_t i = 0; i < WATCHED_COUNT; i++)
        if (signal_is_handled_by(watched[i], on_signal))
            signal_set_default(watched[i]);
    if (signal_is_handled_by(SIGUSR2, on_toggle))
        signal_set_default(SIGUSR2);
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

    signal_set_default(number);
    sigemptyset(&only);
    sigaddset(&only, number);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
}

/* ---- Crashes ----
 *
 * The thread that crashes asks the writer to write the flight recorder's trace, and waits; the
 * signal then happens again.
 */

static const struct watched {
    int number;
    const char *name;
} crash_signals[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
    {SIGILL, "SIGILL"},   {SIGABRT, "SIGABRT"},
};

#define CRASH_SIGNALS (sizeof(crash_signals) / sizeof(crash_signals[0]))

/* ---- The thread that crashes: async-signal-safe ---- */

static void await_writer(struct recorder *recorder)
{
    struct crash *crash = &recorder->crash;
    const struct timespec look = mp_time_limit_timespec(MP_TIME_CRASH_LOOK);
    int64_t until = mp_monotonic_ms() + mp_time_limit_ms(MP_TIME_CRASH_FILE);
    uint32_t state;

    while ((state = atomic_load(&crash->state)) != CRASH_DONE &&
           core_phase(&recorder->gpu.core) != PHASE_INERT && mp_monotonic_ms() < until)
        syscall(SYS_futex, &crash->state, FUTEX_WAIT_PRIVATE, state, &look, NULL, 0);
}

static void await_first(void)
{
    const struct timespec look = mp_time_limit_timespec(MP_TIME_CRASH_LOOK);
    int64_t until = mp_monotonic_ms() + mp_time_limit_ms(MP_TIME_CRASH_FIRST);

    while (mp_monotonic_ms() < until)
        nanosleep(&look, NULL);
}

static void have_it_written(struct recorder *recorder, int number)
{
    int expected = 0;

    if (!core_is_of_process(&recorder->gpu.core) ||
        core_phase(&recorder->gpu.core) < PHASE_RECORDING ||
        core_phase(&recorder->gpu.core) == PHASE_INERT ||
        pthread_equal(pthread_self(), recorder->writer))
        return;
    if (atomic_compare_exchange_strong(&recorder->crash.number, &expected, number)) {
        atomic_store(&recorder->crash.state, CRASH_ASKED);
        work_wake(&recorder->gpu.core.work);
        await_writer(recorder);
    } else {
        await_writer(recorder);
        await_first();
    }
}

/* Whether the faulting instruction will raise the signal again when the handler returns. */
static bool happens_again(const siginfo_t *info)
{
    return info->si_code > 0 && info->si_signo != SIGABRT &&
           !(info->si_signo == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

static void on_crash(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno;

    (void)context;
    have_it_written(mp_recorder, number);
    signal_set_default(number);
    if (!happens_again(info))
        raise(number); /* delivered when this handler returns */
    errno = saved_errno;
}

void crash_open(void)
{
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    /* One signal at a time: the process dies of the one that came first. */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < CRASH_SIGNALS; i++)
        sigaddset(&action.sa_mask, crash_signals[i].number);
    for (size_t i = 0; i < CRASH_SIGNALS; i++)
        if (signal_is_handled_by(crash_signals[i].number, SIG_DFL))
            sigaction(crash_signals[i].number, &action, NULL);
}

void crash_reset(void)
{
    for (size_t i = 0; i < CRASH_SIGNALS; i++)
        if (signal_is_taken_by(crash_signals[i].number, on_crash))
            signal_set_default(crash_signals[i].number);
}

/* ---- The writer ---- */

static const char *crash_name_of(int number)
{
    for (size_t i = 0; i < CRASH_SIGNALS; i++)
        if (crash_signals[i].number == number)
            return crash_signals[i].name;
    return "a signal";
}

static void set_state(struct crash *crash, uint32_t state)
{
    atomic_store(&crash->state, state);
    syscall(SYS_futex, &crash->state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void crash_serve(struct recorder *recorder)
{
    struct crash *crash = &recorder->crash;

    if (atomic_load(&crash->state) != CRASH_ASKED)
        return;
    set_state(crash, CRASH_WRITING);
    atomic_store(&recorder->gpu.flusher.forced, true);
    flight_write_for(recorder, crash_name_of(atomic_load(&crash->number)));
    set_state(crash, CRASH_DONE);
}
