/* Which columns the kernel table has, and what each shows of a row. Text leaves out a column if no
 * row has a value for it; CSV always has all columns.
 */
#include "report/kernels/columns.h"

#include "base/poison.h"

enum kernels_cell {
    CELL_PERCENT,
    CELL_TOTAL,
    CELL_CALLS,
    CELL_MEAN,
    CELL_LEAST,
    CELL_GREATEST,
    CELL_DEVICE,
    CELL_DEVICE_NUMBER,
    CELL_SHAPES,
    CELL_GRID,
    CELL_GRID_X,
    CELL_GRID_Y,
    CELL_GRID_Z,
    CELL_BLOCK,
    CELL_BLOCK_X,
    CELL_BLOCK_Y,
    CELL_BLOCK_Z,
    CELL_CLUSTER,
    CELL_CLUSTER_X,
    CELL_CLUSTER_Y,
    CELL_CLUSTER_Z,
    CELL_REGISTERS,
    CELL_STATIC_SHARED,
    CELL_DYNAMIC_SHARED,
    CELL_CONFIGURED_SHARED,
    CELL_LOCAL_MEMORY,
    CELL_OCCUPANCY,
    CELL_LEAST_OCCUPANCY,
    CELL_GREATEST_OCCUPANCY,
    CELL_BLOCKS,
    CELL_BY_WARPS,
    CELL_BY_REGISTERS,
    CELL_BY_SHARED_MEMORY,
    CELL_BY_BLOCKS,
    CELL_WAVES,
    CELL_LIMIT,
    CELL_SM_LIMIT,
    CELL_TENSOR_CORES,
    CELL_TENSOR_WORD,
    CELL_NAME
};

/* What must occur in some row for a column of text to be there. */
enum needs {
    ALWAYS = 0,
    SEVERAL_DEVICES = 1,
    SEVERAL_SHAPES = 2, /* one row for all launch shapes of a name */
    CLUSTERS = 4,
    LOCAL_MEMORY = 8
};

#define TEXT (1u << REPORT_TEXT)
#define CSV  (1u << REPORT_CSV)
#define JSON (1u << REPORT_JSON)
#define ALL  (TEXT | CSV | JSON)
#define DATA (CSV | JSON)

#define COLUMN(title_, key_, kind_, width_)                                                        \
    {                                                                                              \
        .title = (title_), .key = (key_), .kind = REPORT_CELL_##kind_, .width = (width_)           \
    }

