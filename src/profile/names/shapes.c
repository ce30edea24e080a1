/* Keeps launch shapes and device limits, and multiplies sizes with saturation. Products of grid
 * and block sizes can exceed 64 bits in a damaged file.
 */
#include "profile/names/shapes.h"

#include "profile/definitions.h"
#include "trace/codec/schema.h"

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

#define M(table, column) MP_COLUMN_MASK(table, column)

void shapes_select(struct mp_cursor *cursor)
{
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_shape),
                     M(shape, id) | M(shape, kernel) | M(shape, grid_x) | M(shape, grid_y) |
                         M(shape, grid_z) | M(shape, block_x) | M(shape, block_y) |
                         M(shape, block_z) | M(shape, cluster_x) | M(shape, cluster_y) |
                         M(shape, cluster_z) | M(shape, registers) |
                         M(shape, static_shared_memory) | M(shape, dynamic_shared_memory) |
                         M(shape, shared_memory_executed) | M(shape, local_memory));
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_device),
                     M(device, id) | M(device, name) | M(device, compute_major) |
                         M(device, compute_minor) | M(device, multiprocessors) |
                         M(device, warp_threads) | M(device, sm_warps) | M(device, sm_blocks) |
                         M(device, sm_shared_memory) | M(device, sm_registers));
}

#undef M

#define CELL(table, column) cut(batch->columns[MP_COLUMN_##table##_##column][row])

static uint32_t cut(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static void take_shape(struct launch_shape *shape, const struct mp_batch *batch, uint32_t row)
{
    *shape = (struct launch_shape){
        .kernel = batch->columns[MP_COLUMN_shape_kernel][row],
        .grid = {CELL(shape, grid_x), CELL(shape, grid_y), CELL(shape, grid_z)},
        .block = {CELL(shape, block_x), CELL(shape, block_y), CELL(shape, block_z)},
        .cluster = {CELL(shape, cluster_x), CELL(shape, cluster_y), CELL(shape, cluster_z)},
        .registers = CELL(shape, registers),
        .static_shared = CELL(shape, static_shared_memory),
        .dynamic_shared = CELL(shape, dynamic_shared_memory),
        .configured_shared = CELL(shape, shared_memory_executed),
        .local_memory = CELL(shape, local_memory),
        .defined = true,
    };
}

static void take_device(struct device_limits *device, const struct mp_batch *batch, uint32_t row)
{
    *device = (struct device_limits){
        .major = CELL(device, compute_major),
        .minor = CELL(device, compute_minor),
        .multiprocessors = CELL(device, multiprocessors),
        .warp_threads = CELL(device, warp_threads),
        .sm_warps = CELL(device, sm_warps),
        .sm_blocks = CELL(device, sm_blocks),
        .sm_shared_memory = CELL(device, sm_shared_memory),
        .sm_registers = CELL(device, sm_registers),
        .defined = true,
    };
}

#undef CELL

enum mp_status shapes_take(struct shapes *shapes, const struct mp_batch *batch)
{
    bool is_shape = batch->table->id == MP_TABLE_shape;
    struct dense *array = is_shape ? &shapes->shapes : &shapes->devices;
    const uint64_t *ids;

    if (!is_shape && batch->table->id != MP_TABLE_device)
        return MP_OK;
    ids = batch->columns[is_shape ? MP_COLUMN_shape_id : MP_COLUMN_device_id];
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

/* The greatest number where the product does not fit. */
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
