/* What is known of the compute capabilities: compute_capability.def as a table. */
#ifndef MP_BASE_METRICS_COMPUTE_CAPABILITY_H
#define MP_BASE_METRICS_COMPUTE_CAPABILITY_H

#include <stdint.h>

#define COMPUTE_REGISTERS     65536u /* 32-bit registers of an SM */
#define COMPUTE_REGISTER_UNIT 256u   /* registers of a warp are rounded up to it */
#define COMPUTE_WARP_THREADS  32u

struct compute_capability {
    uint32_t major, minor;
    uint32_t warps;           /* of an SM */
    uint32_t blocks;          /* of an SM */
    uint32_t shared_memory;   /* bytes of an SM, at most */
    uint32_t shared_reserved; /* bytes that each block takes besides its own */
    uint32_t shared_unit;     /* bytes that a block's are rounded up to */
    uint32_t partitions;      /* of an SM's registers */
};

/* The entry of this compute capability; of one that is not in the table, which is then newer or
 * older than it, the last one before it, or the first. Never NULL; compare major and minor to know
 * which it is. Static. */
const struct compute_capability *compute_capability_find(uint64_t major, uint64_t minor);

#endif
