/* nvprof's "Event result" and "Metric result". Column widths are measured by device first, because
 * nvprof fits them to the longest name.
 */
#include "reports/metrics/print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/metrics/sampled.h"
#include "base/text/foreign.h"
#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

#define NAME_WIDTH     40 /* nvprof's; the longest name has one more space before it */
#define WIDEST_COLUMN  255
#define WIDTH_OF_VALUE 10

/* The table is of one of two sections: events have a total and no description. */
struct section {
    const char *title;
    bool event;
    uint32_t there; /* for the columns' `needs` */
};

#define EVENTS  1u
#define METRICS 2u

static const struct section sections[] = {
    {.title = "Event result:", .event = true, .there = EVENTS},
    {.title = "Metric result:", .event = false, .there = METRICS},
};

#define SECTION_COUNT (sizeof sections / sizeof *sections)

/* ---- Columns ---- */

static struct report_cell invocations_cell(const void *at, struct report_table *table)
{
    uint64_t count = ((const struct metrics_row *)at)->invocations;
    char text[MP_FORMATTED_BYTES];

    return report_ranked_cell(table, mp_show_count(text, sizeof text, count, table->style),
                              (double)count);
}

static struct report_cell text_cell(const void *at, struct report_table *table)
{
    struct report_cell cell = report_value_cell(at, table);

    return cell.absent ? report_text_cell("") : cell;
}

enum { MIN, MAX, MEAN, TOTAL };

/* The column's `index` is one of these. */
static struct report_cell value_cell(const void *at, struct report_table *table)
{
    const struct metrics_row *row = at;
    const double values[] = {
        [MIN] = row->min, [MAX] = row->max, [MEAN] = row->mean, [TOTAL] = row->total};
    double value = values[table->column->index];
    char text[METRIC_TEXT_BYTES];

    metric_text(text, row->metric->unit, row->values ? value : (double)NAN, REPORT_TEXT,
                table->style);
    return report_ranked_cell(table, text, value);
}

#define VALUE(title, which, ...)                                                                   \
    COLUMN(title, NULL, TEXT, WIDTH_OF_VALUE, .cell = value_cell, .index = (which),                \
           .ranked = true, __VA_ARGS__)
#define NAME(title, member, ...)                                                                   \
    COLUMN(title, NULL, TEXT, NAME_WIDTH, THROUGH(struct metrics_row, metric, member),             \
           .cell = text_cell, __VA_ARGS__)

static const struct report_column columns[] = {
    COLUMN("Invocations", NULL, TEXT, 11, .cell = invocations_cell, .ranked = true),
    NAME("Event Name", name, .name = true, .needs = EVENTS),
    NAME("Metric Name", name, .name = true, .needs = METRICS),
    NAME("Metric Description", description, .needs = METRICS, .drop = 1),
    VALUE("Min", MIN),
    VALUE("Max", MAX),
    VALUE("Avg", MEAN),
    VALUE("Total", TOTAL, .needs = EVENTS),
};

static void print_csv_row(FILE *out, const struct section *section, const char *device,
                          const struct metrics_row *row)
{
    const double values[] = {row->min, row->max, row->mean, row->total};
    char count[MP_FORMATTED_BYTES], text[METRIC_TEXT_BYTES];

    foreign_put_csv_text(out, device);
    fputc(',', out);
    foreign_put_csv_text(out, row->kernel);
    fprintf(out, ",%s,", mp_show_count(count, sizeof count, row->invocations, MP_STYLE_NVPROF));
    foreign_put_csv_text(out, row->metric->name);
    if (!section->event) {
        fputc(',', out);
        foreign_put_csv_text(out, row->metric->description);
    }
    for (size_t i = 0; i < (section->event ? 4 : 3); i++)
        fprintf(out, ",%s",
                metric_text(text, row->metric->unit, row->values ? values[i] : (double)NAN,
                            REPORT_CSV, MP_STYLE_NVPROF));
    fputc('\n', out);
}

/* ---- Tables ---- */

