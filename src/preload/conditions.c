/* Condition variables. Their waits release the mutex, which may wake a thread that waits for it. */
#include <errno.h>

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
