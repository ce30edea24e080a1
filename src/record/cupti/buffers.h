/* The memory that CUPTI writes its records to.
 *
 * There is one pool, mapped at the start and faulted in before CUPTI asks. bufferRequested runs
 * inside CUDA calls of the application. A malloc there, with its page faults, would show up as a
 * launch that takes a hundred times as long (kineto issue 1020). The pool has the size
 * MINIPROF_BUFFER_MB and never grows.
 *
 *     free stack --bufferRequested--> CUPTI --bufferCompleted--> work queue --writer--> free stack
 *
 * A buffer is BUFFER_BYTES = 1 MiB: room for 4,600 kernels or 26,000 API calls. At 400,000 launches
 * a second, the most that a host can do, it lasts 11 ms. CUPTI keeps a buffer for each launching
 * thread, so larger ones would stay half full; smaller ones would cost more hand-overs.
 *
 * Many threads that launch may need more buffers than the pool has. Then CUPTI gets small overflow
 * buffers, which go the same way as long as the writer keeps up. If it does not, records are lost
 * rather than waited for. The condition: less than a quarter of the overflow buffers is free, and
 * more than a sixteenth waits for the writer. Then the records of overflow buffers that come back
 * are counted and discarded at once:
 *
 *     overflow stack --bufferRequested--> CUPTI --bufferCompleted--> overflow stack
 *
 * The overflow buffers exist because "no buffer" must not be the answer to CUPTI. From the first
 * record that CUPTI has no room for, it stops using its buffers on the GPU for good. Its thread
 * takes more and more time, and in the end kernels have no times (docs/measurements.md, section 4,
 * "CUPTI falls behind").
 *
 * Only when all overflow buffers are out too does bufferRequested answer "no buffer". That takes
 * 480 more launching threads than there are large buffers. CUPTI counts the records that it loses
 * then. Before CUDA 12.9 CUPTI crashes on that answer (kineto PR 1534) and gets a spare buffer
 * instead, whose contents nobody reads. If two threads have the spare buffer at once, it may still
 * crash.
 *
 * Another CUPTI client may take the callbacks over (clients.h). The buffers that CUPTI has then go
 * to that client. The recorder takes them back once the client has finished.
 */
#ifndef MP_RECORD_CUPTI_BUFFERS_H
#define MP_RECORD_CUPTI_BUFFERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define BUFFER_BYTES          ((size_t)1 << 20)
#define OVERFLOW_BYTES        ((size_t)64 << 10)
#define OVERFLOWS             512 /* 32 MiB of addresses; memory only when used */
#define OVERFLOWS_FREE        (OVERFLOWS / 4)
#define OVERFLOWS_WAITING     (OVERFLOWS / 16)
#define SPARE_BYTES           ((size_t)256 << 10)
#define BUFFERS_FAULTED_FIRST 4  /* while the application waits in cuInit: about 1 ms */
#define BUFFERS_AHEAD         16 /* faulted in before they are asked for, by the writer */

struct buffer_pool {
    uint8_t *memory; /* `count` buffers; stays mapped until the process ends, CUPTI writes to it */
    uint8_t *overflow; /* after them: OVERFLOWS buffers of OVERFLOW_BYTES */
    uint8_t *spare;    /* after those: given to a CUPTI that takes no NULL; NULL for others */
    size_t count;
    size_t faulted;       /* buffers whose pages are mapped in: the first ones. The writer's */
    pthread_mutex_t lock; /* of all up to `out`; a few instructions, never across a CUPTI call */
    uint32_t *stack;      /* numbers of the free buffers; the last used is on top, warm in cache */
    uint32_t free_count;
    uint32_t overflow_stack[OVERFLOWS]; /* the same for overflow buffers, whose */
    uint32_t overflow_count;            /* numbers begin at `count` */
    uint32_t overflow_waits;            /* overflow buffers that wait for the writer */
    bool *out;                          /* by number: whether CUPTI has the buffer */
    _Atomic uint64_t completed;         /* buffers that came back, ever */
    _Atomic uint64_t requested;         /* buffers handed out, ever */
    _Atomic uint64_t exhausted;         /* requests for which no large one was free */
    _Atomic uint64_t discarded;         /* records of overflow buffers that were thrown away */
    _Atomic uint64_t spilled;           /* bytes of records that went to the spare buffer */
};

/* Maps `megabytes` and faults the first buffers in. `null_allowed`: bufferRequested may answer
 * NULL. MP_ERR_MEMORY. */
enum mp_status buffer_pool_open(struct buffer_pool *pool, size_t megabytes, bool null_allowed);

/* How many buffers may wait for the writer at a time. */
size_t buffer_pool_max(const struct buffer_pool *pool);

/* Faults in BUFFERS_AHEAD buffers beyond those in use. Untouched buffers lie at the bottom of the
 * stack, so a program that needs few never pays for the rest. The writer, in each round. */
void buffer_pool_fault_ahead(struct buffer_pool *pool);

/* Only while CUPTI has none of the buffers. */
void buffer_pool_close(struct buffer_pool *pool);

/* A zeroed buffer of *bytes: an overflow buffer if no large one is free. NULL and 0 (or the spare)
 * when there is none at all. Any thread. */
uint8_t *buffer_request(struct buffer_pool *pool, size_t *bytes);

/* Whether most of the buffers are out. Any thread. */
bool buffer_pool_is_low(struct buffer_pool *pool);

/* Whether a buffer that has come back is to be discarded, because the writer does not keep up. Any
 * thread. */
bool buffer_is_too_much(struct buffer_pool *pool, const uint8_t *buffer);

/* Discards such a buffer: counts its `records`, zeroes it and puts it back. Any thread. */
void buffer_discard(struct buffer_pool *pool, uint8_t *buffer, uint64_t records);

/* Whether a completed buffer is the spare one. If so, its bytes are counted here and nothing else
 * is to be done. Any thread. */
bool buffer_is_spare(struct buffer_pool *pool, const uint8_t *buffer, size_t valid_bytes);

/* CUPTI gives a buffer back. False when the buffer is not ours, but another client's. Any thread.
 */
bool buffer_returns(struct buffer_pool *pool, const uint8_t *buffer);

/* Whether CUPTI, or another client that CUPTI gave them to, has buffers of ours. Any thread. */
bool buffer_pool_is_out(struct buffer_pool *pool);

/* The next buffer of ours that another client was given, and its size; NULL when there is none. The
 * caller releases it. Only while CUPTI has none of the buffers. Any thread. */
uint8_t *buffer_pool_recover(struct buffer_pool *pool, size_t *bytes);

/* Zeroes a buffer of the pool and puts it back. The writer. */
void buffer_release(struct buffer_pool *pool, uint8_t *buffer);

#endif
