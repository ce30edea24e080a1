/* See signals.h. */
#include "record/signals.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record/state.h"

#include "base/poison.h"

static const int watched[] = {SIGINT, SIGTERM};

#define WATCHED_COUNT (sizeof(watched) / sizeof(watched[0]))

static void set_default(int number)
{
    struct sigaction action = {.sa_handler = SIG_DFL};

    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

/* Async-signal-safe: atomics, getpid, sigaction, raise, and a write in work_wake. */
static void on_signal(int number)
{
    struct recorder *recorder = mp_recorder;
    int saved_errno = errno;
    int expected = 0;

    if (recorder->pid == getpid() && recorder_phase(recorder) != PHASE_INERT &&
        atomic_compare_exchange_strong(&recorder->signal, &expected, number)) {
        work_wake(&recorder->work);
    } else {
        set_default(number);
        raise(number); /* taken when this handler returns */
    }
    errno = saved_errno;
}

void signals_open(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigaction present;
    size_t i;

    sigemptyset(&action.sa_mask);
    for (i = 0; i < WATCHED_COUNT; i++)
        if (sigaction(watched[i], NULL, &present) == 0 && !(present.sa_flags & SA_SIGINFO) &&
            present.sa_handler == SIG_DFL)
            sigaction(watched[i], &action, NULL);
}

void signals_reset(void)
{
    struct sigaction present;
    size_t i;

    for (i = 0; i < WATCHED_COUNT; i++)
        if (sigaction(watched[i], NULL, &present) == 0 && !(present.sa_flags & SA_SIGINFO) &&
            present.sa_handler == on_signal)
            set_default(watched[i]);
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

void signals_block(sigset_t *before)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

void signals_restore(const sigset_t *before)
{
    const struct timespec at_once = {0};
    sigset_t size;

    if (!sigismember(before, SIGXFSZ)) {
        sigemptyset(&size);
        sigaddset(&size, SIGXFSZ);
        while (sigtimedwait(&size, NULL, &at_once) == SIGXFSZ)
            continue;
    }
    pthread_sigmask(SIG_SETMASK, before, NULL);
}
