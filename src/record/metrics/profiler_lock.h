/* The turn: who has the GPU's counters.
 *
 * A lock that is held across a driver call, from ENTER to EXIT of a launch, so it is built for an
 * EXIT that never comes: a thread that ends in between leaves it to the next one, and nobody waits
 * for it longer than `patience`, since two kernels that wait for each other would wait for ever.
 */
#ifndef MP_RECORD_METRICS_PROFILER_LOCK_H
#define MP_RECORD_METRICS_PROFILER_LOCK_H

#include <pthread.h>
#include <stdint.h>

#define TURN_PATIENCE_S 30

struct turn {
    pthread_mutex_t lock;
    uint32_t patience; /* seconds */
};

enum turn_answer {
    TURN_TAKEN,
    TURN_LEFT, /* taken, from a thread that ended while it had it */
    TURN_LATE  /* not taken: whoever has it keeps it too long */
};

void turn_open(struct turn *turn);

/* No cancellation point. */
enum turn_answer turn_take(struct turn *turn);

/* By the thread that took it. In a forked child, where no thread did, nothing happens. */
void turn_give_back(struct turn *turn);

#endif
