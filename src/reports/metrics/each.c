/* A row for each execution. Only on a terminal it uses the table printer: there can be as many
 * columns as nvprof has metrics, which is more than the printer takes, and each column has its
 * unit.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/foreign.h"
#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/metrics/print.h"

#include "base/poison.h"

#define NO_COLUMN     UINT32_MAX
#define MIN_WIDTH     10
#define TIME_WIDTH    8 /* of nvprof's starts */
#define DEVICE_WIDTH  16
#define NUMBER_WIDTH  8
#define WIDEST_DEVICE 64

/* A column is a metric that has values; equal names of several devices share a column. */
struct columns {
    const struct metrics_metric **items;
    size_t count;
    uint32_t *of_metric; /* by place in result->metrics */
    double *values;      /* of the execution that is printed */
    unsigned device_width;
};

static void free_columns(struct columns *columns)
{
    free(columns->items);
    free(columns->of_metric);
    free(columns->values);
}

/* The metric's name as the title of a column, unless it is no name of CUPTI's: those are ASCII. */
static const char *metrics_name_of(const struct metrics_metric *metric)
{
    const char *name = metric->name ? metric->name : "?";

    return foreign_is_harmless(name) ? name : "?";
}

static uint32_t find_column(const struct columns *columns, const struct metrics_metric *metric)
{
    for (size_t i = 0; i < columns->count; i++) {
        if (!strcmp(metrics_name_of(columns->items[i]), metrics_name_of(metric)))
            return (uint32_t)i;
    }
    return NO_COLUMN;
}

/* Marks the metrics that have values, then numbers their columns in the order of the list. */
static void fill_columns(struct columns *columns, const struct metrics_result *result)
{
    for (size_t i = 0; i < result->metric_count; i++)
        columns->of_metric[i] = NO_COLUMN;
    for (size_t i = 0; i < result->value_count; i++)
        columns->of_metric[result->values[i].metric - result->metrics] = 0;
    for (size_t i = 0; i < result->metric_count; i++) {
        const struct metrics_metric *metric = &result->metrics[i];

        if (columns->of_metric[i] == NO_COLUMN)
            continue;
        columns->of_metric[i] = find_column(columns, metric);
        if (columns->of_metric[i] != NO_COLUMN)
            continue;
        columns->of_metric[i] = (uint32_t)columns->count;
        columns->items[columns->count++] = metric;
    }
}

static enum mp_status make_columns(struct columns *columns, const struct metrics_result *result)
{
    char device[METRIC_DEVICE_BYTES];

    *columns = (struct columns){.count = 0, .device_width = DEVICE_WIDTH};
    columns->items = calloc(result->metric_count + 1, sizeof(const struct metrics_metric *));
    columns->of_metric = calloc(result->metric_count + 1, sizeof *columns->of_metric);
    columns->values = calloc(result->metric_count + 1, sizeof *columns->values);
    if (!columns->items || !columns->of_metric || !columns->values) {
        free_columns(columns);
        return MP_ERR_MEMORY;
    }
    fill_columns(columns, result);
    for (size_t i = 0; i < result->metric_count; i++) {
        size_t width = strlen(metric_device_text(device, result, result->metrics[i].device));

        if (width > WIDEST_DEVICE)
            width = WIDEST_DEVICE;
        if (columns->of_metric[i] != NO_COLUMN && width > columns->device_width)
            columns->device_width = (unsigned)width;
    }
    return MP_OK;
}

/* The values of an execution by column; NaN where it has none. */
static void gather(const struct columns *columns, const struct metrics_result *result,
                   const struct metrics_launch *launch)
{
    for (size_t i = 0; i < columns->count; i++)
        columns->values[i] = (double)NAN;
    for (size_t i = launch->first; i < launch->first + launch->count; i++) {
        const struct metrics_value *value = &result->values[i];

        columns->values[columns->of_metric[value->metric - result->metrics]] = value->value;
    }
}

/* ---- Text ---- */

static int width_of(const struct metrics_metric *metric)
{
    size_t width = strlen(metrics_name_of(metric));

    return width > MIN_WIDTH ? (int)width : MIN_WIDTH;
}

