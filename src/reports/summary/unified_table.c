/* nvprof's unified memory result. Two of its totals are wider than any other number of nvprof's,
 * so they are formatted here.
 */
#include "reports/summary/print.h"

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

static struct report_cell ranked_cell(const char *text, uint64_t number)
{
    struct report_cell cell = report_text_cell(text);

    cell.real = (double)number;
    return cell;
}

static struct report_cell wide_size_cell(const void *at, struct report_table *table)
{
    uint64_t bytes = ((const struct unified_line *)at)->row->total;
    char text[2 * MP_FORMATTED_BYTES];

    return ranked_cell(report_say(table, "%s", wide_size(text, sizeof text, bytes)), bytes);
}

static struct report_cell wide_time_cell(const void *at, struct report_table *table)
{
    uint64_t ns = ((const struct unified_line *)at)->row->time;
    char text[2 * MP_FORMATTED_BYTES];

    return ranked_cell(report_say(table, "%s", wide_time(text, sizeof text, ns)), ns);
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
    print_prefix(out, trace);
    fputs("Unified Memory profiling result:\n", out->file);
    for (size_t i = 0; i < unified->device_count; i++)
        print_device(out, &unified->devices[i]);
    if (unified->cpu_faults)
        fprintf(out->file, "Total CPU Page faults: %" PRIu64 "\n", unified->cpu_faults);
}
