/* The columns of a summary, for every table that has them: share, time, calls, mean, min, max,
 * name.
 */
#include "reports/common/summary_table.h"

#include "base/poison.h"

/* nvprof 11's columns and widths. */
static const struct report_column columns[] = {SUMMARY_COLUMNS(struct summary_line)};

static struct report_layout layout_of(uint32_t there)
{
    return (struct report_layout){REPORT_COLUMNS(columns), .there = there,
                                  .measuring = REPORT_UNITS_ONLY};
}

const struct summary_group_words summary_group_words[SUMMARY_GROUPS] = {
    [SUMMARY_GPU] = {"GPU activities", "gpu_activities", "No kernels were profiled"},
    [SUMMARY_API] = {"API calls", "api_calls", "No API activities were profiled"},
};

void summary_open(struct report_table *table, const struct report_out *out, uint32_t there)
{
    const struct report_layout layout = layout_of(there);

    report_open(table, out, &layout);
}

void summary_each_row(struct report_table *table, report_take *take,
                      const struct summary_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        take(table, &(struct summary_line){rows->type, &rows->rows[i]});
}

void summary_print_rows(const struct report_out *out, uint32_t there,
                        const struct summary_rows *groups, size_t count)
{
    struct report_table table;

    summary_open(&table, out, there);
    for (size_t i = 0; i < count && report_needs_survey(&table); i++)
        summary_each_row(&table, report_survey, &groups[i]);
    report_header(&table);
    for (size_t i = 0; i < count; i++)
        summary_each_row(&table, report_put, &groups[i]);
    report_end(&table);
}

void summary_json_rows(struct json_writer *json, uint32_t there, uint64_t total,
                       const struct summary_row *rows, size_t count)
{
    const struct report_layout layout = layout_of(there);
    struct report_table table;

    JSON_FACTS(json, FACT("total_ns", total));
    json_key_array(json, "rows");
    report_open_json(&table, json, &layout);
    summary_each_row(&table, report_put, &(struct summary_rows){NULL, rows, count});
    json_close_array(json);
}
