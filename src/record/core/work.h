/* What the application's threads hand to the writer thread, in one order.
 *
 * Completed buffers and capture marks share a queue because their order carries meaning: work that
 * is launched after cudaProfilerStart returns is in buffers that complete after the mark, so the
 * writer never meets a record of a range before it knows the range.
 *
 * Any thread puts, one takes. The lock is held for a few instructions and never across a call into
 * CUPTI. The queue is bounded: it has room for every buffer that exists, and for WORK_MARKS marks.
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
    WORK_BUFFER, /* data, bytes: a completed buffer with that many valid bytes */
    WORK_START,  /* time, correlation (0: unknown), reason: a capture range begins */
    WORK_STOP,   /* the same: it ends */
    WORK_LAST    /* time: the process ends; calls from now on are the collector's own */
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
    /* Items ever put and taken. The writer compares them to see, before it uses anything that came
     * another way, whether a mark stands in front of it. */
    _Atomic uint64_t put;
    uint64_t taken;
    _Atomic uint64_t lost; /* marks that found no room */
    /* Not 0: the writer was told (WORK_IS_WAITING, WORK_HURRY) and has not looked yet. A futex and
     * no descriptor: a program that closes all descriptors (daemons do) would make us write into
     * whatever gets the number next. */
    _Atomic uint32_t woken;
};

/* Room for `buffers` buffers and the marks. MP_ERR_MEMORY. */
enum mp_status work_queue_open(struct work_queue *queue, size_t buffers);

void work_queue_close(struct work_queue *queue);

/* Puts an item and wakes the writer, unless it rests. False when there was no room, counted. */
bool work_put(struct work_queue *queue, const struct work *item);

/* Takes the oldest item; false when there is none. The writer only. */
bool work_take(struct work_queue *queue, struct work *item);

/* Whether something was put that has not been taken. The writer only. */
static inline bool work_waiting(const struct work_queue *queue)
{
    return atomic_load_explicit(&queue->put, memory_order_acquire) != queue->taken;
}

/* Wakes the writer, also from a rest: for what is bounded tighter than buffers are, and the end.
 * Any thread; async-signal-safe. */
void work_wake(struct work_queue *queue);

/* Waits until woken, at most so long. The writer only. */
void work_wait(struct work_queue *queue, int timeout_ms);

/* Rests for so long, or until work_wake: then true. What was told before or meanwhile ends the next
 * work_wait. The writer only. */
bool work_rest(struct work_queue *queue, uint64_t ns);

#endif
