/* Writes Parquet files whose every value follows from its row's number, for readers that are not
 * ours: tests/exports/tables.mjs computes the same values again.
 *
 *     write_parquet types ROWS GROUP_ROWS FILE   all types, NULLs, extremes, text of any kind
 *     write_parquet long ROWS GROUP_ROWS FILE    64 KiB of other text in each row
 *     write_parquet doubles ROWS GROUP_ROWS FILE NaN, infinities, both zeros
 *
 * GROUP_ROWS 0 is the library's own choice.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/strings.h"
#include "export/parquet/parquet.h"

#include "base/poison.h"

#define LONG_TEXT 65536

/* In one row in a few there is an extreme, in the others whatever comes. */
static int64_t any_number(uint64_t row, int64_t min, int64_t max)
{
    uint64_t value = row * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);

    if (row % 5 == 0)
        return min;
    if (row % 5 == 1)
        return max;
    return min == INT32_MIN ? (int64_t)(int32_t)(uint32_t)(value >> 32) : (int64_t)value;
}

static void put_numbered(struct parquet_writer *writer, unsigned column, const char *word,
                         uint64_t number)
{
    char text[64];
    int bytes = snprintf(text, sizeof text, "%s %" PRIu64, word, number);

    parquet_put_text(writer, column, text, (size_t)bytes);
}

/* ---- types ---- */

static const struct {
    const char *bytes;
    size_t count;
} odd_texts[] = {{"", 0},
                 {"\xff", 1},
                 {"a\xc3", 2},
                 {"\xed\xa0\x80", 3},
                 {"\xf0\x9f\x98\x80 \xe2\x82\xac", 8},
                 {"'\"<b>&amp;\\", 11},
                 {"nul\0nul", 7},
                 {"line\n\ttab", 9}};

#define ODD_TEXTS (sizeof odd_texts / sizeof *odd_texts)

static const struct parquet_column types_columns[] = {
    {"flag", PARQUET_BOOL, 0},
    {"small", PARQUET_INT32, 0},
    {"wide", PARQUET_INT32, 0},
    {"start_ns", PARQUET_INT64, PARQUET_TIME},
    {"down", PARQUET_INT64, 0},
    {"extreme", PARQUET_INT64, 0},
    {"ratio", PARQUET_DOUBLE, 0},
    {"name", PARQUET_STRING, 0},
    {"distinct", PARQUET_STRING, 0},
    {"odd", PARQUET_STRING, 0},
    {"constant", PARQUET_INT32, 0},
    {"some", PARQUET_INT64, PARQUET_OPTIONAL},
    {"stretches", PARQUET_INT32, PARQUET_OPTIONAL},
    {"some_text", PARQUET_STRING, PARQUET_OPTIONAL},
    {"some_flag", PARQUET_BOOL, PARQUET_OPTIONAL},
    {"some_ratio", PARQUET_DOUBLE, PARQUET_OPTIONAL},
    {"no_number", PARQUET_INT32, PARQUET_OPTIONAL},
    {"no_text", PARQUET_STRING, PARQUET_OPTIONAL},
};

static void put_required(struct parquet_writer *writer, uint64_t row)
{
    parquet_put_int(writer, 0, row % 3 == 0);
    parquet_put_int(writer, 1, (int64_t)(row * 7 % 100) - 50);
    parquet_put_int(writer, 2, any_number(row, INT32_MIN, INT32_MAX));
    parquet_put_int(writer, 3, (int64_t)(UINT64_C(1700000000000000000) + row * 1000 + row % 7));
    parquet_put_int(writer, 4, -(int64_t)(row * row));
    parquet_put_int(writer, 5, any_number(row, INT64_MIN, INT64_MAX));
    parquet_put_double(writer, 6, ((double)row - 1000) / 8);
    put_numbered(writer, 7, "kernel", row % 70);
    put_numbered(writer, 8, "row", row);
    parquet_put_text(writer, 9, odd_texts[row % ODD_TEXTS].bytes, odd_texts[row % ODD_TEXTS].count);
    parquet_put_int(writer, 10, 7);
}

