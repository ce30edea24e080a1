/* Inside the table printer: rows that are kept until the whole table is known. */
#ifndef MP_TABLE_ROWS_H
#define MP_TABLE_ROWS_H

#include "table/formats.h"

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
