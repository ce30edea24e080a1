/* Read-write locks. The functions with a limit check it before anything else, so a free lock is
 * not tried first there: they are timed as calls that may wait.
 */
#include "preload/waits.h"

#include <errno.h>

#include "base/poison.h"

static void begin(struct waiting *waiting, const pthread_rwlock_t *lock)
{
    waits_begin(waiting, MP_WAIT_RWLOCK, lock);
}

static int end(struct waiting *waiting, int result)
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
    begin(&waiting, lock);
    return end(&waiting, take(lock));
}

SHOWN int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    int result;

    if (!waits_asked())
        return NEXT(pthread_rwlock_rdlock)(lock);
    result = TRY(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock)(lock);
    return result == EBUSY ? wait_in(NEXT(pthread_rwlock_rdlock), lock, CALLER) : result;
}

SHOWN int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    int result;

    if (!waits_asked())
        return NEXT(pthread_rwlock_wrlock)(lock);
    result = TRY(pthread_rwlock_wrlock, pthread_rwlock_trywrlock)(lock);
    return result == EBUSY ? wait_in(NEXT(pthread_rwlock_wrlock), lock, CALLER) : result;
}

SHOWN int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *limit)
{
    struct waiting waiting;

    if (!waits_wanted(CALLER))
        return NEXT(pthread_rwlock_timedrdlock)(lock, limit);
    begin(&waiting, lock);
    return end(&waiting, NEXT(pthread_rwlock_timedrdlock)(lock, limit));
}

SHOWN int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *limit)
{
    struct waiting waiting;

    if (!waits_wanted(CALLER))
        return NEXT(pthread_rwlock_timedwrlock)(lock, limit);
    begin(&waiting, lock);
    return end(&waiting, NEXT(pthread_rwlock_timedwrlock)(lock, limit));
}

SHOWN int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock,
                                     const struct timespec *limit)
{
    struct waiting waiting;

    if (!waits_wanted(CALLER))
        return NEXT(pthread_rwlock_clockrdlock)(lock, clock, limit);
    begin(&waiting, lock);
    return end(&waiting, NEXT(pthread_rwlock_clockrdlock)(lock, clock, limit));
}

SHOWN int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock,
                                     const struct timespec *limit)
{
    struct waiting waiting;

    if (!waits_wanted(CALLER))
        return NEXT(pthread_rwlock_clockwrlock)(lock, clock, limit);
    begin(&waiting, lock);
    return end(&waiting, NEXT(pthread_rwlock_clockwrlock)(lock, clock, limit));
}

SHOWN int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
    waits_wake(lock);
    return NEXT(pthread_rwlock_unlock)(lock);
}
