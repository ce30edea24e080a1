/* Tables as nvprof's --csv writes them: quoted titles, a row of units, text quoted, numbers plain.
 */
#include <inttypes.h>
#include <string.h>

#include "base/text/foreign.h"
#include "table/formats.h"

#include "base/poison.h"

#define NS_PER_SECOND UINT64_C(1000000000)

static void put_units(const struct report_table *table)
{
    bool any = table->unit_row;

    for (size_t i = 0; i < table->count; i++)
        any |= *report_unit_name(table, i) != '\0';
    for (size_t i = 0; any && i < table->count; i++)
        fprintf(table->out, "%s%s", i ? "," : "", report_unit_name(table, i));
    if (any)
        fputc('\n', table->out);
}

void report_csv_header(struct report_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        if (i)
            fputc(',', table->out);
        foreign_put_csv(table->out, table->columns[i].title, strlen(table->columns[i].title));
    }
    fputc('\n', table->out);
    put_units(table);
}

/* Six decimals, as in nvprof. In seconds six decimals end at 1 us, so a column that must show ns
 * has nine. */
static void put_time(const struct report_table *table, size_t column,
                     const struct report_cell *cell)
{
    const struct report_column *info = &table->columns[column];
    bool nine = info->exact && info->kind == REPORT_CELL_TIME && report_in_seconds(table, column);

    if (nine)
        fprintf(table->out, "%" PRIu64 ".%09" PRIu64, cell->number / NS_PER_SECOND,
                cell->number % NS_PER_SECOND);
    else
        fprintf(table->out, "%.6f", report_in_unit(table, column, cell));
}

static void put_cell(const struct report_table *table, size_t column,
                     const struct report_cell *cell)
{
    enum report_kind kind = table->columns[column].kind;
    char buffer[REPORT_NUMBER_BYTES];

    switch (kind) {
    case REPORT_CELL_TEXT:
    case REPORT_CELL_GROUP:
        foreign_put_csv(table->out, cell->text, cell->text_bytes);
        break;
    case REPORT_CELL_TIME:
    case REPORT_CELL_CHANGE:
    case REPORT_CELL_MEAN:
        put_time(table, column, cell);
        break;
    case REPORT_CELL_THROUGHPUT:
        fprintf(table->out, "%.6f", report_in_unit(table, column, cell));
        break;
    case REPORT_CELL_PERCENT:
    case REPORT_CELL_REAL:
        fprintf(table->out, "%.6f", cell->real);
        break;
    case REPORT_CELL_BYTES:
        if (table->columns[column].scaled)
            fprintf(table->out, "%.6f", report_in_unit(table, column, cell));
        else
            fprintf(table->out, "%" PRIu64, cell->number);
        break;
    case REPORT_CELL_BOOL:
        fputc(cell->number ? '1' : '0', table->out);
        break;
    case REPORT_CELL_COUNT:
    case REPORT_CELL_ID:
    case REPORT_CELL_SIGNED:
    case REPORT_CELL_HEX:
        fputs(report_print_number(&table->columns[column], cell, MP_STYLE_NVPROF, buffer),
              table->out);
        break;
    }
}

void report_csv_row(struct report_table *table, const struct report_cell *cells)
{
    for (size_t i = 0; i < table->count; i++) {
        if (i)
            fputc(',', table->out);
        if (!cells[i].absent)
            put_cell(table, i, &cells[i]);
    }
    fputc('\n', table->out);
}
