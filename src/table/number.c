/* A number of a table as a person reads it, by the kind of its column. All formats need it. */
#include <inttypes.h>

#include "base/text/units.h"
#include "table/formats.h"

#include "base/poison.h"

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