static int start_width(const struct report_out *out)
{
    return out->nvprof ? TIME_WIDTH : MP_MOMENT_WIDTH;
}

static void print_text_header(const struct report_out *out, const struct columns *columns)
{
    fprintf(out->file, "%*s  %*s  %*s  %*s", start_width(out), "Start", (int)columns->device_width,
            "Device", NUMBER_WIDTH, "Context", NUMBER_WIDTH, "Stream");
    for (size_t i = 0; i < columns->count; i++)
        fprintf(out->file, "  %*s", width_of(columns->items[i]),
                metrics_name_of(columns->items[i]));
    fputs("  Name\n", out->file);
}

static void print_text_launch(const struct report_out *out, const struct columns *columns,
                              const struct metrics_result *result,
                              const struct metrics_launch *launch)
{
    uint64_t start = launch->time - result->launches[0].time;
    char device[METRIC_DEVICE_BYTES];
    char time[MP_FORMATTED_BYTES];
    char text[METRIC_TEXT_BYTES];

    if (out->nvprof)
        mp_show_time(time, sizeof time, start, MP_STYLE_NVPROF);
    else
        mp_format_moment(time, sizeof time, start);
    fprintf(out->file, "%*s  %*.*s  %*" PRIu64 "  %*" PRIu64, start_width(out), time,
            (int)columns->device_width, WIDEST_DEVICE,
            metric_device_text(device, result, launch->device), NUMBER_WIDTH, launch->context,
            NUMBER_WIDTH, launch->stream);
    for (size_t i = 0; i < columns->count; i++)
        fprintf(out->file, "  %*s", width_of(columns->items[i]),
                metric_text(text, columns->items[i]->unit, columns->values[i], REPORT_TEXT,
                            report_number_style(out)));
    fputs("  ", out->file);
    metric_put_line(out, launch->kernel);
}

/* ---- Text for a terminal, or sorted ---- */

#define MAX_METRICS (REPORT_MAX_COLUMNS - 5)
#define OF(member)  MEMBER(struct metrics_launch, member)

/* What the table is of. */
struct view_of {
    const struct columns *columns;
    const struct metrics_result *result;
};

static struct report_cell start_cell(const void *at, struct report_table *table)
{
    const struct view_of *of = table->of;

    return report_number_cell(((const struct metrics_launch *)at)->time -
                              of->result->launches[0].time);
}

static struct report_cell launch_device_cell(const void *at, struct report_table *table)
{
    const struct view_of *of = table->of;
    char text[METRIC_DEVICE_BYTES];

    return report_text_cell(report_say(
        table, "%s",
        metric_device_text(text, of->result, ((const struct metrics_launch *)at)->device)));
}

/* The column's `index` is that of the metric's column; its value was gathered. */
static struct report_cell metric_cell(const void *at, struct report_table *table)
{
    const struct columns *columns = ((const struct view_of *)table->of)->columns;
    unsigned index = table->column->index;
    char text[METRIC_TEXT_BYTES];

    (void)at;
    return report_ranked_cell(table,
                              metric_text(text, columns->items[index]->unit, columns->values[index],
                                          REPORT_TEXT, table->style),
                              columns->values[index]);
}

/* As many metrics as the table printer takes; it says which did not fit. */
static size_t choose_columns(const struct columns *metrics, struct report_view *view,
                             struct report_column chosen[REPORT_MAX_COLUMNS])
{
    static const struct report_column before[] = {
        COLUMN("Start", NULL, TIME, 0, .cell = start_cell, .moment = true),
        COLUMN("Device", NULL, TEXT, 0, .cell = launch_device_cell, .drop = 3),
        COLUMN("Context", NULL, ID, 0, OF(context), .drop = 2),
        COLUMN("Stream", NULL, ID, 0, OF(stream), .drop = 1),
    };
    size_t count = sizeof before / sizeof *before;

