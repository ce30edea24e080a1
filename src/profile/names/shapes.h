/* Launch shapes and the limits of devices in memory: the columns of the tables `shape` and `device`
 * that definitions.h does not keep. A pass collects them (reading.h, `shapes`).
 *
 * Memory: 80 bytes a shape, 64 a device.
 */
#ifndef MP_PROFILE_NAMES_SHAPES_H
#define MP_PROFILE_NAMES_SHAPES_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "profile/contexts.h"
#include "profile/dense.h"

/* A number that no launch can have is replaced by UINT32_MAX. */
struct launch_shape {
    uint64_t kernel;        /* string, mangled */
    uint32_t grid[3];       /* blocks */
    uint32_t block[3];      /* threads */
    uint32_t cluster[3];    /* blocks; 0 without clusters */
    uint32_t registers;     /* per thread */
    uint32_t static_shared; /* bytes per block, as the next */
    uint32_t dynamic_shared;
    /* Bytes of shared memory that the driver set up on each SM for the launch, including the
     * system's share of each block; 0: CUPTI does not say. */
    uint32_t configured_shared;
    uint32_t local_memory; /* bytes per thread */
    bool defined;
};

/* 0: CUPTI does not say. */
struct device_limits {
    uint32_t major, minor; /* compute capability */
    uint32_t multiprocessors;
    uint32_t warp_threads;
    uint32_t sm_warps;
    uint32_t sm_blocks;
    uint32_t sm_shared_memory; /* bytes */
    uint32_t sm_registers;
    bool defined;
};

struct shapes {
    struct dense shapes;  /* of struct launch_shape, by id */
    struct dense devices; /* of struct device_limits, by ordinal */
};

/* Sets up for a trace; allocates nothing. */
void shapes_init(struct shapes *shapes, const struct mp_trace *trace);

void shapes_free(struct shapes *shapes);

/* Adds the columns that shapes_take needs to the masks, which have the order of mp_tables(). */
void shapes_columns(uint32_t *masks);

/* Keeps the rows of a batch of the two tables; other tables are skipped. Ids that the size of the
 * file does not justify are left out. MP_OK or MP_ERR_MEMORY. */
enum mp_status shapes_take(struct shapes *shapes, const struct mp_batch *batch);

/* The shape of an id, the limits of a device by its ordinal; NULL: not defined. */
const struct launch_shape *shapes_find(const struct shapes *shapes, uint64_t id);
const struct device_limits *shapes_device(const struct shapes *shapes, uint64_t ordinal);

/* What a kernel could use that ran in this context: the limits of the device, of which a green
 * context has some SMs only. This is where all reports and exports ask how many SMs that were; 0:
 * CUPTI does not say. False: the trace does not define the device. */
bool shapes_limits(const struct shapes *shapes, const struct contexts *contexts, uint64_t device,
                   uint64_t context, struct device_limits *limits);

/* Blocks of the grid, threads of a block, blocks of a cluster (0 without clusters). */
uint64_t shape_blocks(const struct launch_shape *shape);
uint64_t shape_threads(const struct launch_shape *shape);
uint64_t shape_cluster(const struct launch_shape *shape);

#endif
