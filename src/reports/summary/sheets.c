/* Summaries by GPU, by NVTX range and by process as one table each, for miniprof's own CSV. */
#include "reports/summary/sheets.h"

#include <inttypes.h>
#include <stdio.h>

#include "reports/common/summary_table.h"
#include "reports/summary/merged_head.h"

#include "base/poison.h"

#define DEVICE_BYTES 160
#define MAX_BEFORE   4 /* columns before those of a summary */

#define TEXT_COLUMN(key_)                                                                          \
    {                                                                                              \
        .title = (key_), .key = (key_), .kind = REPORT_CELL_TEXT                                   \
    }
#define NUMBER_COLUMN(key_)                                                                        \
    {                                                                                              \
        .title = (key_), .key = (key_), .kind = REPORT_CELL_COUNT                                  \
    }

/* The columns of a summary with others before them. */
struct sheet {
    struct report_table table;
    struct report_column columns[MAX_BEFORE + SUMMARY_COLUMN_COUNT];
    struct report_cell cells[MAX_BEFORE + SUMMARY_COLUMN_COUNT];
    size_t before;
};

static void begin(struct sheet *sheet, const struct report_out *out,
                  const struct report_column *before, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        sheet->columns[i] = before[i];
    for (size_t i = 0; i < SUMMARY_COLUMN_COUNT; i++)
        sheet->columns[count + i] = summary_columns[i];
    sheet->before = count;
    report_begin(&sheet->table, out, sheet->columns, count + SUMMARY_COLUMN_COUNT);
    sheet->table.name = name;
    report_header(&sheet->table);
}

static void put_rows(struct sheet *sheet, const char *title, const struct summary_row *rows,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        summary_fill_cells(&sheet->cells[sheet->before], title, &rows[i]);
        report_row(&sheet->table, sheet->cells);
    }
}

/* ---- By GPU ---- */

void print_devices_sheet(const struct report_out *out, const struct summary *summary,
                         unsigned which)
{
    static const struct report_column before[] = {NUMBER_COLUMN("device"),
                                                  TEXT_COLUMN("device_name")};
    struct sheet sheet;
    char name[DEVICE_BYTES];

    begin(&sheet, out, before, 2, which & SUMMARY_PARTS_BOTH ? "devices" : NULL);
    for (size_t i = 0; i < summary->device_count; i++) {
        const struct summary_device *device = &summary->devices[i];

        sheet.cells[0] = device->device == UINT64_MAX ? report_absent_cell()
                                                      : report_number_cell(device->device);
        snprintf(name, sizeof name, "%s (%" PRIu64 ")", device->name ? device->name : "GPU",
                 device->device);
        sheet.cells[1] = sheet.cells[0].absent ? sheet.cells[0] : report_text_cell(name);
        put_rows(&sheet, summary_group_words[SUMMARY_GPU].title, device->group.rows,
                 device->group.row_count);
    }
    report_end(&sheet.table);
}

/* ---- By NVTX range ---- */

static const struct report_column range_columns[] = {
    NUMBER_COLUMN("tid"),
    TEXT_COLUMN("thread_name"),
    TEXT_COLUMN("domain"),
    TEXT_COLUMN("range"),
};

static void put_range(struct sheet *sheet, const struct nvtx_result *result, uint64_t number,
                      const char *domain, const char *name)
{
    const struct definition_thread *thread = dense_at(&result->definitions.threads, number);
    bool known = thread && thread->defined;

    sheet->cells[0] = known ? report_number_cell(thread->tid) : report_absent_cell();
    sheet->cells[1] =
        report_text_cell(known ? definitions_text(&result->definitions, thread->name) : NULL);
    sheet->cells[2] = report_text_cell(domain);
    sheet->cells[3] = report_text_cell(name);
}

static void print_ranges(struct sheet *sheet, const struct nvtx_result *result)
{
    for (size_t i = 0; i < result->range_count; i++) {
        const struct nvtx_named_range *range = &result->ranges[i];

        put_range(sheet, result, range->thread, range->domain, range->name);
        put_rows(sheet, "Range", &range->instances, 1);
        for (int group = 0; group < SUMMARY_GROUPS; group++)
            put_rows(sheet, summary_group_words[group].title, range->groups[group].rows,
                     range->groups[group].row_count);
    }
}

void print_nvtx_sheet(const struct report_out *out, const struct nvtx_result *result)
{
    struct sheet sheet;

    begin(&sheet, out, range_columns, 4, NULL);
    print_ranges(&sheet, result);
    report_end(&sheet.table);
    begin(&sheet, out, range_columns, 4, "captured");
    for (size_t i = 0; i < result->captured_count; i++) {
        const struct nvtx_captured_range *range = &result->captured[i];

        put_range(&sheet, result, range->thread, range->domain, range->name);
        put_rows(&sheet, summary_group_words[SUMMARY_GPU].title, range->work.rows,
                 range->work.row_count);
    }
    report_end(&sheet.table);
}

/* ---- By process ---- */

static const struct report_column part_columns[] = {
    TEXT_COLUMN("process"),
    TEXT_COLUMN("type"),
    {.title = "Time", .key = "total_ns", .kind = REPORT_CELL_TIME},
    NUMBER_COLUMN("calls"),
    {.title = "Mean", .key = "mean_total_ns", .kind = REPORT_CELL_MEAN},
    {.title = "Deviation", .key = "deviation_percent", .kind = REPORT_CELL_PERCENT},
    TEXT_COLUMN("of"),
    TEXT_COLUMN("name"),
};

#define PART_COLUMNS (sizeof part_columns / sizeof *part_columns)

static void put_parts(struct report_table *table, const struct merged_report *report, int index,
                      const struct summary_row *row)
{
    const struct merged_group *group = &report->merge->groups[index];
    const struct trace_process *processes = report->set->processes;
    size_t count;
    const struct summary_part *parts = summary_merge_parts(group, row, &count);
    const struct summary_outlier outlier =
        summary_merge_outlier(report->merge, parts, count, report->is_read);
    bool off = outlier.process != UINT32_MAX;

    for (size_t i = 0; i < count; i++) {
        const struct report_cell cells[PART_COLUMNS] = {
            report_text_cell(processes[parts[i].process].label),
            report_text_cell(summary_group_words[index].title),
            report_number_cell(parts[i].total),
            report_number_cell(parts[i].calls),
            report_real_cell(outlier.mean),
            off ? report_real_cell(outlier.percent) : report_absent_cell(),
            off ? report_text_cell(processes[outlier.process].label) : report_absent_cell(),
            report_text_cell(row->name),
        };
        report_row(table, cells);
    }
}

void print_side_by_side_sheet(const struct report_out *out, const struct merged_report *report)
{
    struct report_table table;

    report_begin(&table, out, part_columns, PART_COLUMNS);
    report_header(&table);
    for (int i = 0; i < SUMMARY_GROUPS; i++) {
        const struct merged_group *group = &report->merge->groups[i];

        for (size_t row = 0; merged_shows(report, i) && row < group->row_count; row++)
            put_parts(&table, report, i, &group->rows[row]);
    }
    report_end(&table);
}
