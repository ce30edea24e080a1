/* Which metrics the GPUs have, in the layout of nvprof's --query-metrics and --query-events. */
#include "reports/metrics/print.h"

#include <inttypes.h>
#include <string.h>

#include "base/metrics/sampled.h"
#include "base/text/foreign.h"

#include "base/poison.h"

#define NAME_WIDTH 32 /* nvprof's */

static const char *const titles[] = {
    [METRIC_LIST_METRICS] = "Available Metrics:",
    [METRIC_LIST_EVENTS] = "Available Events:",
    [METRIC_LIST_RAW] = "Metrics of CUPTI:",
    [METRIC_LIST_SAMPLING] = "Counters for MINIPROF_SAMPLE:",
};

static bool belongs(enum metric_list list, const struct metrics_metric *metric)
{
    if (!metric->name)
        return false;
    switch (list) {
    case METRIC_LIST_METRICS:
        return metric_find_of(METRIC_KIND_METRIC, metric->name) != NULL;
    case METRIC_LIST_EVENTS:
        return metric_find_of(METRIC_KIND_EVENT, metric->name) != NULL;
    case METRIC_LIST_RAW:
        return metric_is_raw(metric->name);
    case METRIC_LIST_SAMPLING:
        return sampled_find(metric->name) != NULL;
    }
    return false;
}

/* ---- Text ---- */

static void print_device(const struct report_out *out, const struct metrics_result *result,
                         uint64_t device)
{
    const char *name = metrics_device_name(result, device);
    char line[METRIC_DEVICE_BYTES];

    snprintf(line, sizeof line, "Device %" PRIu64 " (%s):", device, name ? name : "unknown");
    metric_put_line(out, line);
}

static void print_metric(const struct report_out *out, const struct metrics_metric *metric)
{
    char line[METRIC_NAME_BYTES + 256];
    char note[METRIC_NOTE_BYTES];

    snprintf(line, sizeof line, "%*s:  %s", NAME_WIDTH, metric->name,
             metric->description ? metric->description : "");
    metric_put_line(out, line);
    if (*metric_note(metric, note, sizeof note)) {
        fprintf(out->file, "%*s   ", NAME_WIDTH, "");
        metric_put_line(out, note);
    }
    fputc('\n', out->file);
}

static void metrics_list_print_text(const struct report_out *out,
                                    const struct metrics_result *result, enum metric_list list)
{
    const struct metrics_metric *last = NULL;

    fprintf(out->file, "%s\n", titles[list]);
    if (list != METRIC_LIST_RAW)
        fprintf(out->file, "%*s   Description\n", NAME_WIDTH, "Name");
    for (size_t i = 0; i < result->metric_count; i++) {
        const struct metrics_metric *metric = &result->metrics[i];

        if (!belongs(list, metric))
            continue;
        if (!last || last->device != metric->device)
            print_device(out, result, metric->device);
        if (list == METRIC_LIST_RAW)
            metric_put_line(out, metric->name);
        else
            print_metric(out, metric);
        last = metric;
    }
}

/* ---- CSV and JSON ---- */

static void print_csv(const struct report_out *out, const struct metrics_result *result,
                      enum metric_list list)
{
    char device[METRIC_DEVICE_BYTES];

    fputs("\"Device\",\"Name\",\"Description\",\"State\",\"Unit\",\"Expression\"\n", out->file);
    for (size_t i = 0; i < result->metric_count; i++) {
        const struct metrics_metric *metric = &result->metrics[i];

        if (!belongs(list, metric))
            continue;
        foreign_put_csv_text(out->file, metric_device_text(device, result, metric->device));
        fputc(',', out->file);
        foreign_put_csv_text(out->file, metric->name);
        fputc(',', out->file);
        foreign_put_csv_text(out->file, metric->description);
        fprintf(out->file, ",\"%s\",\"%s\",", metric_state_name(metric->state),
                metric_unit_name(metric->unit));
        foreign_put_csv_text(out->file, metric->expression);
        fputc('\n', out->file);
    }
}

static void put_rows(struct report_table *table, const struct metrics_result *result,
                     enum metric_list list)
{
    for (size_t i = 0; i < result->metric_count; i++) {
        if (belongs(list, &result->metrics[i]))
            report_put(table, &result->metrics[i]);
    }
}

/* miniprof's own form of the same. */
static void metrics_list_print_sheet(const struct report_out *out,
                                     const struct metrics_result *result, enum metric_list list)
{
    const struct report_layout layout = metrics_layout(result);
    struct report_table table;

    report_open(&table, out, &layout);
    report_header(&table);
    put_rows(&table, result, list);
    report_end(&table);
}

static void metrics_list_print_json(const struct report_out *out,
                                    const struct metrics_result *result, enum metric_list list)
{
    const struct report_layout layout = metrics_layout(result);
    struct report_table table;
    struct json_writer json;

    json_open_document(&json, out->file, 3);
    json_key_array(&json, "metrics");
    report_open_json(&table, &json, &layout);
    put_rows(&table, result, list);
    json_close_array(&json);
    json_close_document(&json);
}

void print_metric_list(const struct report_out *out, const struct metrics_result *result,
                       enum metric_list list)
{
    switch (out->format) {
    case REPORT_TEXT:
        metrics_list_print_text(out, result, list);
        break;
    case REPORT_CSV:
        if (report_has_titles(out))
            print_csv(out, result, list);
        else
            metrics_list_print_sheet(out, result, list);
        break;
    case REPORT_JSON:
        metrics_list_print_json(out, result, list);
        break;
    }
}
