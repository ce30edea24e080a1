/* What reports/memory/memory.h finds, as text, CSV and JSON. Times count from the first row of
 * memory, calls or NVTX ranges in the trace, or in the capture range.
 */
#ifndef MP_REPORTS_MEMORY_PRINT_H
#define MP_REPORTS_MEMORY_PRINT_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text/json.h"
#include "reports/memory/memory.h"
#include "table/table.h"

/* Why there is nothing to report; NULL: there is something. Static text. */
const char *memory_why_nothing(const struct mp_trace *trace, const struct memory *memory);

/* The report; `range` is the number of the capture range, 0: everything. */
void print_memory(const struct report_out *out, const struct mp_trace *trace,
                  const struct memory *memory, uint64_t range);

/* Instead of the report, how much was allocated when: at each change or, with `steps`, in this
 * many steps of equal length. JSON is a line for each row. MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status print_memory_timeline(const struct report_out *out, const struct mp_trace *trace,
                                     const struct memory *memory, uint64_t range, uint64_t steps);

/* ---- Its tables, columns and rows ---- */

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

/* ---- Allocations in nvprof's layout, as text and CSV ---- */

/* Prints `Memory allocation result:` and the table; nothing when nothing was allocated or freed. */
void print_allocations(const struct report_out *out, const struct mp_trace *trace,
                       const struct allocations *allocations);

#endif
