/* Tables without a view: text as nvprof prints it for people, CSV in nvprof's layout and in our
 * own.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "table/inside.h"

#include "base/poison.h"

/* ---- Text ---- */

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

/* ---- CSV in nvprof's form: quoted titles, a row of units, quoted text, plain numbers ---- */

#define NS_PER_SECOND UINT64_C(1000000000)

static void put_csv_units(const struct report_table *table)
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
        foreign_put_csv(table->out, report_title(table->columns[i]),
                        strlen(report_title(table->columns[i])));
    }
    fputc('\n', table->out);
    put_csv_units(table);
}

/* Six decimals, as in nvprof. In seconds six decimals end at 1 us, so a column that must show ns
 * has nine. */
static void put_time(const struct report_table *table, size_t column,
                     const struct report_cell *cell)
{
    const struct report_column *info = table->columns[column];
    bool nine = info->exact && info->kind == REPORT_CELL_TIME && report_in_seconds(table, column);

    if (nine)
        fprintf(table->out, "%" PRIu64 ".%09" PRIu64, cell->number / NS_PER_SECOND,
                cell->number % NS_PER_SECOND);
    else
        fprintf(table->out, "%.6f", report_in_unit(table, column, cell));
}

static void put_csv_cell(const struct report_table *table, size_t column,
                         const struct report_cell *cell)
{
    enum report_kind kind = table->columns[column]->kind;
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
        if (table->columns[column]->scaled)
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
        fputs(report_print_number(table->columns[column], cell, MP_STYLE_NVPROF, buffer),
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
            put_csv_cell(table, i, &cells[i]);
    }
    fputc('\n', table->out);
}

/* ---- CSV in our own form, for scripts ----
 *
 * One header row whose names hold the units, one unit a column whatever the values are, quoted
 * text, an empty field where nothing is known.
 */

struct name {
    char *text; /* of REPORT_FIELD_BYTES */
    size_t length;
};

static void append(struct name *name, const char *word)
{
    for (; *word && name->length + 1 < REPORT_FIELD_BYTES; word++)
        name->text[name->length++] = *word;
    name->text[name->length] = '\0';
}

/* Begins another word, unless one has just begun. */
static void separate(struct name *name)
{
    if (name->length && name->text[name->length - 1] != '_')
        append(name, "_");
}

/* `Critical path(%)` becomes `critical_path`, `Bytes/Row` bytes_per_row, `& HtoD` with_htod. */
static void append_title(struct name *name, const char *title)
{
    for (; *title; title++) {
        const char letter[] = {(char)tolower((unsigned char)*title), '\0'};

        if (isalnum((unsigned char)*title)) {
            append(name, letter);
        } else if (*title == '/' || *title == '&') {
            separate(name);
            append(name, *title == '/' ? "per_" : "with_");
        } else {
            separate(name);
        }
    }
    while (name->length && name->text[name->length - 1] == '_')
        name->text[--name->length] = '\0';
}

/* The unit as a word. Counts, shares from 0 to 1 and texts have none. */
static const char *unit_of(const struct report_column *column)
{
    static const char *const words[][2] = {{"ns", "ns"},          {"B", "bytes"},
                                           {"%", "percent"},      {"kHz", "khz"},
                                           {"1/s", "per_second"}, {"kB/s", "kilobytes_per_second"}};

    if (report_is_time(column->kind))
        return "ns";
    if (column->kind == REPORT_CELL_PERCENT)
        return "percent";
    if (column->kind == REPORT_CELL_BYTES)
        return "bytes";
    if (column->kind == REPORT_CELL_THROUGHPUT)
        return "bytes_per_second";
    for (size_t i = 0; column->unit && i < sizeof words / sizeof *words; i++) {
        if (!strcmp(column->unit, words[i][0]))
            return words[i][1];
    }
    return NULL;
}

/* What a column is called in a sheet: its key or title, and its unit. Returns `name`. */
static const char *report_field(const struct report_column *column, char text[REPORT_FIELD_BYTES])
{
    struct name name = {text, 0};
    const char *unit = unit_of(column);

    text[0] = '\0';
    if (column->key)
        append(&name, column->key);
    else
        append_title(&name, column->title);
    if (unit && !strstr(text, unit)) {
        separate(&name);
        append(&name, unit);
    }
    return text;
}

static bool same_name(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/* Whether the table is printed: in a sheet only one is. */
static bool report_is_wanted(const struct report_table *table)
{
    return !table->sheet || same_name(table->sheet->wanted, table->name);
}

bool report_has_titles(const struct report_out *out)
{
    return out->format != REPORT_CSV || !out->sheet;
}

bool report_failed(const struct report_out *out)
{
    return ferror(report_has_titles(out) ? out->file : out->sheet->file);
}

static void note_table(struct report_sheet *sheet, const char *name)
{
    for (size_t i = 0; i < sheet->table_count; i++) {
        if (same_name(sheet->tables[i], name))
            return;
    }
    if (sheet->table_count < REPORT_MAX_TABLES)
        sheet->tables[sheet->table_count++] = name;
}

void report_sheet_header(struct report_table *table)
{
    struct report_sheet *sheet = table->sheet;
    char name[REPORT_FIELD_BYTES];

    note_table(sheet, table->name);
    if (sheet->headed || !report_is_wanted(table))
        return;
    sheet->headed = true;
    if (sheet->process)
        fputs("process,", sheet->file);
    for (size_t i = 0; i < table->count; i++)
        fprintf(sheet->file, "%s%s", i ? "," : "", report_field(table->columns[i], name));
    fputc('\n', sheet->file);
}

static void put_field(FILE *out, const struct report_column *column, const struct report_cell *cell)
{
    char buffer[REPORT_NUMBER_BYTES];

    switch (column->kind) {
    case REPORT_CELL_TEXT:
    case REPORT_CELL_GROUP:
        foreign_put_csv(out, cell->text, cell->text_bytes);
        break;
    case REPORT_CELL_COUNT:
    case REPORT_CELL_ID:
    case REPORT_CELL_TIME:
    case REPORT_CELL_BYTES:
        fprintf(out, "%" PRIu64, cell->number);
        break;
    case REPORT_CELL_CHANGE:
    case REPORT_CELL_SIGNED:
        fprintf(out, "%" PRId64, (int64_t)cell->number);
        break;
    case REPORT_CELL_MEAN:
    case REPORT_CELL_PERCENT:
    case REPORT_CELL_REAL:
    case REPORT_CELL_THROUGHPUT:
        fprintf(out, "%.6f", cell->real);
        break;
    case REPORT_CELL_BOOL:
        fputc(cell->number ? '1' : '0', out);
        break;
    case REPORT_CELL_HEX:
        fputs(report_print_number(column, cell, MP_STYLE_OWN, buffer), out);
        break;
    }
}

void report_sheet_row(struct report_table *table, const struct report_cell *cells)
{
    const struct report_sheet *sheet = table->sheet;

    if (sheet->rowless || !report_is_wanted(table))
        return;
    if (sheet->process) {
        foreign_put_csv(sheet->file, sheet->process, strlen(sheet->process));
        fputc(',', sheet->file);
    }
    for (size_t i = 0; i < table->count; i++) {
        if (i)
            fputc(',', sheet->file);
        if (!cells[i].absent)
            put_field(sheet->file, table->columns[i], &cells[i]);
    }
    fputc('\n', sheet->file);
}
