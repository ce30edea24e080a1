/* Tables for a person at a terminal. Names give way first, down to a width at which they still
 * differ. Then columns are left out, those with the largest `drop` first. What is left over
 * goes to the names. Groups are lines.
 */
#include <string.h>

#include "base/text/foreign.h"
#include "table/inside.h"
#include "table/view.h"

#include "base/poison.h"

#define MUCH   10.0  /* percent of all: the row's share is printed bold */
#define LITTLE 1.0   /* below that the row is faint */
#define NONE   0.005 /* printed as 0.00 % */

/* A cell as it is printed. */
struct shown {
    const char *text;
    size_t bytes;
    size_t columns;
};

static bool is_hidden(const struct report_table *table, size_t column)
{
    return table->hidden >> column & 1;
}

static size_t last_shown(const struct report_table *table)
{
    size_t last = 0;

    for (size_t i = 0; i < table->count; i++)
        last = is_hidden(table, i) ? last : i;
    return last;
}

static void put_spaces(FILE *out, size_t count)
{
    if (count)
        fprintf(out, "%*s", (int)count, "");
}

/* ---- One cell ---- */

static void put_shown(const struct report_table *table, size_t column, const struct shown *shown,
                      enum report_tone tone, bool first)
{
    size_t width = table->fit[column].width;
    size_t space = shown->columns < width ? width - shown->columns : 0;
    bool left = table->columns[column]->left || column == table->flexible;

    if (!first)
        put_spaces(table->out, 2);
    if (!left)
        put_spaces(table->out, space);
    report_tone_begin(table->out, table->view, tone);
    foreign_put(table->out, shown->text, shown->bytes);
    report_tone_end(table->out, table->view, tone);
    if (left && column != last_shown(table))
        put_spaces(table->out, space);
}

static struct shown shown_text(const char *text, size_t bytes)
{
    return (struct shown){text, bytes, report_columns_of(text, bytes)};
}

static struct shown shown_number(const struct report_table *table, size_t column,
                                 const struct report_cell *cell, char buffer[REPORT_NUMBER_BYTES])
{
    const char *text = cell->absent ? "-" : report_print_in_unit(table, column, cell, buffer);

    return shown_text(text, strlen(text));
}

/* Names are as wide as their column, less what wider numbers of the same row have taken. */
static struct shown shown_name(const struct report_table *table, size_t column,
                               const struct report_cell *cell, size_t taken, char *buffer)
{
    size_t width = table->fit[column].width;
    bool whole = table->view->whole_names || (!table->view->width && !table->view->name_width);
    struct shown shown = {.text = cell->text, .bytes = cell->text_bytes};

    if (cell->absent)
        return shown_text("-", 1);
    width = width > taken + 4 ? width - taken : width < 4 ? width : 4;
    if (!whole)
        shown.text =
            report_shorten(cell->text, &shown.bytes, width, buffer, REPORT_SHORTENED_BYTES);
    shown.columns = report_columns_of(shown.text, shown.bytes);
    return shown;
}

/* ---- A row ---- */

static bool is_share(const struct report_table *table, size_t column,
                     const struct report_cell *cell)
{
    return table->columns[column]->share && !cell->absent &&
           table->columns[column]->kind == REPORT_CELL_PERCENT;
}

/* A share prints as 0.00 %; of a time with one, nothing is nothing. */
static bool is_none(const struct report_column *column, const struct report_cell *cell)
{
    if (column->kind == REPORT_CELL_PERCENT)
        return cell->real < NONE;
    return column->kind == REPORT_CELL_MEAN ? cell->real < 1 : cell->number == 0;
}

bool report_is_nothing(const struct report_table *table, const struct report_cell *cells)
{
    bool any = false;

    for (size_t i = 0; i < table->count; i++) {
        if (!table->columns[i]->share)
            continue;
        if (cells[i].absent || !is_none(table->columns[i], &cells[i]))
            return false;
        any = true;
    }
    return any;
}

/* The max share of the row; 100 if the table has none. */
static double max_share(const struct report_table *table, const struct report_cell *cells)
{
    double max = 0;
    bool any = false;

    for (size_t i = 0; i < table->count; i++) {
        if (!is_share(table, i, &cells[i]))
            continue;
        max = cells[i].real > max ? cells[i].real : max;
        any = true;
    }
    return any ? max : 100;
}

static enum report_tone tone_of(const struct report_table *table, size_t column,
                                const struct report_cell *cell, double max)
{
    if (is_share(table, column, cell) && cell->real >= MUCH)
        return REPORT_TONE_STRONG;
    if (table->columns[column]->kind == REPORT_CELL_TEXT && !cell->absent &&
        column != table->flexible)
        return report_tone_of_word(cell->text, cell->text_bytes);
    return max < LITTLE ? REPORT_TONE_QUIET : REPORT_TONE_PLAIN;
}

