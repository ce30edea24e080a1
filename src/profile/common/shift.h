/* By how much one set of times is longer than another, and how certain this is. The shift is that
 * of Hodges and Lehmann: the median of all differences between a value of one set and a value of
 * the other. The interval is distribution-free and belongs to the test of Mann and Whitney.
 *
 *     before   4 5 6          differences  -1 0 0 1 1 1 2 2 3
 *     after    5 6 7                                ^ shift 1
 *
 * Latencies have long tails, so no normal distribution is assumed, and a few outliers do not move
 * the shift. The interval assumes independent values; values of one run are less independent than
 * values of several runs. Source: Hollander, Wolfe, Nonparametric Statistical Methods, 4.2 and 4.3
 * (large samples).
 */
#ifndef MP_PROFILE_COMMON_SHIFT_H
#define MP_PROFILE_COMMON_SHIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shift {
    double center; /* ns; positive: `after` is longer */
    bool
        bounded; /* whether there are enough values for an interval: for 95 %, 4 and 4 are enough */
    int64_t low; /* the interval that contains the true shift with the requested confidence, ns */
    int64_t high;
};

#define SHIFT_GREATEST ((UINT64_C(1) << 61) - 1) /* ns; 73 years */

/* The confidence of the interval, as a quantile of the normal distribution. */
#define SHIFT_95_PERCENT   1.959963984540054
#define SHIFT_99_9_PERCENT 3.290526731491926

/* Whether that many values are enough for an interval. */
bool shift_can_bound(size_t before_count, size_t after_count, double quantile);

/* The shift with its 95 % interval. Sorts both arrays. Values are below 2^61 ns. Without a value on
 * one side the shift is 0 and has no interval. Time: n log n, and for each bit of the greatest
 * difference four passes over both. */
struct shift shift_between(uint64_t *before, size_t before_count, uint64_t *after,
                           size_t after_count);

/* The same, with the confidence that the quantile gives; shift_between uses that of 95 %. */
struct shift shift_between_at(uint64_t *before, size_t before_count, uint64_t *after,
                              size_t after_count, double quantile);

#endif