/* What is NULL is either said to be, or left out. */
static void put_optional(struct parquet_writer *writer, uint64_t row)
{
    if (row % 4 == 1)
        parquet_put_null(writer, 11);
    else
        parquet_put_int(writer, 11, (int64_t)row);
    if (!(row >> 10 & 1))
        parquet_put_int(writer, 12, (int64_t)(row % 3));
    if (row % 5 == 3)
        parquet_put_text(writer, 13, NULL, 0);
    else if (row % 5 != 2)
        put_numbered(writer, 13, "text", row % 1000);
    if (row % 2 == 0)
        parquet_put_int(writer, 14, row % 4 == 0);
    if (row % 3)
        parquet_put_double(writer, 15, -(double)row);
}

static void put_types(struct parquet_writer *writer, uint64_t row)
{
    put_required(writer, row);
    put_optional(writer, row);
}

/* ---- long, doubles ---- */

static const struct parquet_column long_columns[] = {
    {"row", PARQUET_INT64, 0}, {"text", PARQUET_STRING, 0}, {"same", PARQUET_STRING, 0}};

static void put_long(struct parquet_writer *writer, uint64_t row)
{
    static char text[LONG_TEXT + 1];

    memset(text, 'a' + (int)(row % 26), LONG_TEXT);
    (void)snprintf(text, sizeof text, "%08" PRIu64, row);
    text[8] = '-';
    parquet_put_int(writer, 0, (int64_t)row);
    parquet_put_text(writer, 1, text, LONG_TEXT);
    memset(text, '~', LONG_TEXT);
    parquet_put_text(writer, 2, text, LONG_TEXT);
}

static const struct parquet_column doubles_columns[] = {{"value", PARQUET_DOUBLE, 0}};

static void put_doubles(struct parquet_writer *writer, uint64_t row)
{
    const double values[] = {1.5,    NAN,   -INFINITY, 2,    0.0,      -0.0, 0.0, -0.0,
                             -1e308, 1e308, 5e-324,    -2.5, INFINITY, 1,    2,   3};

    parquet_put_double(writer, 0, values[row % (sizeof values / sizeof *values)]);
}

/* ---- All ---- */

#define COLUMNS(of) of##_columns, sizeof of##_columns / sizeof *of##_columns

static const struct {
    struct parquet_table table;
    void (*put)(struct parquet_writer *writer, uint64_t row);
} kinds[] = {{{"types", COLUMNS(types)}, put_types},
             {{"long", COLUMNS(long)}, put_long},
             {{"doubles", COLUMNS(doubles)}, put_doubles}};

static int write_file(size_t kind, uint64_t rows, const struct parquet_options *options, FILE *out)
{
    struct parquet_writer *writer;
    struct mp_error error;
    enum mp_status status = parquet_begin(out, &kinds[kind].table, options, &writer, &error);

    for (uint64_t row = 0; row < rows && status == MP_OK; row++) {
        kinds[kind].put(writer, row);
        status = parquet_end_row(writer);
    }
    if (writer)
        status = parquet_end(writer, &error);
    if (status != MP_OK)
        fprintf(stderr, "write_parquet: %s\n", error.text);
    return status == MP_OK ? 0 : 1;
}

int main(int count, char **arguments)
{
    const struct parquet_note notes[] = {{"trace", "a <b> \xff"}, {"rank", "3"}};
    struct parquet_options options = {.notes = notes, .note_count = 2};
    uint64_t rows = 0, group_rows = 0;
    size_t kind = 0;
    FILE *out;
    int code;

    if (count != 5 || !mp_text_to_u64(arguments[2], 0, UINT32_MAX, &rows) ||
        !mp_text_to_u64(arguments[3], 0, PARQUET_GROUP_ROWS, &group_rows)) {
        fprintf(stderr, "usage: write_parquet KIND ROWS GROUP_ROWS FILE\n");
        return 2;
    }
    while (kind < sizeof kinds / sizeof *kinds && strcmp(kinds[kind].table.name, arguments[1]) != 0)
        kind++;
    out = kind < sizeof kinds / sizeof *kinds ? fopen(arguments[4], "we") : NULL;
    if (!out) {
        fprintf(stderr, "write_parquet: cannot write '%s'\n", arguments[4]);
        return 1;
    }
    options.group_rows = (uint32_t)group_rows;
    code = write_file(kind, rows, &options, out);
    return fclose(out) == 0 ? code : 1;
}
