/* Prints nvprof's summary, and nvprof's lines for a group without rows, which scripts look for. */
#include "reports/summary/print.h"

#include <inttypes.h>

#include "reports/common/quality.h"
#include "reports/common/summary_table.h"

#include "base/poison.h"

static bool shows(unsigned which, int group)
{
    unsigned parts = which ? which : SUMMARY_PARTS_BOTH;

    return parts & (group == SUMMARY_GPU ? SUMMARY_PART_GPU : SUMMARY_PART_API);
}

/* The rows of the groups that `which` shows; returns how many groups. */
static size_t choose_groups(const struct summary *summary, unsigned which,
                            struct summary_rows chosen[SUMMARY_GROUPS])
{
    size_t count = 0;

    for (int i = 0; i < SUMMARY_GROUPS; i++) {
        const struct summary_group *group = &summary->groups[i];

        if (shows(which, i))
            chosen[count++] =
                (struct summary_rows){summary_group_words[i].title, group->rows, group->row_count};
    }
    return count;
}

/* nvprof's line for an empty group. It is printed if the group was recorded, or if it is the only
 * one that is asked for: otherwise a head with nothing below it would give no reason. */
static void print_empty(const struct report_out *out, const struct mp_trace *trace,
                        const struct summary *summary, unsigned which, int group)
{
    if (!summary->recorded[group] && (!which || shows(which, 1 - group)))
        return;
    print_csv_prefix(out, trace);
    fprintf(out->file, "%s.\n", summary_group_words[group].empty);
}

static void summary_print_table(const struct report_out *out, const struct mp_trace *trace,
                                const struct summary *summary, unsigned which)
{
    struct summary_rows groups[SUMMARY_GROUPS];
    size_t count = choose_groups(summary, which, groups);
    size_t rows = 0;

    for (int group = 0; group < SUMMARY_GROUPS; group++) {
        if (!shows(which, group))
            continue;
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
        summary_print_rows(out, summary_there(out),
                           &(struct summary_rows){summary_group_words[SUMMARY_GPU].title,
                                                  device->group.rows, device->group.row_count},
                           1);
    }
}

void print_summary_sections(const struct report_out *out, const struct mp_trace *trace,
                            const struct summary *summary, unsigned which)
{
    if (report_has_titles(out)) {
        print_prefix(out, trace);
        fputs("Profiling result:\n", out->file);
    }
    if (!which || which & SUMMARY_PARTS_BOTH)
        summary_print_table(out, trace, summary, which);
    if (which & SUMMARY_PART_PER_GPU && report_has_titles(out))
        print_devices(out, trace, summary);
    else if (which & SUMMARY_PART_PER_GPU)
        print_devices_sheet(out, summary, which);
}

static void json_group(struct json_writer *json, const struct summary *summary, int group)
{
    const struct summary_group *rows = &summary->groups[group];

    json_open_object(json);
    JSON_FACTS(json, FACT("name", summary_group_words[group].key));
    summary_json_rows(json, SUMMARY_OWN, rows->total, rows->rows, rows->row_count);
    json_close_object(json);
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
    json_key_array(&json, "groups");
    for (int group = 0; group < SUMMARY_GROUPS; group++) {
        if (shows(which, group))
            json_group(&json, summary, group);
    }
    json_close_array(&json);
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
