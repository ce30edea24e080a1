/* Inside the memory report: its tables, columns and rows. */
#ifndef MP_REPORTS_MEMORY_TABLES_H
#define MP_REPORTS_MEMORY_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text/json_write.h"
#include "reports/memory/memory.h"
#include "table/table.h"

struct memory_table {
    const struct memory *memory;
    struct report_layout layout; /* its `of` becomes the table */
    size_t rows;
    size_t which; /* of devices, for memory_alive_table */
    bool has_domains;
    report_each *each;
};

void memory_table_print(const struct report_out *out, const struct memory_table *table,
                        const char *name);
void memory_table_json(struct json_writer *json, const char *key, const struct memory_table *table);

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

/* The time line, whose rows are struct memory_point; it has no `each`. */
struct memory_table memory_points_table(const struct memory *memory, bool steps);

#endif