static const struct {
    uint8_t cell;
    uint8_t formats;
    uint8_t needs;
    struct report_column column;
} all_columns[] = {
    {CELL_PERCENT, ALL, ALWAYS, COLUMN("Time(%)", "percent", PERCENT, 7)},
    {CELL_TOTAL, ALL, ALWAYS, COLUMN("Time", "total_ns", TIME, 8)},
    {CELL_CALLS, ALL, ALWAYS, COLUMN("Calls", "calls", COUNT, 5)},
    {CELL_MEAN, ALL, ALWAYS, COLUMN("Avg", "avg_ns", MEAN, 8)},
    {CELL_LEAST, ALL, ALWAYS, COLUMN("Min", "min_ns", TIME, 8)},
    {CELL_GREATEST, ALL, ALWAYS, COLUMN("Max", "max_ns", TIME, 8)},
    {CELL_DEVICE, TEXT, SEVERAL_DEVICES, COLUMN("Device", NULL, TEXT, 6)},
    {CELL_DEVICE, CSV, ALWAYS, COLUMN("Device", NULL, TEXT, 6)},
    {CELL_DEVICE_NUMBER, JSON, ALWAYS, COLUMN("Device", "device", COUNT, 6)},
    {CELL_SHAPES, TEXT, SEVERAL_SHAPES, COLUMN("Shapes", NULL, COUNT, 6)},
    {CELL_SHAPES, DATA, ALWAYS, COLUMN("Launch Shapes", "shapes", COUNT, 6)},
    {CELL_GRID, TEXT, ALWAYS, COLUMN("Grid", NULL, TEXT, 9)},
    {CELL_GRID_X, DATA, ALWAYS, COLUMN("Grid X", "grid_x", COUNT, 0)},
    {CELL_GRID_Y, DATA, ALWAYS, COLUMN("Grid Y", "grid_y", COUNT, 0)},
    {CELL_GRID_Z, DATA, ALWAYS, COLUMN("Grid Z", "grid_z", COUNT, 0)},
    {CELL_BLOCK, TEXT, ALWAYS, COLUMN("Block", NULL, TEXT, 9)},
    {CELL_BLOCK_X, DATA, ALWAYS, COLUMN("Block X", "block_x", COUNT, 0)},
    {CELL_BLOCK_Y, DATA, ALWAYS, COLUMN("Block Y", "block_y", COUNT, 0)},
    {CELL_BLOCK_Z, DATA, ALWAYS, COLUMN("Block Z", "block_z", COUNT, 0)},
    {CELL_CLUSTER, TEXT, CLUSTERS, COLUMN("Cluster", NULL, TEXT, 7)},
    {CELL_CLUSTER_X, DATA, ALWAYS, COLUMN("Cluster X", "cluster_x", COUNT, 0)},
    {CELL_CLUSTER_Y, DATA, ALWAYS, COLUMN("Cluster Y", "cluster_y", COUNT, 0)},
    {CELL_CLUSTER_Z, DATA, ALWAYS, COLUMN("Cluster Z", "cluster_z", COUNT, 0)},
    {CELL_REGISTERS, TEXT, ALWAYS, COLUMN("Regs", NULL, COUNT, 4)},
    {CELL_REGISTERS, DATA, ALWAYS, COLUMN("Registers Per Thread", "registers", COUNT, 0)},
    {CELL_STATIC_SHARED, TEXT, ALWAYS, COLUMN("SSMem", NULL, BYTES, 5)},
    {CELL_STATIC_SHARED, DATA, ALWAYS, COLUMN("Static SMem", "static_shared_bytes", BYTES, 0)},
    {CELL_DYNAMIC_SHARED, TEXT, ALWAYS, COLUMN("DSMem", NULL, BYTES, 5)},
    {CELL_DYNAMIC_SHARED, DATA, ALWAYS, COLUMN("Dynamic SMem", "dynamic_shared_bytes", BYTES, 0)},
    {CELL_CONFIGURED_SHARED, DATA, ALWAYS,
     COLUMN("Configured SMem", "configured_shared_bytes", BYTES, 0)},
    {CELL_LOCAL_MEMORY, TEXT, LOCAL_MEMORY, COLUMN("LMem", NULL, BYTES, 4)},
    {CELL_LOCAL_MEMORY, DATA, ALWAYS, COLUMN("Local Memory", "local_memory_bytes", BYTES, 0)},
    {CELL_OCCUPANCY, TEXT, ALWAYS, COLUMN("Occupancy", NULL, PERCENT, 7)},
    {CELL_OCCUPANCY, DATA, ALWAYS,
     COLUMN("Theoretical Occupancy(%)", "occupancy_percent", PERCENT, 0)},
    {CELL_LEAST_OCCUPANCY, DATA, ALWAYS,
     COLUMN("Min Occupancy(%)", "min_occupancy_percent", PERCENT, 0)},
    {CELL_GREATEST_OCCUPANCY, DATA, ALWAYS,
     COLUMN("Max Occupancy(%)", "max_occupancy_percent", PERCENT, 0)},
    {CELL_BLOCKS, DATA, ALWAYS, COLUMN("Blocks Per SM", "blocks_per_sm", COUNT, 0)},
    {CELL_BY_WARPS, DATA, ALWAYS, COLUMN("Blocks By Warps", "blocks_by_warps", COUNT, 0)},
    {CELL_BY_REGISTERS, DATA, ALWAYS,
     COLUMN("Blocks By Registers", "blocks_by_registers", COUNT, 0)},
    {CELL_BY_SHARED_MEMORY, DATA, ALWAYS,
     COLUMN("Blocks By SMem", "blocks_by_shared_memory", COUNT, 0)},
    {CELL_BY_BLOCKS, DATA, ALWAYS, COLUMN("Blocks By Blocks", "blocks_by_blocks", COUNT, 0)},
    {CELL_WAVES, ALL, ALWAYS, COLUMN("Waves", "waves", REAL, 5)},
    {CELL_LIMIT, TEXT, ALWAYS, COLUMN("Limit", NULL, TEXT, 5)},
    {CELL_LIMIT, DATA, ALWAYS, COLUMN("Limit", "limit", TEXT, 0)},
    {CELL_SM_LIMIT, DATA, ALWAYS, COLUMN("SM Limit", "sm_limit", TEXT, 0)},
    {CELL_TENSOR_WORD, TEXT, ALWAYS, COLUMN("Tensor", NULL, TEXT, 6)},
    {CELL_TENSOR_CORES, DATA, ALWAYS, COLUMN("Tensor Cores", "tensor_cores", BOOL, 0)},
    {CELL_NAME,
     TEXT,
     ALWAYS,
     {.title = "Name", .kind = REPORT_CELL_TEXT, .width = 4, .left = true}},
    {CELL_NAME, DATA, ALWAYS, COLUMN("Name", "name", TEXT, 0)},
};