    memcpy(chosen, before, sizeof before);
    for (size_t i = 0; i < metrics->count; i++) {
        const char *name = metrics_name_of(metrics->items[i]);

        if (i < MAX_METRICS)
            chosen[count++] = (struct report_column)COLUMN(name, NULL, TEXT, 0, .cell = metric_cell,
                                                           .index = (unsigned)i, .ranked = true);
        else
            report_titles_add(&view->left_out, name);
    }
    chosen[count++] = (struct report_column)COLUMN("Name", NULL, TEXT, 0, OF(kernel), .left = true);
    return count;
}

static void print_for_view(const struct report_out *out, const struct columns *columns,
                           const struct metrics_result *result)
{
    const struct view_of of = {columns, result};
    struct report_column chosen[REPORT_MAX_COLUMNS];
    struct report_table table;

    report_open(&table, out,
                &(struct report_layout){.columns = chosen,
                                        .count = choose_columns(columns, out->view, chosen),
                                        .of = &of});
    report_header(&table);
    for (size_t i = 0; i < result->launch_count; i++) {
        gather(columns, result, &result->launches[i]);
        report_put(&table, &result->launches[i]);
    }
    report_end(&table);
}

/* ---- CSV ---- */

static void print_csv_header(FILE *out, const struct columns *columns)
{
    fputs("\"Start\",\"Device\",\"Context\",\"Stream\"", out);
    for (size_t i = 0; i < columns->count; i++) {
        fputc(',', out);
        foreign_put_csv_text(out, metrics_name_of(columns->items[i]));
    }
    fputs(",\"Name\",\"Correlation_ID\"\ns,,,,", out);
    for (size_t i = 0; i < columns->count; i++)
        fputc(',', out);
    fputs(",\n", out);
}

static void print_csv_launch(FILE *out, const struct columns *columns,
                             const struct metrics_result *result,
                             const struct metrics_launch *launch)
{
    uint64_t start = launch->time - result->launches[0].time;
    char device[METRIC_DEVICE_BYTES];
    char text[METRIC_TEXT_BYTES];

    fprintf(out, "%.6f,", (double)start / 1e9);
    foreign_put_csv_text(out, metric_device_text(device, result, launch->device));
    fprintf(out, ",\"%" PRIu64 "\",\"%" PRIu64 "\"", launch->context, launch->stream);
    for (size_t i = 0; i < columns->count; i++)
        fprintf(out, ",%s",
                metric_text(text, columns->items[i]->unit, columns->values[i], REPORT_CSV,
                            MP_STYLE_NVPROF));
    fputc(',', out);
    foreign_put_csv_text(out, launch->kernel);
    fprintf(out, ",%" PRIu64 "\n", launch->correlation);
}

/* ---- The whole ---- */

static void metrics_print_table(const struct report_out *out, const struct columns *columns,
                                const struct metrics_result *result)
{
    bool csv = out->format == REPORT_CSV;

    if (csv)
        print_csv_header(out->file, columns);
    else
        print_text_header(out, columns);
    for (size_t i = 0; i < result->launch_count; i++) {
        gather(columns, result, &result->launches[i]);
        if (csv)
            print_csv_launch(out->file, columns, result, &result->launches[i]);
        else
            print_text_launch(out, columns, result, &result->launches[i]);
    }
}

enum mp_status print_metrics_each(const struct report_out *out, const struct mp_trace *trace,
                                  const struct metrics_result *result)
{
    struct columns columns;

    if (out->format == REPORT_JSON) {
        print_metrics_json(out->file, trace, result);
        return MP_OK;
    }
    if (!report_has_titles(out))
        print_metrics_each_sheet(out, result);
    if (!result->asked)
        return MP_OK;
    if (!result->launch_count) {
        print_no_metrics(out, trace);
    } else if (report_has_titles(out)) {
        MP_TRY(make_columns(&columns, result));
        print_note(out, trace, "Metric trace:");
        if (out->view && out->format == REPORT_TEXT)
            print_for_view(out, &columns, result);
        else
            metrics_print_table(out, &columns, result);
        free_columns(&columns);
    }
    print_metric_notes(out, trace, result);
    return MP_OK;
}
