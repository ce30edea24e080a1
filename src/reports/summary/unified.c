/* Unified memory by kind and device. CUPTI's counters hold different things by kind in the same
 * fields, so the kinds are distinguished here once.
 */
#include "reports/summary/unified.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/text/units.h"
#include "profile/ranges.h"
#include "profile/reading.h"
#include "reports/common/quality.h"
#include "reports/summary/print.h"
#include "trace/schema.h"

#include "base/poison.h"

#define NO_DEVICE   UINT64_MAX
#define MAX_DEVICES 1024 /* more cannot be real: they count as unknown */

struct pass {
    struct unified *unified;
    const struct capture_range *range; /* NULL: everything */
};

/* ---- Devices ---- */

static bool is_device(const struct definitions *definitions, uint64_t id)
{
    const struct definition_device *device = dense_at(&definitions->devices, id);

    return device && device->defined;
}

static uint64_t first_device(const struct definitions *definitions, uint64_t one, uint64_t other)
{
    if (is_device(definitions, one))
        return one;
    return is_device(definitions, other) ? other : NO_DEVICE;
}

/* `devices` has a bit for each device that fights for the memory; returns the lowest. */
static uint64_t lowest_device(const struct definitions *definitions, uint64_t bits)
{
    for (uint64_t id = 0; id < 32; id++) {
        if ((bits >> id & 1) && is_device(definitions, id))
            return id;
    }
    return NO_DEVICE;
}

/* The fields of CUpti_ActivityUnifiedMemoryCounter3 say what the ids mean. */
uint64_t unified_device(const struct definitions *definitions, uint64_t kind, uint64_t source,
                        uint64_t target)
{
    switch (kind) {
    case MP_unified_kind_bytes_HtoD:
    case MP_unified_kind_bytes_DtoD:
    case MP_unified_kind_remote_map:
        return first_device(definitions, target, source);
    case MP_unified_kind_thrashing:
        return lowest_device(definitions, source);
    case MP_unified_kind_cpu_page_fault:
        return NO_DEVICE;
    default:
        return first_device(definitions, source, NO_DEVICE);
    }
}

static enum mp_status reach_device(struct unified *unified, uint64_t id,
                                   struct unified_device **device)
{
    const struct definition_device *defined = dense_at(&unified->definitions.devices, id);
    struct unified_device *devices;

    for (size_t i = 0; i < unified->device_count; i++) {
        *device = &unified->devices[i];
        if ((*device)->device == id)
            return MP_OK;
    }
    if (unified->device_count == MAX_DEVICES)
        return MP_OK; /* the last one */
    devices = reallocarray(unified->devices, unified->device_count + 1, sizeof *devices);
    if (!devices)
        return MP_ERR_MEMORY;
    unified->devices = devices;
    *device = &devices[unified->device_count++];
    **device = (struct unified_device){.device = id};
    if (defined && defined->defined)
        (*device)->name = definitions_text(&unified->definitions, defined->name);
    return MP_OK;
}

/* ---- Rows ---- */

/* The row in which a kind is counted; UNIFIED_ROWS: in none. */
static enum unified_row_index row_of(uint64_t kind)
{
    switch (kind) {
    case MP_unified_kind_bytes_HtoD:
        return UNIFIED_TO_DEVICE;
    case MP_unified_kind_bytes_DtoH:
        return UNIFIED_TO_HOST;
    case MP_unified_kind_bytes_DtoD:
        return UNIFIED_DEVICE_TO_DEVICE;
    case MP_unified_kind_gpu_page_fault:
        return UNIFIED_GPU_FAULTS;
    case MP_unified_kind_thrashing:
        return UNIFIED_THRASHES;
    case MP_unified_kind_throttling:
        return UNIFIED_THROTTLES;
    case MP_unified_kind_remote_map:
        return UNIFIED_REMOTE_MAPS;
    default:
        return UNIFIED_ROWS;
    }
}

static void unified_add(struct unified_row *row, uint64_t value, uint64_t duration)
{
    if (!row->count || value < row->min)
        row->min = value;
    if (value > row->max)
        row->max = value;
    row->count++;
    row->total += value;
    row->time += duration;
}

/* Whether the times can be used. Times that cannot are counted. */
static bool times_are_good(struct quality *quality, uint64_t start, uint64_t duration)
{
    quality->unknown_times += !start;
    quality->reversed_times += start && (int64_t)duration < 0;
    return start && (int64_t)duration >= 0;
}

