/* How many blocks of a launch an SM holds at the same time, and which limit keeps it from holding
 * more: NVIDIA's occupancy calculation. docs/kernels.md has the rules, with their sources.
 *
 *     blocks = min over warps, registers, shared memory, blocks
 *     occupancy = blocks * warps of a block / warps that fit on an SM
 *     waves = blocks of the grid / (blocks * SMs)
 */
#ifndef MP_REPORTS_KERNELS_OCCUPANCY_H
#define MP_REPORTS_KERNELS_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/names/shapes.h"

/* If several limits give the same number, they are named in this order. */
enum occupancy_limit {
    OCCUPANCY_WARPS,
    OCCUPANCY_REGISTERS,
    OCCUPANCY_SHARED_MEMORY,
    OCCUPANCY_BLOCKS,
    OCCUPANCY_LIMITS
};

#define OCCUPANCY_NO_LIMIT UINT32_MAX /* none of it is used */

struct occupancy {
    uint32_t by[OCCUPANCY_LIMITS]; /* blocks on an SM if this were the only limit */
    uint32_t blocks;               /* on an SM; never 0 */
    uint32_t warps;                /* on an SM, of these blocks */
    double percent;                /* of the warps that fit on an SM */
    double waves;                  /* of the grid */
    enum occupancy_limit limit;    /* the first one that allows no more than `blocks` */
    bool fills_wave;               /* the grid has enough blocks for at least one wave */
};

/* Returns false, with *occupancy all zero, if the trace lacks data: the number of SMs, or a shape's
 * threads or blocks. Also if by the numbers the kernel could not run, although it did. */
bool occupancy_of(const struct launch_shape *shape, const struct device_limits *device,
                  struct occupancy *occupancy);

/* "warps", "registers", "shared memory", "blocks". Static. */
const char *occupancy_limit_name(enum occupancy_limit limit);

#endif
