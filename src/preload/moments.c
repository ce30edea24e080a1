/* Reads the clock, and makes times of the counter's counts. */
#include "preload/moments.h"

#include <pthread.h>
#include <time.h>

#include "preload/next.h"

#include "base/poison.h"

#if defined(__x86_64__)
#define MIN_AT_FIRST 1000 /* counters of 0.5 to 5 GHz */
#else
#define MIN_AT_FIRST 20 /* of 10 MHz and more */
#endif

_Atomic uint64_t moments_min = MIN_AT_FIRST;

static struct moments_pair first; /* from the constructor on */

static uint64_t read_monotonic(void)
{
    struct timespec now = {0, 0};

    LIBC(clock_gettime)(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t moments_now(void)
{
    uint64_t (*clock)(void) = atomic_load_explicit(&miniprof_preload.clock, memory_order_acquire);

    return clock ? clock() : read_monotonic();
}

__attribute__((constructor)) static void take_first(void)
{
    first.count = moments_counter();
    first.ns = read_monotonic();
}

static uint64_t ns_since(uint64_t count, struct moments_pair from, struct moments_pair now)
{
    double rate = (double)(now.ns - from.ns) / (double)(now.count - from.count);

    atomic_store_explicit(&moments_min, (uint64_t)(0.95 * MP_WAIT_MIN_NS / rate),
                          memory_order_relaxed);
    return (uint64_t)((double)(now.count - count) * rate);
}

bool moments_convert_at(struct moments_mark mark, struct moments_pair from, struct moments_pair now,
                        uint64_t *begin, uint64_t *end)
{
    *end = now.ns;
    *begin = mark.count;
    if (mark.counted) {
        if (!from.ns || now.ns <= from.ns || now.count <= from.count || mark.count < from.count)
            return false;
        *begin = now.ns - ns_since(mark.count, from, now);
    }
    return *end > *begin && *end - *begin > MP_WAIT_MIN_NS;
}

bool moments_convert(struct moments_mark mark, uint64_t *begin, uint64_t *end)
{
    struct moments_pair now;

    now.count = moments_counter();
    now.ns = moments_now();
    return moments_convert_at(mark, first, now, begin, end);
}

/* ---- Stamps ---- */

/* glibc makes the number of a thread's clock of its id, in the kernel's form: ~id above 3 bits. */
uint32_t moments_thread(void)
{
    clockid_t clock;

    return LIBC(pthread_getcpuclockid)(LIBC(pthread_self)(), &clock) == 0 ? (uint32_t) ~(clock >> 3)
                                                                          : 0;
}

uint64_t moments_stamp(void)
{
    return moments_pack(moments_now(), moments_thread());
}
