/* Keeps launch shapes and device limits, and multiplies sizes with saturation. Products of grid
 * and block sizes can exceed 64 bits in a damaged file.
 */
#include "profile/names/shapes.h"

#include "profile/definitions.h"
#include "trace/schema.h"

#include "base/poison.h"

void shapes_init(struct shapes *shapes, const struct mp_trace *trace)
{
    dense_init(&shapes->shapes, sizeof(struct launch_shape), definitions_limit(trace));
    dense_init(&shapes->devices, sizeof(struct device_limits), definitions_limit(trace));
}

void shapes_free(struct shapes *shapes)
{
    dense_free(&shapes->shapes);
    dense_free(&shapes->devices);
}

void shapes_columns(uint32_t *masks)
{
    masks[MP_INDEX_shape] |=
        MP_MASK(shape, id, kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, cluster_x,
                cluster_y, cluster_z, registers, static_shared_memory, dynamic_shared_memory,
                shared_memory_executed, local_memory);
    masks[MP_INDEX_device] |=
        MP_MASK(device, id, name, compute_major, compute_minor, multiprocessors, warp_threads,
                sm_warps, sm_blocks, sm_shared_memory, sm_registers);
}

static uint32_t cut(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static void take_shape(struct launch_shape *shape, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_shape_columns from = mp_shape_columns(batch->columns);

    *shape = (struct launch_shape){
        .kernel = from.kernel[row],
        .grid = {cut(from.grid_x[row]), cut(from.grid_y[row]), cut(from.grid_z[row])},
        .block = {cut(from.block_x[row]), cut(from.block_y[row]), cut(from.block_z[row])},
        .cluster = {cut(from.cluster_x[row]), cut(from.cluster_y[row]), cut(from.cluster_z[row])},
        .registers = cut(from.registers[row]),
        .static_shared = cut(from.static_shared_memory[row]),
        .dynamic_shared = cut(from.dynamic_shared_memory[row]),
        .configured_shared = cut(from.shared_memory_executed[row]),
        .local_memory = cut(from.local_memory[row]),
        .defined = true,
    };
}

static void take_device(struct device_limits *device, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_device_columns from = mp_device_columns(batch->columns);

    *device = (struct device_limits){
        .major = cut(from.compute_major[row]),
        .minor = cut(from.compute_minor[row]),
        .multiprocessors = cut(from.multiprocessors[row]),
        .warp_threads = cut(from.warp_threads[row]),
        .sm_warps = cut(from.sm_warps[row]),
        .sm_blocks = cut(from.sm_blocks[row]),
        .sm_shared_memory = cut(from.sm_shared_memory[row]),
        .sm_registers = cut(from.sm_registers[row]),
        .defined = true,
    };
}

enum mp_status shapes_take(struct shapes *shapes, const struct mp_batch *batch)
{
    bool is_shape = batch->table->id == MP_TABLE_shape;
    struct dense *array = is_shape ? &shapes->shapes : &shapes->devices;

    if (!is_shape && batch->table->id != MP_TABLE_device)
        return MP_OK;
    const uint64_t *ids =
        is_shape ? mp_shape_columns(batch->columns).id : mp_device_columns(batch->columns).id;
    for (uint32_t row = 0; row < batch->rows; row++) {
        enum mp_status status = dense_reach(array, ids[row]);

        if (status == MP_ERR_LIMIT)
            continue; /* definitions_take counts it */
        MP_TRY(status);
        if (is_shape)
            take_shape(dense_at(array, ids[row]), batch, row);
        else
            take_device(dense_at(array, ids[row]), batch, row);
    }
    return MP_OK;
}

const struct launch_shape *shapes_find(const struct shapes *shapes, uint64_t id)
{
    const struct launch_shape *shape = dense_at(&shapes->shapes, id);

    return shape && shape->defined ? shape : NULL;
}

const struct device_limits *shapes_device(const struct shapes *shapes, uint64_t ordinal)
{
    const struct device_limits *device = dense_at(&shapes->devices, ordinal);

    return device && device->defined ? device : NULL;
}

bool shapes_limits(const struct shapes *shapes, const struct contexts *contexts, uint64_t ordinal,
                   uint64_t id, struct device_limits *limits)
{
    const struct device_limits *device = shapes_device(shapes, ordinal);
    const struct context *context = contexts_find(contexts, id);

    if (!device)
        return false;
    *limits = *device;
    if (context && context->parent)
        limits->multiprocessors = cut(context->multiprocessors);
    return true;
}

/* UINT64_MAX where the product does not fit. */
static uint64_t product(const uint32_t sizes[3])
{
    uint64_t two = (uint64_t)sizes[0] * sizes[1];

    return sizes[2] && two > UINT64_MAX / sizes[2] ? UINT64_MAX : two * sizes[2];
}

uint64_t shape_blocks(const struct launch_shape *shape)
{
    return product(shape->grid);
}

uint64_t shape_threads(const struct launch_shape *shape)
{
    return product(shape->block);
}

uint64_t shape_cluster(const struct launch_shape *shape)
{
    return product(shape->cluster);
}
