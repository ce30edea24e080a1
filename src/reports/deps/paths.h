/* The critical paths of many windows of one kind (iterations): mean and percentiles of each row,
 * and what the slowest windows have on their path that the median one does not have.
 */
#ifndef MP_REPORTS_DEPS_PATHS_H
#define MP_REPORTS_DEPS_PATHS_H

#include "profile/common/statistics.h"
#include "reports/deps/deps.h"

/* Statistics are over all windows, times in ns. */
struct deps_iterations {
    struct statistics window;    /* length of the windows */
    struct statistics *critical; /* by name id; owned */
    struct statistics *waiting;  /* by name id: calls and device work; owned */
    struct statistics parts[DEPS_PARTS];
    struct deps_result total; /* of all windows */
    uint32_t *by_length;      /* windows' indexes, slowest first; owned */
    uint32_t median;          /* index of the window at P50 */
};

/* MP_ERR_MEMORY. deps_iterations_free gives it back. */
enum mp_status deps_iterations_build(const struct deps *deps, const struct deps_windows *windows,
                                     struct deps_iterations *iterations);

void deps_iterations_free(struct deps_iterations *iterations);

#endif
