/* The columns of a summary, in nvprof's layout, for every table that has them. */
#ifndef MP_REPORTS_COMMON_SUMMARY_TABLE_H
#define MP_REPORTS_COMMON_SUMMARY_TABLE_H

#include "reports/summary/summary.h"
#include "table/table.h"

/* A row of a table: the struct `line` has `type`, the title of its group, and `row`. */
struct summary_line {
    const char *type;
    const struct summary_row *row;
};

#define SUMMARY_COLUMNS(line)                                                                      \
    COLUMN("Type", NULL, GROUP, 16, MEMBER(line, type)),                                           \
        COLUMN("Time(%)", "percent", PERCENT, 7, THROUGH(line, row, percent), .share = true),      \
        COLUMN("Time", "total_ns", TIME, 8, THROUGH(line, row, tally.total)),                      \
        COLUMN("Calls", "calls", COUNT, 8, THROUGH(line, row, tally.calls)),                       \
        COLUMN("Avg", "mean_ns", MEAN, 8, THROUGH(line, row, mean)),                               \
        COLUMN("Min", "min_ns", TIME, 8, THROUGH(line, row, tally.min), .drop = 2),                \
        COLUMN("Max", "max_ns", TIME, 8, THROUGH(line, row, tally.max), .drop = 1),                \
        COLUMN("StdDev", "std_ns", MEAN, 8, THROUGH(line, row, deviation), .needs = SUMMARY_OWN,   \
               .drop = 3),                                                                         \
        COLUMN("Name", "name", TEXT, 4, THROUGH(line, row, name))

/* What a table has besides nvprof's columns: a summary of our own, not ranges and not nvprof's. */
#define SUMMARY_OWN 1u /* a bit of the layout's `there` */

static inline uint32_t summary_there(const struct report_out *out)
{
    return out->nvprof ? 0 : SUMMARY_OWN;
}

/* Begins a table of struct summary_line. */
void summary_open(struct report_table *table, const struct report_out *out, uint32_t there);

/* Titles, JSON keys, and the line that nvprof prints for a group without rows, by group. */
struct summary_group_words {
    const char *title;
    const char *key;
    const char *empty;
};
extern const struct summary_group_words summary_group_words[SUMMARY_GROUPS];

/* Rows that stand together below one title. */
struct summary_rows {
    const char *type;
    const struct summary_row *rows;
    size_t count;
};

void summary_each_row(struct report_table *table, report_take *take,
                      const struct summary_rows *rows);

/* A whole table of these groups of rows. */
void summary_print_rows(const struct report_out *out, uint32_t there,
                        const struct summary_rows *groups, size_t count);

/* The rows of a group as an object of JSON: total_ns and rows. */
void summary_json_rows(struct json_writer *json, uint32_t there, uint64_t total,
                       const struct summary_row *rows, size_t count);

#endif
