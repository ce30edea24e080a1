/* A robust mutex: the kernel marks it when its owner ends, and the next owner is told. */
#include "record/metrics/profiler_lock.h"

#include <errno.h>
#include <time.h>

#include "base/poison.h"

void profiler_lock_open(struct profiler_lock *lock)
{
    pthread_mutexattr_t attributes;

    lock->patience = PROFILER_LOCK_PATIENCE_S;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

enum profiler_lock_answer profiler_lock_take(struct profiler_lock *lock)
{
    int error = pthread_mutex_trylock(&lock->mutex);
    struct timespec limit;

    if (error == EBUSY) {
        clock_gettime(CLOCK_REALTIME, &limit); /* the only clock that old glibc supports here */
        limit.tv_sec += (time_t)lock->patience;
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