static unsigned present(const struct kernels *kernels, bool by_name)
{
    unsigned there = 0;

    if (by_name)
        there |= SEVERAL_SHAPES;
    if (kernels->device_count > 1)
        there |= SEVERAL_DEVICES;
    if (kernels->cluster_calls)
        there |= CLUSTERS;
    for (size_t i = 0; i < kernels->row_count; i++)
        there |= kernels->rows[i].shape.local_memory ? LOCAL_MEMORY : 0;
    return there;
}

void kernels_columns_choose(struct kernels_columns *columns, enum report_format format,
                            const struct kernels *kernels, bool by_name)
{
    unsigned there = present(kernels, by_name);

    *columns = (struct kernels_columns){.kernels = kernels};
    for (size_t i = 0; i < sizeof all_columns / sizeof *all_columns; i++) {
        if (!(all_columns[i].formats >> format & 1) || all_columns[i].needs & ~there)
            continue;
        columns->columns[columns->count] = all_columns[i].column;
        columns->cells[columns->count++] = all_columns[i].cell;
    }
}

/* ---- Cells ---- */

static struct report_cell number_if(bool there, uint64_t number)
{
    return there ? report_number_cell(number) : report_absent_cell();
}

static struct report_cell real_if(bool there, double number)
{
    return there ? report_real_cell(number) : report_absent_cell();
}

/* Whether a field of the launch shape is known and the same for all launches of the row. */
static bool has(const struct kernels_row *row, enum kernels_field field)
{
    return row->shape.defined && !(row->differing & field);
}

static struct report_cell sizes_text(char *text, size_t size, const uint32_t sizes[3])
{
    snprintf(text, size, "(%" PRIu32 " %" PRIu32 " %" PRIu32 ")", sizes[0], sizes[1], sizes[2]);
    return report_text_cell(text);
}

static struct report_cell size_cell(enum kernels_cell cell, const struct kernels_row *row,
                                    struct kernels_texts *texts)
{
    const struct launch_shape *shape = &row->shape;
    bool clusters = shape_cluster(shape) != 0;

    if (cell <= CELL_GRID_Z && !has(row, KERNELS_GRID))
        return report_absent_cell();
    if (cell >= CELL_BLOCK && cell <= CELL_BLOCK_Z && !has(row, KERNELS_BLOCK))
        return report_absent_cell();
    if (cell >= CELL_CLUSTER && (!has(row, KERNELS_CLUSTER) || !clusters))
        return report_absent_cell();
    if (cell == CELL_GRID)
        return sizes_text(texts->grid, sizeof texts->grid, shape->grid);
    if (cell == CELL_BLOCK)
        return sizes_text(texts->block, sizeof texts->block, shape->block);
    if (cell == CELL_CLUSTER)
        return sizes_text(texts->cluster, sizeof texts->cluster, shape->cluster);
    if (cell <= CELL_GRID_Z)
        return report_number_cell(shape->grid[cell - CELL_GRID_X]);
    if (cell <= CELL_BLOCK_Z)
        return report_number_cell(shape->block[cell - CELL_BLOCK_X]);
    return report_number_cell(shape->cluster[cell - CELL_CLUSTER_X]);
}

static struct report_cell resource_cell(enum kernels_cell cell, const struct kernels_row *row)
{
    const struct launch_shape *shape = &row->shape;

    switch ((int)cell) {
    case CELL_REGISTERS:
        return number_if(has(row, KERNELS_REGISTERS), shape->registers);
    case CELL_STATIC_SHARED:
        return number_if(has(row, KERNELS_STATIC_SHARED), shape->static_shared);
    case CELL_DYNAMIC_SHARED:
        return number_if(has(row, KERNELS_DYNAMIC_SHARED), shape->dynamic_shared);
    case CELL_CONFIGURED_SHARED:
        return number_if(has(row, KERNELS_CONFIGURED_SHARED) && shape->configured_shared,
                         shape->configured_shared);
    default:
        return number_if(has(row, KERNELS_LOCAL_MEMORY), shape->local_memory);
    }
}