static bool belongs(const struct section *section, const struct metrics_row *row)
{
    return row->metric->event == section->event;
}

/* nvprof fits names to the longest one, with a space before it. */
static void widen(struct report_table *table, const char *title, const char *text)
{
    size_t width = text ? strlen(text) + 1 : 0;

    if (width > WIDEST_COLUMN)
        width = WIDEST_COLUMN;
    for (size_t i = 0; i < table->count; i++) {
        if (!strcmp(table->columns[i]->title, title) && width > table->fit[i].width)
            table->fit[i].width = (uint32_t)width;
    }
}

static void fit_columns(struct report_table *table, const struct section *section,
                        const struct metrics_result *result)
{
    for (size_t i = 0; i < result->row_count; i++) {
        const struct metrics_metric *metric = result->rows[i].metric;

        if (!belongs(section, &result->rows[i]))
            continue;
        widen(table, section->event ? "Event Name" : "Metric Name", metric->name);
        widen(table, "Metric Description", metric->description);
        if (table->rows)
            report_survey(table, &result->rows[i]);
    }
}

static void print_device(const struct report_out *out, const struct metrics_result *result,
                         uint64_t device)
{
    char name[METRIC_DEVICE_BYTES];
    char line[METRIC_DEVICE_BYTES + 16];

    metric_device_text(name, result, device);
    snprintf(line, sizeof line, "Device \"%s\"", name);
    metric_put_line(out, line);
}

static void print_kernel(const struct report_out *out, const char *kernel)
{
    static const char title[] = "    Kernel: ";

    fputs(title, out->file);
    report_put_name(out->file, out->view, sizeof title - 1, kernel);
    fputc('\n', out->file);
}

static void print_text_table(const struct report_out *out, const struct section *section,
                             const struct metrics_result *result)
{
    const struct metrics_row *last = NULL;
    struct report_table table;

    report_open(&table, out,
                &(struct report_layout){REPORT_COLUMNS(columns), .there = section->there});
    fit_columns(&table, section, result);
    report_header(&table);
    for (size_t i = 0; i < result->row_count; i++) {
        const struct metrics_row *row = &result->rows[i];
        bool other = !last || last->metric->device != row->metric->device;

        if (!belongs(section, row))
            continue;
        if (other || last->order != row->order)
            report_flush(&table);
        if (other)
            print_device(out, result, row->metric->device);
        if (other || last->order != row->order)
            print_kernel(out, row->kernel);
        report_put(&table, row);
        last = row;
    }
    report_end(&table);
}

static void print_csv_table(const struct report_out *out, const struct section *section,
                            const struct metrics_result *result)
{
    char device[METRIC_DEVICE_BYTES];

    fprintf(out->file, "\"Device\",\"Kernel\"");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (!columns[i].needs || columns[i].needs & section->there)
            fprintf(out->file, ",\"%s\"", columns[i].title);
    }
    fputc('\n', out->file);
    for (size_t i = 0; i < result->row_count; i++) {
        const struct metrics_row *row = &result->rows[i];

        if (belongs(section, row))
            print_csv_row(out->file, section,
                          metric_device_text(device, result, row->metric->device), row);
    }
}

static void print_section(const struct report_out *out, const struct mp_trace *trace,
                          const struct section *section, const struct metrics_result *result)
{
    print_note(out, trace, "%s", section->title);
    if (out->format == REPORT_CSV)
        print_csv_table(out, section, result);
    else
        print_text_table(out, section, result);
}

static bool has_rows(const struct section *section, const struct metrics_result *result)
{
    for (size_t i = 0; i < result->row_count; i++) {
        if (belongs(section, &result->rows[i]))
            return true;
    }
    return false;
}

