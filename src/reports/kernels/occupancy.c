/* NVIDIA's occupancy calculation: which resource of an SM runs out first. Registers go out to
 * whole warps and shared memory in units, so every step rounds up as the hardware does.
 */
#include "reports/kernels/kernels.h"

#include "base/poison.h"

#define COMPUTE_REGISTERS     65536u /* 32-bit registers of an SM */
#define COMPUTE_REGISTER_UNIT 256u   /* registers of a warp are rounded up to it */
#define COMPUTE_WARP_THREADS  32u

/* What an SM of a compute capability holds and in which units it hands it out, ascending. KiB of
 * shared memory are at most what the SM has.
 *
 * Sources: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability"
 * (warps, blocks, shared) and "Shared Memory" of each compute capability (reserved);
 * cuda_occupancy.h of CUDA 13.0 (unit, partitions, blocks). Of the device of a trace, CUPTI's own
 * record says warps, blocks, shared memory and registers; these are for where it says 0. 65536
 * registers everywhere, handed out to warps by 256.
 */
#define KIB 1024u
static const struct compute_capability capabilities[] = {
    /* major, minor, warps, blocks, shared memory, reserved, unit, partitions */
    {5, 0, 64, 32, 64 * KIB, 0, 256, 4},      {5, 2, 64, 32, 96 * KIB, 0, 256, 4},
    {5, 3, 64, 32, 64 * KIB, 0, 256, 4},      {6, 0, 64, 32, 64 * KIB, 0, 256, 2},
    {6, 1, 64, 32, 96 * KIB, 0, 256, 4},      {6, 2, 64, 32, 64 * KIB, 0, 256, 4},
    {7, 0, 64, 32, 96 * KIB, 0, 256, 4},      {7, 2, 64, 32, 96 * KIB, 0, 256, 4},
    {7, 5, 32, 16, 64 * KIB, 0, 256, 4},      {8, 0, 64, 32, 164 * KIB, 1024, 128, 4},
    {8, 6, 48, 16, 100 * KIB, 1024, 128, 4},  {8, 7, 48, 16, 164 * KIB, 1024, 128, 4},
    {8, 9, 48, 24, 100 * KIB, 1024, 128, 4},  {9, 0, 64, 32, 228 * KIB, 1024, 128, 4},
    {10, 0, 64, 32, 228 * KIB, 1024, 128, 4}, {10, 1, 48, 24, 228 * KIB, 1024, 128, 4},
    {10, 3, 64, 32, 228 * KIB, 1024, 128, 4}, {11, 0, 48, 24, 228 * KIB, 1024, 128, 4},
    {12, 0, 48, 24, 100 * KIB, 1024, 128, 4}, {12, 1, 48, 24, 100 * KIB, 1024, 128, 4},
};

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

/* The limits of an SM: the device's own where the trace has them. */
struct multiprocessor {
    const struct compute_capability *capability;
    uint32_t warps;
    uint32_t blocks;
    uint32_t registers;
    uint32_t shared_memory; /* bytes, as set up for the launch */
};

static uint32_t or_else(uint32_t value, uint32_t otherwise)
{
    return value ? value : otherwise;
}

static uint64_t divide_up(uint64_t number, uint64_t by)
{
    return number / by + (number % by != 0);
}

static uint64_t round_up(uint64_t number, uint64_t unit)
{
    return divide_up(number, unit) * unit;
}

/* Shared memory that a block takes of the SM, in bytes; 0 if it takes none. */
static uint64_t block_shared(const struct launch_shape *shape,
                             const struct compute_capability *capability)
{
    return round_up((uint64_t)shape->static_shared + shape->dynamic_shared +
                        capability->shared_reserved,
                    capability->shared_unit);
}

