/* The tables of the memory report: columns and rows. Sections of text and JSON share them. The `of`
 * of a table is its struct memory_table.
 */
#include <inttypes.h>

#include "profile/names/names.h"
#include "reports/common/quality.h"
#include "reports/memory/print.h"

#include "base/poison.h"

/* ---- Cells ---- */

static const struct memory *memory_of(const struct report_table *table)
{
    return ((const struct memory_table *)table->of)->memory;
}

/* Those that follow show the column's value, a number, as something else. */

static struct report_cell kind_cell(const void *row, struct report_table *table)
{
    uint64_t kind = report_value_cell(row, table).number;
    const char *name = mp_enum_name("memory_kind", kind);

    return report_text_cell(name ? name : report_say(table, "%" PRIu64, kind));
}

static struct report_cell device_cell(const void *row, struct report_table *table)
{
    uint64_t ordinal = report_value_cell(row, table).number;
    const char *name = definitions_device(&memory_of(table)->definitions, ordinal);

    if (ordinal == MEMORY_HOST)
        return report_text_cell("host");
    return report_text_cell(
        report_say(table, "%.130s (%" PRIu64 ")", name ? name : "GPU", ordinal));
}

static struct report_cell time_cell(const void *row, struct report_table *table)
{
    uint64_t time = report_value_cell(row, table).number;

    return report_number_if(time, time - memory_of(table)->events.first_time);
}

/* Functions are written as in nvprof: without their version. */
static struct report_cell function_cell(const void *row, struct report_table *table)
{
    struct report_cell cell = report_value_cell(row, table);

    if (!cell.absent)
        cell.text_bytes = (uint32_t)names_api_length(cell.text);
    return cell;
}

#define IF_DOMAINS 1u /* bits of `there` */
#define IF_DEVICE  2u

#define SIZE(title, key, ...) COLUMN(title, key, BYTES, 8, .scaled = true, __VA_ARGS__)
#define MOMENT(title, key, ...)                                                                    \
    COLUMN(title, key, TIME, 8, .cell = time_cell, .moment = true, __VA_ARGS__)
#define KIND(...) COLUMN("Memory", "kind", TEXT, 6, .cell = kind_cell, __VA_ARGS__)
#define DEVICE(...)                                                                                \
    COLUMN("Device", "device_name", TEXT, 4, .cell = device_cell, .left = true, __VA_ARGS__)

/* Text has the last one if some row has a domain. */
#define SOURCE_COLUMNS(row)                                                                        \
    COLUMN("Function", "function", TEXT, 8, MEMBER(row, source.function), .cell = function_cell,   \
           .left = true, .name = true),                                                            \
        COLUMN("NVTX Range", "range", TEXT, 0, MEMBER(row, source.range), .left = true),           \
        COLUMN("NVTX Domain", "domain", TEXT, 0, MEMBER(row, source.domain), .left = true,         \
               .needs = IF_DOMAINS, .drop = 4)

void memory_table_print(const struct report_out *out, const struct memory_table *table,
                        const char *name)
{
    struct report_layout layout = table->layout;

    layout.of = table;
    layout.name = name;
    if (out->format != REPORT_TEXT || table->has_domains)
        layout.there |= IF_DOMAINS;
    report_print(out, &layout, table->each);
}

void memory_table_json(struct json_writer *json, const char *key, const struct memory_table *table)
{
    struct report_layout layout = table->layout;

    layout.of = table;
    layout.there |= IF_DOMAINS;
    report_json_print(json, key, &layout, table->each);
}

#define TABLE(columns, row_count, each_)                                                           \
    ((struct memory_table){.memory = memory,                                                       \
                           .layout = {REPORT_COLUMNS(columns)},                                    \
                           .rows = (row_count),                                                    \
                           .each = (each_)})

/* ---- Totals ---- */

struct totals_line {
    const struct memory_totals *totals;
    uint64_t device;
    uint64_t kind; /* ALL_KINDS: all memory of the device */
};

