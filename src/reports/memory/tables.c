/* The tables of the memory report: columns, and the cells of a row. Sections of text and JSON
 * share them.
 */
#include "reports/memory/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "profile/names/names.h"

#include "base/poison.h"

/* ---- Cells ---- */

static struct report_cell kind_cell(uint64_t kind, struct memory_texts *texts)
{
    const char *name = mp_enum_name("memory_kind", kind);

    snprintf(texts->kind, sizeof texts->kind, "%" PRIu64, kind);
    return report_text_cell(name ? name : texts->kind);
}

static struct report_cell device_cell(const struct memory *memory, uint64_t ordinal,
                                      struct memory_texts *texts)
{
    const struct definition_device *device = dense_at(&memory->definitions.devices, ordinal);
    const char *name =
        device && device->defined ? definitions_text(&memory->definitions, device->name) : NULL;

    if (ordinal == MEMORY_HOST)
        return report_text_cell("host");
    snprintf(texts->device, sizeof texts->device, "%s (%" PRIu64 ")", name ? name : "GPU", ordinal);
    return report_text_cell(texts->device);
}

void memory_json_device(struct json_writer *json, const struct memory *memory, uint64_t ordinal)
{
    struct memory_texts texts;
    struct report_cell cell = device_cell(memory, ordinal, &texts);

    json_key(json, "device_name");
    json_bytes(json, cell.text, cell.text_bytes);
}

/* Functions are written as in nvprof: without their version. */
static struct report_cell function_cell(const char *name)
{
    struct report_cell cell = report_text_cell(name);

    if (name)
        cell.text_bytes = (uint32_t)names_api_length(name);
    return cell;
}

static struct report_cell time_cell(const struct memory *memory, uint64_t time)
{
    if (!time)
        return report_absent_cell();
    return report_number_cell(time - memory->events.first_time);
}

/* Function, range and domain, the last columns of a table. */
static void source_cells(const struct memory_source *source, struct report_cell *cells)
{
    cells[0] = function_cell(source->function);
    cells[1] = report_text_cell(source->range);
    cells[2] = report_text_cell(source->domain);
}

#define SOURCE_COLUMNS                                                                             \
    {.title = "Function",                                                                          \
     .key = "function",                                                                            \
     .kind = REPORT_CELL_TEXT,                                                                     \
     .width = 8,                                                                                   \
     .left = true,                                                                                 \
     .name = true},                                                                                \
        {.title = "NVTX Range", .key = "range", .kind = REPORT_CELL_TEXT, .left = true},           \
    {                                                                                              \
        .title = "NVTX Domain", .key = "domain", .kind = REPORT_CELL_TEXT, .left = true, .drop = 4 \
    }
#define SIZE_COLUMN(title_, key_)                                                                  \
    {                                                                                              \
        .title = (title_), .key = (key_), .kind = REPORT_CELL_BYTES, .width = 8, .scaled = true    \
    }
#define COUNT_COLUMN(title_, key_)                                                                 \
    {                                                                                              \
        .title = (title_), .key = (key_), .kind = REPORT_CELL_COUNT, .width = 5                    \
    }
#define TIME_COLUMN(title_, key_)                                                                  \
    {                                                                                              \
        .title = (title_), .key = (key_), .kind = REPORT_CELL_TIME, .width = 8                     \
    }
#define MOMENT_COLUMN(title_, key_)                                                                \
    {                                                                                              \
        .title = (title_), .key = (key_), .kind = REPORT_CELL_TIME, .width = 8, .moment = true     \
    }
#define MEMORY_COLUMN                                                                              \
    {                                                                                              \
        .title = "Memory", .key = "kind", .kind = REPORT_CELL_TEXT, .width = 6                     \
    }
#define DEVICE_COLUMN                                                                              \
    {                                                                                              \
        .title = "Device", .key = "device_name", .kind = REPORT_CELL_TEXT, .width = 4,             \
        .left = true                                                                               \
    }
#define POOL_COLUMN                                                                                \
    {                                                                                              \
        .title = "Pool", .key = "pool", .kind = REPORT_CELL_HEX, .width = 4                        \
    }
