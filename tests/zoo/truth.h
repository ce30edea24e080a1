/* The line of truth of the C++ programs of the zoo (docs/zoo.md): how many iterations or requests
 * they made, and how long one took by their own clock.
 */
#ifndef MP_TESTS_ZOO_TRUTH_H
#define MP_TESTS_ZOO_TRUTH_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int truth_compare(const void *left, const void *right)
{
    double one = *(const double *)left, other = *(const double *)right;

    return (one > other) - (one < other);
}

/* The smallest of sorted values that so many percent of all do not exceed. */
static double truth_percentile(const double *sorted, int count, int percent)
{
    int at = (count * percent + 99) / 100 - 1;

    return sorted[at < 0 ? 0 : at];
}

/* `us`: of each iteration or request, at least one; they are sorted. `unit` is "iteration" or
 * "request", `kernels` how many ran between cudaProfilerStart and Stop.
 */
static void say_truth(const char *unit, double *us, int count, int kernels)
{
    qsort(us, (size_t)count, sizeof *us, truth_compare);
    printf("truth pid=%d unit=%s count=%d clock=latency p50_us=%.1f p90_us=%.1f name=- "
           "kernels=%d\n",
           (int)getpid(), unit, count, truth_percentile(us, count, 50),
           truth_percentile(us, count, 90), kernels);
}

#endif
