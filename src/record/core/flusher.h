/* A thread that asks CUPTI for its complete buffers, gives CUPTI its clock again (cupti/flush.h),
 * looks for other CUPTI clients (cupti/clients.h) and does what the end of a capture range asks
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

/* Has the thread look whether there is something to do. Any thread. */
void flusher_wake(struct flusher *flusher);

/* Asks for a flush; does not wait. The number of the request. The writer only. */
uint32_t flusher_ask(struct flusher *flusher);

/* Whether the request is done. The writer is woken when one is. */
bool flusher_is_done(struct flusher *flusher, uint32_t request);

/* Whether a request is not done. */
bool flusher_is_behind(const struct flusher *flusher);

/* Whether the thread is out of CUPTI, waiting `ms` for it at most. After recording has ended. */
bool flusher_rests(const struct flusher *flusher, int ms);

/* The thread ends when it is out of CUPTI. */
void flusher_stop(struct flusher *flusher);

#endif
