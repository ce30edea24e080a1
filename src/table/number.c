/* Numbers as a person reads them, and the units of whole columns: of times, sizes and throughput in
 * CSV, and in text with nvprof's -u.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text/units.h"
#include "table/inside.h"

#include "base/poison.h"

/* The names of nvprof's units, and how many ns each is. */
static const struct {
    const char *name;
    double ns;
    int places; /* of a ns */
} time_units[] = {{"ns", 1, 0}, {"us", 1e3, 3}, {"ms", 1e6, 6}, {"s", 1e9, 9}};

#define UNIT_SECONDS 3

static const char *const option_names[] = {
    [REPORT_UNITS_AUTO] = "auto", [REPORT_UNITS_COLUMN] = "col", [REPORT_UNITS_NS] = "ns",
    [REPORT_UNITS_US] = "us",     [REPORT_UNITS_MS] = "ms",      [REPORT_UNITS_S] = "s",
};

bool report_units_parse(const char *text, enum report_units *units)
{
    for (unsigned i = 0; i < sizeof option_names / sizeof *option_names; i++) {
        if (!strcmp(text, option_names[i])) {
            *units = (enum report_units)i;
            return true;
        }
    }
    return false;
}

bool report_is_time(enum report_kind kind)
{
    return kind == REPORT_CELL_TIME || kind == REPORT_CELL_MEAN || kind == REPORT_CELL_CHANGE;
}

static bool is_size(enum report_kind kind)
{
    return kind == REPORT_CELL_BYTES || kind == REPORT_CELL_THROUGHPUT;
}

/* Whether the units of a text table are in a separate row and not in the cells. */
static bool has_text_units(const struct report_table *table)
{
    return table->format == REPORT_TEXT && table->units != REPORT_UNITS_AUTO;
}

bool report_has_unit_row(const struct report_table *table)
{
    return table->format == REPORT_CSV || has_text_units(table);
}

/* Whether a column of sizes is printed in the unit that was measured, and not in bytes. */
static bool is_scaled(const struct report_table *table, size_t column)
{
    return table->columns[column]->scaled || has_text_units(table);
}

/* The unit that nvprof picks for a duration: before rounding. */
static uint8_t time_unit_of(double ns)
{
    uint8_t unit = 0;

    while (unit < 3 && ns >= time_units[unit + 1].ns)
        unit++;
    return unit;
}

/* The number of a cell with a unit, in ns, bytes or bytes a second. */
static double value_of(enum report_kind kind, const struct report_cell *cell)
{
    if (kind == REPORT_CELL_MEAN || kind == REPORT_CELL_THROUGHPUT)
        return cell->real;
    if (kind == REPORT_CELL_CHANGE)
        return (double)(int64_t)cell->number;
    return (double)cell->number;
}

void report_measure_unit(struct report_table *table, size_t column, const struct report_cell *cell)
{
    enum report_kind kind = table->columns[column]->kind;
    uint8_t unit = 0;

    if (report_is_time(kind))
        unit = time_unit_of(fabs(value_of(kind, cell)));
    else if (kind == REPORT_CELL_THROUGHPUT && is_scaled(table, column))
        unit = (uint8_t)mp_rate_unit(value_of(kind, cell), table->style);
    else if (kind == REPORT_CELL_BYTES && is_scaled(table, column))
        unit = (uint8_t)mp_size_unit(value_of(kind, cell));
    if (unit > table->fit[column].unit)
        table->fit[column].unit = unit;
}

/* Index in time_units: the unit that was asked for, or the measured one. */
static unsigned time_unit(const struct report_table *table, size_t column)
{
    if (table->units >= REPORT_UNITS_NS)
        return (unsigned)(table->units - REPORT_UNITS_NS);
    return table->fit[column].unit;
}

bool report_in_seconds(const struct report_table *table, size_t column)
{
    return time_unit(table, column) == UNIT_SECONDS;
}

const char *report_unit_name(const struct report_table *table, size_t column)
{
    const struct report_column *info = table->columns[column];

    if (info->unit)
        return info->unit;
    if (report_is_time(info->kind))
        return time_units[time_unit(table, column)].name;
    if (info->kind == REPORT_CELL_PERCENT)
        return "%";
    if (info->kind == REPORT_CELL_BYTES)
        return mp_size_unit_name(table->fit[column].unit, table->style);
    return info->kind == REPORT_CELL_THROUGHPUT ? mp_rate_unit_name(table->fit[column].unit) : "";
}

double report_in_unit(const struct report_table *table, size_t column,
                      const struct report_cell *cell)
{
    enum report_kind kind = table->columns[column]->kind;

    if (report_is_time(kind))
        return value_of(kind, cell) / time_units[time_unit(table, column)].ns;
    if (kind == REPORT_CELL_THROUGHPUT)
        return cell->real / mp_rate_unit_bytes(table->fit[column].unit, table->style);
    return value_of(kind, cell) / mp_size_unit_bytes(table->fit[column].unit);
}

