/* Writes the flight recorder's trace when the program crashes. The thread that crashes asks the
 * writer and waits; the signal then happens again.
 */
#include "record/process/crash.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/settings/time_limits.h"
#include "record/core/clock.h"
#include "record/process/recorder.h"

#include "base/poison.h"

static const struct watched {
    int number;
    const char *name;
} watched[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
    {SIGILL, "SIGILL"},   {SIGABRT, "SIGABRT"},
};

#define WATCHED_COUNT (sizeof(watched) / sizeof(watched[0]))

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
    struct sigaction action = {.sa_handler = SIG_DFL};
    int saved_errno = errno;

    (void)context;
    have_it_written(mp_recorder, number);
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
    if (!happens_again(info))
        raise(number); /* delivered when this handler returns */
    errno = saved_errno;
}

void crash_open(void)
{
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction present;
    size_t i;

    /* One signal at a time: the process dies of the one that came first. */
    sigemptyset(&action.sa_mask);
    for (i = 0; i < WATCHED_COUNT; i++)
        sigaddset(&action.sa_mask, watched[i].number);
    for (i = 0; i < WATCHED_COUNT; i++)
        if (sigaction(watched[i].number, NULL, &present) == 0 && !(present.sa_flags & SA_SIGINFO) &&
            present.sa_handler == SIG_DFL)
            sigaction(watched[i].number, &action, NULL);
}

void crash_reset(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    struct sigaction present;
    size_t i;

    sigemptyset(&action.sa_mask);
    for (i = 0; i < WATCHED_COUNT; i++)
        if (sigaction(watched[i].number, NULL, &present) == 0 && (present.sa_flags & SA_SIGINFO) &&
            present.sa_sigaction == on_crash)
            sigaction(watched[i].number, &action, NULL);
}

/* ---- The writer ---- */

static const char *crash_name_of(int number)
{
    size_t i;

    for (i = 0; i < WATCHED_COUNT; i++)
        if (watched[i].number == number)
            return watched[i].name;
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
