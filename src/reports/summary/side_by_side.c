/* Names down, processes across:
 *
 *     Type  Mean  Deviation  Of      rank 0 Time  rank 0 Calls  rank 1 Time  rank 1 Calls  Name
 *     ...   45us     33.33%  rank 1         30us             3         60us             2  gemm
 */
#include <stdio.h>
#include <stdlib.h>

#include "reports/common/summary_table.h"
#include "reports/summary/merged_head.h"
#include "reports/summary/sheets.h"

#include "base/poison.h"

#define BEFORE        4  /* columns before the first process; one, the name, comes after the last */
#define AT_A_TIME     16 /* processes in a table */
#define TITLE_BYTES   112
#define PROCESS_CELLS 2

_Static_assert(BEFORE + PROCESS_CELLS * AT_A_TIME + 1 <= REPORT_MAX_COLUMNS, "a table holds them");

static const struct report_column columns_before[BEFORE] = {
    {.title = "Type", .kind = REPORT_CELL_GROUP, .width = 16},
    {.title = "Mean", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Deviation", .kind = REPORT_CELL_PERCENT, .width = 9},
    {.title = "Of", .kind = REPORT_CELL_TEXT, .width = 6},
};

/* A table of some of the processes. */
struct block {
    const struct merged_report *report;
    size_t first, count; /* processes */
    size_t column_count;
    struct report_column columns[REPORT_MAX_COLUMNS];
    char titles[PROCESS_CELLS * AT_A_TIME][TITLE_BYTES];
};

static void choose_columns(struct block *block)
{
    size_t at = 0;

    for (; at < BEFORE; at++)
        block->columns[at] = columns_before[at];
    for (size_t i = 0; i < block->count; i++) {
        const char *label = block->report->set->processes[block->first + i].label;
        char *time = block->titles[PROCESS_CELLS * i];
        char *calls = block->titles[PROCESS_CELLS * i + 1];

        snprintf(time, TITLE_BYTES, "%s Time", label);
        snprintf(calls, TITLE_BYTES, "%s Calls", label);
        block->columns[at++] =
            (struct report_column){.title = time, .kind = REPORT_CELL_TIME, .width = 8};
        block->columns[at++] = (struct report_column){
            .title = calls, .kind = REPORT_CELL_COUNT, .width = 8, .drop = 1};
    }
    block->columns[at++] =
        (struct report_column){.title = "Name", .kind = REPORT_CELL_TEXT, .width = 4, .left = true};
    block->column_count = at;
}

static void side_by_side_fill_cells(const struct block *block, const struct merged_group *group,
                                    const struct summary_row *row, struct report_cell *cells)
{
    const struct merged_report *report = block->report;
    size_t count;
    const struct summary_part *parts = summary_merge_parts(group, row, &count);
    struct summary_outlier outlier =
        summary_merge_outlier(report->merge, parts, count, report->is_read);
    bool off = outlier.process != UINT32_MAX;
    size_t at = BEFORE;

    cells[1] = report_real_cell(outlier.mean);
    cells[2] = off ? report_real_cell(outlier.percent) : report_absent_cell();
    cells[3] = off ? report_text_cell(report->set->processes[outlier.process].label)
                   : report_absent_cell();
    for (size_t i = 0; i < PROCESS_CELLS * block->count; i++)
        cells[at + i] = report_absent_cell();
    for (size_t i = 0; i < count; i++) {
        if (parts[i].process < block->first || parts[i].process >= block->first + block->count)
            continue;
        at = BEFORE + PROCESS_CELLS * (parts[i].process - block->first);
        cells[at] = report_number_cell(parts[i].total);
        cells[at + 1] = report_number_cell(parts[i].calls);
    }
    cells[block->column_count - 1] = report_text_cell(row->name);
}

/* All columns of times get one unit, that of the greatest time, so that rows can be compared
 * across. */
static void level_cells(const struct block *block, struct report_cell *cells, uint64_t max)
{
    cells[1] = report_real_cell((double)max);
    for (size_t i = 0; i < block->count; i++)
        cells[BEFORE + PROCESS_CELLS * i] = report_number_cell(max);
}

static void measure_units(const struct block *block, struct report_table *table)
{
    struct report_cell cells[REPORT_MAX_COLUMNS];
    uint64_t max = 0;

    for (size_t i = 0; i < block->column_count; i++)
        cells[i] = report_absent_cell();
    for (int i = 0; i < SUMMARY_GROUPS; i++) {
        const struct merged_group *group = &block->report->merge->groups[i];

        for (size_t k = 0; merged_shows(block->report, i) && k < group->part_count; k++)
            max = group->parts[k].total > max ? group->parts[k].total : max;
    }
    level_cells(block, cells, max);
    report_measure_units(table, cells);
}

static void side_by_side_each_row(const struct block *block, struct report_table *table,
                                  void (*take)(struct report_table *, const struct report_cell *))
{
    struct report_cell cells[REPORT_MAX_COLUMNS];

    for (int i = 0; i < SUMMARY_GROUPS; i++) {
        const struct merged_group *group = &block->report->merge->groups[i];

        if (!merged_shows(block->report, i))
            continue;
        cells[0] = report_text_cell(summary_group_words[i].title);
        for (size_t row = 0; row < group->row_count; row++) {
            side_by_side_fill_cells(block, group, &group->rows[row], cells);
            take(table, cells);
        }
    }
}

static void print_block(const struct report_out *out, struct block *block)
{
    struct report_table table;

    choose_columns(block);
    report_begin(&table, out, block->columns, block->column_count);
    if (summary_needs_measure(out))
        measure_units(block, &table);
    if (out->format == REPORT_TEXT)
        side_by_side_each_row(block, &table, report_measure);
    report_header(&table);
    side_by_side_each_row(block, &table, report_row);
    report_end(&table);
}

static bool has_rows(const struct merged_report *report)
{
    for (int i = 0; i < SUMMARY_GROUPS; i++) {
        if (merged_shows(report, i) && report->merge->groups[i].row_count)
            return true;
    }
    return false;
}

static enum mp_status print_tables(const struct report_out *out, const struct merged_report *report)
{
    struct block *block = calloc(1, sizeof *block);
    size_t processes = report->set->count;

    if (!block)
        return MP_ERR_MEMORY;
    block->report = report;
    merged_head(out, report);
    if (!report_has_titles(out))
        print_side_by_side_sheet(out, report);
    for (size_t first = 0; first < processes && has_rows(report) && report_has_titles(out);
         first += AT_A_TIME) {
        block->first = first;
        block->count = processes - first < AT_A_TIME ? processes - first : AT_A_TIME;
        if (first)
            fputc('\n', out->file);
        print_block(out, block);
    }
    free(block);
    return MP_OK;
}

/* ---- JSON ---- */

static void json_parts(struct json_writer *json, const struct merged_report *report,
                       const struct summary_part *parts, size_t count)
{
    json_key_array(json, "processes");
    for (size_t i = 0; i < count; i++)
        JSON_OBJECT(json, FACT("process", report->set->processes[parts[i].process].label),
                    FACT("calls", parts[i].calls), FACT("total_ns", parts[i].total));
    json_close_array(json);
}

static void json_row(struct json_writer *json, const struct merged_report *report,
                     const struct merged_group *group, const struct summary_row *row)
{
    size_t count;
    const struct summary_part *parts = summary_merge_parts(group, row, &count);
    struct summary_outlier outlier =
        summary_merge_outlier(report->merge, parts, count, report->is_read);
    bool off = outlier.process != UINT32_MAX;

    json_open_object(json);
    JSON_FACTS(json, FACT("name", row->name), FACT("calls", row->calls),
               FACT("total_ns", row->total), FACT("mean_total_ns", outlier.mean),
               FACT_IF("deviation_percent", off, outlier.percent),
               FACT_IF("of", off, report->set->processes[outlier.process].label));
    json_parts(json, report, parts, count);
    json_close_object(json);
}

static void side_by_side_print_json(const struct report_out *out,
                                    const struct merged_report *report)
{
    struct json_writer json;

    json_open_document(&json, out->file, 4);
    merged_json_head(&json, report);
    json_key_array(&json, "groups");
    for (int i = 0; i < SUMMARY_GROUPS; i++) {
        const struct merged_group *group = &report->merge->groups[i];

        if (!merged_shows(report, i))
            continue;
        json_open_object(&json);
        JSON_FACTS(&json, FACT("name", summary_group_words[i].key), FACT("total_ns", group->total));
        json_key_array(&json, "rows");
        for (size_t row = 0; row < group->row_count; row++)
            json_row(&json, report, group, &group->rows[row]);
        json_close_array(&json);
        json_close_object(&json);
    }
    json_close_array(&json);
    json_close_document(&json);
}

enum mp_status print_side_by_side(const struct report_out *out, const struct merged_report *report)
{
    if (out->format != REPORT_JSON)
        return print_tables(out, report);
    side_by_side_print_json(out, report);
    return MP_OK;
}
