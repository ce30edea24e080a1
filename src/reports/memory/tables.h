/* The tables of memory.c: columns, and the cells of a row. */
#ifndef MP_REPORTS_MEMORY_TABLES_H
#define MP_REPORTS_MEMORY_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text/json_write.h"
#include "reports/memory/memory.h"
#include "table/table.h"

#define MEMORY_MAX_COLUMNS 16
#define MEMORY_TEXT_BYTES  160

/* What cells of a row may point to. */
struct memory_texts {
    char kind[24];
    char device[MEMORY_TEXT_BYTES];
};

struct memory_table {
    const struct memory *memory;
    const struct report_column *columns;
    size_t count;      /* of columns */
    size_t text_count; /* columns that text shows: without the last ones if they are empty */
    size_t rows;
    size_t which; /* of devices, for memory_alive_table */
    void (*fill)(const struct memory_table *table, size_t row, struct memory_texts *texts,
                 struct report_cell cells[MEMORY_MAX_COLUMNS]);
};

/* First all memory of each device, then by kind. */
struct memory_table memory_totals_table(const struct memory *memory);

/* The largest allocations at the peak of a device. */
struct memory_table memory_alive_table(const struct memory *memory, size_t device);

/* The same of all devices, each row with its device. */
struct memory_table memory_peaks_table(const struct memory *memory);

struct memory_table memory_pools_table(const struct memory *memory);
struct memory_table memory_kept_table(const struct memory *memory);

/* All places together, then one by one. */
struct memory_table memory_churn_table(const struct memory *memory);

/* A row for each statistic. */
struct memory_table memory_iterations_table(const struct memory *memory);

/* The key and name of a device, as the tables have it. */
void memory_json_device(struct json_writer *json, const struct memory *memory, uint64_t ordinal);

/* The columns of the time line, and the cells of a point. */
const struct report_column *memory_point_columns(bool steps, size_t *count);
void memory_point_cells(const struct memory *memory, const struct memory_point *point, bool steps,
                        struct memory_texts *texts, struct report_cell cells[MEMORY_MAX_COLUMNS]);

#endif
