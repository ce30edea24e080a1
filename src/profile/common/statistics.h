/* Statistics of many numbers: mean, spread and percentiles.
 *
 * Percentiles are nearest-rank: the smallest value that at least p percent of the values do not
 * exceed. So each percentile is one of the values.
 */
#ifndef MP_PROFILE_COMMON_STATISTICS_H
#define MP_PROFILE_COMMON_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/* In the unit of the values; all 0 if there are no values. */
struct statistics {
    double mean;
    double deviation; /* standard, of a sample (divided by count - 1); 0 of a single value */
    uint64_t min;
    uint64_t p50;
    uint64_t p90;
    uint64_t p95;
    uint64_t p99;
    uint64_t max;
};

/* Statistics of `count` values, which are sorted in place. */
struct statistics statistics_of(uint64_t *values, size_t count);

/* A percentile of sorted values; `count` is not 0, `percent` 0 to 100. */
uint64_t statistics_percentile(const uint64_t *sorted, size_t count, unsigned percent);

#endif
