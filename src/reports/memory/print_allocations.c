/* Allocations in nvprof's layout. nvprof kept these records only in its file, so the table is
 * modelled on its other results.
 */
#include "reports/memory/print_allocations.h"

#include <inttypes.h>

#include "reports/common/quality.h"

#include "base/poison.h"

enum { ALLOCATIONS, FREES, BYTES, PEAK, KEPT, MEMORY, DEVICE, COLUMN_COUNT };

static const struct report_column columns[COLUMN_COUNT] = {
    [ALLOCATIONS] = {.title = "Allocs", .kind = REPORT_CELL_COUNT, .width = 8},
    [FREES] = {.title = "Frees", .kind = REPORT_CELL_COUNT, .width = 8},
    [BYTES] = {.title = "Total Size", .kind = REPORT_CELL_BYTES, .width = 8, .scaled = true},
    [PEAK] = {.title = "Peak Size", .kind = REPORT_CELL_BYTES, .width = 8, .scaled = true},
    [KEPT] = {.title = "Not Freed", .kind = REPORT_CELL_BYTES, .width = 8, .scaled = true},
    [MEMORY] = {.title = "Memory", .kind = REPORT_CELL_TEXT, .width = 14},
    [DEVICE] = {.title = "Device", .kind = REPORT_CELL_TEXT, .width = 4, .left = true},
};

#define DEVICE_BYTES 160

/* The texts that cells of a row point to. */
struct texts {
    char memory[24];
    char device[DEVICE_BYTES];
};

static void allocations_fill_cells(struct report_cell cells[COLUMN_COUNT], struct texts *texts,
                                   const struct allocations_row *row)
{
    const char *memory = mp_enum_name("memory_kind", row->kind);

    snprintf(texts->memory, sizeof texts->memory, "%" PRIu64, row->kind);
    snprintf(texts->device, sizeof texts->device, "%s (%" PRIu64 ")", row->name ? row->name : "GPU",
             row->device);
    cells[ALLOCATIONS] = report_number_cell(row->allocations);
    cells[FREES] = report_number_cell(row->frees);
    cells[BYTES] = report_number_cell(row->bytes);
    cells[PEAK] = report_number_cell(row->peak);
    cells[KEPT] = report_number_cell(row->kept);
    cells[MEMORY] = report_text_cell(memory ? memory : texts->memory);
    cells[DEVICE] =
        row->device == UINT64_MAX ? report_absent_cell() : report_text_cell(texts->device);
}

static void allocations_each_row(struct report_table *table, const struct allocations *allocations,
                                 void (*take)(struct report_table *, const struct report_cell *))
{
    struct report_cell cells[COLUMN_COUNT];
    struct texts texts;

    for (size_t i = 0; i < allocations->row_count; i++) {
        allocations_fill_cells(cells, &texts, &allocations->rows[i]);
        take(table, cells);
    }
}

void print_allocations(const struct report_out *out, const struct mp_trace *trace,
                       const struct allocations *allocations)
{
    struct report_table table;

    if (!allocations->row_count)
        return;
    print_prefix(out, trace);
    fputs("Memory allocation result:\n", out->file);
    report_begin(&table, out, columns, COLUMN_COUNT);
    allocations_each_row(&table, allocations, report_measure);
    report_header(&table);
    allocations_each_row(&table, allocations, report_row);
    report_end(&table);
}
