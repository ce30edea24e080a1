/* The one table printer. A cell holds a value, and its column the kind of value. The unit of a
 * column is chosen when all its rows are measured, as in nvprof.
 */
#include "table/table.h"

#include <string.h>

#include "base/text/strings.h"
#include "table/inside.h"

#include "base/poison.h"

static bool is_text(enum report_kind kind)
{
    return kind == REPORT_CELL_TEXT || kind == REPORT_CELL_GROUP;
}

/* The bit of report_column.formats. */
static unsigned format_bit(const struct report_table *table)
{
    if (table->format == REPORT_TEXT)
        return REPORT_IN_TEXT;
    if (table->format == REPORT_JSON)
        return REPORT_IN_JSON;
    return table->sheet ? REPORT_IN_SHEET : REPORT_IN_CSV;
}

static void add_column(struct report_table *table, const struct report_column *column)
{
    bool own = table->style == MP_STYLE_OWN;
    size_t at = table->count++;

    table->columns[at] = column;
    table->fit[at].width = column->moment && own ? MP_MOMENT_WIDTH : column->width;
    if (column->roomy && own)
        table->fit[at].width++;
}

/* A column is as wide as its title, unless it is the last one and left-justified. */
static void widen_to_titles(struct report_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        size_t title = strlen(report_title(table->columns[i]));
        bool alone = table->columns[i]->left && i + 1 == table->count;

        if (!alone && title > table->fit[i].width)
            table->fit[i].width = (uint32_t)title;
    }
}

void report_open(struct report_table *table, const struct report_out *out,
                 const struct report_layout *layout)
{
    memset(table, 0, offsetof(struct report_table, said)); /* the texts need not be cleared */
    table->said_bytes = 0;
    table->out = out->file;
    table->format = out->format;
    table->units = out->units;
    table->of = layout->of;
    table->name = layout->name;
    table->measuring = layout->measuring;
    table->sheet = out->format == REPORT_CSV ? out->sheet : NULL;
    table->style = report_number_style(out);
    table->view = out->view;
    for (size_t i = 0; i < layout->count; i++) {
        const struct report_column *column = &layout->columns[i];

        if (column->formats && !(column->formats & format_bit(table)))
            continue;
        if (column->needs && !(column->needs & layout->there))
            continue;
        if (table->count == REPORT_MAX_COLUMNS)
            break;
        add_column(table, column);
    }
    widen_to_titles(table);
    report_rows_begin(table);
}

void report_open_json(struct report_table *table, struct json_writer *json,
                      const struct report_layout *layout)
{
    struct report_out out = {.file = json->out, .format = REPORT_JSON};

    report_open(table, &out, layout);
    table->json = json;
}

/* Characters of a cell. A number in its column's unit has at most 8; the unit is not known yet. */
static size_t width_of(const struct report_table *table, size_t column,
                       const struct report_cell *cell)
{
    enum report_kind kind = table->columns[column]->kind;
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
        const struct report_column *column = table->columns[i];

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

/* ---- Rows as JSON objects ---- */

void report_json_value(struct json_writer *json, const struct report_column *column,
                       const struct report_cell *cell)
{
    char buffer[REPORT_NUMBER_BYTES];

    if (cell->absent) {
        json_null(json);
        return;
    }
    switch (column->kind) {
    case REPORT_CELL_TEXT:
    case REPORT_CELL_GROUP:
        json_bytes(json, cell->text, cell->text_bytes);
        break;
    case REPORT_CELL_COUNT:
    case REPORT_CELL_ID:
    case REPORT_CELL_TIME:
    case REPORT_CELL_BYTES:
        json_number(json, cell->number);
        break;
    case REPORT_CELL_SIGNED:
    case REPORT_CELL_CHANGE:
        json_signed(json, (int64_t)cell->number);
        break;
    case REPORT_CELL_HEX:
        json_text(json, report_print_number(column, cell, MP_STYLE_OWN, buffer));
        break;
    case REPORT_CELL_BOOL:
        json_bool(json, cell->number != 0);
        break;
    case REPORT_CELL_MEAN:
    case REPORT_CELL_PERCENT:
    case REPORT_CELL_REAL:
    case REPORT_CELL_THROUGHPUT:
        json_real(json, cell->real);
        break;
    }
}

void report_json_cells(struct report_table *table, const struct report_cell *cells)
{
    for (size_t i = 0; i < table->count; i++) {
        if (!table->columns[i]->key)
            continue;
        json_key(table->json, table->columns[i]->key);
        report_json_value(table->json, table->columns[i], &cells[i]);
    }
}

void report_json_row(struct report_table *table, const struct report_cell *cells)
{
    json_open_object(table->json);
    report_json_cells(table, cells);
    json_close_object(table->json);
    if (!table->json->depth)
        json_end(table->json); /* JSON lines */
}