#define ALL_KINDS  UINT64_MAX
#define OF(member) THROUGH(struct totals_line, totals, member)

static struct report_cell any_kind_cell(const void *at, struct report_table *table)
{
    return ((const struct totals_line *)at)->kind == ALL_KINDS ? report_text_cell("all")
                                                               : kind_cell(at, table);
}

static const struct report_column totals_columns[] = {
    COLUMN("Allocs", "allocations", COUNT, 5, OF(allocations)),
    COLUMN("Frees", "frees", COUNT, 5, OF(frees)),
    COLUMN("Unknown", "unknown_frees", COUNT, 5, OF(unknown), .drop = 1),
    SIZE("Total Size", "bytes", OF(bytes)),
    SIZE("Peak Size", "peak_bytes", OF(peak)),
    MOMENT("Peak At", "peak_ns", OF(peak_time)),
    SIZE("At End", "end_bytes", OF(live)),
    COLUMN("Memory", "kind", TEXT, 6, MEMBER(struct totals_line, kind), .cell = any_kind_cell),
    DEVICE(MEMBER(struct totals_line, device)),
};
#undef OF

static struct memory_totals totals_of(const struct allocations_row *row)
{
    return (struct memory_totals){
        .allocations = row->allocations,
        .frees = row->frees,
        .unknown = row->unknown,
        .bytes = row->bytes,
        .peak = row->peak,
        .peak_time = row->peak_time,
        .live = row->kept,
    };
}

/* A device's row stands before the rows of its kinds; both lists have the same order. */
static void each_total(struct report_table *table, report_take *take)
{
    const struct memory *memory = memory_of(table);
    size_t kind = 0;

    for (size_t i = 0; i < memory->device_count; i++) {
        const struct memory_device *device = &memory->devices[i];

        take(table, &(struct totals_line){&device->totals, device->device, ALL_KINDS});
        for (; kind < memory->kind_count && memory->kinds[kind].device == device->device; kind++) {
            const struct memory_totals totals = totals_of(&memory->kinds[kind]);

            take(table, &(struct totals_line){&totals, device->device, memory->kinds[kind].kind});
        }
    }
}

struct memory_table memory_totals_table(const struct memory *memory)
{
    return TABLE(totals_columns, memory->device_count + memory->kind_count, each_total);
}

/* ---- At the peak ---- */

struct alive_line {
    const struct memory_alive *alive;
    struct memory_source source;
    uint64_t device;
};

#define OF(member) THROUGH(struct alive_line, alive, member)

static const struct report_column alive_columns[] = {
    DEVICE(MEMBER(struct alive_line, device), .needs = IF_DEVICE),
    SIZE("Size", "bytes", OF(bytes)),
    COLUMN("Address", "address", HEX, 8, OF(address), .drop = 5),
    MOMENT("Allocated", "time_ns", OF(time)),
    KIND(OF(kind)),
    COLUMN("Correlation", "correlation", ID, 5, OF(correlation), UNLESS_ZERO, .drop = 6),
    SOURCE_COLUMNS(struct alive_line),
};
#undef OF

static void each_alive_of(struct report_table *table, report_take *take,
                          const struct memory_device *device)
{
    for (size_t i = 0; i < device->alive_shown; i++)
        take(table,
             &(struct alive_line){&device->alive[i], device->alive[i].source, device->device});
}

static void each_alive(struct report_table *table, report_take *take)
{
    const struct memory_table *own = table->of;

    each_alive_of(table, take, &own->memory->devices[own->which]);
}

static void each_peak(struct report_table *table, report_take *take)
{
    const struct memory *memory = memory_of(table);

    for (size_t i = 0; i < memory->device_count; i++)
        each_alive_of(table, take, &memory->devices[i]);
}

struct memory_table memory_alive_table(const struct memory *memory, size_t device)
{
    struct memory_table table =
        TABLE(alive_columns, memory->devices[device].alive_shown, each_alive);

