/* Inside the table printer: what its files share. */
#ifndef MP_TABLE_INSIDE_H
#define MP_TABLE_INSIDE_H

#include "table/table.h"

#define REPORT_NUMBER_BYTES 40

static inline const char *report_title(const struct report_column *column)
{
    return column->title ? column->title : column->key;
}

/* A cell of a column that is no text, as a person reads it. Returns `buffer` or a constant. */
const char *report_print_number(const struct report_column *column, const struct report_cell *cell,
                                enum mp_style style, char buffer[REPORT_NUMBER_BYTES]);

/* The same, without its unit if the table has a row of units. */
const char *report_print_in_unit(const struct report_table *table, size_t column,
                                 const struct report_cell *cell, char buffer[REPORT_NUMBER_BYTES]);

bool report_is_time(enum report_kind kind);

/* ---- Tables cell by cell: cells[i] is of table->columns[i] ---- */

/* Widens columns to fit these cells, and uses the cells to choose the units of columns. */
void report_measure(struct report_table *table, const struct report_cell *cells);

/* Only chooses the units: nvprof's own tables keep their widths. */
void report_measure_units(struct report_table *table, const struct report_cell *cells);

void report_row(struct report_table *table, const struct report_cell *cells);

/* number.c: the unit of a whole column. */
bool report_has_unit_row(const struct report_table *table);
void report_measure_unit(struct report_table *table, size_t column, const struct report_cell *cell);
const char *report_unit_name(const struct report_table *table, size_t column); /* "": none */
bool report_in_seconds(const struct report_table *table, size_t column); /* of a column of times */

/* The number of a cell that is a time, a size or a throughput, in the unit of its column. */
double report_in_unit(const struct report_table *table, size_t column,
                      const struct report_cell *cell);

void report_text_header(struct report_table *table);
void report_text_row(struct report_table *table, const struct report_cell *cells);
void report_csv_header(struct report_table *table);
void report_csv_row(struct report_table *table, const struct report_cell *cells);
void report_sheet_header(struct report_table *table);
void report_sheet_row(struct report_table *table, const struct report_cell *cells);
void report_json_value(struct json_writer *json, const struct report_column *column,
                       const struct report_cell *cell);
void report_json_cells(struct report_table *table, const struct report_cell *cells);
void report_json_row(struct report_table *table, const struct report_cell *cells);

/* ---- Rows that are kept until the whole table is known ---- */

/* One kept row; its cells follow it, and the text below it if there is one. */
struct report_kept {
    uint32_t part;  /* number of the part (REPORT_CELL_GROUP) that it belongs to */
    uint64_t place; /* among all rows that came */
    char *below;    /* a line for below the row; NULL: none; owned */
    struct report_cell cells[];
};

/* Begins to keep rows if the view needs it: table->rows is not NULL then. */
void report_rows_begin(struct report_table *table);

/* The header is printed before the first row. */
void report_rows_header(struct report_table *table);

/* Keeps a row, or leaves it out if --top says so. If there are too many rows to keep, or no memory,
 * all are printed and the table goes on row by row. */
void report_keep(struct report_table *table, const struct report_cell *cells);

/* Keeps a line that stands below the row that was kept last. */
void report_keep_below(struct report_table *table, const char *text);

/* ---- Layout of kept rows ---- */

/* Notes how many columns of the terminal the cell takes. */
void report_measure_cell(struct report_table *table, size_t column, const struct report_cell *cell);

/* Chooses columns and their widths for these rows. */
void report_fit(struct report_table *table, struct report_kept *const *rows, size_t count);

/* Prints as report_text_header and report_text_row do, but only the columns that were chosen. */
void report_fitted_header(struct report_table *table);
void report_fitted_row(struct report_table *table, const struct report_cell *cells);

/* Whether the row is one of 0.00 %: all of its shares are. */
bool report_is_nothing(const struct report_table *table, const struct report_cell *cells);

#endif