/* `-12.50000`, `+1.250000`; in our own style `-12.50`, `+1.250`. */
static const char *print_change_in_unit(double value, enum mp_style style,
                                        char buffer[REPORT_NUMBER_BYTES])
{
    buffer[0] = value < 0 ? '-' : '+';
    mp_show_number(buffer + (value < 0 || value > 0), REPORT_NUMBER_BYTES - 1, fabs(value), style);
    return buffer;
}

const char *report_print_in_unit(const struct report_table *table, size_t column,
                                 const struct report_cell *cell, char buffer[REPORT_NUMBER_BYTES])
{
    const struct report_column *info = table->columns[column];

    if (!has_text_units(table))
        return report_print_number(info, cell, table->style, buffer);
    if (info->kind == REPORT_CELL_CHANGE)
        return print_change_in_unit(report_in_unit(table, column, cell), table->style, buffer);
    if (info->moment && table->style == MP_STYLE_OWN) {
        snprintf(buffer, REPORT_NUMBER_BYTES, "%.*f", time_units[time_unit(table, column)].places,
                 report_in_unit(table, column, cell));
        return buffer;
    }
    if (report_is_time(info->kind) || is_size(info->kind))
        return mp_show_number(buffer, REPORT_NUMBER_BYTES, report_in_unit(table, column, cell),
                              table->style);
    if (info->kind != REPORT_CELL_PERCENT)
        return report_print_number(info, cell, table->style, buffer);
    report_print_number(info, cell, table->style, buffer);
    buffer[strcspn(buffer, "%")] = '\0'; /* the row of units has it */
    return buffer;
}

/* ---- A number by the kind of its column ---- */

/* A duration, whole nanoseconds. */
static const char *print_time(const struct report_column *column, uint64_t ns, enum mp_style style,
                              char *buffer, size_t size)
{
    if (column->decimals && style == MP_STYLE_NVPROF)
        return mp_format_time_decimals(buffer, size, ns);
    if (column->moment && style == MP_STYLE_OWN)
        return mp_format_moment(buffer, size, ns);
    return mp_show_time(buffer, size, ns, style);
}

/* `+4.588us`, `-909ns`, `0ns`. */
static const char *print_change(const struct report_column *column, int64_t ns, enum mp_style style,
                                char buffer[REPORT_NUMBER_BYTES])
{
    uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

    buffer[0] = ns < 0 ? '-' : '+';
    print_time(column, magnitude, style, buffer + (ns != 0), REPORT_NUMBER_BYTES - 1);
    return buffer;
}

const char *report_print_number(const struct report_column *column, const struct report_cell *cell,
                                enum mp_style style, char buffer[REPORT_NUMBER_BYTES])
{
    switch (column->kind) {
    case REPORT_CELL_SIGNED:
        snprintf(buffer, REPORT_NUMBER_BYTES, "%" PRId64, (int64_t)cell->number);
        break;
    case REPORT_CELL_HEX:
        snprintf(buffer, REPORT_NUMBER_BYTES, "0x%" PRIx64, cell->number);
        break;
    case REPORT_CELL_BOOL:
        return cell->number ? "yes" : "no";
    case REPORT_CELL_TIME:
        return print_time(column, cell->number, style, buffer, REPORT_NUMBER_BYTES);
    case REPORT_CELL_MEAN:
        if (style == MP_STYLE_OWN)
            return mp_format_time_mean(buffer, REPORT_NUMBER_BYTES, cell->real);
        return print_time(column, mp_whole_ns(cell->real), style, buffer, REPORT_NUMBER_BYTES);
    case REPORT_CELL_CHANGE:
        return print_change(column, (int64_t)cell->number, style, buffer);
    case REPORT_CELL_PERCENT:
        if (column->rough && style == MP_STYLE_OWN) {
            snprintf(buffer, REPORT_NUMBER_BYTES, "%.1f%%", cell->real);
            break;
        }
        return mp_show_percent(buffer, REPORT_NUMBER_BYTES, cell->real, style);
    case REPORT_CELL_BYTES:
        return mp_show_size(buffer, REPORT_NUMBER_BYTES, cell->number, style);
    case REPORT_CELL_THROUGHPUT:
        return mp_show_rate(buffer, REPORT_NUMBER_BYTES, cell->real, style);
    case REPORT_CELL_REAL:
        if (style == MP_STYLE_OWN)
            return mp_show_places(buffer, REPORT_NUMBER_BYTES, cell->real, 2);
        snprintf(buffer, REPORT_NUMBER_BYTES, "%.2f", cell->real);
        break;
    case REPORT_CELL_COUNT:
        return mp_show_count(buffer, REPORT_NUMBER_BYTES, cell->number, style);
    case REPORT_CELL_ID:
    case REPORT_CELL_TEXT:
    case REPORT_CELL_GROUP:
        snprintf(buffer, REPORT_NUMBER_BYTES, "%" PRIu64, cell->number);
        break;
    }
    return buffer;
}
