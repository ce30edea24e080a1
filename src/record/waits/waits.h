/* Waits of host threads, on their way from libminiprof_preload.so to the writer (base/preload.h).
 *
 * The threads that have waited put their waits into one bounded ring, without a lock; the writer
 * takes them out in each round. If the ring is full, a wait is lost and counted. A thread wakes the
 * writer when the ring is half full.
 *
 *     turn of a slot, in the ring's lap number n:   2n free, 2n + 1 filled
 *
 * Waits are timed from the begin of the recording to its end. The writer keeps those of the capture
 * ranges (rows/recording.c).
 */
#ifndef MP_RECORD_WAITS_WAITS_H
#define MP_RECORD_WAITS_WAITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/preload.h"

#define WAITS_SLOTS 8192u /* a power of two; 512 KiB, touched as it fills */

struct core;
struct stacks;

struct wait_slot {
    _Atomic uint64_t turn;
    struct mp_preload_wait wait;
};

struct waits {
    _Atomic(struct mp_preload *) preload; /* that is asked; NULL: none */
    _Atomic uint64_t put;                 /* ever; any thread */
    _Atomic uint64_t taken;               /* the writer */
    _Atomic uint64_t lost;                /* any thread */
    struct wait_slot slots[WAITS_SLOTS];
};

/* Puts a wait; false if there is no room, which is counted. `half`: this one has made the ring half
 * full. Any thread; async-signal-safe. */
bool waits_put(struct waits *waits, const struct mp_preload_wait *wait, bool *half);

/* Takes the oldest wait; false when there is none. The writer only. */
bool waits_take(struct waits *waits, struct mp_preload_wait *wait);

/* Has the library tell of waits from now on, but not of those in CUPTI, where `cupti` is an
 * address. Once recording has begun. */
void waits_ask(struct waits *waits, struct stacks *stacks, struct core *core,
               struct mp_preload *preload, uintptr_t cupti);

/* No longer: the recording ends, or this is a forked child. */
void waits_stop(struct waits *waits);

#endif
