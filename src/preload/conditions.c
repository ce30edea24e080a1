/* Waits for condition variables, barriers and semaphores. */
#include <errno.h>
#include <semaphore.h>
#include <time.h>

#include "preload/waits.h"

#include "base/poison.h"

static void begin(struct waiting *waiting, const pthread_cond_t *condition,
                  const pthread_mutex_t *mutex)
{
    waits_begin(waiting, MP_WAIT_CONDITION, condition);
    waits_wake(mutex);
}

SHOWN int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    struct waiting waiting;
    int result;

    if (!waits_wanted(CALLER))
        return NEXT(pthread_cond_wait)(condition, mutex);
    begin(&waiting, condition, mutex);
    WAITS_CANCELLABLE(&waiting, result, NEXT(pthread_cond_wait)(condition, mutex));
    waits_end(&waiting, result == 0);
    return result;
}

SHOWN int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                 const struct timespec *limit)
{
    struct waiting waiting;
    int result;

    if (!waits_wanted(CALLER))
        return NEXT(pthread_cond_timedwait)(condition, mutex, limit);
    begin(&waiting, condition, mutex);
    WAITS_CANCELLABLE(&waiting, result, NEXT(pthread_cond_timedwait)(condition, mutex, limit));
    waits_end(&waiting, result == 0);
    return result;
}

SHOWN int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                                 const struct timespec *limit)
{
    struct waiting waiting;
    int result;

    if (!waits_wanted(CALLER))
        return NEXT(pthread_cond_clockwait)(condition, mutex, clock, limit);
    begin(&waiting, condition, mutex);
    WAITS_CANCELLABLE(&waiting, result,
                      NEXT(pthread_cond_clockwait)(condition, mutex, clock, limit));
    waits_end(&waiting, result == 0);
    return result;
}

SHOWN int pthread_cond_signal(pthread_cond_t *condition)
{
    waits_wake(condition);
    return NEXT(pthread_cond_signal)(condition);
}

SHOWN int pthread_cond_broadcast(pthread_cond_t *condition)
{
    waits_wake(condition);
    return NEXT(pthread_cond_broadcast)(condition);
}

/* ---- Semaphores ----
 *
 * Semaphores. One above zero is taken by libc's sem_trywait. sem_wait is a cancellation point also
 * then, and sem_timedwait checks its limit first: so do we.
 */

/* Whether it could be taken without waiting. */
static bool took(sem_t *semaphore, int (*try_wait)(sem_t *semaphore))
{
    int error = errno;

    if ((void *)try_wait == (void *)next_busy)
        return false;
    LIBC(pthread_testcancel)();
    if (try_wait(semaphore) == 0)
        return true;
    errno = error;
    return false;
}

static bool is_valid(const struct timespec *limit)
{
    return limit->tv_nsec >= 0 && limit->tv_nsec < 1000000000;
}

WAITS_APART static int wait_for(sem_t *semaphore, const void *caller)
{
    struct waiting waiting;
    int result;

    if (waits_left_alone(caller))
        return NEXT(sem_wait)(semaphore);
    waits_begin(&waiting, MP_WAIT_SEMAPHORE, semaphore);
    WAITS_CANCELLABLE(&waiting, result, NEXT(sem_wait)(semaphore));
    waits_end(&waiting, result == 0);
    return result;
}

SHOWN int sem_wait(sem_t *semaphore)
{
    if (!waits_asked())
        return NEXT(sem_wait)(semaphore);
    return took(semaphore, TRY(sem_wait, sem_trywait)) ? 0 : wait_for(semaphore, CALLER);
}

SHOWN int sem_timedwait(sem_t *semaphore, const struct timespec *limit)
{
    struct waiting waiting;
    int result;

    if (!waits_wanted(CALLER) || !is_valid(limit))
        return NEXT(sem_timedwait)(semaphore, limit);
    if (took(semaphore, TRY(sem_timedwait, sem_trywait)))
        return 0;
    waits_begin(&waiting, MP_WAIT_SEMAPHORE, semaphore);
    WAITS_CANCELLABLE(&waiting, result, NEXT(sem_timedwait)(semaphore, limit));
    waits_end(&waiting, result == 0);
    return result;
}

SHOWN int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *limit)
{
    struct waiting waiting;
    int result;

    if (!waits_wanted(CALLER))
        return NEXT(sem_clockwait)(semaphore, clock, limit);
    waits_begin(&waiting, MP_WAIT_SEMAPHORE, semaphore);
    WAITS_CANCELLABLE(&waiting, result, NEXT(sem_clockwait)(semaphore, clock, limit));
    waits_end(&waiting, result == 0);
    return result;
}

SHOWN int sem_post(sem_t *semaphore)
{
    waits_wake(semaphore);
    return NEXT(sem_post)(semaphore);
}
