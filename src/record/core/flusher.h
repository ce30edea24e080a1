/* A thread that asks CUPTI for its complete buffers, looks for other CUPTI clients (clients.h),
 * gives CUPTI its clock again (cupti/clock_renewal.h) and does what the end of a capture range asks
 * of CUPTI (ranges/switch.h), so that neither the writer nor the program waits inside of CUPTI for
 * that: a CUPTI that deadlocks must not keep a signal from ending the program, nor a crash from
 * being written, when another thread may hold CUPTI's locks for ever. It is there from the start,
 * as no thread can be made safely after a crash.
 */
#ifndef MP_RECORD_CORE_FLUSHER_H
#define MP_RECORD_CORE_FLUSHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

struct recorder;

struct flusher {
    _Atomic uint32_t woken;   /* how often, ever; a futex */
    _Atomic uint32_t asked;   /* requests ever */
    _Atomic uint32_t done;    /* of them, those that are done */
    _Atomic uint32_t taken;   /* and those of which the writer has taken what came */
    _Atomic uint64_t dropped; /* records that CUPTI dropped, not taken yet */
    _Atomic bool gives_clock; /* after the next flush it is to give CUPTI its clock again */
    _Atomic bool busy;        /* it is in CUPTI, or about to be */
    _Atomic bool forced;      /* what is not complete is wanted too: the process dies */
    _Atomic bool stop;
    _Atomic pid_t tid; /* 0 until it runs */
};

enum mp_status flusher_start(struct recorder *recorder);

/* Whether CUPTI may be flushed now: not before it ever wanted a buffer, not beside the last flush,
 * and not for another client. */
bool flusher_may_flush(const struct recorder *recorder);

/* Has `how`, which is or asks for activity_give_clock, done by range_switch, where CUPTI may get
 * its clock again. `answers`: clients_answers before the last flush. The flusher only. */
void flusher_give_clock(struct recorder *recorder, uint64_t answers,
                        void (*how)(struct recorder *recorder));

/* Has the thread look whether there is something to do. Any thread. */
void flusher_wake(struct flusher *flusher);

/* Asks for a flush; does not wait. The number of the request. The writer only. */
uint32_t flusher_ask(struct flusher *flusher);

/* Whether the request is done. The writer is woken when one is. */
bool flusher_is_done(struct flusher *flusher, uint32_t request);

/* Takes in what there is: a round of the writer. */
void flusher_take(struct recorder *recorder);

/* The same when something comes, or nothing has for a moment. The writer only. */
void flusher_take_next(struct recorder *recorder);

/* Has CUPTI flush and takes what comes, until it is through or `ms` are over. The writer only. */
void flusher_gather(struct recorder *recorder, int ms);

/* Whether a request is not done. */
bool flusher_is_behind(const struct flusher *flusher);

/* Whether the thread is out of CUPTI, waiting `ms` for it at most. After recording has ended. */
bool flusher_rests(const struct flusher *flusher, int ms);

/* The thread ends when it is out of CUPTI. */
void flusher_stop(struct flusher *flusher);

#endif
