/* Inside the table printer: what table.c shares with the files that each know one format. */
#ifndef MP_TABLE_FORMATS_H
#define MP_TABLE_FORMATS_H

#include "table/table.h"

#define REPORT_NUMBER_BYTES 40

/* A cell of a column that is no text, as a person reads it. Returns `buffer` or a constant. */
const char *report_print_number(const struct report_column *column, const struct report_cell *cell,
                                enum mp_style style, char buffer[REPORT_NUMBER_BYTES]);

/* The same, without its unit if the table has a row of units. */
const char *report_print_in_unit(const struct report_table *table, size_t column,
                                 const struct report_cell *cell, char buffer[REPORT_NUMBER_BYTES]);

bool report_is_time(enum report_kind kind);

/* units.c: the unit of a whole column. */
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
void report_json_row(struct report_table *table, const struct report_cell *cells);

#endif
