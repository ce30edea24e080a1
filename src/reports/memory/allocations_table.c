/* Allocations in nvprof's layout. nvprof kept these records only in its file, so the table is
 * modelled on its other results.
 */
#include "reports/memory/print.h"

#include <inttypes.h>

#include "reports/common/quality.h"

#include "base/poison.h"

#define OF(member) MEMBER(struct allocations_row, member)

static struct report_cell memory_cell(const void *at, struct report_table *table)
{
    uint64_t kind = ((const struct allocations_row *)at)->kind;
    const char *name = mp_enum_name("memory_kind", kind);

    return report_text_cell(name ? name : report_say(table, "%" PRIu64, kind));
}

static struct report_cell gpu_name_cell(const void *at, struct report_table *table)
{
    const struct allocations_row *row = at;

    if (row->device == UINT64_MAX)
        return report_absent_cell();
    return report_text_cell(
        report_say(table, "%.130s (%" PRIu64 ")", row->name ? row->name : "GPU", row->device));
}

static const struct report_column columns[] = {
    COLUMN("Allocs", NULL, COUNT, 8, OF(allocations)),
    COLUMN("Frees", NULL, COUNT, 8, OF(frees)),
    COLUMN("Total Size", NULL, BYTES, 8, OF(bytes), .scaled = true),
    COLUMN("Peak Size", NULL, BYTES, 8, OF(peak), .scaled = true),
    COLUMN("Not Freed", NULL, BYTES, 8, OF(kept), .scaled = true),
    COLUMN("Memory", NULL, TEXT, 14, .cell = memory_cell),
    COLUMN("Device", NULL, TEXT, 4, .cell = gpu_name_cell, .left = true),
};

void print_allocations(const struct report_out *out, const struct mp_trace *trace,
                       const struct allocations *allocations)
{
    if (!allocations->row_count)
        return;
    print_prefix(out, trace);
    fputs("Memory allocation result:\n", out->file);
    report_array(out, &(struct report_layout){REPORT_COLUMNS(columns)}, allocations->rows,
                 allocations->row_count, sizeof *allocations->rows);
}
