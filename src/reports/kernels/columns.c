/* Which columns the kernel table has, and what each shows of a row. Text leaves out a column if no
 * row has a value for it; CSV always has all columns.
 */
#include "reports/kernels/columns.h"

#include "reports/common/sampled.h"

#include "base/poison.h"

enum kernels_cell {
    CELL_PERCENT,
    CELL_TOTAL,
    CELL_CALLS,
    CELL_MEAN,
    CELL_MIN,
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
    CELL_MIN_OCCUPANCY,
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
    CELL_SMS_ACTIVE, /* from here on as enum sampled_cell */
    CELL_TENSOR_ACTIVE,
    CELL_DRAM_ACTIVE,
    CELL_PCIE_IN,
    CELL_PCIE_OUT,
    CELL_SMS_ERROR,
    CELL_TENSOR_ERROR,
    CELL_DRAM_ERROR,
    CELL_PCIE_IN_ERROR,
    CELL_PCIE_OUT_ERROR,
    CELL_ERROR,
    CELL_BOUND_BY,
    CELL_NAME
};

/* What must occur in some row for a column of text to be there. */
enum needs {
    ALWAYS = 0,
    SEVERAL_DEVICES = 1,
    SEVERAL_SHAPES = 2, /* one row for all launch shapes of a name */
    CLUSTERS = 4,
    LOCAL_MEMORY = 8,
    SAMPLES = 16 /* counters were sampled */
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

/* A column of text that gives way on a terminal; those with the greatest `drop_` first. */
#define TEXT_COLUMN(title_, kind_, width_, drop_)                                                  \
    {                                                                                              \
        .title = (title_), .kind = REPORT_CELL_##kind_, .width = (width_), .drop = (drop_)         \
    }
#define ROUGH_COLUMN(title_, width_, drop_)                                                        \
    {                                                                                              \
        .title = (title_), .kind = REPORT_CELL_PERCENT, .width = (width_), .rough = true,          \
        .drop = (drop_)                                                                            \
    }

static const struct {
    uint8_t cell;
    uint8_t formats;
    uint8_t needs;
    struct report_column column;
} all_columns[] = {
    {CELL_PERCENT,
     ALL,
     ALWAYS,
     {.title = "Time(%)",
      .key = "percent",
      .kind = REPORT_CELL_PERCENT,
      .width = 7,
      .share = true}},
    {CELL_TOTAL, ALL, ALWAYS, COLUMN("Time", "total_ns", TIME, 8)},
    {CELL_CALLS, ALL, ALWAYS, COLUMN("Calls", "calls", COUNT, 5)},
    {CELL_MEAN, ALL, ALWAYS, COLUMN("Avg", "mean_ns", MEAN, 8)},
    {CELL_MIN,
     ALL,
     ALWAYS,
     {.title = "Min", .key = "min_ns", .kind = REPORT_CELL_TIME, .width = 8, .drop = 12}},
    {CELL_GREATEST,
     ALL,
     ALWAYS,
     {.title = "Max", .key = "max_ns", .kind = REPORT_CELL_TIME, .width = 8, .drop = 11}},
    {CELL_DEVICE, TEXT, SEVERAL_DEVICES, TEXT_COLUMN("Device", TEXT, 6, 8)},
    {CELL_DEVICE, CSV, ALWAYS, COLUMN("Device", NULL, TEXT, 6)},
    {CELL_DEVICE_NUMBER, JSON, ALWAYS, COLUMN("Device", "device", ID, 6)},
    {CELL_SHAPES, TEXT, SEVERAL_SHAPES, TEXT_COLUMN("Shapes", COUNT, 6, 7)},
    {CELL_SHAPES, DATA, ALWAYS, COLUMN("Launch Shapes", "shapes", COUNT, 6)},
    {CELL_GRID, TEXT, ALWAYS, TEXT_COLUMN("Grid", TEXT, 9, 4)},
    {CELL_GRID_X, DATA, ALWAYS, COLUMN("Grid X", "grid_x", COUNT, 0)},
    {CELL_GRID_Y, DATA, ALWAYS, COLUMN("Grid Y", "grid_y", COUNT, 0)},
    {CELL_GRID_Z, DATA, ALWAYS, COLUMN("Grid Z", "grid_z", COUNT, 0)},
    {CELL_BLOCK, TEXT, ALWAYS, TEXT_COLUMN("Block", TEXT, 9, 5)},
    {CELL_BLOCK_X, DATA, ALWAYS, COLUMN("Block X", "block_x", COUNT, 0)},
    {CELL_BLOCK_Y, DATA, ALWAYS, COLUMN("Block Y", "block_y", COUNT, 0)},
    {CELL_BLOCK_Z, DATA, ALWAYS, COLUMN("Block Z", "block_z", COUNT, 0)},
    {CELL_CLUSTER, TEXT, CLUSTERS, TEXT_COLUMN("Cluster", TEXT, 7, 9)},
    {CELL_CLUSTER_X, DATA, ALWAYS, COLUMN("Cluster X", "cluster_x", COUNT, 0)},
    {CELL_CLUSTER_Y, DATA, ALWAYS, COLUMN("Cluster Y", "cluster_y", COUNT, 0)},
    {CELL_CLUSTER_Z, DATA, ALWAYS, COLUMN("Cluster Z", "cluster_z", COUNT, 0)},
    {CELL_REGISTERS, TEXT, ALWAYS, TEXT_COLUMN("Regs", COUNT, 4, 6)},
    {CELL_REGISTERS, DATA, ALWAYS, COLUMN("Registers Per Thread", "registers", COUNT, 0)},
    {CELL_STATIC_SHARED, TEXT, ALWAYS, TEXT_COLUMN("SSMem", BYTES, 5, 10)},
    {CELL_STATIC_SHARED, DATA, ALWAYS, COLUMN("Static SMem", "static_shared_bytes", BYTES, 0)},
    {CELL_DYNAMIC_SHARED, TEXT, ALWAYS, TEXT_COLUMN("DSMem", BYTES, 5, 10)},
    {CELL_DYNAMIC_SHARED, DATA, ALWAYS, COLUMN("Dynamic SMem", "dynamic_shared_bytes", BYTES, 0)},
    {CELL_CONFIGURED_SHARED, DATA, ALWAYS,
     COLUMN("Configured SMem", "configured_shared_bytes", BYTES, 0)},
    {CELL_LOCAL_MEMORY, TEXT, LOCAL_MEMORY, TEXT_COLUMN("LMem", BYTES, 4, 10)},
    {CELL_LOCAL_MEMORY, DATA, ALWAYS, COLUMN("Local Memory", "local_memory_bytes", BYTES, 0)},
    {CELL_OCCUPANCY, TEXT, ALWAYS, COLUMN("Occupancy", NULL, PERCENT, 7)},
    {CELL_OCCUPANCY, DATA, ALWAYS,
     COLUMN("Theoretical Occupancy(%)", "occupancy_percent", PERCENT, 0)},
    {CELL_MIN_OCCUPANCY, DATA, ALWAYS,
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
    {CELL_WAVES,
     ALL,
     ALWAYS,
     {.title = "Waves", .key = "waves", .kind = REPORT_CELL_REAL, .width = 5, .drop = 3}},
    {CELL_LIMIT, TEXT, ALWAYS, TEXT_COLUMN("Limit", TEXT, 5, 1)},
    {CELL_LIMIT, DATA, ALWAYS, COLUMN("Limit", "limit", TEXT, 0)},
    {CELL_SM_LIMIT, DATA, ALWAYS, COLUMN("SM Limit", "sm_limit", TEXT, 0)},
    {CELL_TENSOR_WORD, TEXT, ALWAYS, TEXT_COLUMN("Tensor", TEXT, 6, 2)},
    {CELL_TENSOR_CORES, DATA, ALWAYS, COLUMN("Tensor Cores", "tensor_cores", BOOL, 0)},
    {CELL_SMS_ACTIVE, TEXT, SAMPLES, ROUGH_COLUMN("SMs", 6, 2)},
    {CELL_SMS_ACTIVE, DATA, ALWAYS, COLUMN("SM Active(%)", "sm_active_percent", PERCENT, 0)},
    {CELL_TENSOR_ACTIVE, TEXT, SAMPLES, ROUGH_COLUMN("TActive", 7, 2)},
    {CELL_TENSOR_ACTIVE, DATA, ALWAYS,
     COLUMN("Tensor Active(%)", "tensor_active_percent", PERCENT, 0)},
    {CELL_DRAM_ACTIVE, TEXT, SAMPLES, ROUGH_COLUMN("DRAM", 6, 2)},
    {CELL_DRAM_ACTIVE, DATA, ALWAYS, COLUMN("DRAM Active(%)", "dram_active_percent", PERCENT, 0)},
    {CELL_ERROR, TEXT, SAMPLES, ROUGH_COLUMN("+-", 5, 3)},
    {CELL_ERROR, DATA, ALWAYS, COLUMN("+-", "sampled_error_percent", PERCENT, 0)},
    {CELL_PCIE_IN, TEXT, SAMPLES, TEXT_COLUMN("PCIe in", THROUGHPUT, 8, 2)},
    {CELL_PCIE_IN, DATA, ALWAYS, COLUMN("PCIe In", "pcie_in_bytes_per_second", THROUGHPUT, 0)},
    {CELL_PCIE_OUT, TEXT, SAMPLES, TEXT_COLUMN("PCIe out", THROUGHPUT, 8, 2)},
    {CELL_PCIE_OUT, DATA, ALWAYS, COLUMN("PCIe Out", "pcie_out_bytes_per_second", THROUGHPUT, 0)},
    {CELL_SMS_ERROR, DATA, ALWAYS, COLUMN("SM Active +-", "sm_active_error_percent", PERCENT, 0)},
    {CELL_TENSOR_ERROR, DATA, ALWAYS,
     COLUMN("Tensor Active +-", "tensor_active_error_percent", PERCENT, 0)},
    {CELL_DRAM_ERROR, DATA, ALWAYS,
     COLUMN("DRAM Active +-", "dram_active_error_percent", PERCENT, 0)},
    {CELL_PCIE_IN_ERROR, DATA, ALWAYS,
     COLUMN("PCIe In +-", "pcie_in_error_bytes_per_second", THROUGHPUT, 0)},
    {CELL_PCIE_OUT_ERROR, DATA, ALWAYS,
     COLUMN("PCIe Out +-", "pcie_out_error_bytes_per_second", THROUGHPUT, 0)},
    {CELL_BOUND_BY, TEXT, SAMPLES, TEXT_COLUMN("Bound by", TEXT, 8, 1)},
    {CELL_BOUND_BY, DATA, ALWAYS, COLUMN("Bound By", "bound_by", TEXT, 0)},
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
    if (kernels->counters)
        there |= SAMPLES;
    for (size_t i = 0; i < kernels->row_count; i++)
        there |= kernels->rows[i].shape.local_memory ? LOCAL_MEMORY : 0;
    return there;
}

void kernels_columns_choose(struct kernels_columns *columns, const struct report_out *out,
                            const struct kernels *kernels, bool by_name)
{
    enum report_format format = report_has_titles(out) ? out->format : REPORT_JSON;
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
    case CELL_MIN_OCCUPANCY:
        return real_if(row->has_occupancy, row->min_percent);
    case CELL_GREATEST_OCCUPANCY:
        return real_if(row->has_occupancy, row->max_percent);
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
    case CELL_MIN:
        return report_number_cell(row->min);
    case CELL_GREATEST:
        return report_number_cell(row->max);
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
                          struct kernels_texts *texts, struct report_cell cells[REPORT_MAX_COLUMNS])
{
    const struct counters_result *counters = columns->kernels->counters;
    struct counters_brief brief;

    if (counters)
        brief = counters_brief_of(counters, row->device, row->name);
    for (size_t i = 0; i < columns->count; i++) {
        enum kernels_cell cell = (enum kernels_cell)columns->cells[i];

        if (cell >= CELL_GRID && cell <= CELL_CLUSTER_Z)
            cells[i] = size_cell(cell, row, texts);
        else if (cell >= CELL_REGISTERS && cell <= CELL_LOCAL_MEMORY)
            cells[i] = resource_cell(cell, row);
        else if (cell >= CELL_OCCUPANCY && cell <= CELL_SM_LIMIT)
            cells[i] = occupancy_cell(cell, row);
        else if (cell >= CELL_SMS_ACTIVE && cell <= CELL_BOUND_BY)
            cells[i] =
                sampled_cell(counters ? &brief : NULL, (enum sampled_cell)(cell - CELL_SMS_ACTIVE));
        else
            cells[i] = other_cell(columns->kernels, cell, row, texts);
    }
}
