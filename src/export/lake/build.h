/* Inside of the fleet layout: what the files of this folder share.
 *
 *     lake.c      the format, and which row goes where; the folder of a run, and its id
 *     sums.c      kernels, calls and NCCL's operations, added up as their rows come
 *     summary.c   tables of the summary tier: the run, iterations, advice, layers
 *     events.c    tables of rows
 */
#ifndef MP_EXPORT_LAKE_BUILD_H
#define MP_EXPORT_LAKE_BUILD_H

#include "base/data/map.h"
#include "export/format.h"
#include "export/lake/tables.def"
#include "export/tables.h"
#include "trace/schema.h"

/* ---- The tables (tables.def) by number, and the columns of each ---- */

#define LAKE_INDEX_ENTRY(table, name) LAKE_##table,
enum lake_table { LAKE_TABLES(LAKE_INDEX_ENTRY) LAKE_TABLE_COUNT };
#undef LAKE_INDEX_ENTRY

#define LAKE_FIRST_EVENTS LAKE_KERNEL /* before it stands the summary tier */

/* LAKE_KERNEL_start_ns and so on: the place of a column in its table. */
#define LAKE_COLUMN_ENTRY(table, column, type, null) LAKE_##table##_##column,
#define LAKE_COLUMN_ENUM(table, name)                                                              \
    enum lake_##table{LAKE_COLUMNS_##table(LAKE_COLUMN_ENTRY) LAKE_##table##_COLUMNS};
LAKE_TABLES(LAKE_COLUMN_ENUM)
#undef LAKE_COLUMN_ENUM
#undef LAKE_COLUMN_ENTRY

extern const struct tables_table lake_tables[LAKE_TABLE_COUNT];

/* ---- The state ---- */

#define LAKE_ID_BYTES   40
#define LAKE_DATE_BYTES 16

/* What is added up together; without padding, since it is compared as bytes. */
struct lake_key {
    uint32_t name; /* of export_text */
    uint32_t kind; /* EXPORT_KERNEL, EXPORT_CALL */
    uint64_t device;
    struct launch_shape shape; /* zeroed but for what the table has */
};

struct lake_sum {
    uint64_t *durations; /* owned */
    size_t count, capacity;
    uint64_t critical;
};

struct lake_total {
    uint64_t count, time;
};

struct lake {
    char *folder; /* OUT */
    const struct export_process *process;
    struct tables *tables; /* of the process; NULL: none is open */
    char run[LAKE_ID_BYTES];
    char date[LAKE_DATE_BYTES];
    const char *job;
    uint64_t rank;
    struct mp_intern keys; /* of struct lake_key */
    struct lake_sum *sums; /* by number of the key, from 1 */
    size_t sum_capacity;
    struct lake_total totals[EXPORT_KINDS];
    struct lake_collectives
        *collectives; /* of collectives.c; NULL: the trace has no calls of NCCL */
};

/* ---- sums.c ---- */

/* Adds a row. The sums go to the two tables when the process ends. */
enum mp_status lake_add(struct lake *lake, const struct export_row *row);
enum mp_status lake_put_sums(struct lake *lake);
void lake_forget_sums(struct lake *lake);

/* Reads the process's calls of NCCL. A row of a kernel adds what it carries to the sums, which go
 * to their table when the process ends. */
enum mp_status lake_open_collectives(struct lake *lake, struct mp_error *error);
enum mp_status lake_add_collectives(struct lake *lake, const struct export_row *row);
enum mp_status lake_put_collectives(struct lake *lake);
void lake_forget_collectives(struct lake *lake);

/* ---- summary.c ---- */

enum mp_status lake_put_summary(struct lake *lake, struct mp_error *error);
enum mp_status lake_put_layers(struct lake *lake, struct mp_error *error);

/* ---- events.c ---- */

enum mp_status lake_put_event(struct lake *lake, const struct export_row *row);

/* For each activity the one that it waited for last. */
enum mp_status lake_put_edges(struct lake *lake);

#endif
