/* Many windows of one kind (iterations): mean and percentiles of each row, and what the slowest
 * have on their path that the median one has not.
 */
#ifndef MP_ANALYZE_DEPS_ITERATIONS_H
#define MP_ANALYZE_DEPS_ITERATIONS_H

#include "analyze/deps.h"

/* Over all windows. Percentiles are nearest-rank: the smallest value that at least p percent of the
 * windows do not exceed. */
struct deps_statistics {
    double mean; /* ns */
    uint64_t p50;
    uint64_t p99;
    uint64_t least;
    uint64_t greatest;
};

struct deps_iterations {
    struct deps_statistics window;    /* length of the windows */
    struct deps_statistics *critical; /* by name id; owned */
    struct deps_statistics *waiting;  /* by name id: calls and device work; owned */
    struct deps_statistics parts[DEPS_PARTS];
    struct deps_result total; /* of all windows */
    uint32_t *by_length;      /* windows' indexes, slowest first; owned */
    uint32_t median;          /* index of the window at P50 */
};

/* MP_ERR_MEMORY. deps_iterations_free gives it back. */
enum mp_status deps_iterations_build(const struct deps *deps, const struct deps_windows *windows,
                                     struct deps_iterations *iterations);

void deps_iterations_free(struct deps_iterations *iterations);

/* Statistics of `count` values, which are sorted in place. */
struct deps_statistics deps_statistics_of(uint64_t *values, size_t count);

#endif
