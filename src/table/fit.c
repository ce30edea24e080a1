/* Chooses which columns of a table a terminal shows, and how wide they are. Names give way first,
 * down to a width at which they can still be told apart. Then columns are left out, those of the
 * greatest `drop` first. What is left over goes to the names.
 */
#include <string.h>

#include "table/formats.h"
#include "table/rows.h"

#include "base/poison.h"

#define GAP              2  /* spaces between columns */
#define OTHER_NAME_WIDTH 24 /* of a column of text that is not the table's column of names */
#define MIN_WIDTH        4

static bool is_hidden(const struct report_table *table, size_t column)
{
    return table->hidden >> column & 1;
}

/* Columns of the terminal that a cell takes. */
static size_t columns_of_cell(const struct report_table *table, size_t column,
                              const struct report_cell *cell)
{
    char buffer[REPORT_NUMBER_BYTES];

    if (cell->absent)
        return 1;
    if (table->columns[column].kind == REPORT_CELL_TEXT)
        return report_columns_of(cell->text, cell->text_bytes);
    return strlen(report_print_in_unit(table, column, cell, buffer));
}

void report_measure_cell(struct report_table *table, size_t column, const struct report_cell *cell)
{
    size_t width = columns_of_cell(table, column, cell);

    if (width > table->fit[column].measured)
        table->fit[column].measured = (uint32_t)width;
}

static size_t width_of_title(const struct report_table *table, size_t column)
{
    const char *title = table->columns[column].title;
    size_t width = report_columns_of(title, strlen(title));
    size_t unit = report_has_unit_row(table) ? strlen(report_unit_name(table, column)) : 0;

    return unit > width ? unit : width;
}

/* Widths at which nothing is shortened. Groups stand in lines of their own. */
static void measure(struct report_table *table, struct report_kept *const *rows, size_t count)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct report_column *column = &table->columns[i];
        size_t width = width_of_title(table, i);

        if (column->kind == REPORT_CELL_GROUP) {
            table->hidden |= UINT64_C(1) << i;
            continue;
        }
        for (size_t row = 0; row < count; row++)
            report_measure_cell(table, i, &rows[row]->cells[i]);
        if (table->fit[i].measured > width)
            width = table->fit[i].measured;
        if (column->cut && width > column->width)
            width = column->width;
        table->fit[i].width = (uint32_t)width;
    }
}

/* The column that is marked, else the last column if it is text, else the widest one of text. */
static size_t find_flexible(const struct report_table *table)
{
    size_t found = table->count;

    for (size_t i = 0; i < table->count; i++) {
        if (table->columns[i].name)
            return i;
        if (table->columns[i].kind != REPORT_CELL_TEXT)
            continue;
        if (found == table->count || i + 1 == table->count ||
            table->fit[i].width > table->fit[found].width)
            found = i;
    }
    return found;
}

/* Of the line, with one column at another width. */
static size_t width_with(const struct report_table *table, size_t flexible_width)
{
    size_t total = 0;
    size_t shown = 0;

    for (size_t i = 0; i < table->count; i++) {
        if (is_hidden(table, i))
            continue;
        total += i == table->flexible ? flexible_width : table->fit[i].width;
        shown++;
    }
    return shown ? total + GAP * (shown - 1) : 0;
}

static void shrink_other_names(struct report_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        size_t min = strlen(table->columns[i].title);

        if (min < OTHER_NAME_WIDTH)
            min = OTHER_NAME_WIDTH;
        if (i != table->flexible && table->columns[i].kind == REPORT_CELL_TEXT &&
            table->fit[i].width > min)
            table->fit[i].width = (uint32_t)min;
    }
}

/* The shown column to leave out next; `count` if only one number and the names are left. */
static size_t next_to_drop(const struct report_table *table)
{
    size_t found = table->count;
    size_t others = 0;

    for (size_t i = 0; i < table->count; i++) {
        if (is_hidden(table, i) || i == table->flexible)
            continue;
        others++;
        if (found == table->count || table->columns[i].drop >= table->columns[found].drop)
            found = i;
    }
    return others > 1 ? found : table->count;
}

static void drop_columns(struct report_table *table, size_t min)
{
    while (width_with(table, min) > table->view->width) {
        size_t drop = next_to_drop(table);

        if (drop == table->count)
            break;
        table->hidden |= UINT64_C(1) << drop;
        report_titles_add(&table->view->left_out, table->columns[drop].title);
    }
}

/* What names keep before columns are left out: two fifths of the line, on a narrow one half. */
static size_t min_of_names(const struct report_table *table)
{
    size_t width = table->view->width;
    size_t min = width < 60 ? width / 2 : width * 2 / 5;

    if (table->flexible == table->count)
        return 0;
    return table->fit[table->flexible].width < min ? table->fit[table->flexible].width : min;
}

static void fit_names(struct report_table *table)
{
    size_t flexible = table->flexible;
    size_t rest = width_with(table, 0);
    size_t width = table->view->width;
    size_t room = width > rest + MIN_WIDTH ? width - rest : MIN_WIDTH;

    if (flexible < table->count && table->fit[flexible].width > room)
        table->fit[flexible].width = (uint32_t)room;
}

void report_fit(struct report_table *table, struct report_kept *const *rows, size_t count)
{
    table->hidden = 0;
    measure(table, rows, count);
    table->flexible = find_flexible(table);
    if (table->view->width) {
        size_t natural = table->flexible < table->count ? table->fit[table->flexible].width : 0;

        if (width_with(table, natural) > table->view->width)
            shrink_other_names(table);
        drop_columns(table, min_of_names(table));
        fit_names(table);
    } else if (table->view->name_width && table->flexible < table->count &&
               table->fit[table->flexible].width > table->view->name_width) {
        table->fit[table->flexible].width = table->view->name_width;
    }
}