static struct report_cell limit_cell(enum kernels_cell cell, const struct kernels_row *row)
{
    const struct occupancy *occupancy = &row->occupancy;
    bool one = row->has_occupancy && !(row->differing & KERNELS_LIMITS);

    switch ((int)cell) {
    case CELL_BLOCKS:
        return number_if(one, occupancy->blocks);
    case CELL_LIMIT:
        if (row->has_occupancy && !occupancy->fills_wave)
            return report_text_cell("grid");
        /* fall through */
    case CELL_SM_LIMIT:
        return report_text_cell(row->has_occupancy ? occupancy_limit_name(occupancy->limit) : NULL);
    default:
        break;
    }
    uint32_t blocks = occupancy->by[cell == CELL_BY_WARPS           ? OCCUPANCY_WARPS
                                    : cell == CELL_BY_REGISTERS     ? OCCUPANCY_REGISTERS
                                    : cell == CELL_BY_SHARED_MEMORY ? OCCUPANCY_SHARED_MEMORY
                                                                    : OCCUPANCY_BLOCKS];
    return number_if(one && blocks != OCCUPANCY_NO_LIMIT, blocks);
}

static struct report_cell occupancy_cell(enum kernels_cell cell, const struct kernels_row *row)
{
    switch ((int)cell) {
    case CELL_OCCUPANCY:
        return real_if(row->has_occupancy, row->occupancy.percent);
    case CELL_LEAST_OCCUPANCY:
        return real_if(row->has_occupancy, row->least_percent);
    case CELL_GREATEST_OCCUPANCY:
        return real_if(row->has_occupancy, row->greatest_percent);
    case CELL_WAVES:
        return real_if(row->has_occupancy, row->occupancy.waves);
    default:
        return limit_cell(cell, row);
    }
}

static struct report_cell device_cell(const struct kernels *kernels, const struct kernels_row *row,
                                      struct kernels_texts *texts)
{
    const char *name = kernels_device_name(kernels, row->device);

    if (row->device == UINT64_MAX)
        return report_absent_cell();
    snprintf(texts->device, sizeof texts->device, "%.64s (%" PRIu64 ")", name ? name : "GPU",
             row->device);
    return report_text_cell(texts->device);
}

static struct report_cell other_cell(const struct kernels *kernels, enum kernels_cell cell,
                                     const struct kernels_row *row, struct kernels_texts *texts)
{
    switch ((int)cell) {
    case CELL_PERCENT:
        return report_real_cell(row->percent);
    case CELL_TOTAL:
        return report_number_cell(row->total);
    case CELL_CALLS:
        return report_number_cell(row->calls);
    case CELL_MEAN:
        return report_real_cell(row->mean);
    case CELL_LEAST:
        return report_number_cell(row->least);
    case CELL_GREATEST:
        return report_number_cell(row->greatest);
    case CELL_DEVICE:
        return device_cell(kernels, row, texts);
    case CELL_DEVICE_NUMBER:
        return number_if(row->device != UINT64_MAX, row->device);
    case CELL_SHAPES:
        return report_number_cell(row->shapes);
    case CELL_TENSOR_CORES:
        return report_number_cell(row->tensor_cores);
    case CELL_TENSOR_WORD:
        return report_text_cell(row->tensor_cores ? "yes" : "no");
    default:
        return report_text_cell(row->name);
    }
}

void kernels_columns_fill(const struct kernels_columns *columns, const struct kernels_row *row,
                          struct kernels_texts *texts,
                          struct report_cell cells[REPORT_MOST_COLUMNS])
{
    for (size_t i = 0; i < columns->count; i++) {
        enum kernels_cell cell = (enum kernels_cell)columns->cells[i];

        if (cell >= CELL_GRID && cell <= CELL_CLUSTER_Z)
            cells[i] = size_cell(cell, row, texts);
        else if (cell >= CELL_REGISTERS && cell <= CELL_LOCAL_MEMORY)
            cells[i] = resource_cell(cell, row);
        else if (cell >= CELL_OCCUPANCY && cell <= CELL_SM_LIMIT)
            cells[i] = occupancy_cell(cell, row);
        else
            cells[i] = other_cell(columns->kernels, cell, row, texts);
    }
}
