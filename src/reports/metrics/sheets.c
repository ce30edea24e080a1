/* Metrics as rows for scripts. nvprof's CSV has a column for each metric and writes the unit behind
 * each value; here each value is a number of its own row, with the unit beside it.
 */
#include "reports/metrics/sheets.h"

#include <math.h>

#include "reports/metrics/json.h"
#include "reports/metrics/text.h"

#include "base/poison.h"

#define ITEM(key_, kind_)                                                                          \
    {                                                                                              \
        .title = (key_), .key = (key_), .kind = REPORT_CELL_##kind_                                \
    }

static struct report_cell value_cell(bool known, double value)
{
    return known && isfinite(value) ? report_real_cell(value) : report_absent_cell();
}

/* ---- By kernel ---- */

static const struct report_column columns[] = {
    ITEM("device_name", TEXT), ITEM("kernel", TEXT),      ITEM("invocations", COUNT),
    ITEM("event", BOOL),       ITEM("metric", TEXT),      ITEM("unit", TEXT),
    ITEM("min", REAL),         ITEM("max", REAL),         ITEM("mean", REAL),
    ITEM("total", REAL),       ITEM("description", TEXT),
};

#define COLUMNS (sizeof columns / sizeof *columns)

void print_metrics_sheet(const struct report_out *out, const struct metrics_result *result)
{
    struct report_table table;

    report_begin(&table, out, columns, COLUMNS);
    report_header(&table);
    for (size_t i = 0; i < result->row_count; i++) {
        const struct metrics_row *row = &result->rows[i];
        const struct metrics_metric *metric = row->metric;
        bool known = row->values != 0;
        char device[METRIC_DEVICE_BYTES];
        const struct report_cell cells[COLUMNS] = {
            report_text_cell(metric_device_text(device, result, metric->device)),
            report_text_cell(row->kernel),
            report_number_cell(row->invocations),
            report_number_cell(metric->event),
            report_text_cell(metric->name),
            report_text_cell(metric_unit_name(metric->unit)),
            value_cell(known, row->min),
            value_cell(known, row->max),
            value_cell(known, row->mean),
            value_cell(known && metric->event, row->total),
            report_text_cell(metric->description),
        };
        report_row(&table, cells);
    }
    report_end(&table);
}

/* ---- By launch ---- */

static const struct report_column each_columns[] = {
    ITEM("start_ns", COUNT), ITEM("device_name", TEXT),  ITEM("context", COUNT),
    ITEM("stream", COUNT),   ITEM("correlation", COUNT), ITEM("kernel", TEXT),
    ITEM("metric", TEXT),    ITEM("unit", TEXT),         ITEM("value", REAL),
};

#define EACH_COLUMNS (sizeof each_columns / sizeof *each_columns)

static void put_launch(struct report_table *table, const struct metrics_result *result,
                       const struct metrics_launch *launch)
{
    char device[METRIC_DEVICE_BYTES];

    metric_device_text(device, result, launch->device);
    for (size_t i = launch->first; i < launch->first + launch->count; i++) {
        const struct metrics_value *value = &result->values[i];
        const struct report_cell cells[EACH_COLUMNS] = {
            report_number_cell(launch->time),
            report_text_cell(device),
            report_number_cell(launch->context),
            report_number_cell(launch->stream),
            report_number_cell(launch->correlation),
            report_text_cell(launch->kernel),
            report_text_cell(value->metric->name),
            report_text_cell(metric_unit_name(value->metric->unit)),
            value_cell(true, value->value),
        };
        report_row(table, cells);
    }
}

void print_metrics_each_sheet(const struct report_out *out, const struct metrics_result *result)
{
    struct report_table table;

    report_begin(&table, out, each_columns, EACH_COLUMNS);
    report_header(&table);
    for (size_t i = 0; i < result->launch_count; i++)
        put_launch(&table, result, &result->launches[i]);
    report_end(&table);
}

/* ---- What there is ---- */

static const struct report_column list_columns[] = {
    ITEM("device_name", TEXT), ITEM("name", TEXT), ITEM("description", TEXT),
    ITEM("state", TEXT),       ITEM("unit", TEXT), ITEM("expression", TEXT),
};

#define LIST_COLUMNS (sizeof list_columns / sizeof *list_columns)

void metrics_sheet_list_begin(struct report_table *table, const struct report_out *out)
{
    report_begin(table, out, list_columns, LIST_COLUMNS);
    report_header(table);
}

void metrics_sheet_list_row(struct report_table *table, const struct metrics_result *result,
                            const struct metrics_metric *metric)
{
    char device[METRIC_DEVICE_BYTES];
    const struct report_cell cells[LIST_COLUMNS] = {
        report_text_cell(metric_device_text(device, result, metric->device)),
        report_text_cell(metric->name),
        report_text_cell(metric->description),
        report_text_cell(metric_state_name(metric->state)),
        report_text_cell(metric_unit_name(metric->unit)),
        report_text_cell(metric->expression),
    };

    report_row(table, cells);
}