/* The name of the group above the first row that has it. */
static void put_group(struct report_table *table, const char *group)
{
    bool again = !group || (table->group && !strcmp(group, table->group));

    table->group = group;
    if (again)
        return;
    report_tone_begin(table->out, table->view, REPORT_TONE_TITLE);
    foreign_put_text(table->out, group);
    fputc(':', table->out);
    report_tone_end(table->out, table->view, REPORT_TONE_TITLE);
    fputc('\n', table->out);
}

/* Columns by which numbers of the row are wider than their columns. */
static size_t excess_of(const struct report_table *table, const struct report_cell *cells)
{
    char buffer[REPORT_NUMBER_BYTES];
    size_t excess = 0;

    for (size_t i = 0; i < table->count; i++) {
        if (is_hidden(table, i) || table->columns[i]->kind == REPORT_CELL_TEXT)
            continue;
        struct shown shown = shown_number(table, i, &cells[i], buffer);
        if (shown.columns > table->fit[i].width)
            excess += shown.columns - table->fit[i].width;
    }
    return excess;
}

void report_fitted_row(struct report_table *table, const struct report_cell *cells)
{
    size_t excess = table->view->width ? excess_of(table, cells) : 0;
    double max = max_share(table, cells);
    char buffer[REPORT_SHORTENED_BYTES];
    bool first = true;

    for (size_t i = 0; i < table->count; i++) {
        enum report_kind kind = table->columns[i]->kind;
        struct shown shown;

        if (kind == REPORT_CELL_GROUP)
            put_group(table, cells[i].text);
        if (is_hidden(table, i))
            continue;
        if (kind == REPORT_CELL_TEXT)
            shown = shown_name(table, i, &cells[i], i == table->flexible ? excess : 0, buffer);
        else
            shown = shown_number(table, i, &cells[i], buffer);
        put_shown(table, i, &shown, tone_of(table, i, &cells[i], max), first);
        first = false;
    }
    fputc('\n', table->out);
}

/* ---- The header ---- */

static void put_line(struct report_table *table, bool units)
{
    bool first = true;

    for (size_t i = 0; i < table->count; i++) {
        const char *title = units ? report_unit_name(table, i) : report_title(table->columns[i]);
        struct shown shown = shown_text(title, strlen(title));
        char buffer[REPORT_SHORTENED_BYTES];

        if (is_hidden(table, i))
            continue;
        if (table->view->width)
            shown.text =
                report_shorten(title, &shown.bytes, table->fit[i].width, buffer, sizeof buffer);
        shown.columns = report_columns_of(shown.text, shown.bytes);
        put_shown(table, i, &shown, REPORT_TONE_TITLE, first);
        first = false;
    }
    fputc('\n', table->out);
}

void report_fitted_header(struct report_table *table)
{
    put_line(table, false);
    if (report_has_unit_row(table))
        put_line(table, true);
}

/* ---- Which columns fit, and how wide they are ---- */

#define GAP              2  /* spaces between columns */
#define OTHER_NAME_WIDTH 24 /* of a column of text that is not the table's column of names */
#define MIN_WIDTH        4

/* Columns of the terminal that a cell takes. */
static size_t columns_of_cell(const struct report_table *table, size_t column,
                              const struct report_cell *cell)
{
    char buffer[REPORT_NUMBER_BYTES];

    if (cell->absent)
        return 1;
    if (table->columns[column]->kind == REPORT_CELL_TEXT)
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
    const char *title = report_title(table->columns[column]);
    size_t width = report_columns_of(title, strlen(title));
    size_t unit = report_has_unit_row(table) ? strlen(report_unit_name(table, column)) : 0;

    return unit > width ? unit : width;
}

/* Widths at which nothing is shortened. Groups have separate lines. */
static void measure_rows(struct report_table *table, struct report_kept *const *rows, size_t count)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct report_column *column = table->columns[i];
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
        if (table->columns[i]->name)
            return i;
        if (table->columns[i]->kind != REPORT_CELL_TEXT)
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
        size_t min = strlen(report_title(table->columns[i]));

        if (min < OTHER_NAME_WIDTH)
            min = OTHER_NAME_WIDTH;
        if (i != table->flexible && table->columns[i]->kind == REPORT_CELL_TEXT &&
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
        if (found == table->count || table->columns[i]->drop >= table->columns[found]->drop)
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
        report_titles_add(&table->view->left_out, report_title(table->columns[drop]));
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
    measure_rows(table, rows, count);
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
