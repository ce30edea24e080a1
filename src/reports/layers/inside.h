/* What is launched inside of iterations that were found without a name, such as requests. */
#ifndef MP_REPORTS_LAYERS_INSIDE_H
#define MP_REPORTS_LAYERS_INSIDE_H

#include "base/data/algorithms.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layers_iterations {
    const uint64_t *correlations; /* of the work that belongs to them, ascending; not owned */
    size_t correlation_count;
    uint64_t count; /* of iterations */
};

/* Whether work belongs to one of them; `iterations` NULL: all does. */
static inline bool layers_are_inside(const struct layers_iterations *iterations,
                                     uint64_t correlation)
{
    size_t low = MP_SEARCH(0, iterations ? iterations->correlation_count : 0, i,
                           iterations->correlations[i] < correlation);

    return !iterations ||
           (low < iterations->correlation_count && iterations->correlations[low] == correlation);
}

#endif
