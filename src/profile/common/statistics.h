/* Statistics of many numbers: mean, spread and percentiles, and by how much two sets differ.
 *
 * Percentiles are nearest-rank: the smallest value that at least p percent of the values do not
 * exceed. So each percentile is one of the values.
 */
#ifndef MP_PROFILE_COMMON_STATISTICS_H
#define MP_PROFILE_COMMON_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/json.h"

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

/* ---- Shift ----
 *
 * By how much one set of times is longer than another, and how certain this is. The shift is that
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

struct shift {
    double center; /* ns; positive: `after` is longer */
    bool
        bounded; /* whether there are enough values for an interval: for 95 %, 4 and 4 are enough */
    int64_t low; /* the interval that contains the true shift with the requested confidence, ns */
    int64_t high;
};

#define SHIFT_MAX ((UINT64_C(1) << 61) - 1) /* ns; 73 years */

/* The confidence of the interval, as a quantile of the normal distribution. */
#define SHIFT_95_PERCENT   1.959963984540054
#define SHIFT_99_9_PERCENT 3.290526731491926

/* Whether that many values are enough for an interval. */
bool shift_can_bound(size_t before_count, size_t after_count, double quantile);

/* The shift with its 95 % interval. Sorts both arrays. Values are below 2^61 ns. Without a value on
 * one side the shift is 0 and has no interval. Time: n log n, and for each bit of the largest
 * difference four passes over both. */
struct shift shift_between(uint64_t *before, size_t before_count, uint64_t *after,
                           size_t after_count);

/* The same, with the confidence that the quantile gives; shift_between uses that of 95 %. */
struct shift shift_between_at(uint64_t *before, size_t before_count, uint64_t *after,
                              size_t after_count, double quantile);

/* ---- Facts of JSON (base/text/json.h) ----
 *
 * The keys are the same in every document. `of` points to a struct statistics.
 */

/* All of them. `unit` ends the keys: "_ns" of times, "" where the object names the quantity. */
#define STATISTICS_FACTS(of, unit)                                                                 \
    FACT("mean" unit, (of)->mean), FACT("std" unit, (of)->deviation), FACT("min" unit, (of)->min), \
        FACT("p50" unit, (of)->p50), FACT("p90" unit, (of)->p90), FACT("p95" unit, (of)->p95),     \
        FACT("p99" unit, (of)->p99), FACT("max" unit, (of)->max)

/* Of times, where a report has few columns; null unless `known`. */
#define STATISTICS_MIDDLE(of, known)                                                               \
    FACT_IF("mean_ns", known, (of)->mean), FACT_IF("p50_ns", known, (of)->p50),                    \
        FACT_IF("p99_ns", known, (of)->p99)
#define STATISTICS_ENDS(of, known)                                                                 \
    FACT_IF("min_ns", known, (of)->min), FACT_IF("max_ns", known, (of)->max)

#endif
