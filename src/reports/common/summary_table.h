/* nvprof's columns of a summary, for every table that has them. */
#ifndef MP_REPORTS_COMMON_SUMMARY_TABLE_H
#define MP_REPORTS_COMMON_SUMMARY_TABLE_H

#include "reports/summary/summary.h"
#include "table/table.h"

#define SUMMARY_COLUMN_COUNT 8

extern const struct report_column summary_columns[SUMMARY_COLUMN_COUNT];

/* Titles, JSON keys, and the line that nvprof prints for a group without rows, by group. */
struct summary_group_words {
    const char *title;
    const char *key;
    const char *empty;
};
extern const struct summary_group_words summary_group_words[SUMMARY_GROUPS];

/* The cells of a row of the group `title`. */
void summary_fill_cells(struct report_cell cells[SUMMARY_COLUMN_COUNT], const char *title,
                        const struct summary_row *row);

/* Hands the rows of a group to report_row or report_measure. */
void summary_each_row(struct report_table *table, const char *title, const struct summary_row *rows,
                      size_t count,
                      void (*take)(struct report_table *, const struct report_cell *));

/* The rows of a group as an object of JSON: total_ns and rows. */
void summary_json_rows(struct json_writer *json, uint64_t total, const struct summary_row *rows,
                       size_t count);

/* Whether the rows must be measured before they are printed: their units are those of a column. */
bool summary_needs_measure(const struct report_out *out);

#endif
