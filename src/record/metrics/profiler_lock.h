/* The profiler lock: who has the GPU's counters.
 *
 * It is held across a driver call, from ENTER to EXIT of a launch, so it allows for an
 * EXIT that never comes: a thread that ends in between leaves it to the next one, and nobody waits
 * for it longer than `patience`, since two kernels that wait for each other would wait for ever.
 */
#ifndef MP_RECORD_METRICS_PROFILER_LOCK_H
#define MP_RECORD_METRICS_PROFILER_LOCK_H

#include <pthread.h>
#include <stdint.h>

#define PROFILER_LOCK_PATIENCE_S 30

struct profiler_lock {
    pthread_mutex_t mutex;
    uint32_t patience; /* seconds */
};

enum profiler_lock_answer {
    PROFILER_LOCK_TAKEN,
    PROFILER_LOCK_ABANDONED, /* taken, from a thread that ended while it had it */
    PROFILER_LOCK_LATE       /* not taken: whoever has it keeps it too long */
};

void profiler_lock_open(struct profiler_lock *lock);

/* No cancellation point. */
enum profiler_lock_answer profiler_lock_take(struct profiler_lock *lock);

/* By the thread that took it. In a forked child, where no thread did, nothing happens. */
void profiler_lock_release(struct profiler_lock *lock);

#endif
