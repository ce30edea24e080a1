/* How much CPU time the writer takes: at most half a core, as long as the waiting data has room and
 * is not overdue.
 *
 * The program determines how much work the writer has. At 12 million records a second (a host that
 * launches as fast as it can) the writer needs 5 to 10 % of a core. In a burst, at a high
 * MINIPROF_LEVEL or with many threads it needs more. Then it rests between buffers and lets them
 * fill, so that it does not compete with the program for cores and caches.
 *
 * It does not rest when half of the buffers are full: records are worth more than cores. Nor does
 * it rest when the next write is near: a killed program must not lose more than one write interval.
 *
 * If the buffers fill, or a write is late, the load is no burst: the writer then does not rest for
 * ten seconds.
 *
 * The writer does not run at a low priority. A nice value cannot be raised again without privilege
 * when the buffers run full. And a call log lasts 3 ms once the writer is woken, less than a thread
 * waits that may not preempt others (docs/measurements.md, section 3).
 */
#ifndef MP_RECORD_CORE_THROTTLE_H
#define MP_RECORD_CORE_THROTTLE_H

#include <stdint.h>

struct throttle {
    uint64_t begin;      /* when the writer began, ns of CLOCK_MONOTONIC */
    uint64_t wall;       /* time of the last look, ns of CLOCK_MONOTONIC */
    uint64_t cpu;        /* CPU time of the writer at that look, ns */
    int64_t debt;        /* CPU time beyond its share, ns; credit if negative */
    uint64_t free_until; /* no rests before this time; clock as `wall` */
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

/* CPU time since the begin, in percent of one core. */
double throttle_percent(const struct throttle *throttle, uint64_t wall, uint64_t cpu);

#endif
