/* Prints kernels by launch shape or by name, and the notes on what occupancy rests on. */
#include "reports/kernels/kernels.h"

#include <inttypes.h>

#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/common/sampled.h"

#include "base/poison.h"

/* ---- Columns ---- */

/* What must occur in some row for a column of text to be there. */
enum needs {
    SEVERAL_DEVICES = 1,
    SEVERAL_SHAPES = 2, /* one row for all launch shapes of a name */
    CLUSTERS = 4,
    LOCAL_MEMORY = 8,
    SAMPLES = 16, /* counters were sampled */
    PARTITIONS = 32,
    EVERYTHING = 63
};

struct shown_kernel {
    const struct counters_brief *sampled; /* as in struct sampled_row */
    const struct kernels_row *row;
};

#define OF(member)   THROUGH(struct shown_kernel, row, member)
#define IF_OCCUPANCY .when = REPORT_THROUGH(struct shown_kernel, row, has_occupancy)

static struct report_cell device_cell(const void *at, struct report_table *table)
{
    const struct kernels_row *row = ((const struct shown_kernel *)at)->row;
    const char *name = kernels_device_name(table->of, row->device);

    if (row->device == UINT64_MAX)
        return report_absent_cell();
    return report_text_cell(
        report_say(table, "%.64s (%" PRIu64 ")", name ? name : "GPU", row->device));
}

/* The column's `index` is a field of the shape: whether it is known and the same for all launches
 * of the row. */
static bool is_one(const struct kernels_row *row, unsigned field)
{
    return row->shape.defined && !(row->differing & field);
}

static struct report_cell shape_cell(const void *at, struct report_table *table)
{
    const struct kernels_row *row = ((const struct shown_kernel *)at)->row;

    if (!is_one(row, table->column->index))
        return report_absent_cell();
    return report_value_cell(at, table);
}

static struct report_cell cluster_cell(const void *at, struct report_table *table)
{
    const struct kernels_row *row = ((const struct shown_kernel *)at)->row;

    return shape_cluster(&row->shape) ? shape_cell(at, table) : report_absent_cell();
}

static struct report_cell multiprocessors_cell(const void *at, struct report_table *table)
{
    const struct kernels_row *row = ((const struct shown_kernel *)at)->row;

    if (!row->multiprocessors || row->differing & KERNELS_MULTIPROCESSORS)
        return report_absent_cell();
    return report_value_cell(at, table);
}

/* Three sizes as a text. */
static struct report_cell sizes_cell(const void *at, struct report_table *table)
{
    const struct kernels_row *row = ((const struct shown_kernel *)at)->row;
    const struct launch_shape *shape = &row->shape;
    unsigned field = table->column->index;
    const uint32_t *sizes = field == KERNELS_GRID    ? shape->grid
                            : field == KERNELS_BLOCK ? shape->block
                                                     : shape->cluster;

    if (!is_one(row, field) || (field == KERNELS_CLUSTER && !shape_cluster(shape)))
        return report_absent_cell();
    return report_text_cell(
        report_say(table, "(%" PRIu32 " %" PRIu32 " %" PRIu32 ")", sizes[0], sizes[1], sizes[2]));
}

static struct report_cell blocks_cell(const void *at, struct report_table *table)
{
    const struct kernels_row *row = ((const struct shown_kernel *)at)->row;

    if (!row->has_occupancy || row->differing & KERNELS_LIMITS)
        return report_absent_cell();
    return report_value_cell(at, table);
}

static struct report_cell sm_limit_cell(const void *at, struct report_table *table)
{
    const struct kernels_row *row = ((const struct shown_kernel *)at)->row;

    (void)table;
    return report_text_cell(occupancy_limit_name(row->occupancy.limit));
}

static struct report_cell limit_cell(const void *at, struct report_table *table)
{
    const struct kernels_row *row = ((const struct shown_kernel *)at)->row;

    return row->occupancy.fills_wave ? sm_limit_cell(at, table) : report_text_cell("grid");
}

