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

#endif
