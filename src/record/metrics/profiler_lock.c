/* See profiler_lock.h. */
#include "record/metrics/profiler_lock.h"

#include <errno.h>
#include <time.h>

#include "base/poison.h"

void turn_open(struct turn *turn)
{
    pthread_mutexattr_t attributes;

    turn->patience = TURN_PATIENCE_S;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&turn->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

enum turn_answer turn_take(struct turn *turn)
{
    int error = pthread_mutex_trylock(&turn->lock);
    struct timespec limit;

    if (error == EBUSY) {
        clock_gettime(CLOCK_REALTIME, &limit); /* the only clock that old glibc takes here */
        limit.tv_sec += (time_t)turn->patience;
        error = pthread_mutex_timedlock(&turn->lock, &limit);
    }
    if (error != EOWNERDEAD)
        return error ? TURN_LATE : TURN_TAKEN;
    pthread_mutex_consistent(&turn->lock);
    return TURN_LEFT;
}

void turn_give_back(struct turn *turn)
{
    pthread_mutex_unlock(&turn->lock);
}
