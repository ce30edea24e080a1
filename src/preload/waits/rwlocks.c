/* Read-write locks. The functions with a limit check it before anything else, so a free lock is
 * not tried first there: they are timed as calls that may wait.
 */
#include "preload/waits/waits.h"

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

SHOWN int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    struct waiting waiting;
    int result;

    if (!waits_wanted(CALLER))
        return NEXT(pthread_rwlock_rdlock)(lock);
    result = NEXT(pthread_rwlock_tryrdlock)(lock);
    if (result != EBUSY)
        return result;
    begin(&waiting, lock);
    return end(&waiting, NEXT(pthread_rwlock_rdlock)(lock));
}

SHOWN int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    struct waiting waiting;
    int result;

    if (!waits_wanted(CALLER))
        return NEXT(pthread_rwlock_wrlock)(lock);
    result = NEXT(pthread_rwlock_trywrlock)(lock);
    if (result != EBUSY)
        return result;
    begin(&waiting, lock);
    return end(&waiting, NEXT(pthread_rwlock_wrlock)(lock));
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