static struct multiprocessor multiprocessor_of(const struct launch_shape *shape,
                                               const struct device_limits *device)
{
    const struct compute_capability *capability =
        compute_capability_find(device->major, device->minor);
    struct multiprocessor sm = {
        .capability = capability,
        .warps = or_else(device->sm_warps, capability->warps),
        .blocks = or_else(device->sm_blocks, capability->blocks),
        .registers = or_else(device->sm_registers, COMPUTE_REGISTERS),
        .shared_memory = or_else(device->sm_shared_memory, capability->shared_memory),
    };

    /* L1 and shared memory are one memory, which the driver may divide anew for each launch. If not
     * even one block fits into the recorded size, the launch cannot have run with it. */
    if (shape->configured_shared && shape->configured_shared < sm.shared_memory &&
        block_shared(shape, capability) <= shape->configured_shared)
        sm.shared_memory = shape->configured_shared;
    return sm;
}

static uint32_t cut(uint64_t blocks)
{
    return blocks < OCCUPANCY_NO_LIMIT ? (uint32_t)blocks : OCCUPANCY_NO_LIMIT - 1;
}

/* Registers are handed out to whole warps, each within one partition of the SM. */
static uint32_t by_registers(const struct launch_shape *shape, const struct multiprocessor *sm,
                             uint64_t warps)
{
    uint64_t of_warp =
        round_up((uint64_t)shape->registers * COMPUTE_WARP_THREADS, COMPUTE_REGISTER_UNIT);
    uint64_t of_partition = sm->registers / sm->capability->partitions;

    if (!of_warp)
        return OCCUPANCY_NO_LIMIT;
    return cut(of_partition / of_warp * sm->capability->partitions / warps);
}

static uint32_t by_shared_memory(const struct launch_shape *shape, const struct multiprocessor *sm)
{
    uint64_t of_block = block_shared(shape, sm->capability);

    return of_block ? cut(sm->shared_memory / of_block) : OCCUPANCY_NO_LIMIT;
}

static void find_limit(struct occupancy *occupancy)
{
    occupancy->limit = OCCUPANCY_WARPS;
    for (int i = 1; i < OCCUPANCY_LIMITS; i++) {
        if (occupancy->by[i] < occupancy->by[occupancy->limit])
            occupancy->limit = (enum occupancy_limit)i;
    }
    occupancy->blocks = occupancy->by[occupancy->limit];
}

bool occupancy_of(const struct launch_shape *shape, const struct device_limits *device,
                  struct occupancy *occupancy)
{
    uint64_t grid = shape_blocks(shape);
    uint64_t threads = shape_threads(shape);

    *occupancy = (struct occupancy){.blocks = 0};
    if (!grid || !threads || !device->multiprocessors)
        return false;
    struct multiprocessor sm = multiprocessor_of(shape, device);
    uint64_t warps = divide_up(threads, or_else(device->warp_threads, COMPUTE_WARP_THREADS));
    occupancy->by[OCCUPANCY_WARPS] = cut(sm.warps / warps);
    occupancy->by[OCCUPANCY_REGISTERS] = by_registers(shape, &sm, warps);
    occupancy->by[OCCUPANCY_SHARED_MEMORY] = by_shared_memory(shape, &sm);
    occupancy->by[OCCUPANCY_BLOCKS] = sm.blocks;
    find_limit(occupancy);
    if (!occupancy->blocks) {
        *occupancy = (struct occupancy){.blocks = 0};
        return false;
    }
    uint64_t wave = (uint64_t)occupancy->blocks * device->multiprocessors;
    occupancy->warps = (uint32_t)(occupancy->blocks * warps);
    occupancy->percent = 100.0 * occupancy->warps / sm.warps;
    occupancy->waves = (double)grid / (double)wave;
    occupancy->fills_wave = grid >= wave;
    return true;
}

const char *occupancy_limit_name(enum occupancy_limit limit)
{
    static const char *const names[OCCUPANCY_LIMITS] = {
        [OCCUPANCY_WARPS] = "warps",
        [OCCUPANCY_REGISTERS] = "registers",
        [OCCUPANCY_SHARED_MEMORY] = "shared memory",
        [OCCUPANCY_BLOCKS] = "blocks",
    };

    return names[limit];
}