#define COLUMNS(array) .columns = (array), .count = sizeof(array) / sizeof *(array)

/* ---- Totals ---- */

static const struct report_column totals_columns[] = {
    COUNT_COLUMN("Allocs", "allocations"),
    COUNT_COLUMN("Frees", "frees"),
    {.title = "Unknown", .key = "unknown_frees", .kind = REPORT_CELL_COUNT, .width = 5, .drop = 1},
    SIZE_COLUMN("Total Size", "bytes"),
    SIZE_COLUMN("Peak Size", "peak_bytes"),
    MOMENT_COLUMN("Peak At", "peak_ns"),
    SIZE_COLUMN("At End", "end_bytes"),
    MEMORY_COLUMN,
    {.title = "Device", .key = "device_name", .kind = REPORT_CELL_TEXT, .width = 4, .left = true},
};

static void totals_cells(const struct memory *memory, const struct memory_totals *totals,
                         struct report_cell cells[7])
{
    cells[0] = report_number_cell(totals->allocations);
    cells[1] = report_number_cell(totals->frees);
    cells[2] = report_number_cell(totals->unknown);
    cells[3] = report_number_cell(totals->bytes);
    cells[4] = report_number_cell(totals->peak);
    cells[5] = time_cell(memory, totals->peak_time);
    cells[6] = report_number_cell(totals->live);
}

static void fill_kind(const struct memory_table *table, const struct allocations_row *row,
                      struct memory_texts *texts, struct report_cell cells[MEMORY_MAX_COLUMNS])
{
    const struct memory_totals totals = {
        .allocations = row->allocations,
        .frees = row->frees,
        .unknown = row->unknown,
        .bytes = row->bytes,
        .peak = row->peak,
        .peak_time = row->peak_time,
        .live = row->kept,
    };

    totals_cells(table->memory, &totals, cells);
    cells[7] = kind_cell(row->kind, texts);
    cells[8] = device_cell(table->memory, row->device, texts);
}

/* A device's row stands before the rows of its kinds; both lists have the same order. */
static void fill_totals(const struct memory_table *table, size_t row, struct memory_texts *texts,
                        struct report_cell cells[MEMORY_MAX_COLUMNS])
{
    const struct memory *memory = table->memory;
    size_t kind = 0;

    for (size_t i = 0; i < memory->device_count; i++) {
        const struct memory_device *device = &memory->devices[i];

        if (i + kind == row) {
            totals_cells(memory, &device->totals, cells);
            cells[7] = report_text_cell("all");
            cells[8] = device_cell(memory, device->device, texts);
            return;
        }
        for (; kind < memory->kind_count && memory->kinds[kind].device == device->device; kind++) {
            if (i + 1 + kind == row) {
                fill_kind(table, &memory->kinds[kind], texts, cells);
                return;
            }
        }
    }
}

struct memory_table memory_totals_table(const struct memory *memory)
{
    struct memory_table table = {
        .memory = memory,
        COLUMNS(totals_columns),
        .rows = memory->device_count + memory->kind_count,
        .fill = fill_totals,
    };

    table.text_count = table.count;
    return table;
}

/* ---- At the peak ---- */

static const struct report_column alive_columns[] = {
    SIZE_COLUMN("Size", "bytes"),
    {.title = "Address", .key = "address", .kind = REPORT_CELL_HEX, .width = 8, .drop = 5},
    MOMENT_COLUMN("Allocated", "time_ns"),
    MEMORY_COLUMN,
    {.title = "Correlation", .key = "correlation", .kind = REPORT_CELL_ID, .width = 5, .drop = 6},
    SOURCE_COLUMNS,
};

static void fill_alive(const struct memory_table *table, size_t row, struct memory_texts *texts,
                       struct report_cell cells[MEMORY_MAX_COLUMNS])
{
    const struct memory_alive *alive = &table->memory->devices[table->which].alive[row];

    cells[0] = report_number_cell(alive->bytes);
    cells[1] = report_number_cell(alive->address);
    cells[2] = time_cell(table->memory, alive->time);
    cells[3] = kind_cell(alive->kind, texts);
    cells[4] = alive->correlation ? report_number_cell(alive->correlation) : report_absent_cell();
    source_cells(&alive->source, cells + 5);
}

