/* The summaries of several processes as one table, and what stands above it; side_by_side.c has the
 * other layout.
 */
#include "reports/summary/merged.h"

#include <inttypes.h>

#include "reports/common/quality.h"
#include "reports/common/summary_table.h"

#include "base/poison.h"

/* ---- The head: who they are, and which of them have incomplete data ---- */

bool merged_shows(const struct merged_report *report, int group)
{
    unsigned parts = report->parts ? report->parts : SUMMARY_PARTS_BOTH;

    return parts & (group == SUMMARY_GPU ? SUMMARY_PART_GPU : SUMMARY_PART_API);
}

static void merged_head_print_notes(const struct report_out *out,
                                    const struct merged_report *report)
{
    const struct trace_set *set = report->set;

    for (size_t i = 0; i < set->count; i++) {
        if (!report->is_read[i])
            print_process_warning(out, &set->processes[i], "it could not be read and is left out");
        else if (report->found[i].warning)
            print_process_warning(out, &set->processes[i], report->found[i].warning);
    }
    for (size_t i = 0; i < set->count; i++) {
        const struct merged_process *found = &report->found[i];

        if (found->profiled || found->baseline_unrecorded || found->callbacks_taken)
            print_process_quality(out, &set->processes[i],
                                  &(struct quality){
                                      .profiled = found->profiled,
                                      .callbacks_taken = found->callbacks_taken,
                                      .baseline_steps = found->baseline_steps,
                                      .baseline_unrecorded = found->baseline_unrecorded,
                                  });
    }
}

void merged_head(const struct report_out *out, const struct merged_report *report)
{
    merged_head_print_notes(out, report);
    print_set_head(out, report->set);
    if (report->range && report_has_titles(out))
        fprintf(out->file, "======== Capture range %" PRIu64 " of each\n", report->range);
    print_kernel_time(out, NULL, &report->merge->kernels);
    if (report_has_titles(out))
        fputs("======== Profiling result:\n", out->file);
    for (int group = 0; group < SUMMARY_GROUPS; group++) {
        bool alone = !merged_shows(report, 1 - group); /* or it would be left open why */

        if (!merged_shows(report, group) || !(report->merge->recorded[group] || alone) ||
            report->merge->groups[group].row_count)
            continue;
        print_csv_prefix(out, NULL);
        fprintf(out->file, "%s.\n", summary_group_words[group].empty);
    }
}

void merged_json_head(struct json_writer *json, const struct merged_report *report)
{
    json_key_array(json, "processes");
    for (size_t i = 0; i < report->set->count; i++) {
        json_open_object(json);
        json_process(json, &report->set->processes[i]);
        JSON_FACTS(json, FACT("read", report->is_read[i]),
                   FLAG("whole", report->is_read[i] && !report->found[i].warning),
                   FACT("warning", report->found[i].warning),
                   FACT("dropped", report->found[i].dropped));
        json_close_object(json);
    }
    json_close_array(json);
    JSON_FACTS(json, FACT_IF("range", report->range, report->range));
    json_kernel_time(json, &report->merge->kernels);
}

/* ---- One table ---- */

static void summary_merged_print_table(const struct report_out *out,
                                       const struct merged_report *report)
{
    struct summary_rows groups[SUMMARY_GROUPS];
    size_t count = 0, rows = 0;

    for (int i = 0; i < SUMMARY_GROUPS; i++) {
        const struct merged_group *group = &report->merge->groups[i];

        if (!merged_shows(report, i))
            continue;
        groups[count++] =
            (struct summary_rows){summary_group_words[i].title, group->rows, group->row_count};
        rows += group->row_count;
    }
    if (rows || !report_has_titles(out))
        summary_print_rows(out, summary_there(out), groups, count);
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
        summary_json_rows(&json, SUMMARY_OWN, group->total, group->rows, group->row_count);
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
