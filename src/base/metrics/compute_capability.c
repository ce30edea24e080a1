/* The table of compute capabilities, compiled from compute_capability.def. An unknown one is
 * answered with NULL, so that callers say so and do not guess.
 */
#include "base/metrics/compute_capability.h"

#include <stddef.h>

#include "base/poison.h"

#define CC(major_, minor_, warps_, blocks_, shared_, reserved_, unit_, partitions_)                \
    {.major = (major_),                                                                            \
     .minor = (minor_),                                                                            \
     .warps = (warps_),                                                                            \
     .blocks = (blocks_),                                                                          \
     .shared_memory = (shared_)*1024u,                                                             \
     .shared_reserved = (reserved_),                                                               \
     .shared_unit = (unit_),                                                                       \
     .partitions = (partitions_)},
static const struct compute_capability capabilities[] = {
#include "base/metrics/compute_capability.def"
};
#undef CC

const struct compute_capability *compute_capability_find(uint64_t major, uint64_t minor)
{
    const struct compute_capability *found = &capabilities[0];

    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        const struct compute_capability *entry = &capabilities[i];

        if (entry->major < major || (entry->major == major && entry->minor <= minor))
            found = entry;
    }
    return found;
}