struct memory_table memory_alive_table(const struct memory *memory, size_t device)
{
    struct memory_table table = {
        .memory = memory,
        COLUMNS(alive_columns),
        .rows = memory->devices[device].alive_shown,
        .which = device,
        .fill = fill_alive,
    };

    table.text_count = table.count - 1;
    for (size_t i = 0; i < table.rows; i++) {
        if (memory->devices[device].alive[i].source.domain)
            table.text_count = table.count;
    }
    return table;
}

/* The same of all devices, for CSV: the device stands before the row. */

static const struct report_column peaks_columns[] = {
    DEVICE_COLUMN,
    SIZE_COLUMN("Size", "bytes"),
    {.title = "Address", .key = "address", .kind = REPORT_CELL_HEX, .width = 8},
    MOMENT_COLUMN("Allocated", "time_ns"),
    MEMORY_COLUMN,
    {.title = "Correlation", .key = "correlation", .kind = REPORT_CELL_ID, .width = 5},
    SOURCE_COLUMNS,
};

static void fill_peaks(const struct memory_table *table, size_t row, struct memory_texts *texts,
                       struct report_cell cells[MEMORY_MAX_COLUMNS])
{
    const struct memory_device *device = table->memory->devices;
    struct memory_table alive = *table;
    struct report_cell own[MEMORY_MAX_COLUMNS];

    for (alive.which = 0; row >= device->alive_shown; device++, alive.which++)
        row -= device->alive_shown;
    cells[0] = device_cell(table->memory, device->device, texts);
    fill_alive(&alive, row, texts, own);
    for (size_t i = 1; i < table->count; i++)
        cells[i] = own[i - 1];
}

struct memory_table memory_peaks_table(const struct memory *memory)
{
    struct memory_table table = {
        .memory = memory,
        COLUMNS(peaks_columns),
        .fill = fill_peaks,
    };

    for (size_t i = 0; i < memory->device_count; i++)
        table.rows += memory->devices[i].alive_shown;
    table.text_count = table.count;
    return table;
}

/* ---- Pools ---- */

static const struct report_column pool_columns[] = {
    COUNT_COLUMN("Allocs", "allocations"),
    COUNT_COLUMN("Frees", "frees"),
    SIZE_COLUMN("Peak Size", "peak_bytes"),
    SIZE_COLUMN("At End", "end_bytes"),
    SIZE_COLUMN("Reserved", "reserved_bytes"),
    SIZE_COLUMN("Max Reserved", "max_reserved_bytes"),
    SIZE_COLUMN("Used", "used_bytes"),
    SIZE_COLUMN("Max Used", "max_used_bytes"),
    COUNT_COLUMN("Trims", "trims"),
    POOL_COLUMN,
    DEVICE_COLUMN,
    {.title = "Created", .key = "created_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Destroyed", .key = "destroyed_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Threshold",
     .key = "release_threshold_bytes",
     .kind = REPORT_CELL_BYTES,
     .width = 8,
     .scaled = true},
    {.title = "Imported", .key = "imported", .kind = REPORT_CELL_BOOL, .width = 3},
};

static struct report_cell known(bool is_known, uint64_t number)
{
    return is_known ? report_number_cell(number) : report_absent_cell();
}

static void fill_pool(const struct memory_table *table, size_t row, struct memory_texts *texts,
                      struct report_cell cells[MEMORY_MAX_COLUMNS])
{
    const struct memory *memory = table->memory;
    const struct memory_pool *pool = memory->pools[row].pool;
    const struct memory_totals *totals = &memory->pools[row].totals;
    bool allocated = totals->allocations || totals->frees;

    cells[0] = report_number_cell(totals->allocations);
    cells[1] = report_number_cell(totals->frees);
    cells[2] = report_number_cell(totals->peak);
    cells[3] = report_number_cell(totals->live);
    cells[4] = known(pool->has_sizes, pool->reserved);
    cells[5] = known(pool->has_sizes, pool->max_reserved);
    cells[6] = known(pool->has_sizes && allocated, pool->used);
    cells[7] = known(pool->has_sizes && allocated, pool->max_used);
    cells[8] = report_number_cell(pool->trims);
    cells[9] = report_number_cell(pool->address);
    cells[10] = device_cell(memory, pool->device, texts);
    cells[11] = time_cell(memory, pool->created);
    cells[12] = time_cell(memory, pool->destroyed);
    cells[13] = known(pool->has_threshold, pool->threshold);
    cells[14] = report_number_cell(pool->type == 2);
}

