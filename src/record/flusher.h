/* A thread that asks CUPTI for its complete buffers, so that the writer never waits inside of
 * CUPTI: when the program crashes another thread may hold CUPTI's locks for ever. Only with the
 * flight recorder; it is there from the start, as no thread can be made safely after a crash. It
 * looks for other CUPTI clients too (clients.h).
 */
#ifndef MP_RECORD_FLUSHER_H
#define MP_RECORD_FLUSHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct recorder;

struct flusher {
    _Atomic uint32_t asked;   /* requests ever; a futex */
    _Atomic uint32_t done;    /* of them, those that are done */
    _Atomic uint64_t dropped; /* records that CUPTI dropped, not taken yet */
    _Atomic bool forced;      /* what is not complete is wanted too: the process dies */
    _Atomic bool stop;
};

/* Asks CUPTI itself, where that is allowed: without the flight recorder. The writer only. */
void flusher_flush(struct recorder *recorder);

enum mp_status flusher_start(struct recorder *recorder);

/* Asks for a flush; does not wait. The number of the request. The writer only. */
uint32_t flusher_ask(struct flusher *flusher);

/* Whether the request is done. The writer is woken when one is. */
bool flusher_is_done(struct flusher *flusher, uint32_t request);

/* Has CUPTI flush and takes what comes, until it is through or a second is over. The writer only.
 */
void flusher_gather(struct recorder *recorder);

/* The thread ends when it is out of CUPTI. */
void flusher_stop(struct flusher *flusher);

#endif
