/* nvprof's unified memory result. Two of its totals are wider than any other number of nvprof's,
 * so they are formatted here.
 */
#include "reports/summary/print_unified.h"

#include <inttypes.h>

#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

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

enum { COUNT, MEAN, MIN, GREATEST, TOTAL, TIME, NAME, COLUMN_COUNT };

/* nvprof's columns. Its two totals are wider in text than other numbers, so they are text columns.
 */
static const struct report_column text_columns[COLUMN_COUNT] = {
    [COUNT] = {.title = "Count", .kind = REPORT_CELL_COUNT, .width = 8},
    [MEAN] = {.title = "Avg Size", .kind = REPORT_CELL_BYTES, .width = 8},
    [MIN] = {.title = "Min Size", .kind = REPORT_CELL_BYTES, .width = 8},
    [GREATEST] = {.title = "Max Size", .kind = REPORT_CELL_BYTES, .width = 8},
    [TOTAL] = {.title = "Total Size", .kind = REPORT_CELL_TEXT, .width = 10, .ranked = true},
    [TIME] = {.title = "Total Time", .kind = REPORT_CELL_TEXT, .width = 10, .ranked = true},
    [NAME] = {.title = "Name", .kind = REPORT_CELL_TEXT, .width = 4, .left = true},
};

static const struct report_column unit_columns[COLUMN_COUNT] = {
    [COUNT] = {.title = "Count", .kind = REPORT_CELL_COUNT, .width = 8},
    [MEAN] = {.title = "Avg Size", .kind = REPORT_CELL_BYTES, .width = 8, .scaled = true},
    [MIN] = {.title = "Min Size", .kind = REPORT_CELL_BYTES, .width = 8, .scaled = true},
    [GREATEST] = {.title = "Max Size", .kind = REPORT_CELL_BYTES, .width = 8, .scaled = true},
    [TOTAL] = {.title = "Total Size", .kind = REPORT_CELL_BYTES, .width = 10, .scaled = true},
    [TIME] = {.title = "Total Time", .kind = REPORT_CELL_TIME, .width = 10},
    [NAME] = {.title = "Name", .kind = REPORT_CELL_TEXT, .width = 4, .left = true},
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

/* The texts that cells of a row point to. */
struct texts {
    char size[2 * MP_FORMATTED_BYTES];
    char time[2 * MP_FORMATTED_BYTES];
};

static void unified_fill_cells(struct report_cell cells[COLUMN_COUNT], struct texts *texts,
                               bool as_text, int index, const struct unified_row *row)
{
    for (int i = 0; i < COLUMN_COUNT; i++)
        cells[i] = report_absent_cell();
    cells[COUNT] = report_number_cell(row->count);
    cells[NAME] = report_text_cell(rows[index].name);
    if (rows[index].sized) {
        cells[MEAN] = report_number_cell((uint64_t)(row->mean + 0.5));
        cells[MIN] = report_number_cell(row->min);
        cells[GREATEST] = report_number_cell(row->max);
        cells[TOTAL] =
            as_text ? report_text_cell(wide_size(texts->size, sizeof texts->size, row->total))
                    : report_number_cell(row->total);
        if (as_text)
            cells[TOTAL].real = (double)row->total;
    }
    if (rows[index].timed)
        cells[TIME] = as_text
                          ? report_text_cell(wide_time(texts->time, sizeof texts->time, row->time))
                          : report_number_cell(row->time);
    if (rows[index].timed && as_text)
        cells[TIME].real = (double)row->time;
}

static void unified_each_row(struct report_table *table, const struct unified_device *device,
                             bool as_text,
                             void (*take)(struct report_table *, const struct report_cell *))
{
    struct report_cell cells[COLUMN_COUNT];
    struct texts texts;

    for (int i = 0; i < UNIFIED_ROWS; i++) {
        if (!device->rows[i].count)
            continue;
        unified_fill_cells(cells, &texts, as_text, i, &device->rows[i]);
        take(table, cells);
    }
}

static void print_device(const struct report_out *out, const struct unified_device *device)
{
    bool as_text = out->format == REPORT_TEXT && out->units == REPORT_UNITS_AUTO;
    struct report_table table;

    print_device_name(out->file, device->name, device->device);
    report_begin(&table, out, as_text ? text_columns : unit_columns, COLUMN_COUNT);
    if (!as_text)
        unified_each_row(&table, device, as_text, report_measure_units);
    report_header(&table);
    unified_each_row(&table, device, as_text, report_row);
    report_end(&table);
}

void print_unified(const struct report_out *out, const struct mp_trace *trace,
                   const struct unified *unified)
{
    if (!unified->present)
        return;
    print_prefix(out, trace);
    fputs("Unified Memory profiling result:\n", out->file);
    for (size_t i = 0; i < unified->device_count; i++)
        print_device(out, &unified->devices[i]);
    if (unified->cpu_faults)
        fprintf(out->file, "Total CPU Page faults: %" PRIu64 "\n", unified->cpu_faults);
}