void print_metrics(const struct report_out *out, const struct mp_trace *trace,
                   const struct metrics_result *result)
{
    bool printed = false;

    if (out->format == REPORT_JSON) {
        print_metrics_json(out->file, trace, result);
        return;
    }
    if (!report_has_titles(out))
        print_metrics_sheet(out, result);
    if (!result->asked)
        return;
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (!has_rows(&sections[i], result))
            continue;
        if (!report_has_titles(out)) {
            printed = true;
            continue;
        }
        if (printed)
            fputc('\n', out->file);
        print_section(out, trace, &sections[i], result);
        printed = true;
    }
    if (!printed)
        print_no_metrics(out, trace);
    print_metric_notes(out, trace, result);
}

/* ---- Which metrics the GPUs have ---- */

#define LIST_NAME_WIDTH 32 /* nvprof's */

static const char *const list_titles[] = {
    [METRIC_LIST_METRICS] = "Available Metrics:",
    [METRIC_LIST_EVENTS] = "Available Events:",
    [METRIC_LIST_RAW] = "Metrics of CUPTI:",
    [METRIC_LIST_SAMPLING] = "Counters for MINIPROF_SAMPLE:",
};

static bool is_listed(enum metric_list list, const struct metrics_metric *metric)
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

static void list_device(const struct report_out *out, const struct metrics_result *result,
                        uint64_t device)
{
    const char *name = metrics_device_name(result, device);
    char line[METRIC_DEVICE_BYTES];

    snprintf(line, sizeof line, "Device %" PRIu64 " (%s):", device, name ? name : "unknown");
    metric_put_line(out, line);
}

static void list_metric(const struct report_out *out, const struct metrics_metric *metric)
{
    char line[METRIC_NAME_BYTES + 256];
    char note[METRIC_NOTE_BYTES];

    snprintf(line, sizeof line, "%*s:  %s", LIST_NAME_WIDTH, metric->name,
             metric->description ? metric->description : "");
    metric_put_line(out, line);
    if (*metric_note(metric, note, sizeof note)) {
        fprintf(out->file, "%*s   ", LIST_NAME_WIDTH, "");
        metric_put_line(out, note);
    }
    fputc('\n', out->file);
}

static void list_in_text(const struct report_out *out, const struct metrics_result *result,
                         enum metric_list list)
{
    const struct metrics_metric *last = NULL;

    fprintf(out->file, "%s\n", list_titles[list]);
    if (list != METRIC_LIST_RAW)
        fprintf(out->file, "%*s   Description\n", LIST_NAME_WIDTH, "Name");
    for (size_t i = 0; i < result->metric_count; i++) {
        const struct metrics_metric *metric = &result->metrics[i];

        if (!is_listed(list, metric))
            continue;
        if (!last || last->device != metric->device)
            list_device(out, result, metric->device);
        if (list == METRIC_LIST_RAW)
            metric_put_line(out, metric->name);
        else
            list_metric(out, metric);
        last = metric;
    }
}

/* ---- CSV and JSON ---- */

static void list_in_csv(const struct report_out *out, const struct metrics_result *result,
                        enum metric_list list)
{
    char device[METRIC_DEVICE_BYTES];

    fputs("\"Device\",\"Name\",\"Description\",\"State\",\"Unit\",\"Expression\"\n", out->file);
    for (size_t i = 0; i < result->metric_count; i++) {
        const struct metrics_metric *metric = &result->metrics[i];

        if (!is_listed(list, metric))
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
        if (is_listed(list, &result->metrics[i]))
            report_put(table, &result->metrics[i]);
    }
}

/* miniprof's own form of the same. */
static void list_in_sheet(const struct report_out *out, const struct metrics_result *result,
                          enum metric_list list)
{
    const struct report_layout layout = metrics_layout(result);
    struct report_table table;

    report_open(&table, out, &layout);
    report_header(&table);
    put_rows(&table, result, list);
    report_end(&table);
}

static void list_in_json(const struct report_out *out, const struct metrics_result *result,
                         enum metric_list list)
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
        list_in_text(out, result, list);
        break;
    case REPORT_CSV:
        if (report_has_titles(out))
            list_in_csv(out, result, list);
        else
            list_in_sheet(out, result, list);
        break;
    case REPORT_JSON:
        list_in_json(out, result, list);
        break;
    }
}
