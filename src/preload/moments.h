/* Times of waits, and the stamps that wakers leave.
 *
 * Most calls that may wait do not. For them the processor's counter is read before and after, which
 * takes less than half of what reading the clock twice takes. Only if the call took long are counts
 * made into times: the end is read from the clock, and the begin lies before it by the difference
 * of the counts. Their rate is measured over the whole life of the process.
 */
#ifndef MP_PRELOAD_WAITS_MOMENTS_H
#define MP_PRELOAD_WAITS_MOMENTS_H

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

#endif
