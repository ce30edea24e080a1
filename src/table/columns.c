/* From rows to cells: chooses the columns that a format shows, and asks each for its cell. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "table/inside.h"

#include "base/poison.h"

/* ---- Cells ---- */

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

struct report_cell report_number_if(bool known, uint64_t number)
{
    return known ? report_number_cell(number) : report_absent_cell();
}

struct report_cell report_real_if(bool known, double real)
{
    return known ? report_real_cell(real) : report_absent_cell();
}

const char *report_say(struct report_table *table, const char *format, ...)
{
    char *text = table->said + table->said_bytes;
    size_t room = sizeof table->said - table->said_bytes;
    va_list arguments;

    if (!room)
        return "";
    va_start(arguments, format);
    int length = vsnprintf(text, room, format, arguments);
    va_end(arguments);
    table->said_bytes += (size_t)length < room ? (size_t)length + 1 : room;
    return text;
}

const char *report_copy(struct report_table *table, const char *text)
{
    size_t room = sizeof table->said - table->said_bytes;
    size_t bytes = strlen(text) + 1;
    char *copy = table->said + table->said_bytes;

    if (bytes > room)
        return report_say(table, "%s", text); /* as much as there is room for */
    table->said_bytes += bytes;
    return memcpy(copy, text, bytes);
}

struct report_cell report_ranked_cell(struct report_table *table, const char *text, double number)
{
    struct report_cell cell = report_text_cell(report_copy(table, text));

    cell.real = number;
    return cell;
}

/* ---- Members of rows ---- */

static bool is_real(enum report_kind kind)
{
    return kind == REPORT_CELL_MEAN || kind == REPORT_CELL_PERCENT || kind == REPORT_CELL_REAL ||
           kind == REPORT_CELL_THROUGHPUT;
}

/* Where the member of this row is; NULL: nowhere. */
static const void *find_member(const struct report_member *member, const void *row)
{
    const void *at = (const char *)row + member->offset;
    const char *pointed;

    if (!member->through)
        return at;
    memcpy(&pointed, at, sizeof pointed);
    return pointed ? pointed + member->inner : NULL;
}

static uint64_t whole_number(enum report_type type, const void *at)
{
    switch (type) {
    case REPORT_IS_BOOL:
        return *(const bool *)at;
    case REPORT_IS_U8:
        return *(const uint8_t *)at;
    case REPORT_IS_U16:
        return *(const uint16_t *)at;
    case REPORT_IS_U32:
        return *(const uint32_t *)at;
    case REPORT_IS_U64:
    case REPORT_IS_S64:
        return *(const uint64_t *)at;
    case REPORT_NO_MEMBER:
    case REPORT_IS_REAL:
    case REPORT_IS_TEXT:
        break;
    }
    return 0;
}

struct report_cell report_value_cell(const void *row, struct report_table *table)
{
    const struct report_column *column = table->column;
    enum report_type type = (enum report_type)column->value.type;
    const void *at = find_member(&column->value, row);

    if (!at || type == REPORT_NO_MEMBER)
        return report_absent_cell();
    if (type == REPORT_IS_TEXT)
        return report_text_cell(*(const char *const *)at);
    if (type == REPORT_IS_REAL) {
        double real = *(const double *)at;

        return report_real_if(
            isfinite(real) && (real != 0 || column->unknown != REPORT_ZERO_UNKNOWN), real);
    }
    uint64_t number = whole_number(type, at);
    if ((column->unknown == REPORT_ZERO_UNKNOWN && !number) ||
        (column->unknown == REPORT_MAX_UNKNOWN &&
         number == (type == REPORT_IS_U32 ? UINT32_MAX : UINT64_MAX)))
        return report_absent_cell();
    return is_real(column->kind) ? report_real_cell((double)number) : report_number_cell(number);
}