    table.which = device;
    for (size_t i = 0; i < table.rows; i++)
        table.has_domains |= memory->devices[device].alive[i].source.domain != NULL;
    return table;
}

struct memory_table memory_peaks_table(const struct memory *memory)
{
    struct memory_table table = TABLE(alive_columns, 0, each_peak);

    table.layout.there = IF_DEVICE;
    for (size_t i = 0; i < memory->device_count; i++)
        table.rows += memory->devices[i].alive_shown;
    return table;
}

/* ---- Pools ---- */

struct pool_line {
    const struct memory_pool_row *row;
    const struct memory_pool *pool;
    bool is_used; /* its use was seen */
    bool imported;
};

#define OF(member)   THROUGH(struct pool_line, row, totals.member)
#define POOL(member) THROUGH(struct pool_line, pool, member)
#define IF(member)   .when = REPORT_THROUGH(struct pool_line, pool, member)
#define IN_DATA      .formats = REPORT_IN_DATA

static const struct report_column pool_columns[] = {
    COLUMN("Allocs", "allocations", COUNT, 5, OF(allocations)),
    COLUMN("Frees", "frees", COUNT, 5, OF(frees)),
    SIZE("Peak Size", "peak_bytes", OF(peak)),
    SIZE("At End", "end_bytes", OF(live)),
    SIZE("Reserved", "reserved_bytes", POOL(reserved), IF(has_sizes)),
    SIZE("Max Reserved", "max_reserved_bytes", POOL(max_reserved), IF(has_sizes)),
    SIZE("Used", "used_bytes", POOL(used), WHEN(struct pool_line, is_used)),
    SIZE("Max Used", "max_used_bytes", POOL(max_used), WHEN(struct pool_line, is_used)),
    COLUMN("Trims", "trims", COUNT, 5, POOL(trims)),
    COLUMN("Pool", "pool", HEX, 4, POOL(address)),
    DEVICE(POOL(device)),
    COLUMN("Created", "created_ns", TIME, 8, POOL(created), .cell = time_cell, IN_DATA),
    COLUMN("Destroyed", "destroyed_ns", TIME, 8, POOL(destroyed), .cell = time_cell, IN_DATA),
    SIZE("Threshold", "release_threshold_bytes", POOL(threshold), IF(has_threshold), IN_DATA),
    COLUMN("Imported", "imported", BOOL, 3, MEMBER(struct pool_line, imported), IN_DATA),
};
#undef OF

static void each_pool(struct report_table *table, report_take *take)
{
    const struct memory *memory = memory_of(table);

    for (size_t i = 0; i < memory->pool_count; i++) {
        const struct memory_pool_row *row = &memory->pools[i];

        take(table,
             &(struct pool_line){
                 .row = row,
                 .pool = row->pool,
                 .is_used = row->pool->has_sizes && (row->totals.allocations || row->totals.frees),
                 .imported = row->pool->type == 2,
             });
    }
}

struct memory_table memory_pools_table(const struct memory *memory)
{
    return TABLE(pool_columns, memory->pool_count, each_pool);
}

/* ---- Not freed ---- */

static const struct report_column kept_columns[] = {
    COLUMN("Allocs", "allocations", COUNT, 5, MEMBER(struct memory_kept, count)),
    SIZE("Size", "size", MEMBER(struct memory_kept, size)),
    SIZE("Total Size", "bytes", MEMBER(struct memory_kept, bytes)),
    SOURCE_COLUMNS(struct memory_kept),
};

static void each_kept(struct report_table *table, report_take *take)
{
    const struct memory *memory = memory_of(table);

    for (size_t i = 0; i < memory->kept_shown; i++)
        take(table, &memory->kept[i]);
}

struct memory_table memory_kept_table(const struct memory *memory)
{
    struct memory_table table = TABLE(kept_columns, memory->kept_shown, each_kept);

    for (size_t i = 0; i < table.rows; i++)
        table.has_domains |= memory->kept[i].source.domain != NULL;
    return table;
}

