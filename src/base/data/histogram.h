/* Counts numbers in buckets whose width grows with the number. A percentile then takes the same
 * time, however many numbers were counted.
 *
 * Each power of two is cut into 16 buckets of equal width; each number below 16 has its own bucket.
 * A percentile is answered with the greatest number of its bucket: never less than the true one,
 * and at most 1/16 more.
 *
 * Any thread, also several at once and in a signal handler: counters are atomic, nothing is
 * allocated. A zeroed struct is empty.
 */
#ifndef MP_BASE_DATA_HISTOGRAM_H
#define MP_BASE_DATA_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#define MP_HISTOGRAM_BUCKETS (16u + 60u * 16u)

struct mp_histogram {
    _Atomic uint64_t total;
    _Atomic uint64_t counts[MP_HISTOGRAM_BUCKETS];
};

/* Counts a number in. */
void mp_histogram_add(struct mp_histogram *histogram, uint64_t number);

/* How many numbers were counted. */
uint64_t mp_histogram_count(const struct mp_histogram *histogram);

/* The number that `percent` (1 to 100) of all numbers do not exceed; 0 when there was none. */
uint64_t mp_histogram_percentile(const struct mp_histogram *histogram, unsigned percent);

#endif
