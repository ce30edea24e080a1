/* Times of waits, and the stamps that wakers leave.
 *
 * Most calls that may wait do not. For them the processor's counter is read before and after, which
 * takes less than half of what reading the clock twice takes. Only if the call took long are counts
 * made into times: the end is read from the clock, and the begin lies before it by the difference
 * of the counts. Their rate is measured over the whole life of the process.
 */
#ifndef MP_PRELOAD_OBJECTS_H
#define MP_PRELOAD_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/preload.h"

extern struct mp_preload miniprof_preload;

/* Now, in ns of the recorder's clock. Async-signal-safe, as all of this file. */
uint64_t moments_now(void);

static inline uint64_t moments_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t count;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#endif
}

/* The begin of a call that may wait. */
struct moments_mark {
    uint64_t count; /* of the counter, or ns */
    bool counted;
};

static inline struct moments_mark moments_mark(void)
{
    if (atomic_load_explicit(&miniprof_preload.counter_is_even, memory_order_relaxed))
        return (struct moments_mark){moments_counter(), true};
    return (struct moments_mark){moments_now(), false};
}

extern _Atomic uint64_t moments_min; /* counts in a bit less than MP_WAIT_MIN_NS */

/* Counter and clock, read together. */
struct moments_pair {
    uint64_t count;
    uint64_t ns;
};

/* Sets begin and end of a call that has taken longer than MP_WAIT_MIN_NS; false for others. */
bool moments_convert(struct moments_mark mark, uint64_t *begin, uint64_t *end);

static inline bool moments_waited(struct moments_mark mark, uint64_t *begin, uint64_t *end)
{
    if (mark.counted &&
        moments_counter() - mark.count < atomic_load_explicit(&moments_min, memory_order_relaxed))
        return false;
    return moments_convert(mark, begin, end);
}

/* The same for a call that ends at `now`, by the counter's rate since `from`. */
bool moments_convert_at(struct moments_mark mark, struct moments_pair from, struct moments_pair now,
                        uint64_t *begin, uint64_t *end);

/* ---- Stamps: moment and thread in one word, which is 0 where there is none ---- */

/* The calling thread's, at this moment. */
uint64_t moments_stamp(void);

/* gettid of this thread, without a system call. In a vfork child: its parent's. */
uint32_t moments_thread(void);

#define STAMP_THREAD_BITS 22 /* pid_max of Linux is 2^22 */

static inline uint64_t moments_pack(uint64_t ns, uint32_t thread)
{
    return ns << STAMP_THREAD_BITS | (thread & ((1u << STAMP_THREAD_BITS) - 1));
}

static inline uint32_t moments_thread_of(uint64_t stamp)
{
    return (uint32_t)stamp & ((1u << STAMP_THREAD_BITS) - 1);
}

/* The moment, which was no later than `end` and at most 73 minutes before it. */
static inline uint64_t moments_time_of(uint64_t stamp, uint64_t end)
{
    const uint64_t mask = UINT64_MAX >> STAMP_THREAD_BITS;

    return end - ((end - (stamp >> STAMP_THREAD_BITS)) & mask);
}

/* ---- Objects ----
 *
 * The objects that threads wait for at this moment, and who woke them last.
 *
 *     hash of the object -> bucket: how many wait for objects of this bucket
 *                                   3 places: an object, how many wait for it, the last waker
 *
 * A waker reads one counter, and goes on if nobody waits. Otherwise it leaves a stamp in the places
 * of its object, before the call that wakes. The one that waited finds the stamp when it returns.
 *
 * No locks, no memory, no system calls; all of it may run in a signal handler. If a bucket is full,
 * a thread waits unnoticed, and nobody is named as its waker. A thread that leaves its wait by
 * siglongjmp stays in the table: one of its places is lost, and wakers of that object take 30 ns
 * longer.
 */

#define OBJECT_BUCKETS 1024u /* a power of two */
#define OBJECT_PLACES  3u

struct waited_object {
    _Atomic uint64_t object; /* 48 bits of its address, and 16 of how many wait; 0: free */
    _Atomic uint64_t waker;  /* the last stamp, 0: none */
};

struct object_bucket {
    _Alignas(64) _Atomic uint64_t waiting;
    struct waited_object places[OBJECT_PLACES];
};
_Static_assert(sizeof(struct object_bucket) == 64, "one line of the cache");

extern struct object_bucket object_buckets[OBJECT_BUCKETS];

static inline struct object_bucket *objects_bucket(uint64_t object)
{
    return &object_buckets[(object * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}
_Static_assert(OBJECT_BUCKETS == 1u << (64 - 54), "the shift above");

/* This thread is about to wait for it. NULL: there is no room. */
struct waited_object *objects_enter(uint64_t object);

/* It has stopped waiting. Answers the last waker's stamp, which may be from before the wait. */
uint64_t objects_leave(uint64_t object, struct waited_object *place);

/* Leaves this thread's stamp, or a given one, with the object. */
void objects_stamp(uint64_t object);
void objects_leave_stamp(uint64_t object, uint64_t stamp);

/* This thread is about to wake who waits for the object. */
static inline void objects_wake(uint64_t object)
{
    if (__builtin_expect(
            atomic_load_explicit(&objects_bucket(object)->waiting, memory_order_relaxed) != 0, 0))
        objects_stamp(object);
}

#endif
