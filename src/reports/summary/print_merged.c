/* The summaries of several processes, as one table or side by side, and what comes above it: the
 * processes, and which of them have incomplete data.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "reports/common/quality.h"
#include "reports/summary/merge.h"
#include "reports/summary/print.h"

#include "base/poison.h"

/* ---- The head ---- */

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
    for (size_t i = 0; i < set->count; i++)
        print_process_quality(out, &set->processes[i], &report->found[i].quality);
}

/* Warnings, notes, the processes, the capture range, and `Profiling result:`. Then a line for each
 * group that was recorded but is empty. */
static void merged_head(const struct report_out *out, const struct merged_report *report)
{
    merged_head_print_notes(out, report);
    print_set_head(out, report->set);
    if (report->range && report_has_titles(out))
        fprintf(out->file, "======== Capture range %" PRIu64 " of each\n", report->range);
    print_kernel_time(out, NULL, &report->merge->kernels);
    if (report_has_titles(out))
        fputs("======== Profiling result:\n", out->file);
    for (int group = 0; group < SUMMARY_GROUPS; group++) {
        bool alone = !summary_shows(report->parts, 1 - group); /* or it would be left open why */

        if (!summary_shows(report->parts, group) || !(report->merge->recorded[group] || alone) ||
            report->merge->groups[group].all.row_count)
            continue;
        print_csv_prefix(out, NULL);
        fprintf(out->file, "%s.\n", summary_group_words[group].empty);
    }
}

/* The same as keys of a document: processes, range. */
static void merged_json_head(struct json_writer *json, const struct merged_report *report)
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
        const struct summary_group *group = &report->merge->groups[i].all;

        if (!summary_shows(report->parts, i))
            continue;
        groups[count++] = SUMMARY_ROWS(i, group);
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
    summary_json_groups(&json, report->parts,
                        (const struct summary_group *const[]){
                            &report->merge->groups[SUMMARY_GPU].all,
                            &report->merge->groups[SUMMARY_API].all,
                        });
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

/* ---- Side by side ----
 *
 * Names down, processes across:
 *
 *     Type  Mean  Deviation  Of      rank 0 Time  rank 0 Calls  rank 1 Time  rank 1 Calls  Name
 *     ...   45us     33.33%  rank 1         30us             3         60us             2  gemm
 */

#define AT_A_TIME     16 /* processes in a table */
#define TITLE_BYTES   112
#define OTHER_COLUMNS 5
#define MAX_COLUMNS   (OTHER_COLUMNS + 2 * AT_A_TIME)

_Static_assert(MAX_COLUMNS <= REPORT_MAX_COLUMNS, "a table holds them");

/* A table of some of the processes. */
struct block {
    const struct merged_report *report;
    size_t first, count; /* processes */
    struct report_column columns[MAX_COLUMNS];
    char titles[2 * AT_A_TIME][TITLE_BYTES];
};

/* A name with its part in each process; or, to choose units, the maximum of all times. */
struct name_line {
    const char *type;    /* title of the group */
    const char *of;      /* label of the outlier's process; NULL: none */
    const char *process; /* of `part`; NULL: the line is of all processes */
    const struct summary_row *row;
    const struct summary_part *parts, *part;
    size_t count;
    struct summary_outlier outlier;
    const uint64_t *max; /* NULL: a name */
};

#define OF(member) MEMBER(struct name_line, member)

static struct name_line line_of(const struct merged_report *report, int group,
                                const struct summary_row *row)
{
    struct name_line line = {.type = summary_group_words[group].title, .row = row};

    line.parts = summary_merge_parts(&report->merge->groups[group], row, &line.count);
    line.outlier = summary_merge_outlier(report->merge, line.parts, line.count, report->is_read);
    if (line.outlier.process != UINT32_MAX)
        line.of = report->set->processes[line.outlier.process].label;
    return line;
}

/* The rows of a group that is shown; none of another one. */
static const struct summary_group *group_of(const struct merged_report *report, int index)
{
    static const struct summary_group none;

    return summary_shows(report->parts, index) ? &report->merge->groups[index].all : &none;
}

/* ---- Our own CSV: a row for each name and process ---- */

static const struct report_column part_columns[] = {
    COLUMN(NULL, "process", TEXT, 0, OF(process)),
    COLUMN(NULL, "type", TEXT, 0, OF(type)),
    COLUMN("Time", "total_ns", TIME, 0, THROUGH(struct name_line, part, total)),
    COLUMN(NULL, "calls", COUNT, 0, THROUGH(struct name_line, part, calls)),
    COLUMN("Mean", "mean_total_ns", MEAN, 0, OF(outlier.mean)),
    COLUMN("Deviation", "deviation_percent", PERCENT, 0, OF(outlier.percent),
           WHEN(struct name_line, of)),
    COLUMN(NULL, "of", TEXT, 0, OF(of)),
    COLUMN(NULL, "name", TEXT, 0, THROUGH(struct name_line, row, name)),
};

static void each_part(struct report_table *table, report_take *take)
{
    const struct merged_report *report = table->of;

    for (int i = 0; i < SUMMARY_GROUPS; i++) {
        const struct summary_group *group = group_of(report, i);

        for (size_t row = 0; row < group->row_count; row++) {
            struct name_line line = line_of(report, i, &group->rows[row]);

            for (size_t k = 0; k < line.count; k++) {
                line.part = &line.parts[k];
                line.process = report->set->processes[line.part->process].label;
                take(table, &line);
            }
        }
    }
}

