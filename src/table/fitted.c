/* Tables for a person at a terminal: the columns that fit.c chose, names with dots for their
 * middle, groups as lines of their own.
 */
#include <string.h>

#include "base/text/foreign.h"
#include "table/formats.h"
#include "table/palette.h"
#include "table/rows.h"

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
    bool left = table->columns[column].left || column == table->flexible;

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
    return table->columns[column].share && !cell->absent &&
           table->columns[column].kind == REPORT_CELL_PERCENT;
}

/* A share prints as 0.00 %; of a time beside one, nothing is nothing. */
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
        if (!table->columns[i].share)
            continue;
        if (cells[i].absent || !is_none(&table->columns[i], &cells[i]))
            return false;
        any = true;
    }
    return any;
}

/* The greatest share of the row; 100 if the table has none. */
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
    if (table->columns[column].kind == REPORT_CELL_TEXT && !cell->absent &&
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
        struct shown shown;

        if (is_hidden(table, i) || table->columns[i].kind == REPORT_CELL_TEXT)
            continue;
        shown = shown_number(table, i, &cells[i], buffer);
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
        enum report_kind kind = table->columns[i].kind;
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
        const char *title = units ? report_unit_name(table, i) : table->columns[i].title;
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
