/* Summaries by GPU, by NVTX range and by process as one table each, for miniprof's own CSV. */
#include "reports/summary/print.h"

#include <inttypes.h>
#include <stdio.h>

#include "reports/common/summary_table.h"

#include "base/poison.h"

/* ---- By GPU ---- */

struct device_line {
    const struct summary_device *device;
    const char *type;
    const struct summary_row *row;
};

static struct report_cell device_name_cell(const void *at, struct report_table *table)
{
    const struct summary_device *device = ((const struct device_line *)at)->device;

    if (device->device == UINT64_MAX)
        return report_absent_cell();
    return report_text_cell(
        report_say(table, "%s (%" PRIu64 ")", device->name ? device->name : "GPU", device->device));
}

static const struct report_column device_columns[] = {
    COLUMN(NULL, "device", COUNT, 0, THROUGH(struct device_line, device, device), UNLESS_MAX),
    COLUMN(NULL, "device_name", TEXT, 0, .cell = device_name_cell),
    SUMMARY_COLUMNS(struct device_line),
};

static void each_device_row(struct report_table *table, report_take *take)
{
    const struct summary *summary = table->of;

    for (size_t i = 0; i < summary->device_count; i++) {
        const struct summary_device *device = &summary->devices[i];

        for (size_t row = 0; row < device->group.row_count; row++)
            take(table, &(struct device_line){device, summary_group_words[SUMMARY_GPU].title,
                                              &device->group.rows[row]});
    }
}

void print_devices_sheet(const struct report_out *out, const struct summary *summary,
                         unsigned which)
{
    report_print(out,
                 &(struct report_layout){REPORT_COLUMNS(device_columns), .of = summary,
                                         .name = which & SUMMARY_PARTS_BOTH ? "devices" : NULL,
                                         .there = summary_there(out)},
                 each_device_row);
}

/* ---- By NVTX range ---- */

struct range_line {
    const struct definition_thread *thread; /* NULL: not defined */
    const char *thread_name, *domain, *range;
    const char *type;
    const struct summary_row *row;
};

static const struct report_column range_columns[] = {
    COLUMN(NULL, "tid", COUNT, 0, THROUGH(struct range_line, thread, tid)),
    COLUMN(NULL, "thread_name", TEXT, 0, MEMBER(struct range_line, thread_name)),
    COLUMN(NULL, "domain", TEXT, 0, MEMBER(struct range_line, domain)),
    COLUMN(NULL, "range", TEXT, 0, MEMBER(struct range_line, range)),
    SUMMARY_COLUMNS(struct range_line),
};

static struct range_line line_of(const struct nvtx_result *result, uint64_t number,
                                 const char *domain, const char *name)
{
    const struct definition_thread *thread = dense_at(&result->definitions.threads, number);
    bool known = thread && thread->defined;

    return (struct range_line){
        .thread = known ? thread : NULL,
        .thread_name = known ? definitions_text(&result->definitions, thread->name) : NULL,
        .domain = domain,
        .range = name,
    };
}

static void take_lines(struct report_table *table, report_take *take, struct range_line line,
                       const char *type, const struct summary_row *rows, size_t count)
{
    line.type = type;
    for (size_t i = 0; i < count; i++) {
        line.row = &rows[i];
        take(table, &line);
    }
}

static void each_range(struct report_table *table, report_take *take)
{
    const struct nvtx_result *result = table->of;

    for (size_t i = 0; i < result->range_count; i++) {
        const struct nvtx_named_range *range = &result->ranges[i];
        const struct range_line line = line_of(result, range->thread, range->domain, range->name);

        take_lines(table, take, line, "Range", &range->instances, 1);
        for (int group = 0; group < SUMMARY_GROUPS; group++)
            take_lines(table, take, line, summary_group_words[group].title,
                       range->groups[group].rows, range->groups[group].row_count);
    }
}

static void each_captured(struct report_table *table, report_take *take)
{
    const struct nvtx_result *result = table->of;

    for (size_t i = 0; i < result->captured_count; i++) {
        const struct nvtx_captured_range *range = &result->captured[i];

        take_lines(table, take, line_of(result, range->thread, range->domain, range->name),
                   summary_group_words[SUMMARY_GPU].title, range->work.rows, range->work.row_count);
    }
}

void print_nvtx_sheet(const struct report_out *out, const struct nvtx_result *result)
{
    struct report_layout layout = {REPORT_COLUMNS(range_columns), .of = result};

    report_print(out, &layout, each_range);
    layout.name = "captured";
    report_print(out, &layout, each_captured);
}

/* ---- By process ---- */

struct part_line {
    const char *process, *type, *of; /* labels of processes, and the group */
    const struct summary_part *part;
    const struct summary_row *row;
    struct summary_outlier outlier;
};

#define OF(member) MEMBER(struct part_line, member)

static const struct report_column part_columns[] = {
    COLUMN(NULL, "process", TEXT, 0, OF(process)),
    COLUMN(NULL, "type", TEXT, 0, OF(type)),
    COLUMN("Time", "total_ns", TIME, 0, THROUGH(struct part_line, part, total)),
    COLUMN(NULL, "calls", COUNT, 0, THROUGH(struct part_line, part, calls)),
    COLUMN("Mean", "mean_total_ns", MEAN, 0, OF(outlier.mean)),
    COLUMN("Deviation", "deviation_percent", PERCENT, 0, OF(outlier.percent),
           WHEN(struct part_line, of)),
    COLUMN(NULL, "of", TEXT, 0, OF(of)),
    COLUMN(NULL, "name", TEXT, 0, THROUGH(struct part_line, row, name)),
};

static void take_parts(struct report_table *table, report_take *take,
                       const struct merged_report *report, int index, const struct summary_row *row)
{
    const struct trace_process *processes = report->set->processes;
    size_t count;
    const struct summary_part *parts =
        summary_merge_parts(&report->merge->groups[index], row, &count);
    struct part_line line = {
        .type = summary_group_words[index].title,
        .row = row,
        .outlier = summary_merge_outlier(report->merge, parts, count, report->is_read),
    };

    if (line.outlier.process != UINT32_MAX)
        line.of = processes[line.outlier.process].label;
    for (size_t i = 0; i < count; i++) {
        line.process = processes[parts[i].process].label;
        line.part = &parts[i];
        take(table, &line);
    }
}

static void each_part(struct report_table *table, report_take *take)
{
    const struct merged_report *report = table->of;

    for (int i = 0; i < SUMMARY_GROUPS; i++) {
        const struct merged_group *group = &report->merge->groups[i];

        for (size_t row = 0; merged_shows(report, i) && row < group->row_count; row++)
            take_parts(table, take, report, i, &group->rows[row]);
    }
}

void print_side_by_side_sheet(const struct report_out *out, const struct merged_report *report)
{
    report_print(out, &(struct report_layout){REPORT_COLUMNS(part_columns), .of = report},
                 each_part);
}
