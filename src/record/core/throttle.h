/* How much of a core the writer takes: half of one while there is room and time for what waits.
 *
 * What it has to do is bounded by what the program does: at 12 million records a second, a host
 * that launches as fast as it can keeps it busy for 5 to 10 % of a core. Where it needs more (a
 * burst, a high MINIPROF_LEVEL, many threads), it rests between buffers and lets them fill instead
 * of competing with the program for cores and caches. It takes what it needs when half of the
 * buffers are full, since records are worth more than cores, and when the next write is near, since
 * what is lost with a killed program must not grow. Where the buffers did fill, or a write was
 * late, it was no burst: for ten seconds it does not rest.
 *
 * It is no thread of low priority, which was tried. A nice value cannot be taken back without
 * privilege when the buffers run full, and a log of calls lasts 3 ms once the writer is woken,
 * which is less than a thread waits that does not preempt others (docs/measurements.md, section 3).
 */
#ifndef MP_RECORD_CORE_THROTTLE_H
#define MP_RECORD_CORE_THROTTLE_H

#include <stdint.h>

#define THROTTLE_CREDIT_NS    INT64_C(5000000) /* some buffers now and then come without a rest */
#define THROTTLE_REST_MOST_NS INT64_C(1000000) /* then it looks again whether there is room */
#define THROTTLE_FREE_NS      UINT64_C(10000000000) /* without rests, once it was pressed */

struct throttle {
    uint64_t begin;      /* of the writer, ns of CLOCK_MONOTONIC */
    uint64_t wall;       /* at the last look, the same */
    uint64_t cpu;        /* CPU time of the writer by then, ns */
    int64_t debt;        /* CPU time beyond its share, ns; credit if negative */
    uint64_t free_until; /* no rests before; like `wall` */
};

/* CPU time of the calling thread, ns. */
uint64_t throttle_cpu_now(void);

/* The writer begins. */
void throttle_begin(struct throttle *throttle, uint64_t wall, uint64_t cpu);

enum throttle_pressure {
    THROTTLE_CALM,
    THROTTLE_HASTE,  /* the next write is near: no rest now */
    THROTTLE_PRESSED /* there is little room left, or the write is late */
};

/* After each buffer and each rest: how long to rest now, ns. */
uint64_t throttle_rest(struct throttle *throttle, uint64_t wall, uint64_t cpu,
                       enum throttle_pressure pressure);

/* What part of a core was used since the begin, percent. */
double throttle_percent(const struct throttle *throttle, uint64_t wall, uint64_t cpu);

#endif
