/* Inside the table printer: what table.c shares with the files that know one format each. */
#ifndef MP_REPORT_TABLE_FORMATS_H
#define MP_REPORT_TABLE_FORMATS_H

#include "report/table.h"

#define REPORT_NUMBER_BYTES 40

/* A cell of a column that is no text, as a person reads it. Returns `buffer` or a constant. */
const char *report_print_number(const struct report_column *column, const struct report_cell *cell,
                                char buffer[REPORT_NUMBER_BYTES]);

bool report_is_time(enum report_kind kind);
const char *report_time_unit_name(unsigned unit);
double report_time_unit_ns(unsigned unit);

void report_text_header(struct report_table *table);
void report_text_row(struct report_table *table, const struct report_cell *cells);
void report_csv_header(struct report_table *table);
void report_csv_row(struct report_table *table, const struct report_cell *cells);
void report_json_row(struct report_table *table, const struct report_cell *cells);

#endif