struct memory_table memory_pools_table(const struct memory *memory)
{
    return (struct memory_table){
        .memory = memory,
        COLUMNS(pool_columns),
        .text_count = 11,
        .rows = memory->pool_count,
        .fill = fill_pool,
    };
}

/* ---- Not freed ---- */

static const struct report_column kept_columns[] = {
    COUNT_COLUMN("Allocs", "allocations"),
    SIZE_COLUMN("Size", "size"),
    SIZE_COLUMN("Total Size", "bytes"),
    SOURCE_COLUMNS,
};

static void fill_kept(const struct memory_table *table, size_t row, struct memory_texts *texts,
                      struct report_cell cells[MEMORY_MAX_COLUMNS])
{
    const struct memory_kept *kept = &table->memory->kept[row];

    (void)texts;
    cells[0] = report_number_cell(kept->count);
    cells[1] = report_number_cell(kept->size);
    cells[2] = report_number_cell(kept->bytes);
    source_cells(&kept->source, cells + 3);
}

struct memory_table memory_kept_table(const struct memory *memory)
{
    struct memory_table table = {
        .memory = memory,
        COLUMNS(kept_columns),
        .rows = memory->kept_shown,
        .fill = fill_kept,
    };

    table.text_count = table.count - 1;
    for (size_t i = 0; i < table.rows; i++) {
        if (memory->kept[i].source.domain)
            table.text_count = table.count;
    }
    return table;
}

/* ---- Churn ---- */

static const struct report_column churn_columns[] = {
    COUNT_COLUMN("Allocs", "allocations"),
    SIZE_COLUMN("Allocated", "bytes"),
    TIME_COLUMN("Alloc Time", "allocate_ns"),
    COUNT_COLUMN("Frees", "frees"),
    {.title = "Freed",
     .key = "freed_bytes",
     .kind = REPORT_CELL_BYTES,
     .width = 8,
     .scaled = true,
     .drop = 5},
    {.title = "Free Time", .key = "free_ns", .kind = REPORT_CELL_TIME, .width = 8, .drop = 6},
    {.title = "Pairs", .key = "pairs", .kind = REPORT_CELL_COUNT, .width = 5, .drop = 8},
    {.title = "Avg Lifetime",
     .key = "mean_lifetime_ns",
     .kind = REPORT_CELL_MEAN,
     .width = 8,
     .drop = 7},
    SOURCE_COLUMNS,
};

static void fill_churn(const struct memory_table *table, size_t row, struct memory_texts *texts,
                       struct report_cell cells[MEMORY_MAX_COLUMNS])
{
    const struct memory *memory = table->memory;
    const struct memory_churn *churn = row ? &memory->sources[row - 1] : &memory->churn;
    bool timed = !memory->events.no_calls;

    (void)texts;
    cells[0] = report_number_cell(churn->allocations);
    cells[1] = report_number_cell(churn->bytes);
    cells[2] = known(timed, churn->allocate_ns);
    cells[3] = report_number_cell(churn->frees);
    cells[4] = report_number_cell(churn->freed_bytes);
    cells[5] = known(timed, churn->free_ns);
    cells[6] = report_number_cell(churn->pairs);
    cells[7] = churn->pairs ? report_real_cell(churn->lifetime / (double)churn->pairs)
                            : report_absent_cell();
    source_cells(&churn->source, cells + 8);
    if (!row)
        cells[8] = report_text_cell("<all>");
}

struct memory_table memory_churn_table(const struct memory *memory)
{
    struct memory_table table = {
        .memory = memory,
        COLUMNS(churn_columns),
        .rows = 1 + memory->source_shown,
        .fill = fill_churn,
    };

    table.text_count = table.count - 1;
    for (size_t i = 0; i < memory->source_shown; i++) {
        if (memory->sources[i].source.domain)
            table.text_count = table.count;
    }
    return table;
}

