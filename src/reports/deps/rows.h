/* Rows of a table of names: activities, and parts of the path that belong to no activity. */
#ifndef MP_REPORTS_DEPS_ROWS_H
#define MP_REPORTS_DEPS_ROWS_H

#include "reports/deps/deps.h"

struct deps_table_row {
    const char *name; /* owned by the graph, or constant */
    uint32_t id;      /* in deps->names; 0: not an activity but `part` */
    int part;         /* enum deps_part, or DEPS_OTHER */
    struct deps_row numbers;
};

struct deps_table_rows {
    struct deps_table_row *items; /* owned */
    size_t count;
};

/* One row for each activity in the result, and for <Other> or its parts; by critical time, waiting
 * time, name. Some parts have a row only if they are not 0. MP_ERR_MEMORY. */
enum mp_status deps_rows_build(const struct deps *deps, const struct deps_result *result,
                               bool parts, struct deps_table_rows *rows);

void deps_rows_free(struct deps_table_rows *rows);

/* `<host code>`; `<Other>` for DEPS_OTHER. */
const char *deps_part_name(int part);

/* `host_code_ns`. */
const char *deps_part_key(int part);

uint64_t deps_other(const uint64_t parts[DEPS_PARTS]);

/* What the column of waiting times holds. */
uint64_t deps_row_waiting(const struct deps_row *row);

/* `part` of `whole` in percent; 0 if `whole` is 0. */
double deps_percent(double part, double whole);

#endif
