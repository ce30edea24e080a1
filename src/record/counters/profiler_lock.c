/* A robust mutex: the kernel marks it when its owner ends, and the next owner is told. */
#include "record/counters/profiler_lock.h"

#include <errno.h>
#include <time.h>

#include "base/settings/time_limits.h"

#include "base/poison.h"

void profiler_lock_open(struct profiler_lock *lock)
{
    pthread_mutexattr_t attributes;

    lock->patience = mp_time_limit_ns(MP_TIME_PROFILER_LOCK);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

/* CLOCK_REALTIME is the only clock that old glibc supports here. */
static struct timespec in(uint64_t ns)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    ns += (uint64_t)now.tv_nsec;
    return (struct timespec){.tv_sec = now.tv_sec + (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
}

enum profiler_lock_answer profiler_lock_take(struct profiler_lock *lock)
{
    int error = pthread_mutex_trylock(&lock->mutex);
    struct timespec limit;

    if (error == EBUSY) {
        limit = in(lock->patience);
        error = pthread_mutex_timedlock(&lock->mutex, &limit);
    }
    if (error != EOWNERDEAD)
        return error ? PROFILER_LOCK_LATE : PROFILER_LOCK_TAKEN;
    pthread_mutex_consistent(&lock->mutex);
    return PROFILER_LOCK_ABANDONED;
}

void profiler_lock_release(struct profiler_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}