static bool is_known(const struct report_member *when, const void *row)
{
    if (when->type == REPORT_NO_MEMBER)
        return true;
    const void *at = find_member(when, row);
    if (at && when->type == REPORT_IS_TEXT)
        return *(const char *const *)at != NULL;
    return at && whole_number((enum report_type)when->type, at);
}

/* ---- Rows ---- */

static void fill_cells(struct report_table *table, const void *row,
                       struct report_cell cells[REPORT_MAX_COLUMNS])
{
    table->said_bytes = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct report_column *column = table->columns[i];

        table->column = column;
        if (!is_known(&column->when, row))
            cells[i] = report_absent_cell();
        else
            cells[i] = column->cell ? column->cell(row, table) : report_value_cell(row, table);
    }
}

void report_put(struct report_table *table, const void *row)
{
    struct report_cell cells[REPORT_MAX_COLUMNS];

    fill_cells(table, row, cells);
    report_row(table, cells);
}

void report_survey(struct report_table *table, const void *row)
{
    struct report_cell cells[REPORT_MAX_COLUMNS];

    fill_cells(table, row, cells);
    if (table->measuring == REPORT_UNITS_ONLY || table->format != REPORT_TEXT)
        report_measure_units(table, cells);
    else
        report_measure(table, cells);
}

/* ---- Tables ---- */

bool report_needs_survey(const struct report_table *table)
{
    if (table->sheet || table->format == REPORT_JSON)
        return false;
    return table->measuring == REPORT_FIT || table->format == REPORT_CSV ||
           table->units == REPORT_UNITS_COLUMN;
}

void report_print(const struct report_out *out, const struct report_layout *layout,
                  report_each *each)
{
    struct report_table table;

    report_open(&table, out, layout);
    if (report_needs_survey(&table))
        each(&table, report_survey);
    report_header(&table);
    each(&table, report_put);
    report_end(&table);
}

static void each_of_array(struct report_table *table, report_take *take, const void *rows,
                          size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++)
        take(table, (const char *)rows + i * size);
}

void report_array(const struct report_out *out, const struct report_layout *layout,
                  const void *rows, size_t count, size_t size)
{
    struct report_table table;

    report_open(&table, out, layout);
    if (report_needs_survey(&table))
        each_of_array(&table, report_survey, rows, count, size);
    report_header(&table);
    each_of_array(&table, report_put, rows, count, size);
    report_end(&table);
}

/* ---- JSON ---- */

void report_json_print(struct json_writer *json, const char *key,
                       const struct report_layout *layout, report_each *each)
{
    struct report_table table;

    json_key_array(json, key);
    report_open_json(&table, json, layout);
    each(&table, report_put);
    json_close_array(json);
}

void report_json_array(struct json_writer *json, const char *key,
                       const struct report_layout *layout, const void *rows, size_t count,
                       size_t size)
{
    struct report_table table;

    json_key_array(json, key);
    report_open_json(&table, json, layout);
    each_of_array(&table, report_put, rows, count, size);
    json_close_array(json);
}

void report_json_members(struct json_writer *json, const struct report_layout *layout,
                         const void *row)
{
    struct report_cell cells[REPORT_MAX_COLUMNS];
    struct report_table table;

    report_open_json(&table, json, layout);
    fill_cells(&table, row, cells);
    report_json_cells(&table, cells);
}

void report_json_keys(struct report_table *table, const char *key)
{
    json_key_array(table->json, key);
    for (size_t i = 0; i < table->count; i++) {
        if (table->columns[i]->key)
            json_text(table->json, table->columns[i]->key);
    }
    json_close_array(table->json);
}

void report_json_values(struct report_table *table, const void *row)
{
    struct report_cell cells[REPORT_MAX_COLUMNS];

    fill_cells(table, row, cells);
    json_open_array(table->json);
    for (size_t i = 0; i < table->count; i++) {
        if (table->columns[i]->key)
            report_json_value(table->json, table->columns[i], &cells[i]);
    }
    json_close_array(table->json);
}
