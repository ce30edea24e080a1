/* Mean, spread and nearest-rank percentiles. The deviation takes a second pass over the values,
 * because a difference of two sums of squares loses the digits that matter.
 */
#include "profile/common/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "base/data/algorithms.h"

#include "base/poison.h"

uint64_t statistics_percentile(const uint64_t *sorted, size_t count, unsigned percent)
{
    size_t rank = (count * percent + 99) / 100;

    return sorted[rank ? rank - 1 : 0];
}

/* In a second pass over the values, because a difference of two sums of squares would lose the
 * digits that matter. */
static double deviation(const uint64_t *values, size_t count, double mean)
{
    double squares = 0;

    if (count < 2)
        return 0;
    for (size_t i = 0; i < count; i++) {
        double distance = (double)values[i] - mean;

        squares += distance * distance;
    }
    return sqrt(squares / (double)(count - 1));
}

struct statistics statistics_of(uint64_t *values, size_t count)
{
    struct statistics statistics = {.mean = 0};

    if (!count)
        return statistics;
    mp_sort_u64(values, count);
    for (size_t i = 0; i < count; i++)
        statistics.mean += (double)values[i];
    statistics.mean /= (double)count;
    statistics.p50 = statistics_percentile(values, count, 50);
    statistics.p90 = statistics_percentile(values, count, 90);
    statistics.p95 = statistics_percentile(values, count, 95);
    statistics.p99 = statistics_percentile(values, count, 99);
    statistics.min = values[0];
    statistics.max = values[count - 1];
    statistics.deviation = deviation(values, count, statistics.mean);
    return statistics;
}

/* ---- Shift ----
 *
 * The shift of Hodges and Lehmann, and its interval. The differences are never stored. The k-th
 * smallest one is found by its value: one pass over the two sorted arrays counts the differences up
 * to a limit.
 */

struct samples {
    const uint64_t *before; /* sorted */
    size_t before_count;
    const uint64_t *after; /* sorted */
    size_t after_count;
};

/* How many differences are at most `limit`. */
static uint64_t count_up_to(const struct samples *samples, int64_t limit)
{
    uint64_t count = 0;
    size_t within = 0; /* values of `after` that are at most before[i] + limit */

    for (size_t i = 0; i < samples->before_count; i++) {
        while (within < samples->after_count &&
               (int64_t)samples->after[within] - (int64_t)samples->before[i] <= limit)
            within++;
        count += within;
    }
    return count;
}

/* The difference of this rank, from 1. */
static int64_t difference_at(const struct samples *samples, uint64_t rank)
{
    int64_t low = (int64_t)samples->after[0] - (int64_t)samples->before[samples->before_count - 1];
    int64_t high = (int64_t)samples->after[samples->after_count - 1] - (int64_t)samples->before[0];

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (count_up_to(samples, middle) >= rank)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static double center_of(const struct samples *samples, uint64_t differences)
{
    int64_t lower = difference_at(samples, (differences + 1) / 2);
    int64_t upper = differences % 2 ? lower : difference_at(samples, differences / 2 + 1);

    return (double)lower + (double)(upper - lower) / 2;
}

/* Rank of the interval's lower end; 0: there are too few values. */
static uint64_t interval_rank(double before, double after, double quantile)
{
    double spread = sqrt(before * after * (before + after + 1) / 12);
    double rank = floor(before * after / 2 - quantile * spread);

    return rank >= 1 ? (uint64_t)rank : 0;
}

bool shift_can_bound(size_t before_count, size_t after_count, double quantile)
{
    return interval_rank((double)before_count, (double)after_count, quantile) != 0;
}

struct shift shift_between(uint64_t *before, size_t before_count, uint64_t *after,
                           size_t after_count)
{
    return shift_between_at(before, before_count, after, after_count, SHIFT_95_PERCENT);
}

struct shift shift_between_at(uint64_t *before, size_t before_count, uint64_t *after,
                              size_t after_count, double quantile)
{
    const struct samples samples = {before, before_count, after, after_count};
    uint64_t differences = (uint64_t)before_count * after_count;
    uint64_t rank = interval_rank((double)before_count, (double)after_count, quantile);
    struct shift shift = {.bounded = rank != 0};

    if (!differences)
        return shift;
    mp_sort_u64(before, before_count);
    mp_sort_u64(after, after_count);
    shift.center = center_of(&samples, differences);
    if (!rank)
        return shift;
    shift.low = difference_at(&samples, rank);
    shift.high = difference_at(&samples, differences + 1 - rank);
    return shift;
}