/* ---- Iterations ---- */

static const struct report_column iterations_columns[] = {
    {.title = "", .key = "statistic", .kind = REPORT_CELL_TEXT, .width = 4},
    {.title = "Allocs", .key = "allocations", .kind = REPORT_CELL_REAL, .width = 8},
    {.title = "Frees", .key = "frees", .kind = REPORT_CELL_REAL, .width = 8},
    SIZE_COLUMN("Allocated", "bytes"),
    SIZE_COLUMN("Freed", "freed_bytes"),
    TIME_COLUMN("Time in Calls", "call_ns"),
};

#define STATISTICS 5

static double statistic_of(const struct statistics *of, size_t which)
{
    const double values[STATISTICS] = {of->mean, (double)of->p50, (double)of->p99, (double)of->min,
                                       (double)of->max};

    return values[which];
}

static void fill_statistic(const struct memory_table *table, size_t row, struct memory_texts *texts,
                           struct report_cell cells[MEMORY_MAX_COLUMNS])
{
    static const char *const names[STATISTICS] = {"mean", "p50", "p99", "min", "max"};
    const struct memory_iterations *iterations = &table->memory->iterations;

    (void)texts;
    cells[0] = report_text_cell(names[row]);
    cells[1] = report_real_cell(statistic_of(&iterations->allocations, row));
    cells[2] = report_real_cell(statistic_of(&iterations->frees, row));
    cells[3] = report_number_cell((uint64_t)(statistic_of(&iterations->bytes, row) + 0.5));
    cells[4] = report_number_cell((uint64_t)(statistic_of(&iterations->freed_bytes, row) + 0.5));
    cells[5] = known(!table->memory->events.no_calls,
                     (uint64_t)(statistic_of(&iterations->call_ns, row) + 0.5));
}

struct memory_table memory_iterations_table(const struct memory *memory)
{
    struct memory_table table = {
        .memory = memory,
        COLUMNS(iterations_columns),
        .rows = memory->iteration ? STATISTICS : 0,
        .fill = fill_statistic,
    };

    table.text_count = table.count;
    return table;
}

/* ---- The time line ---- */

static const struct report_column change_columns[] = {
    MOMENT_COLUMN("Time", "time_ns"),
    {.title = "Change", .key = "change_bytes", .kind = REPORT_CELL_SIGNED, .width = 10},
    SIZE_COLUMN("Allocated", "live_bytes"),
    SIZE_COLUMN("In Pool", "pool_live_bytes"),
    POOL_COLUMN,
    MEMORY_COLUMN,
    DEVICE_COLUMN,
};

static const struct report_column step_columns[] = {
    MOMENT_COLUMN("Time", "time_ns"),
    SIZE_COLUMN("Min", "min_bytes"),
    SIZE_COLUMN("Max", "max_bytes"),
    SIZE_COLUMN("At End", "end_bytes"),
    POOL_COLUMN,
    DEVICE_COLUMN,
};

const struct report_column *memory_point_columns(bool steps, size_t *count)
{
    *count = steps ? sizeof step_columns / sizeof *step_columns
                   : sizeof change_columns / sizeof *change_columns;
    return steps ? step_columns : change_columns;
}

void memory_point_cells(const struct memory *memory, const struct memory_point *point, bool steps,
                        struct memory_texts *texts, struct report_cell cells[MEMORY_MAX_COLUMNS])
{
    struct report_cell pool = known(point->pool != NULL, point->pool ? point->pool->address : 0);
    struct report_cell device = device_cell(memory, point->device, texts);

    cells[0] = time_cell(memory, point->time);
    if (steps) {
        cells[1] = report_number_cell(point->min);
        cells[2] = report_number_cell(point->max);
        cells[3] = report_number_cell(point->live);
        cells[4] = pool;
        cells[5] = device;
        return;
    }
    cells[1] = report_number_cell((uint64_t)point->change);
    cells[2] = report_number_cell(point->live);
    cells[3] = known(point->pool != NULL, point->pool_live);
    cells[4] = pool;
    cells[5] = kind_cell(point->kind, texts);
    cells[6] = device;
}
