/* The summaries of several processes as one table. merged_head.c has what stands above it,
 * side_by_side.c the other layout.
 */
#include "reports/summary/merged.h"

#include <inttypes.h>

#include "reports/common/set.h"
#include "reports/common/summary_table.h"
#include "reports/summary/merged_head.h"

#include "base/poison.h"

static void summary_merged_each_row(struct report_table *table, const struct merged_group *group,
                                    const char *title,
                                    void (*take)(struct report_table *, const struct report_cell *))
{
    summary_each_row(table, title, group->rows, group->row_count, take);
}

static void summary_merged_print_table(const struct report_out *out,
                                       const struct merged_report *report)
{
    const struct summary_merge *merge = report->merge;
    struct report_table table;
    size_t rows = 0;

    report_begin(&table, out, summary_columns, SUMMARY_COLUMN_COUNT);
    for (int group = 0; group < SUMMARY_GROUPS; group++) {
        if (!merged_shows(report, group))
            continue;
        rows += merge->groups[group].row_count;
        if (summary_needs_measure(out))
            summary_merged_each_row(&table, &merge->groups[group], summary_group_words[group].title,
                                    report_measure_units);
    }
    if (rows || !report_has_titles(out))
        report_header(&table);
    for (int group = 0; group < SUMMARY_GROUPS; group++) {
        if (merged_shows(report, group))
            summary_merged_each_row(&table, &merge->groups[group], summary_group_words[group].title,
                                    report_row);
    }
    report_end(&table);
}

static void summary_merged_print_json(const struct report_out *out,
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
        JSON_FACTS(&json, FACT("name", summary_group_words[i].key));
        summary_json_rows(&json, group->total, group->rows, group->row_count);
        json_close_object(&json);
    }
    json_close_array(&json);
    json_close_document(&json);
}

void print_merged(const struct report_out *out, const struct merged_report *report)
{
    if (out->format == REPORT_JSON) {
        summary_merged_print_json(out, report);
        return;
    }
    merged_head(out, report);
    summary_merged_print_table(out, report);
}
