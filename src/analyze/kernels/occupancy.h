/* How many blocks of a launch an SM holds at a time, and what keeps it from holding more: NVIDIA's
 * occupancy calculation. docs/kernels.md has the rules, with their sources.
 *
 *     blocks = min over warps, registers, shared memory, blocks
 *     occupancy = blocks * warps of a block / warps that fit on an SM
 *     waves = blocks of the grid / (blocks * SMs)
 */
#ifndef MP_ANALYZE_KERNELS_OCCUPANCY_H
#define MP_ANALYZE_KERNELS_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

#include "model/kernels/shapes.h"

/* In the order in which they are named where several limit alike. */
enum occupancy_limit {
    OCCUPANCY_WARPS,
    OCCUPANCY_REGISTERS,
    OCCUPANCY_SHARED_MEMORY,
    OCCUPANCY_BLOCKS,
    OCCUPANCY_LIMITS
};

#define OCCUPANCY_NO_LIMIT UINT32_MAX /* none of it is used */

struct occupancy {
    uint32_t by[OCCUPANCY_LIMITS]; /* blocks on an SM, were there this limit alone */
    uint32_t blocks;               /* on an SM; never 0 */
    uint32_t warps;                /* on an SM, of these blocks */
    double percent;                /* of the warps that fit on an SM */
    double waves;                  /* of the grid */
    enum occupancy_limit limit;    /* the first one that allows no more than `blocks` */
    bool fills_wave;               /* the grid has the blocks of a wave, at least */
};

/* False, with *occupancy all zero, where the trace does not tell: no number of SMs, a shape without
 * threads or blocks, or one that the numbers do not allow to run, as it did. */
bool occupancy_of(const struct launch_shape *shape, const struct device_limits *device,
                  struct occupancy *occupancy);

/* "warps", "registers", "shared memory", "blocks". Static. */
const char *occupancy_limit_name(enum occupancy_limit limit);

#endif
