/* nvprof's columns of a summary, for every table that has them: share, time, calls, mean, least,
 * greatest, name.
 */
#include "reports/common/summary_table.h"

#include "base/poison.h"

/* nvprof 11's columns and widths. */
const struct report_column summary_columns[SUMMARY_COLUMN_COUNT] = {
    {.title = "Type", .kind = REPORT_CELL_GROUP, .width = 16},
    {.title = "Time(%)", .key = "percent", .kind = REPORT_CELL_PERCENT, .width = 7, .share = true},
    {.title = "Time", .key = "total_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Calls", .key = "calls", .kind = REPORT_CELL_COUNT, .width = 8},
    {.title = "Avg", .key = "mean_ns", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Min", .key = "min_ns", .kind = REPORT_CELL_TIME, .width = 8, .drop = 2},
    {.title = "Max", .key = "max_ns", .kind = REPORT_CELL_TIME, .width = 8, .drop = 1},
    {.title = "Name", .key = "name", .kind = REPORT_CELL_TEXT, .width = 4},
};

const struct summary_group_words summary_group_words[SUMMARY_GROUPS] = {
    [SUMMARY_GPU] = {"GPU activities", "gpu_activities", "No kernels were profiled"},
    [SUMMARY_API] = {"API calls", "api_calls", "No API activities were profiled"},
};

void summary_fill_cells(struct report_cell cells[SUMMARY_COLUMN_COUNT], const char *title,
                        const struct summary_row *row)
{
    cells[0] = report_text_cell(title);
    cells[1] = report_real_cell(row->percent);
    cells[2] = report_number_cell(row->total);
    cells[3] = report_number_cell(row->calls);
    cells[4] = report_real_cell(row->mean);
    cells[5] = report_number_cell(row->min);
    cells[6] = report_number_cell(row->max);
    cells[7] = report_text_cell(row->name);
}

void summary_each_row(struct report_table *table, const char *title, const struct summary_row *rows,
                      size_t count, void (*take)(struct report_table *, const struct report_cell *))
{
    struct report_cell cells[SUMMARY_COLUMN_COUNT];

    for (size_t i = 0; i < count; i++) {
        summary_fill_cells(cells, title, &rows[i]);
        take(table, cells);
    }
}

void summary_json_rows(struct json_writer *json, uint64_t total, const struct summary_row *rows,
                       size_t count)
{
    struct report_table table;

    JSON_FACTS(json, FACT("total_ns", total));
    json_key_array(json, "rows");
    report_begin_json(&table, json, summary_columns, SUMMARY_COLUMN_COUNT);
    summary_each_row(&table, NULL, rows, count, report_row);
    report_end(&table);
    json_close_array(json);
}

bool summary_needs_measure(const struct report_out *out)
{
    return out->format == REPORT_CSV || out->units == REPORT_UNITS_COLUMN;
}
