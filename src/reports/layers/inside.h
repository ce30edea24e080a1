/* What is launched inside of iterations that were found without a name, such as requests. */
#ifndef MP_REPORTS_LAYERS_INSIDE_H
#define MP_REPORTS_LAYERS_INSIDE_H

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
    size_t low = 0;
    size_t high = iterations ? iterations->correlation_count : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (iterations->correlations[middle] < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return !iterations ||
           (low < iterations->correlation_count && iterations->correlations[low] == correlation);
}

#endif
