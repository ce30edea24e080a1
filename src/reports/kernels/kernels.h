/* Kernels by launch shape or by name: how often and how long they ran and which resources they
 * took. From the resources follow theoretical occupancy, waves, and use of tensor cores.
 *
 * Kernels of CUDA graphs count like any others. If graphs were recorded as wholes, their kernels
 * are not in the trace; such launches are counted in graph_launches only.
 */
#ifndef MP_REPORTS_KERNELS_KERNELS_H
#define MP_REPORTS_KERNELS_KERNELS_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/common/called_from.h"
#include "profile/common/kernel_time.h"
#include "profile/profile.h"
#include "table/table.h"

/* ---- Occupancy ----
 *
 * How many blocks of a launch an SM holds at the same time, and which limit keeps it from holding
 * more: NVIDIA's occupancy calculation. docs/kernels.md has the rules, with their sources.
 *
 *     blocks = min over warps, registers, shared memory, blocks
 *     occupancy = blocks * warps of a block / warps that fit on an SM
 *     waves = blocks of the grid / (blocks * SMs)
 *
 * The SMs are those that the kernel could use: in a green context some of the device's.
 */

/* What an SM of a compute capability has: a row of the table in occupancy.c. */
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

/* ---- Kernels ---- */

struct counters_result;

struct kernels_options {
    uint64_t range; /* id of a capture range: what was launched in it; 0: everything */
    enum names_style style;
    bool by_name;      /* one row for all launch shapes of a name on a device */
    enum called_by by; /* rows are split by who called */
};

/* What may differ between the launch shapes of a row: bits of `differing`. */
enum kernels_field {
    KERNELS_GRID = 1,
    KERNELS_BLOCK = 2,
    KERNELS_CLUSTER = 4,
    KERNELS_REGISTERS = 8,
    KERNELS_STATIC_SHARED = 16,
    KERNELS_DYNAMIC_SHARED = 32,
    KERNELS_CONFIGURED_SHARED = 64,
    KERNELS_LOCAL_MEMORY = 128,
    KERNELS_MULTIPROCESSORS = 256,
    KERNELS_LIMITS = 512 /* occupancy.by, blocks, limit, fills_wave */
};

struct kernels_row {
    const char *name; /* owned by the result */
    uint64_t device;  /* ordinal; UINT64_MAX: the trace does not say */
    uint64_t calls;
    uint64_t total; /* ns */
    uint64_t min;
    uint64_t max;
    double mean;               /* ns */
    double percent;            /* of the time of all kernels */
    struct launch_shape shape; /* of the launch shape with most time; all 0: not defined */
    uint64_t shape_id;         /* of that one */
    uint32_t multiprocessors;  /* that it could use; 0: not known */
    uint64_t shapes;           /* launch shapes of the row, those with other SMs too */
    unsigned differing;        /* of enum kernels_field: what differs between them */
    bool has_occupancy;        /* known for at least one of the shapes */
    /* For several shapes, percent and waves are means weighted by time. The other members are those
     * of the shape with most time among the shapes whose occupancy is known. */
    struct occupancy occupancy;
    double min_percent, max_percent; /* of occupancy, of one shape */
    bool tensor_cores;               /* by name: profile/names/kernel_rules.def */
};

struct kernels {
    struct kernels_row *rows; /* by total time, then name, device and launch shape */
    size_t row_count;
    uint64_t calls;
    uint64_t total;          /* ns */
    uint64_t tensor_total;   /* ns of tensor-core kernels */
    double percent;          /* mean occupancy weighted by time, where it is known */
    uint64_t percent_total;  /* ns of the kernels of which it is known */
    uint64_t cluster_calls;  /* of launches with clusters of several blocks */
    uint64_t graph_launches; /* recorded as wholes */
    uint64_t device_count;   /* that kernels ran on */
    bool partitioned;        /* a kernel ran in a green context */
    /* What was sampled meanwhile; the caller's, set after the build; NULL: nothing. */
    const struct counters_result *counters;
    struct kernel_time time;
    uint32_t unknown_major; /* compute capability that is not in our table; 0: none */
    uint32_t unknown_minor;
    bool recorded; /* the recorder was to record work of the GPUs */
    struct mp_intern names;
    struct profile *profile; /* of the trace, with DEFINITIONS_ALL; the caller's */
    struct quality quality;  /* the profile's, whose arrays it shares, and rows left out */
};

/* Reads the trace once, after a short pass over the capture ranges. Memory depends on the launch
 * shapes (some 400 bytes each), not on the rows. MP_ERR_ARGUMENT when there is no such capture
 * range, MP_ERR_IO, MP_ERR_MEMORY; the result is then empty. On success kernels_free gives it back.
 */
enum mp_status kernels_build(struct profile *profile, const struct kernels_options *options,
                             struct kernels *kernels, struct mp_error *error);

void kernels_free(struct kernels *kernels);

/* Name of a device; NULL: unknown. Owned by the result. */
const char *kernels_device_name(const struct kernels *kernels, uint64_t device);

/* The whole report of `miniprof kernels`: the head, the table, the notes. `options` are those with
 * which `kernels` was built. */
void print_kernels(const struct report_out *out, const struct mp_trace *trace,
                   const struct kernels *kernels, const struct kernels_options *options);

#endif
