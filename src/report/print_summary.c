#include "report/print_summary.h"

#include "report/print_quality.h"

#include "base/poison.h"

/* nvprof 11's columns and widths. */
static const struct report_column columns[] = {
    {.title = "Type", .kind = REPORT_CELL_GROUP, .width = 16},
    {.title = "Time(%)", .key = "percent", .kind = REPORT_CELL_PERCENT, .width = 7},
    {.title = "Time", .key = "total_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Calls", .key = "calls", .kind = REPORT_CELL_COUNT, .width = 8},
    {.title = "Avg", .key = "avg_ns", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Min", .key = "min_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Max", .key = "max_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Name", .key = "name", .kind = REPORT_CELL_TEXT, .width = 4},
};

#define COLUMN_COUNT (sizeof columns / sizeof *columns)

static const struct {
    const char *title;
    const char *key;
    const char *empty;
} groups[SUMMARY_GROUPS] = {
    [SUMMARY_GPU] = {"GPU activities", "gpu_activities", "No kernels were profiled."},
    [SUMMARY_API] = {"API calls", "api_calls", "No API activities were profiled."},
};

static void fill_cells(struct report_cell cells[COLUMN_COUNT], const char *group,
                       const struct summary_row *row)
{
    cells[0] = report_text_cell(group);
    cells[1] = report_real_cell(row->percent);
    cells[2] = report_number_cell(row->total);
    cells[3] = report_number_cell(row->calls);
    cells[4] = report_real_cell(row->mean);
    cells[5] = report_number_cell(row->least);
    cells[6] = report_number_cell(row->greatest);
    cells[7] = report_text_cell(row->name);
}

/* Hands every row of a group to report_row or report_measure. */
static void each_row(struct report_table *table, const struct summary *summary, int group,
                     void (*take)(struct report_table *, const struct report_cell *))
{
    struct report_cell cells[COLUMN_COUNT];

    for (size_t i = 0; i < summary->groups[group].row_count; i++) {
        fill_cells(cells, groups[group].title, &summary->groups[group].rows[i]);
        take(table, cells);
    }
}

static void print_table(const struct report_out *out, const struct summary *summary)
{
    struct report_table table;
    size_t rows = 0;

    report_begin(&table, out, columns, COLUMN_COUNT);
    for (int group = 0; group < SUMMARY_GROUPS; group++) {
        rows += summary->groups[group].row_count;
        if (!summary->groups[group].row_count)
            fprintf(out->file, "%s\n", groups[group].empty);
        if (out->format == REPORT_CSV)
            each_row(&table, summary, group, report_measure);
    }
    if (rows)
        report_header(&table);
    for (int group = 0; group < SUMMARY_GROUPS; group++)
        each_row(&table, summary, group, report_row);
}

static void json_group(struct json_writer *json, const struct summary *summary, int group)
{
    struct report_table table;

    json_open_object(json);
    json_key_text(json, "name", groups[group].key);
    json_key_number(json, "total_ns", summary->groups[group].total);
    json_key(json, "rows");
    json_open_array(json);
    report_begin_json(&table, json, columns, COLUMN_COUNT);
    each_row(&table, summary, group, report_row);
    json_close_array(json);
    json_close_object(json);
}

static void print_json(FILE *out, const struct mp_trace *trace, const struct summary *summary,
                       uint64_t range)
{
    struct json_writer json;

    json_begin(&json, out, 4);
    json_open_object(&json);
    json_head(&json, trace, &summary->quality, &summary->definitions, range, summary->range_count);
    json_key(&json, "groups");
    json_open_array(&json);
    for (int group = 0; group < SUMMARY_GROUPS; group++)
        json_group(&json, summary, group);
    json_close_array(&json);
    json_close_object(&json);
    json_end(&json);
}

void print_summary(const struct report_out *out, const struct mp_trace *trace,
                   const struct summary *summary, uint64_t range)
{
    if (out->format == REPORT_JSON) {
        print_json(out->file, trace, summary, range);
        return;
    }
    print_head(out, trace, &summary->quality, range, summary->range_count);
    print_prefix(out, trace);
    fputs("Profiling result:\n", out->file);
    print_table(out, summary);
}