/* ---- Churn ---- */

#define OF(member) MEMBER(struct memory_churn, member)

static struct report_cell timed_cell(const void *row, struct report_table *table)
{
    return memory_of(table)->events.no_calls ? report_absent_cell() : report_value_cell(row, table);
}

static struct report_cell lifetime_cell(const void *at, struct report_table *table)
{
    const struct memory_churn *churn = at;

    (void)table;
    return report_real_if(churn->pairs, churn->lifetime / (double)churn->pairs);
}

static struct report_cell source_cell(const void *at, struct report_table *table)
{
    return at == &memory_of(table)->churn ? report_text_cell("<all>") : function_cell(at, table);
}

static const struct report_column churn_columns[] = {
    COLUMN("Allocs", "allocations", COUNT, 5, OF(allocations)),
    SIZE("Allocated", "bytes", OF(bytes)),
    COLUMN("Alloc Time", "allocate_ns", TIME, 8, OF(allocate_ns), .cell = timed_cell),
    COLUMN("Frees", "frees", COUNT, 5, OF(frees)),
    SIZE("Freed", "freed_bytes", OF(freed_bytes), .drop = 5),
    COLUMN("Free Time", "free_ns", TIME, 8, OF(free_ns), .cell = timed_cell, .drop = 6),
    COLUMN("Pairs", "pairs", COUNT, 5, OF(pairs), .drop = 8),
    COLUMN("Avg Lifetime", "mean_lifetime_ns", MEAN, 8, .cell = lifetime_cell, .drop = 7),
    COLUMN("Function", "function", TEXT, 8, OF(source.function), .cell = source_cell, .left = true,
           .name = true),
    COLUMN("NVTX Range", "range", TEXT, 0, OF(source.range), .left = true),
    COLUMN("NVTX Domain", "domain", TEXT, 0, OF(source.domain), .left = true, .needs = IF_DOMAINS,
           .drop = 4),
};
#undef OF

/* All places together, then one by one. */
static void each_churn(struct report_table *table, report_take *take)
{
    const struct memory *memory = memory_of(table);

    take(table, &memory->churn);
    for (size_t i = 0; i < memory->source_shown; i++)
        take(table, &memory->sources[i]);
}

struct memory_table memory_churn_table(const struct memory *memory)
{
    struct memory_table table = TABLE(churn_columns, 1 + memory->source_shown, each_churn);

    for (size_t i = 0; i < memory->source_shown; i++)
        table.has_domains |= memory->sources[i].source.domain != NULL;
    return table;
}

/* ---- Iterations ---- */

/* A statistic of each quantity. */
struct statistic_line {
    const char *name;
    double allocations, frees;
    uint64_t bytes, freed_bytes, call_ns;
};

#define OF(member) MEMBER(struct statistic_line, member)

static const struct report_column iterations_columns[] = {
    COLUMN("", "statistic", TEXT, 4, OF(name)),
    COLUMN("Allocs", "allocations", REAL, 8, OF(allocations)),
    COLUMN("Frees", "frees", REAL, 8, OF(frees)),
    SIZE("Allocated", "bytes", OF(bytes)),
    SIZE("Freed", "freed_bytes", OF(freed_bytes)),
    COLUMN("Time in Calls", "call_ns", TIME, 8, OF(call_ns), .cell = timed_cell),
};
#undef OF

#define STATISTICS 5

static double statistic_of(const struct statistics *of, size_t which)
{
    const double values[STATISTICS] = {of->mean, (double)of->p50, (double)of->p99, (double)of->min,
                                       (double)of->max};

    return values[which];
}

static uint64_t rounded(const struct statistics *of, size_t which)
{
    return (uint64_t)(statistic_of(of, which) + 0.5);
}

