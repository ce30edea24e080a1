/* Waits for locks of pthreads: mutexes and read-write locks. */
#include <errno.h>
#include <time.h>

#include "preload/waits.h"

#include "base/poison.h"

/* ---- Mutexes ----
 *
 * libc's pthread_mutex_trylock takes a mutex that is free. It does what pthread_mutex_lock does,
 * but answers EBUSY where that waits, or finds that it would wait for itself.
 */

static void begin(struct waiting *waiting, const pthread_mutex_t *mutex)
{
    waits_begin(waiting, MP_WAIT_MUTEX, mutex);
}

static int end(struct waiting *waiting, int result)
{
    waits_end(waiting, result == 0 || result == EOWNERDEAD);
    return result;
}

WAITS_APART static int wait_for(pthread_mutex_t *mutex, const void *caller)
{
    struct waiting waiting;

    if (waits_left_alone(caller))
        return NEXT(pthread_mutex_lock)(mutex);
    begin(&waiting, mutex);
    return end(&waiting, NEXT(pthread_mutex_lock)(mutex));
}

SHOWN int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (!waits_asked())
        return NEXT(pthread_mutex_lock)(mutex);
    int result = TRY(pthread_mutex_lock, pthread_mutex_trylock)(mutex);
    return result == EBUSY ? wait_for(mutex, CALLER) : result;
}

SHOWN int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *limit)
{
    struct waiting waiting;

    if (!waits_wanted(CALLER))
        return NEXT(pthread_mutex_timedlock)(mutex, limit);
    int result = TRY(pthread_mutex_timedlock, pthread_mutex_trylock)(mutex);
    if (result != EBUSY)
        return result;
    begin(&waiting, mutex);
    return end(&waiting, NEXT(pthread_mutex_timedlock)(mutex, limit));
}

/* The real one refuses other clocks, also where it need not wait. */
static bool is_usual(clockid_t clock)
{
    return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME;
}

SHOWN int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *limit)
{
    struct waiting waiting;

    if (!waits_wanted(CALLER) || !is_usual(clock))
        return NEXT(pthread_mutex_clocklock)(mutex, clock, limit);
    int result = TRY(pthread_mutex_clocklock, pthread_mutex_trylock)(mutex);
    if (result != EBUSY)
        return result;
    begin(&waiting, mutex);
    return end(&waiting, NEXT(pthread_mutex_clocklock)(mutex, clock, limit));
}

SHOWN int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    waits_wake(mutex);
    return NEXT(pthread_mutex_unlock)(mutex);
}

/* ---- Read-write locks ----
 *
 * Read-write locks. The functions with a limit check it before anything else, so a free lock is
 * not tried first there: they are timed as calls that may wait.
 */

static void begin_lock(struct waiting *waiting, const pthread_rwlock_t *lock)
{
    waits_begin(waiting, MP_WAIT_RWLOCK, lock);
}

static int end_lock(struct waiting *waiting, int result)
{
    waits_end(waiting, result == 0);
    return result;
}

WAITS_APART static int wait_in(int (*take)(pthread_rwlock_t *lock), pthread_rwlock_t *lock,
                               const void *caller)
{
    struct waiting waiting;

    if (waits_left_alone(caller))
        return take(lock);
    begin_lock(&waiting, lock);
    return end_lock(&waiting, take(lock));
}

SHOWN int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    if (!waits_asked())
        return NEXT(pthread_rwlock_rdlock)(lock);
    int result = TRY(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock)(lock);
    return result == EBUSY ? wait_in(NEXT(pthread_rwlock_rdlock), lock, CALLER) : result;
}

SHOWN int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    if (!waits_asked())
        return NEXT(pthread_rwlock_wrlock)(lock);
    int result = TRY(pthread_rwlock_wrlock, pthread_rwlock_trywrlock)(lock);
    return result == EBUSY ? wait_in(NEXT(pthread_rwlock_wrlock), lock, CALLER) : result;
}

SHOWN int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *limit)
{
    struct waiting waiting;

    if (!waits_wanted(CALLER))
        return NEXT(pthread_rwlock_timedrdlock)(lock, limit);
    begin_lock(&waiting, lock);
    return end_lock(&waiting, NEXT(pthread_rwlock_timedrdlock)(lock, limit));
}

SHOWN int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *limit)
{
    struct waiting waiting;

    if (!waits_wanted(CALLER))
        return NEXT(pthread_rwlock_timedwrlock)(lock, limit);
    begin_lock(&waiting, lock);
    return end_lock(&waiting, NEXT(pthread_rwlock_timedwrlock)(lock, limit));
}

SHOWN int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock,
                                     const struct timespec *limit)
{
    struct waiting waiting;

    if (!waits_wanted(CALLER))
        return NEXT(pthread_rwlock_clockrdlock)(lock, clock, limit);
    begin_lock(&waiting, lock);
    return end_lock(&waiting, NEXT(pthread_rwlock_clockrdlock)(lock, clock, limit));
}

SHOWN int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock,
                                     const struct timespec *limit)
{
    struct waiting waiting;

    if (!waits_wanted(CALLER))
        return NEXT(pthread_rwlock_clockwrlock)(lock, clock, limit);
    begin_lock(&waiting, lock);
    return end_lock(&waiting, NEXT(pthread_rwlock_clockwrlock)(lock, clock, limit));
}

SHOWN int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
    waits_wake(lock);
    return NEXT(pthread_rwlock_unlock)(lock);
}