static enum mp_status unified_take_row(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct pass *pass = context;
    const struct mp_unified_columns unifieds = mp_unified_columns(batch->columns);
    struct unified *unified = pass->unified;
    uint64_t kind = unifieds.kind[row];
    struct unified_device *device = NULL;

    if (pass->range && !range_has_call(pass->range, unifieds.start[row]))
        return MP_OK;
    if (!times_are_good(&unified->quality, unifieds.start[row], unifieds.duration[row]))
        return MP_OK;
    unified->present = true;
    unified->cpu_faults += kind == MP_unified_kind_cpu_page_fault;
    if (row_of(kind) == UNIFIED_ROWS)
        return MP_OK;
    MP_TRY(reach_device(
        unified,
        unified_device(&unified->definitions, kind, unifieds.source[row], unifieds.target[row]),
        &device));
    unified_add(&device->rows[row_of(kind)], unifieds.value[row], unifieds.duration[row]);
    return MP_OK;
}

static const struct reading_table tables[] = {
    {MP_TABLE_unified, MP_MASK(unified, kind, source, target, value, start, duration),
     .take_row = unified_take_row},
};

static enum mp_status unified_run_pass(struct pass *pass, struct mp_trace *trace,
                                       struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the unified memory",
        .context = pass,
        READING_TABLES(tables),
        .quality = &pass->unified->quality,
        .definitions = &pass->unified->definitions,
    };

    return reading_run(&reading, error);
}

/* ---- The whole ---- */

static void unified_finish(struct unified *unified)
{
    for (size_t i = 0; i < unified->device_count; i++) {
        for (int kind = 0; kind < UNIFIED_ROWS; kind++) {
            struct unified_row *row = &unified->devices[i].rows[kind];
            if (row->count)
                row->mean = (double)row->total / (double)row->count;
        }
    }
    if (unified->device_count)
        qsort(unified->devices, unified->device_count, sizeof *unified->devices, mp_compare_u64);
}

enum mp_status unified_build(struct mp_trace *trace, const struct unified_options *options,
                             struct unified *unified, struct mp_error *error)
{
    struct pass pass = {.unified = unified};
    struct capture_ranges ranges;

    *unified = (struct unified){.device_count = 0};
    definitions_init(&unified->definitions, trace);
    quality_init(&unified->quality, trace);
    enum mp_status status = ranges_open(&ranges, trace, options->range, &pass.range, error);
    unified->capture_ranges = ranges_count(&ranges);
    if (!status)
        status = unified_run_pass(&pass, trace, error);
    ranges_free(&ranges);
    if (status)
        unified_free(unified);
    else
        unified_finish(unified);
    return status;
}

void unified_free(struct unified *unified)
{
    free(unified->devices);
    quality_free(&unified->quality);
    definitions_free(&unified->definitions);
    *unified = (struct unified){.device_count = 0};
}

/* ---- nvprof's table ----
 *
 * Two of its totals are wider than any other number of nvprof's, so they are formatted here.
 */

static const struct {
    const char *name;
    bool sized;
    bool timed;
} rows[UNIFIED_ROWS] = {
    [UNIFIED_TO_DEVICE] = {"Host To Device", true, true},
    [UNIFIED_TO_HOST] = {"Device To Host", true, true},
    [UNIFIED_DEVICE_TO_DEVICE] = {"Device To Device", true, true},
    [UNIFIED_GPU_FAULTS] = {"Gpu page fault groups", false, true},
    [UNIFIED_THRASHES] = {"Thrashes", false, false},
    [UNIFIED_THROTTLES] = {"Throttles", false, true},
    [UNIFIED_REMOTE_MAPS] = {"Remote mapping", false, false},
};

/* `192.0000KB`: eight characters before the unit; whole numbers as they are. */
static const char *wide_size(char *buffer, size_t size, uint64_t bytes)
{
    unsigned unit = mp_size_unit((double)bytes);
    char number[MP_FORMATTED_BYTES];

    if (!unit)
        snprintf(buffer, size, "%" PRIu64 "%s", bytes, mp_size_unit_name(unit, MP_STYLE_NVPROF));
    else
        snprintf(buffer, size, "%s%s",
                 mp_show_number(number, sizeof number, (double)bytes / mp_size_unit_bytes(unit),
                                MP_STYLE_NVPROF),
                 mp_size_unit_name(unit, MP_STYLE_NVPROF));
    return buffer;
}