static void each_statistic(struct report_table *table, report_take *take)
{
    static const char *const names[STATISTICS] = {"mean", "p50", "p99", "min", "max"};
    const struct memory *memory = memory_of(table);
    const struct memory_iterations *of = &memory->iterations;

    for (size_t i = 0; i < (memory->iteration ? STATISTICS : 0); i++)
        take(table, &(struct statistic_line){
                        .name = names[i],
                        .allocations = statistic_of(&of->allocations, i),
                        .frees = statistic_of(&of->frees, i),
                        .bytes = rounded(&of->bytes, i),
                        .freed_bytes = rounded(&of->freed_bytes, i),
                        .call_ns = rounded(&of->call_ns, i),
                    });
}

struct memory_table memory_iterations_table(const struct memory *memory)
{
    return TABLE(iterations_columns, memory->iteration ? STATISTICS : 0, each_statistic);
}

/* ---- The time line ---- */

#define OF(member) MEMBER(struct memory_point, member)
#define POINT_POOL COLUMN("Pool", "pool", HEX, 4, THROUGH(struct memory_point, pool, address))

static struct report_cell pool_live_cell(const void *at, struct report_table *table)
{
    const struct memory_point *point = at;

    (void)table;
    return report_number_if(point->pool != NULL, point->pool_live);
}

static const struct report_column change_columns[] = {
    MOMENT("Time", "time_ns", OF(time)),
    COLUMN("Change", "change_bytes", SIGNED, 10, OF(change)),
    SIZE("Allocated", "live_bytes", OF(live)),
    SIZE("In Pool", "pool_live_bytes", .cell = pool_live_cell),
    POINT_POOL,
    KIND(OF(kind)),
    DEVICE(OF(device)),
};

static const struct report_column step_columns[] = {
    MOMENT("Time", "time_ns", OF(time)),
    SIZE("Min", "min_bytes", OF(min)),
    SIZE("Max", "max_bytes", OF(max)),
    SIZE("At End", "end_bytes", OF(live)),
    POINT_POOL,
    DEVICE(OF(device)),
};

struct memory_table memory_points_table(const struct memory *memory, bool steps)
{
    return steps ? TABLE(step_columns, 0, NULL) : TABLE(change_columns, 0, NULL);
}

#undef OF

/* ---- A device as a key ---- */

void memory_json_device(struct json_writer *json, const struct memory *memory, uint64_t ordinal)
{
    static const struct report_column columns[] = {DEVICE(MEMBER(struct totals_line, device))};
    const struct memory_table table = {.memory = memory};

    report_json_members(json, &(struct report_layout){REPORT_COLUMNS(columns), .of = &table},
                        &(struct totals_line){.device = ordinal});
}

/* ---- Allocations in nvprof's layout ----
 *
 * nvprof kept these records only in its file, so the table is modelled on its other results.
 */

#define OF(member) MEMBER(struct allocations_row, member)

static struct report_cell gpu_name_cell(const void *at, struct report_table *table)
{
    const struct allocations_row *row = at;

    if (row->device == MEMORY_HOST)
        return report_absent_cell();
    return report_text_cell(
        report_say(table, "%.130s (%" PRIu64 ")", row->name ? row->name : "GPU", row->device));
}

static const struct report_column allocation_columns[] = {
    COLUMN("Allocs", NULL, COUNT, 8, OF(allocations)),
    COLUMN("Frees", NULL, COUNT, 8, OF(frees)),
    SIZE("Total Size", NULL, OF(bytes)),
    SIZE("Peak Size", NULL, OF(peak)),
    SIZE("Not Freed", NULL, OF(kept)),
    COLUMN("Memory", NULL, TEXT, 14, OF(kind), .cell = kind_cell),
    COLUMN("Device", NULL, TEXT, 4, .cell = gpu_name_cell, .left = true),
};

void print_allocations(const struct report_out *out, const struct mp_trace *trace,
                       const struct allocations *allocations)
{
    if (!allocations->row_count)
        return;
    print_note(out, trace, "Memory allocation result:");
    report_array(out, &(struct report_layout){REPORT_COLUMNS(allocation_columns)},
                 allocations->rows, allocations->row_count, sizeof *allocations->rows);
}
