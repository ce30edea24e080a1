/* Tables as nvprof prints them for people. */
#include <string.h>

#include "report/table_formats.h"
#include "report/utf8.h"

#include "base/poison.h"

/* Text without what would move a terminal's cursor or change its colours. */
static void put_visible(FILE *out, const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        size_t length = utf8_length(text + at, bytes - at);
        unsigned char byte = (unsigned char)text[at];
        bool control = length <= 1 && (length == 0 || byte < 0x20 || byte == 0x7f);
        bool c1 = length == 2 && byte == 0xc2 && (unsigned char)text[at + 1] < 0xa0;

        if (control || c1)
            fputc('?', out);
        else
            fwrite(text + at, 1, length, out);
        at += length ? length : 1;
    }
}

static void put_spaces(FILE *out, size_t count)
{
    if (count)
        fprintf(out, "%*s", (int)count, "");
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
    if (!table->columns[column].left)
        put_spaces(table->out, space);
    put_visible(table->out, text, bytes);
    if (table->columns[column].left && !last)
        put_spaces(table->out, space);
}

void report_text_header(struct report_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        put_cell(table, i, table->columns[i].title, strlen(table->columns[i].title));
    fputc('\n', table->out);
}

/* The group's name stands in its first row only. */
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

void report_text_row(struct report_table *table, const struct report_cell *cells)
{
    char buffer[REPORT_NUMBER_BYTES];

    for (size_t i = 0; i < table->count; i++) {
        enum report_kind kind = table->columns[i].kind;
        const char *text;

        if (kind == REPORT_CELL_GROUP) {
            put_group(table, i, cells[i].text);
        } else if (cells[i].absent) {
            put_cell(table, i, "-", 1);
        } else if (kind == REPORT_CELL_TEXT) {
            put_cell(table, i, cells[i].text, cells[i].text_bytes);
        } else {
            text = report_print_number(&table->columns[i], &cells[i], buffer);
            put_cell(table, i, text, strlen(text));
        }
    }
    fputc('\n', table->out);
}
