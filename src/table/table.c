/* The one table printer. A cell holds a value, and its column the kind of value. The unit of a
 * column is chosen when all its rows are measured, as in nvprof.
 */
#include "table/table.h"

#include <string.h>

#include "base/text/utf8.h"
#include "table/formats.h"
#include "table/rows.h"

#include "base/poison.h"

struct report_cell report_text_cell(const char *text)
{
    if (!text)
        return report_absent_cell();
    return (struct report_cell){.text = text, .text_bytes = (uint32_t)strlen(text)};
}

struct report_cell report_number_cell(uint64_t number)
{
    return (struct report_cell){.number = number};
}

struct report_cell report_real_cell(double real)
{
    return (struct report_cell){.real = real};
}

struct report_cell report_absent_cell(void)
{
    return (struct report_cell){.absent = true};
}

static bool is_text(enum report_kind kind)
{
    return kind == REPORT_CELL_TEXT || kind == REPORT_CELL_GROUP;
}

void report_begin(struct report_table *table, const struct report_out *out,
                  const struct report_column *columns, size_t count)
{
    *table = (struct report_table){.out = out->file,
                                   .format = out->format,
                                   .units = out->units,
                                   .columns = columns,
                                   .count = count,
                                   .sheet = out->format == REPORT_CSV ? out->sheet : NULL,
                                   .style = report_number_style(out),
                                   .view = out->view};
    for (size_t i = 0; i < count; i++) {
        size_t title = strlen(columns[i].title);
        bool alone = columns[i].left && i + 1 == count;
        table->fit[i].width = columns[i].width;
        if (columns[i].moment && table->style == MP_STYLE_OWN)
            table->fit[i].width = MP_MOMENT_WIDTH;
        if (!alone && title > table->fit[i].width)
            table->fit[i].width = (uint32_t)title;
    }
    report_rows_begin(table);
}

void report_begin_json(struct report_table *table, struct json_writer *json,
                       const struct report_column *columns, size_t count)
{
    struct report_out out = {.file = json->out, .format = REPORT_JSON};

    report_begin(table, &out, columns, count);
    table->json = json;
}

/* Characters of a cell. A number in its column's unit has at most 8; the unit is not known yet. */
static size_t width_of(const struct report_table *table, size_t column,
                       const struct report_cell *cell)
{
    enum report_kind kind = table->columns[column].kind;
    char buffer[REPORT_NUMBER_BYTES];
    size_t width;

    if (is_text(kind))
        width = utf8_count(cell->text, cell->text_bytes) + (kind == REPORT_CELL_GROUP);
    else
        width = strlen(report_print_in_unit(table, column, cell, buffer));
    return width < REPORT_WIDEST_TEXT ? width : REPORT_WIDEST_TEXT;
}

void report_measure_units(struct report_table *table, const struct report_cell *cells)
{
    if (table->sheet)
        return; /* its units are fixed */
    for (size_t i = 0; i < table->count; i++) {
        if (!cells[i].absent)
            report_measure_unit(table, i, &cells[i]);
    }
}

void report_measure(struct report_table *table, const struct report_cell *cells)
{
    report_measure_units(table, cells);
    for (size_t i = 0; i < table->count && !table->sheet; i++) {
        const struct report_column *column = &table->columns[i];

        if (cells[i].absent)
            continue;
        if (table->rows)
            report_measure_cell(table, i, &cells[i]);
        if ((column->left && i + 1 == table->count) || column->cut)
            continue;
        size_t width = width_of(table, i, &cells[i]);
        if (width > table->fit[i].width)
            table->fit[i].width = (uint32_t)width;
    }
}

void report_header(struct report_table *table)
{
    if (table->rows)
        report_rows_header(table);
    else if (table->format == REPORT_TEXT)
        report_text_header(table);
    else if (table->sheet)
        report_sheet_header(table);
    else if (table->format == REPORT_CSV)
        report_csv_header(table);
}

void report_row(struct report_table *table, const struct report_cell *cells)
{
    if (table->rows) {
        report_keep(table, cells);
        return;
    }
    switch (table->format) {
    case REPORT_TEXT:
        report_text_row(table, cells);
        break;
    case REPORT_CSV:
        if (table->sheet)
            report_sheet_row(table, cells);
        else
            report_csv_row(table, cells);
        break;
    case REPORT_JSON:
        report_json_row(table, cells);
        break;
    }
}

void report_below(struct report_table *table, const char *text)
{
    if (table->rows)
        report_keep_below(table, text);
    else
        fputs(text, table->out);
}
