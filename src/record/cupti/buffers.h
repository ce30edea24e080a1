/* The memory that CUPTI writes its records to.
 *
 * One pool, mapped at the start and faulted in before CUPTI asks: bufferRequested runs inside
 * CUDA calls of the application, where a malloc and its page faults would show up as a launch that
 * takes a hundred times as long (kineto issue 1020). Its size is MINIPROF_BUFFER_MB and never
 * grows.
 *
 *     free stack --bufferRequested--> CUPTI --bufferCompleted--> work queue --writer--> free stack
 *
 * A buffer is BUFFER_BYTES = 1 MiB: room for 4,600 kernels or 26,000 API calls, so at the 400,000
 * launches a second that a host can do it lasts 11 ms; larger ones would only sit half full in
 * every launching thread (CUPTI keeps one for each), smaller ones cost more hand-overs.
 *
 * When these are out there are small overflow buffers behind them, which go the same way while the
 * writer follows: many threads that launch need more buffers than memory. Where it does not follow,
 * records are lost, never waited for: when less than a quarter of the overflow buffers is free and
 * more than a sixteenth waits for it, the records of those that come back are counted and thrown
 * away at once:
 *
 *     overflow stack --bufferRequested--> CUPTI --bufferCompleted--> overflow stack
 *
 * For CUPTI must not be told "no buffer": from the first record on that it has no room for it never
 * uses its buffers on the GPU again, its thread takes more and more time, and in the end kernels
 * have no times (docs/measurements.md, section 4, "CUPTI falls behind"). Only when all overflow
 * buffers are out as well that is the answer, which takes 480 threads more that launch than there
 * are large buffers; CUPTI counts such records itself. Before CUDA 12.9 it crashes on that (kineto
 * PR 1534) and gets a spare buffer whose contents nobody reads; it may crash on that too, when two
 * threads have it at once.
 *
 * Another CUPTI client may take the callbacks over (clients.h). The buffers that CUPTI had then go
 * to that client; once it is through with CUPTI they are taken back.
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
#define OVERFLOWS             512 /* 32 MiB of addresses, memory only when they are used */
#define OVERFLOWS_FREE        (OVERFLOWS / 4)
#define OVERFLOWS_WAITING     (OVERFLOWS / 16)
#define SPARE_BYTES           ((size_t)256 << 10)
#define BUFFERS_FAULTED_FIRST 4  /* while the application waits in cuInit: about 1 ms */
#define BUFFERS_AHEAD         16 /* faulted in before they are asked for, by the writer */

struct buffer_pool {
    uint8_t *memory; /* `count` buffers; stays mapped until the process ends, CUPTI writes to it */
    uint8_t *overflow; /* behind them: OVERFLOWS of OVERFLOW_BYTES */
    uint8_t *spare;    /* behind those: for a CUPTI that takes no NULL; NULL if it does */
    size_t count;
    size_t faulted;       /* buffers whose pages are there: always the first ones. The writer's */
    pthread_mutex_t lock; /* of all up to `out`; a few instructions, never across a CUPTI call */
    uint32_t *stack;      /* numbers of the free buffers; the last used is on top, warm in cache */
    uint32_t free_count;
    uint32_t overflow_stack[OVERFLOWS]; /* the same of overflow buffers; their numbers are those */
    uint32_t overflow_count;            /* from `count` on */
    uint32_t overflow_waits;            /* for the writer, of them */
    bool *out;                          /* for each number whether CUPTI has it */
    _Atomic uint64_t completed;         /* buffers that came back, ever */
    _Atomic uint64_t requested;         /* buffers handed out, ever */
    _Atomic uint64_t exhausted;         /* requests for which no large one was free */
    _Atomic uint64_t discarded;         /* records of overflow buffers that were thrown away */
    _Atomic uint64_t spilled;           /* bytes of records that went to the spare buffer */
};

/* Maps `megabytes` and faults the first buffers in. `null_allowed`: bufferRequested may answer
 * NULL. MP_ERR_MEMORY. */
enum mp_status buffer_pool_open(struct buffer_pool *pool, size_t megabytes, bool null_allowed);

/* How many may wait for the writer at a time. */
size_t buffer_pool_most(const struct buffer_pool *pool);

/* Keeps BUFFERS_AHEAD buffers beyond those in use faulted in. Untouched buffers lie at the bottom
 * of the stack, so a program that needs few never pays for the rest. The writer, in each round. */
void buffer_pool_fault_ahead(struct buffer_pool *pool);

/* Only while CUPTI has none of the buffers. */
void buffer_pool_close(struct buffer_pool *pool);

/* A zeroed buffer of *bytes, an overflow buffer if there is no other; NULL and 0 (or the spare)
 * when there is none at all. Any thread. */
uint8_t *buffer_request(struct buffer_pool *pool, size_t *bytes);

/* Whether most of the buffers are out. Any thread. */
bool buffer_pool_is_low(struct buffer_pool *pool);

/* Whether a buffer that has come back is to be thrown away, as the writer does not follow. Any
 * thread. */
bool buffer_is_too_much(struct buffer_pool *pool, const uint8_t *buffer);

/* Throws it away, with so many records: they are counted, and it is zeroed and put back. Any
 * thread. */
void buffer_discard(struct buffer_pool *pool, uint8_t *buffer, uint64_t records);

/* Whether a completed buffer is the spare one: then it is counted here and done with. Any thread.
 */
bool buffer_is_spare(struct buffer_pool *pool, const uint8_t *buffer, size_t valid_bytes);

/* CUPTI gives a buffer back. False when it is not one that was handed out here: another client's.
 * Any thread. */
bool buffer_returns(struct buffer_pool *pool, const uint8_t *buffer);

/* Whether CUPTI has buffers, or somebody else whom it gave them. Any thread. */
bool buffer_pool_is_out(struct buffer_pool *pool);

/* The next buffer that CUPTI had and that somebody else was given, and its size; NULL when there is
 * none. It is to be released. Only while CUPTI has none of the buffers. Any thread. */
uint8_t *buffer_pool_recover(struct buffer_pool *pool, size_t *bytes);

/* Zeroes a buffer of the pool and puts it back. The writer. */
void buffer_release(struct buffer_pool *pool, uint8_t *buffer);

#endif
