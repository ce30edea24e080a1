/* What the application's threads hand to the writer thread, in one order.
 *
 * Completed buffers and capture marks share one queue because their order carries meaning. Work
 * that is launched after cudaProfilerStart returns is in buffers that complete after the mark. So
 * the writer never meets a record of a range before it knows the range.
 *
 * Any thread puts items; the writer takes them. The lock is held for a few instructions and never
 * across a call into CUPTI. The queue is bounded: it has room for every buffer that exists, and for
 * WORK_MARKS marks.
 */
#ifndef MP_RECORD_CORE_WORK_H
#define MP_RECORD_CORE_WORK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define WORK_MARKS 4096

enum work_word { WORK_IS_WAITING = 1, WORK_HURRY = 2 };

enum work_kind {
    WORK_BUFFER,  /* data, bytes: a completed buffer with that many valid bytes */
    WORK_START,   /* time, correlation (0: unknown), reason: a capture range begins */
    WORK_STOP,    /* the same: it ends */
    WORK_EARLIER, /* time: work launched before the open range still runs */
    WORK_LAST     /* time: the process ends; calls from now on are the recorder's own */
};

struct work {
    enum work_kind kind;
    uint8_t reason; /* enum capture_reason of the trace */
    uint32_t correlation;
    uint64_t time;
    uint8_t *data;
    size_t bytes;
};

struct work_queue {
    pthread_mutex_t lock;
    struct work *items; /* a ring of `capacity`, a power of two */
    uint32_t capacity;
    uint32_t head, tail; /* under the lock; head - tail items are waiting */
    /* Items ever put and taken. Before the writer uses data that came another way, it compares the
     * two to see whether a mark is still queued. */
    _Atomic uint64_t put;
    uint64_t taken;
    _Atomic uint64_t lost; /* marks that found no room */
    /* Not 0: the writer was woken (WORK_IS_WAITING, WORK_HURRY) and has not looked yet. This is a
     * futex, not a descriptor. Daemons close all descriptors; with an eventfd we would then write
     * into whatever file gets its number next. */
    _Atomic uint32_t woken;
};

/* Room for `buffers` buffers and the marks. MP_ERR_MEMORY. */
enum mp_status work_queue_open(struct work_queue *queue, size_t buffers);

void work_queue_close(struct work_queue *queue);

/* Puts an item and wakes the writer, unless the writer rests. False if there was no room; that is
 * counted in `lost`. */
bool work_put(struct work_queue *queue, const struct work *item);

/* Takes the oldest item; false when there is none. The writer only. */
bool work_take(struct work_queue *queue, struct work *item);

/* Whether something was put that has not been taken. The writer only. */
static inline bool work_waiting(const struct work_queue *queue)
{
    return atomic_load_explicit(&queue->put, memory_order_acquire) != queue->taken;
}

/* Wakes the writer, also from a rest: for rings that fill sooner than buffers do, and for the end.
 * Any thread; async-signal-safe. */
void work_wake(struct work_queue *queue);

/* Waits until woken, for `timeout_ms` at most. The writer only. */
void work_wait(struct work_queue *queue, int timeout_ms);

/* Rests for `ns`, or until work_wake; true in the latter case. An item that was put before or
 * during the rest ends the next work_wait at once. The writer only. */
bool work_rest(struct work_queue *queue, uint64_t ns);

/* ---- How much CPU time the writer takes ----
 *
 * How much CPU time the writer takes: at most half a core, as long as the waiting data has room and
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