/* `3.000000us`, `18.84371ms`. */
static const char *wide_time(char *buffer, size_t size, uint64_t ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    char number[MP_FORMATTED_BYTES];
    unsigned unit = 0;

    if (ns < 1000) {
        snprintf(buffer, size, "%" PRIu64 "ns", ns);
        return buffer;
    }
    while (unit < 2 && ns >= units[unit + 1].ns)
        unit++;
    snprintf(
        buffer, size, "%s%s",
        mp_show_number(number, sizeof number, (double)ns / (double)units[unit].ns, MP_STYLE_NVPROF),
        units[unit].name);
    return buffer;
}

/* ---- Columns ---- */

struct unified_line {
    const struct unified_row *row;
    const char *name;
    bool sized, timed;
};

#define OF(member) THROUGH(struct unified_line, row, member)
#define IF_SIZED   WHEN(struct unified_line, sized)
#define IF_TIMED   WHEN(struct unified_line, timed)
#define AS_TEXT    1u /* bits of the layout's `there` */
#define AS_NUMBER  2u

static struct report_cell mean_cell(const void *at, struct report_table *table)
{
    (void)table;
    return report_number_cell((uint64_t)(((const struct unified_line *)at)->row->mean + 0.5));
}

static struct report_cell wide_size_cell(const void *at, struct report_table *table)
{
    uint64_t bytes = ((const struct unified_line *)at)->row->total;
    char text[2 * MP_FORMATTED_BYTES];

    return report_ranked_cell(table, wide_size(text, sizeof text, bytes), (double)bytes);
}

static struct report_cell wide_time_cell(const void *at, struct report_table *table)
{
    uint64_t ns = ((const struct unified_line *)at)->row->time;
    char text[2 * MP_FORMATTED_BYTES];

    return report_ranked_cell(table, wide_time(text, sizeof text, ns), (double)ns);
}

/* nvprof's columns. Its two totals are wider in text than other numbers, so they are text there. */
static const struct report_column columns[] = {
    COLUMN("Count", NULL, COUNT, 8, OF(count)),
    COLUMN("Avg Size", NULL, BYTES, 8, .cell = mean_cell, IF_SIZED, .scaled = true),
    COLUMN("Min Size", NULL, BYTES, 8, OF(min), IF_SIZED, .scaled = true),
    COLUMN("Max Size", NULL, BYTES, 8, OF(max), IF_SIZED, .scaled = true),
    COLUMN("Total Size", NULL, TEXT, 10, .cell = wide_size_cell, IF_SIZED, .ranked = true,
           .needs = AS_TEXT),
    COLUMN("Total Size", NULL, BYTES, 10, OF(total), IF_SIZED, .scaled = true, .needs = AS_NUMBER),
    COLUMN("Total Time", NULL, TEXT, 10, .cell = wide_time_cell, IF_TIMED, .ranked = true,
           .needs = AS_TEXT),
    COLUMN("Total Time", NULL, TIME, 10, OF(time), IF_TIMED, .needs = AS_NUMBER),
    COLUMN("Name", NULL, TEXT, 4, MEMBER(struct unified_line, name), .left = true),
};

static void each_row(struct report_table *table, report_take *take)
{
    const struct unified_device *device = table->of;

    for (int i = 0; i < UNIFIED_ROWS; i++) {
        if (device->rows[i].count)
            take(table, &(struct unified_line){&device->rows[i], rows[i].name, rows[i].sized,
                                               rows[i].timed});
    }
}

static void print_device(const struct report_out *out, const struct unified_device *device)
{
    bool as_text = out->format == REPORT_TEXT && out->units == REPORT_UNITS_AUTO;

    print_device_name(out->file, device->name, device->device);
    report_print(out,
                 &(struct report_layout){REPORT_COLUMNS(columns), .of = device,
                                         .there = as_text ? AS_TEXT : AS_NUMBER,
                                         .measuring = REPORT_UNITS_ONLY},
                 each_row);
}

void print_unified(const struct report_out *out, const struct mp_trace *trace,
                   const struct unified *unified)
{
    if (!unified->present)
        return;
    print_note(out, trace, "Unified Memory profiling result:");
    for (size_t i = 0; i < unified->device_count; i++)
        print_device(out, &unified->devices[i]);
    if (unified->cpu_faults)
        fprintf(out->file, "Total CPU Page faults: %" PRIu64 "\n", unified->cpu_faults);
}