/* ---- Text: two columns for each process ---- */

/* The column's `index` is the process. */
static const struct summary_part *find_part(const struct name_line *line, unsigned process)
{
    for (size_t i = 0; i < line->count; i++) {
        if (line->parts[i].process == process)
            return &line->parts[i];
    }
    return NULL;
}

static struct report_cell time_cell(const void *at, struct report_table *table)
{
    const struct name_line *line = at;
    const struct summary_part *part = find_part(line, table->column->index);

    if (line->max)
        return report_number_cell(*line->max);
    return part ? report_number_cell(part->total) : report_absent_cell();
}

static struct report_cell calls_cell(const void *at, struct report_table *table)
{
    const struct summary_part *part = find_part(at, table->column->index);

    return part ? report_number_cell(part->calls) : report_absent_cell();
}

static const struct report_column columns_before[] = {
    COLUMN("Type", NULL, GROUP, 16, OF(type)),
    COLUMN("Mean", NULL, MEAN, 8, OF(outlier.mean)),
    COLUMN("Deviation", NULL, PERCENT, 9, OF(outlier.percent), WHEN(struct name_line, of)),
    COLUMN("Of", NULL, TEXT, 6, OF(of)),
};
static const struct report_column name_column =
    COLUMN("Name", NULL, TEXT, 4, THROUGH(struct name_line, row, name), .left = true);

static size_t choose_columns(struct block *block)
{
    size_t count = 0;

    for (; count < sizeof columns_before / sizeof *columns_before; count++)
        block->columns[count] = columns_before[count];
    for (size_t i = 0; i < block->count; i++) {
        unsigned process = (unsigned)(block->first + i);
        const char *label = block->report->set->processes[process].label;
        char *time = block->titles[2 * i];
        char *calls = block->titles[2 * i + 1];

        snprintf(time, TITLE_BYTES, "%s Time", label);
        snprintf(calls, TITLE_BYTES, "%s Calls", label);
        block->columns[count++] =
            (struct report_column)COLUMN(time, NULL, TIME, 8, .cell = time_cell, .index = process);
        block->columns[count++] = (struct report_column)COLUMN(
            calls, NULL, COUNT, 8, .cell = calls_cell, .index = process, .drop = 1);
    }
    block->columns[count++] = name_column;
    return count;
}

/* All columns of times get one unit, that of the longest, so that rows can be compared
 * across. */
static void survey_units(struct report_table *table, const struct merged_report *report)
{
    uint64_t max = 0;
    struct name_line line = {.max = &max};

    for (int i = 0; i < SUMMARY_GROUPS; i++) {
        const struct merged_group *group = &report->merge->groups[i];

        for (size_t k = 0; summary_shows(report->parts, i) && k < group->part_count; k++)
            max = group->parts[k].total > max ? group->parts[k].total : max;
    }
    line.outlier.mean = (double)max;
    report_survey(table, &line);
}

static void each_name(struct report_table *table, report_take *take,
                      const struct merged_report *report)
{
    for (int i = 0; i < SUMMARY_GROUPS; i++) {
        const struct summary_group *group = group_of(report, i);

        for (size_t row = 0; row < group->row_count; row++) {
            const struct name_line line = line_of(report, i, &group->rows[row]);

            take(table, &line);
        }
    }
}

static void print_block(const struct report_out *out, struct block *block)
{
    struct report_table table;

    report_open(&table, out,
                &(struct report_layout){.columns = block->columns, .count = choose_columns(block)});
    if (out->format == REPORT_CSV || out->units == REPORT_UNITS_COLUMN)
        survey_units(&table, block->report);
    if (out->format == REPORT_TEXT)
        each_name(&table, report_survey, block->report);
    report_header(&table);
    each_name(&table, report_put, block->report);
    report_end(&table);
}

static bool has_rows(const struct merged_report *report)
{
    for (int i = 0; i < SUMMARY_GROUPS; i++) {
        if (group_of(report, i)->row_count)
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
        report_print(out, &(struct report_layout){REPORT_COLUMNS(part_columns), .of = report},
                     each_part);
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

static void json_row(struct json_writer *json, const struct merged_report *report, int group,
                     const struct summary_row *row)
{
    const struct name_line line = line_of(report, group, row);

    json_open_object(json);
    JSON_FACTS(json, FACT("name", row->name), FACT("calls", row->tally.calls),
               FACT("total_ns", row->tally.total), FACT("mean_total_ns", line.outlier.mean),
               FACT_IF("deviation_percent", line.of, line.outlier.percent), FACT("of", line.of));
    json_parts(json, report, line.parts, line.count);
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
        const struct summary_group *group = &report->merge->groups[i].all;

        if (!summary_shows(report->parts, i))
            continue;
        json_open_object(&json);
        JSON_FACTS(&json, FACT("name", summary_group_words[i].key), FACT("total_ns", group->total));
        json_key_array(&json, "rows");
        for (size_t row = 0; row < group->row_count; row++)
            json_row(&json, report, i, &group->rows[row]);
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
