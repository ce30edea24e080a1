/* Mean, spread and nearest-rank percentiles. The deviation takes a second pass over the values,
 * because a difference of two sums of squares loses the digits that matter.
 */
#include "profile/common/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "base/poison.h"

static int compare_values(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

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
    qsort(values, count, sizeof *values, compare_values);
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
