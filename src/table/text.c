/* Tables as nvprof prints them for people. */
#include <string.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "table/inside.h"

#include "base/poison.h"

static void put_spaces(FILE *out, size_t count)
{
    static const char spaces[] = "                                ";

    for (; count >= sizeof spaces; count -= sizeof spaces - 1)
        fwrite(spaces, 1, sizeof spaces - 1, out);
    if (count)
        fwrite(spaces, 1, count, out);
}

/* One cell, without trailing spaces at the end of the line. */
static void put_cell(const struct report_table *table, size_t column, const char *text,
                     size_t bytes)
{
    size_t width = table->fit[column].width;
    size_t used = utf8_count(text, bytes);
    size_t space = used < width ? width - used : 0;
    bool last = column + 1 == table->count;

    if (column)
        put_spaces(table->out, 2);
    if (!table->columns[column]->left)
        put_spaces(table->out, space);
    foreign_put(table->out, text, bytes);
    if (table->columns[column]->left && !last)
        put_spaces(table->out, space);
}

/* The row of units ends at the last column that has one. */
static void put_units(const struct report_table *table)
{
    size_t count = table->count;

    while (count && !*report_unit_name(table, count - 1))
        count--;
    for (size_t i = 0; i < count; i++) {
        const char *unit = report_unit_name(table, i);
        put_cell(table, i, unit, strlen(unit));
    }
    if (count)
        fputc('\n', table->out);
}

void report_text_header(struct report_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        put_cell(table, i, report_title(table->columns[i]),
                 strlen(report_title(table->columns[i])));
    fputc('\n', table->out);
    if (report_has_unit_row(table))
        put_units(table);
}

/* The group's name is printed only in the group's first row. */
static void put_group(struct report_table *table, size_t column, const char *group)
{
    char text[REPORT_WIDEST_TEXT];
    int length = 0;

    if (group && (!table->group || strcmp(group, table->group) != 0))
        length = snprintf(text, sizeof text, "%s:", group);
    if (length >= (int)sizeof text)
        length = (int)sizeof text - 1;
    table->group = group;
    put_cell(table, column, text, length > 0 ? (size_t)length : 0);
}

/* Bytes of the text that the column shows. */
static size_t bytes_shown(const struct report_column *column, const struct report_cell *cell)
{
    size_t at = 0;

    if (!column->cut)
        return cell->text_bytes;
    for (size_t i = 0; i < column->width && at < cell->text_bytes; i++) {
        size_t length = utf8_length(cell->text + at, cell->text_bytes - at);
        at += length ? length : 1;
    }
    return at;
}

void report_text_row(struct report_table *table, const struct report_cell *cells)
{
    char buffer[REPORT_NUMBER_BYTES];

    for (size_t i = 0; i < table->count; i++) {
        enum report_kind kind = table->columns[i]->kind;
        const char *text;

        if (kind == REPORT_CELL_GROUP) {
            put_group(table, i, cells[i].text);
        } else if (cells[i].absent) {
            put_cell(table, i, "-", 1);
        } else if (kind == REPORT_CELL_TEXT) {
            put_cell(table, i, cells[i].text, bytes_shown(table->columns[i], &cells[i]));
        } else {
            text = report_print_in_unit(table, i, &cells[i], buffer);
            put_cell(table, i, text, strlen(text));
        }
    }
    fputc('\n', table->out);
}
