/* Asking CUPTI for its complete buffers. The flusher's. */
#ifndef MP_RECORD_CUPTI_FLUSH_H
#define MP_RECORD_CUPTI_FLUSH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "record/cupti/activity.h"

/* ---- The flusher ----
 *
 * The flusher: the thread that makes the calls into CUPTI that may hang.
 *
 * It flushes CUPTI's complete buffers, registers our clock again (cupti/flush.h), looks for other
 * CUPTI clients (cupti/clients.h) and does what the end of a capture range asks of CUPTI
 * (process/range.h).
 *
 * So neither the writer nor the program waits inside CUPTI. If CUPTI deadlocks, or a thread keeps
 * CUPTI's locks for ever, a signal still ends the program, and the writer still writes the file of
 * a crash.
 *
 * The thread exists from the start, because no thread can be created safely after a crash.
 */

struct flusher {
    _Atomic uint32_t woken;           /* wake-ups, ever; a futex */
    _Atomic uint32_t asked;           /* requests ever */
    _Atomic uint32_t done;            /* requests that are done */
    _Atomic uint32_t taken;           /* requests whose records the writer has taken */
    _Atomic uint64_t dropped;         /* records that CUPTI dropped, not taken yet */
    _Atomic uint64_t dropped_between; /* the same while the kinds were off: ours, unless another
                                         client turns out to have had CUPTI */
    _Atomic bool gives_clock;         /* register our clock again after the next flush */
    _Atomic bool busy;                /* it is in CUPTI, or about to be */
    _Atomic bool forced;              /* flush incomplete buffers too: the process dies */
    _Atomic bool stop;
};

/* Wakes the thread to look for work. Any thread. */
void flusher_wake(struct flusher *flusher);

/* Asks for a flush and returns the number of the request, without waiting. The writer only. */
uint32_t flusher_ask(struct flusher *flusher);

/* Whether the request is done. The flusher wakes the writer after each request. */
bool flusher_is_done(struct flusher *flusher, uint32_t request);

/* Whether any request is not done yet. */
bool flusher_is_behind(const struct flusher *flusher);

/* Waits up to `ms` until the thread has left CUPTI; whether it has. After recording has ended. */
bool flusher_rests(const struct flusher *flusher, int ms);

/* The thread itself: waits until woken; returns at once if that happened since `woken` was `seen`.
 * NULL: without a limit. */
void flusher_rest(struct flusher *flusher, uint32_t seen, const struct timespec *limit);

/* Tells the thread to end as soon as it has left CUPTI. */
void flusher_stop(struct flusher *flusher);

/* ---- What it does ---- */

struct gpu;

/* Does what flusher_ask has asked for: flushes CUPTI, if it may be flushed, and registers the clock
 * again, if flusher.gives_clock, through `alone` (gpu_switch_alone). The flusher only. */
void flush_buffers(struct gpu *gpu, gpu_switch_alone *alone);

/* Notes how many records CUPTI has dropped, for the writer. Asks CUPTI, which may hang: the
 * flusher, and the thread of the last flush. */
void flush_count_drops(struct gpu *gpu);

/* Whether the clock may be registered again now (activity_give_clock). `answers`: clients_answers
 * before the last flush. The flusher only. */
bool flush_may_give_clock(struct gpu *gpu, uint64_t answers);

#endif
