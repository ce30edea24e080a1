/* The profiler lock: who has the GPU's counters.
 *
 * A thread holds it across a driver call, from ENTER to EXIT of a launch. The EXIT may never come.
 * If the thread ends in between, the next thread gets the lock. And nobody waits for it longer than
 * `patience`: two kernels that wait for each other would wait for ever.
 */
#ifndef MP_RECORD_METRICS_PROFILER_LOCK_H
#define MP_RECORD_METRICS_PROFILER_LOCK_H

#include <pthread.h>
#include <stdint.h>

struct profiler_lock {
    pthread_mutex_t mutex;
    uint64_t patience; /* ns */
};

enum profiler_lock_answer {
    PROFILER_LOCK_TAKEN,
    PROFILER_LOCK_ABANDONED, /* taken, from a thread that ended while holding it */
    PROFILER_LOCK_LATE       /* not taken: another thread holds it for too long */
};

void profiler_lock_open(struct profiler_lock *lock);

/* No cancellation point. */
enum profiler_lock_answer profiler_lock_take(struct profiler_lock *lock);

/* By the thread that took it. In a forked child, where no thread took it, nothing happens. */
void profiler_lock_release(struct profiler_lock *lock);

#endif