static struct report_cell tensor_cell(const void *at, struct report_table *table)
{
    (void)table;
    return report_text_cell(((const struct shown_kernel *)at)->row->tensor_cores ? "yes" : "no");
}

#define SHAPE(title, key, kind, width, member, field, ...)                                         \
    COLUMN(title, key, kind, width, OF(shape.member), .cell = shape_cell,                          \
           .index = KERNELS_##field, __VA_ARGS__)
#define SIZE(title, key, member, field, cell_)                                                     \
    COLUMN(title, key, COUNT, 0, OF(shape.member), .cell = (cell_), .index = (field),              \
           .formats = REPORT_IN_DATA)
#define SIZES(title, key, member, field, cell_, width, ...)                                        \
    COLUMN(title, NULL, TEXT, width, .cell = sizes_cell, .index = (field),                         \
           .formats = REPORT_IN_TEXT, __VA_ARGS__),                                                \
        SIZE(title " X", key "_x", member[0], field, cell_),                                       \
        SIZE(title " Y", key "_y", member[1], field, cell_),                                       \
        SIZE(title " Z", key "_z", member[2], field, cell_)
#define BLOCKS(title, key, member)                                                                 \
    COLUMN(title, key, COUNT, 0, OF(occupancy.member), .cell = blocks_cell, UNLESS_MAX,            \
           .formats = REPORT_IN_DATA)

/* One row a column. For people three sizes are one text, for scripts three numbers. */
static const struct report_column columns[] = {
    COLUMN("Time(%)", "percent", PERCENT, 7, OF(percent), .share = true),
    COLUMN("Time", "total_ns", TIME, 8, OF(total)),
    COLUMN("Calls", "calls", COUNT, 5, OF(calls)),
    COLUMN("Avg", "mean_ns", MEAN, 8, OF(mean)),
    COLUMN("Min", "min_ns", TIME, 8, OF(min), .drop = 12),
    COLUMN("Max", "max_ns", TIME, 8, OF(max), .drop = 11),
    COLUMN("Device", NULL, TEXT, 6, .cell = device_cell, .needs = SEVERAL_DEVICES,
           .formats = REPORT_IN_TEXT, .drop = 8),
    COLUMN(NULL, "device", ID, 0, OF(device), UNLESS_MAX, .formats = REPORT_IN_DATA),
    COLUMN("SM Count", "multiprocessors", COUNT, 3, OF(multiprocessors),
           .cell = multiprocessors_cell, .needs = PARTITIONS, .drop = 8),
    COLUMN("Shapes", "shapes", COUNT, 6, OF(shapes), .needs = SEVERAL_SHAPES, .drop = 7),
    SIZES("Grid", "grid", grid, KERNELS_GRID, shape_cell, 9, .drop = 4),
    SIZES("Block", "block", block, KERNELS_BLOCK, shape_cell, 9, .drop = 5),
    SIZES("Cluster", "cluster", cluster, KERNELS_CLUSTER, cluster_cell, 7, .needs = CLUSTERS,
          .drop = 9),
    SHAPE("Regs", "registers", COUNT, 4, registers, REGISTERS, .drop = 6),
    SHAPE("SSMem", "static_shared_bytes", BYTES, 5, static_shared, STATIC_SHARED, .drop = 10),
    SHAPE("DSMem", "dynamic_shared_bytes", BYTES, 5, dynamic_shared, DYNAMIC_SHARED, .drop = 10),
    SHAPE("Configured SMem", "configured_shared_bytes", BYTES, 0, configured_shared,
          CONFIGURED_SHARED, UNLESS_ZERO, .formats = REPORT_IN_DATA),
    SHAPE("LMem", "local_memory_bytes", BYTES, 4, local_memory, LOCAL_MEMORY, .needs = LOCAL_MEMORY,
          .drop = 10),
    COLUMN("Occupancy", "occupancy_percent", PERCENT, 7, OF(occupancy.percent), IF_OCCUPANCY),
    COLUMN("Min Occupancy(%)", "min_occupancy_percent", PERCENT, 0, OF(min_percent), IF_OCCUPANCY,
           .formats = REPORT_IN_DATA),
    COLUMN("Max Occupancy(%)", "max_occupancy_percent", PERCENT, 0, OF(max_percent), IF_OCCUPANCY,
           .formats = REPORT_IN_DATA),
    BLOCKS("Blocks Per SM", "blocks_per_sm", blocks),
    BLOCKS("Blocks By Warps", "blocks_by_warps", by[OCCUPANCY_WARPS]),
    BLOCKS("Blocks By Registers", "blocks_by_registers", by[OCCUPANCY_REGISTERS]),
    BLOCKS("Blocks By SMem", "blocks_by_shared_memory", by[OCCUPANCY_SHARED_MEMORY]),
    BLOCKS("Blocks By Blocks", "blocks_by_blocks", by[OCCUPANCY_BLOCKS]),
    COLUMN("Waves", "waves", REAL, 5, OF(occupancy.waves), IF_OCCUPANCY, .drop = 3),
    COLUMN("Limit", "limit", TEXT, 5, .cell = limit_cell, IF_OCCUPANCY, .drop = 1),
    COLUMN("SM Limit", "sm_limit", TEXT, 0, .cell = sm_limit_cell, IF_OCCUPANCY,
           .formats = REPORT_IN_DATA),
    COLUMN("Tensor", NULL, TEXT, 6, .cell = tensor_cell, .formats = REPORT_IN_TEXT, .drop = 2),
    COLUMN("Tensor Cores", "tensor_cores", BOOL, 0, OF(tensor_cores), .formats = REPORT_IN_DATA),
    SAMPLED_COLUMNS(SAMPLES, 2, 3, 2),
    SAMPLED_ERRORS,
    SAMPLED_BOUND(SAMPLES, 1),
    COLUMN("Name", "name", TEXT, 4, OF(name), .left = true),
};

static uint32_t what_is_there(const struct report_out *out, const struct kernels *kernels,
                              bool by_name)
{
    uint32_t there = by_name ? SEVERAL_SHAPES : 0;

    if (out->format != REPORT_TEXT)
        return EVERYTHING;
    if (kernels->device_count > 1)
        there |= SEVERAL_DEVICES;
    if (kernels->cluster_calls)
        there |= CLUSTERS;
    if (kernels->partitioned)
        there |= PARTITIONS;
    if (kernels->counters)
        there |= SAMPLES;
    for (size_t i = 0; i < kernels->row_count; i++)
        there |= kernels->rows[i].shape.local_memory ? LOCAL_MEMORY : 0;
    return there;
}

static struct report_layout layout_of(const struct report_out *out, const struct kernels *kernels,
                                      bool by_name)
{
    return (struct report_layout){REPORT_COLUMNS(columns), .of = kernels,
                                  .there = what_is_there(out, kernels, by_name)};
}

static void each_kernel(struct report_table *table, report_take *take)
{
    const struct kernels *kernels = table->of;

    for (size_t i = 0; i < kernels->row_count; i++) {
        const struct kernels_row *row = &kernels->rows[i];
        struct shown_kernel shown = {.row = row};
        struct counters_brief brief;

        if (kernels->counters) {
            brief = counters_brief_of(kernels->counters, row->device, row->name);
            shown.sampled = &brief;
        }
        take(table, &shown);
    }
}

/* ---- What the table rests on ---- */

static void print_totals(const struct report_out *out, const struct mp_trace *trace,
                         const struct kernels *kernels)
{
    print_note(out, trace, "Tensor-core kernels, by their names: %s of the time of all kernels.",
               mp_percent(kernels->total
                              ? 100.0 * (double)kernels->tensor_total / (double)kernels->total
                              : 0)
                   .text);
    if (!kernels->percent_total)
        return;
    print_note(out, trace, "Theoretical occupancy: %s, mean weighted by time.",
               mp_percent(kernels->percent).text);
}

static void kernels_print_notes(const struct report_out *out, const struct mp_trace *trace,
                                const struct kernels *kernels)
{
    print_kernel_time(out, trace, &kernels->time);
    if (kernels->counters)
        print_sampled_note(out, trace);
    if (kernels->graph_launches)
        print_note(
            out, trace,
            "Note: %s launch%s of CUDA graphs %s recorded as a whole: their kernels are not known.",
            mp_count(kernels->graph_launches).text, kernels->graph_launches == 1 ? "" : "es",
            kernels->graph_launches == 1 ? "is" : "are");
    if (kernels->cluster_calls)
        print_note(out, trace,
                   "Note: %s launch%s with clusters: waves do not take into account that the "
                   "blocks of a cluster run together.",
                   mp_count(kernels->cluster_calls).text, kernels->cluster_calls == 1 ? "" : "es");
    if (kernels->unknown_major)
        print_note(out, trace,
                   "Note: compute capability %" PRIu32 ".%" PRIu32
                   " is not known here: occupancy is "
                   "computed as for the nearest that is.",
                   kernels->unknown_major, kernels->unknown_minor);
    if (kernels->calls && kernels->percent_total < kernels->total)
        print_note(out, trace,
                   "Note: the trace lacks limits of a device or a launch shape: occupancy is not "
                   "known where '-' stands for it.");
}

static void print_none(const struct report_out *out, const struct mp_trace *trace,
                       const struct kernels *kernels)
{
    print_note(out, trace, "%s",
               kernels->quality.untimed.without ? "No kernel has times."
               : kernels->recorded              ? "No kernels in the trace."
                                                : "No kernels in the trace: MINIPROF_GPU=off.");
}

static void kernels_print_text(const struct report_out *out, const struct mp_trace *trace,
                               const struct kernels *kernels, const struct kernels_options *options)
{
    const struct report_layout layout = layout_of(out, kernels, options->by_name);

    print_head(out, trace, &kernels->quality, options->range,
               ranges_count(&kernels->profile->ranges));
    if (!kernels->row_count) {
        print_none(out, trace, kernels);
        if (report_has_titles(out)) {
            kernels_print_notes(out, trace, kernels);
            return;
        }
    }
    if (report_has_titles(out))
        print_note(out, trace, "Kernels by %s:", options->by_name ? "name" : "launch shape");
    report_print(out, &layout, each_kernel);
    if (out->format == REPORT_TEXT)
        print_totals(out, trace, kernels);
    kernels_print_notes(out, trace, kernels);
}

static void kernels_print_json(const struct report_out *out, const struct mp_trace *trace,
                               const struct kernels *kernels, const struct kernels_options *options)
{
    const struct report_layout layout = layout_of(out, kernels, options->by_name);
    struct json_writer json;

    json_open_document(&json, out->file, 2);
    json_head(&json, trace, &kernels->quality, &kernels->profile->definitions, options->range,
              ranges_count(&kernels->profile->ranges));
    JSON_FACTS(&json, FACT("by_name", options->by_name), FACT("calls", kernels->calls),
               FACT("total_ns", kernels->total), FACT("tensor_core_ns", kernels->tensor_total),
               FACT("graph_launches", kernels->graph_launches),
               FACT("cluster_launches", kernels->cluster_calls),
               FACT_IF("occupancy_percent", kernels->percent_total, kernels->percent));
    json_kernel_time(&json, &kernels->time);
    report_json_print(&json, "kernels", &layout, each_kernel);
    json_close_document(&json);
}

void print_kernels(const struct report_out *out, const struct mp_trace *trace,
                   const struct kernels *kernels, const struct kernels_options *options)
{
    if (out->format == REPORT_JSON)
        kernels_print_json(out, trace, kernels, options);
    else
        kernels_print_text(out, trace, kernels, options);
}
