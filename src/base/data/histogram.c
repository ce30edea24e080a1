/* Counts numbers in buckets that grow with the number. All counts are atomics without order, so
 * that any thread and a signal handler can add at the same time.
 */
#include "base/data/histogram.h"

#include "base/poison.h"

#define PARTS 16u /* buckets of a power of two */

static unsigned bucket_of(uint64_t number)
{
    unsigned power;

    if (number < PARTS)
        return (unsigned)number;
    power = 63u - (unsigned)__builtin_clzll(number); /* 4 at least */
    return PARTS + (power - 4) * PARTS + (unsigned)(number >> (power - 4)) - PARTS;
}

static uint64_t max_of(unsigned bucket)
{
    unsigned power;
    uint64_t first;

    if (bucket < PARTS)
        return bucket;
    power = (bucket - PARTS) / PARTS;
    first = (uint64_t)(PARTS + (bucket - PARTS) % PARTS) << power;
    return first + ((UINT64_C(1) << power) - 1);
}

void mp_histogram_add(struct mp_histogram *histogram, uint64_t number)
{
    atomic_fetch_add_explicit(&histogram->counts[bucket_of(number)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->total, 1, memory_order_relaxed);
}

uint64_t mp_histogram_count(const struct mp_histogram *histogram)
{
    return atomic_load_explicit(&histogram->total, memory_order_relaxed);
}

uint64_t mp_histogram_percentile(const struct mp_histogram *histogram, unsigned percent)
{
    uint64_t total = mp_histogram_count(histogram);
    uint64_t rank = total / 100 * percent + (total % 100 * percent + 99) / 100;
    uint64_t seen = 0;
    unsigned last = 0;
    unsigned i;

    if (!total)
        return 0;
    for (i = 0; i < MP_HISTOGRAM_BUCKETS && seen < rank; i++) {
        uint64_t count = atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);

        seen += count;
        last = count ? i : last;
    }
    return max_of(last);
}
