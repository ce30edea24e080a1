/* Prints nvprof's summary, and nvprof's lines for a group without rows, which scripts look for. */
#include "reports/summary/print.h"

#include <inttypes.h>
#include <stdio.h>

#include "reports/common/quality.h"

#include "base/poison.h"

/* ---- Columns ---- */

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

bool summary_shows(unsigned which, int group)
{
    unsigned parts = which ? which : SUMMARY_PARTS_BOTH;

    return parts & (group == SUMMARY_GPU ? SUMMARY_PART_GPU : SUMMARY_PART_API);
}

void summary_json_groups(struct json_writer *json, unsigned which,
                         const struct summary_group *const groups[SUMMARY_GROUPS])
{
    json_key_array(json, "groups");
    for (int i = 0; i < SUMMARY_GROUPS; i++) {
        if (!summary_shows(which, i))
            continue;
        json_open_object(json);
        JSON_FACTS(json, FACT("name", summary_group_words[i].key));
        summary_json_rows(json, SUMMARY_OWN, groups[i]->total, groups[i]->rows,
                          groups[i]->row_count);
        json_close_object(json);
    }
    json_close_array(json);
}

/* ---- What ran on each GPU, as one table of our own CSV ---- */

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

static void print_devices_sheet(const struct report_out *out, const struct summary *summary,
                                unsigned which)
{
    report_print(out,
                 &(struct report_layout){REPORT_COLUMNS(device_columns), .of = summary,
                                         .name = which & SUMMARY_PARTS_BOTH ? "devices" : NULL,
                                         .there = summary_there(out)},
                 each_device_row);
}

/* ---- The report ---- */

/* nvprof's line for an empty group. It is printed if the group was recorded, or if it is the only
 * one that is asked for: otherwise a head with nothing below it would give no reason. */
static void print_empty(const struct report_out *out, const struct mp_trace *trace,
                        const struct summary *summary, unsigned which, int group)
{
    if (!summary->recorded[group] && (!which || summary_shows(which, 1 - group)))
        return;
    print_csv_prefix(out, trace);
    fprintf(out->file, "%s.\n", summary_group_words[group].empty);
}

static void summary_print_table(const struct report_out *out, const struct mp_trace *trace,
                                const struct summary *summary, unsigned which)
{
    struct summary_rows groups[SUMMARY_GROUPS];
    size_t count = 0, rows = 0;

    for (int group = 0; group < SUMMARY_GROUPS; group++) {
        if (!summary_shows(which, group))
            continue;
        groups[count++] = SUMMARY_ROWS(group, &summary->groups[group]);
        rows += summary->groups[group].row_count;
        if (!summary->groups[group].row_count)
            print_empty(out, trace, summary, which, group);
    }
    if (rows || !report_has_titles(out))
        summary_print_rows(out, summary_there(out), groups, count);
}

static void print_devices(const struct report_out *out, const struct mp_trace *trace,
                          const struct summary *summary)
{
    if (!summary->device_count)
        print_empty(out, trace, summary, SUMMARY_PART_GPU, SUMMARY_GPU);
    for (size_t i = 0; i < summary->device_count; i++) {
        const struct summary_device *device = &summary->devices[i];

        fputc('\n', out->file);
        print_prefix(out, trace);
        print_device_name(out->file, device->name, device->device);
        summary_print_rows(out, summary_there(out), &SUMMARY_ROWS(SUMMARY_GPU, &device->group), 1);
    }
}

void print_summary_sections(const struct report_out *out, const struct mp_trace *trace,
                            const struct summary *summary, unsigned which)
{
    if (report_has_titles(out))
        print_note(out, trace, "Profiling result:");
    if (!which || which & SUMMARY_PARTS_BOTH)
        summary_print_table(out, trace, summary, which);
    if (which & SUMMARY_PART_PER_GPU && report_has_titles(out))
        print_devices(out, trace, summary);
    else if (which & SUMMARY_PART_PER_GPU)
        print_devices_sheet(out, summary, which);
}

static void json_device(struct json_writer *json, const struct summary_device *device)
{
    json_open_object(json);
    JSON_FACTS(json, FACT_IF("device", device->device != UINT64_MAX, device->device),
               FACT("name", device->name));
    summary_json_rows(json, SUMMARY_OWN, device->group.total, device->group.rows,
                      device->group.row_count);
    json_close_object(json);
}

static void summary_print_json(FILE *out, const struct mp_trace *trace,
                               const struct summary *summary, unsigned which, uint64_t range)
{
    struct json_writer json;

    json_open_document(&json, out, 4);
    json_head(&json, trace, &summary->quality, &summary->definitions, range, summary->range_count);
    json_kernel_time(&json, &summary->kernels);
    summary_json_groups(&json, which,
                        (const struct summary_group *const[]){&summary->groups[SUMMARY_GPU],
                                                              &summary->groups[SUMMARY_API]});
    if (which & SUMMARY_PART_PER_GPU) {
        json_key_array(&json, "devices");
        for (size_t i = 0; i < summary->device_count; i++)
            json_device(&json, &summary->devices[i]);
        json_close_array(&json);
    }
    json_close_document(&json);
}

void print_summary(const struct report_out *out, const struct mp_trace *trace,
                   const struct summary *summary, unsigned which, uint64_t range)
{
    if (out->format == REPORT_JSON) {
        summary_print_json(out->file, trace, summary, which, range);
        return;
    }
    print_head(out, trace, &summary->quality, range, summary->range_count);
    print_kernel_time(out, trace, &summary->kernels);
    print_summary_sections(out, trace, summary, which);
}

enum mp_status summarise(void *context, struct mp_trace *trace, bool *whole, struct mp_error *error)
{
    const struct summarising *to = context;
    struct summary summary;

    MP_TRY(summary_build(trace, &to->options, &summary, error));
    print_summary(&to->out, trace, &summary, to->options.parts, to->options.range);
    *whole = quality_is_whole(&summary.quality);
    summary_free(&summary);
    return MP_OK;
}
