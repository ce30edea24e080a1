/* Metrics as rows for scripts. nvprof's CSV has a column for each metric and writes the unit behind
 * each value; here each value is a number of its own row, with the unit beside it.
 */
#include "reports/metrics/print.h"

#include "base/poison.h"

/* Texts of the column's value: a number. */
static struct report_cell device_cell(const void *row, struct report_table *table)
{
    char text[METRIC_DEVICE_BYTES];

    return report_text_cell(report_say(
        table, "%s", metric_device_text(text, table->of, report_value_cell(row, table).number)));
}

static struct report_cell unit_cell(const void *row, struct report_table *table)
{
    return report_text_cell(
        metric_unit_name((enum metric_unit)report_value_cell(row, table).number));
}

static struct report_cell state_cell(const void *row, struct report_table *table)
{
    return report_text_cell(metric_state_name((unsigned)report_value_cell(row, table).number));
}

#define ITEM(key, kind, ...) COLUMN(NULL, key, kind, 0, __VA_ARGS__)

/* ---- By kernel ---- */

#define OF(member)     MEMBER(struct metrics_row, member)
#define METRIC(member) THROUGH(struct metrics_row, metric, member)
#define IF_VALUES      WHEN(struct metrics_row, values)

static struct report_cell total_cell(const void *at, struct report_table *table)
{
    return ((const struct metrics_row *)at)->metric->event ? report_value_cell(at, table)
                                                           : report_absent_cell();
}

static const struct report_column columns[] = {
    ITEM("device_name", TEXT, METRIC(device), .cell = device_cell),
    ITEM("kernel", TEXT, OF(kernel)),
    ITEM("invocations", COUNT, OF(invocations)),
    ITEM("event", BOOL, METRIC(event)),
    ITEM("metric", TEXT, METRIC(name)),
    ITEM("unit", TEXT, METRIC(unit), .cell = unit_cell),
    ITEM("min", REAL, OF(min), IF_VALUES),
    ITEM("max", REAL, OF(max), IF_VALUES),
    ITEM("mean", REAL, OF(mean), IF_VALUES),
    ITEM("total", REAL, OF(total), IF_VALUES, .cell = total_cell),
    ITEM("description", TEXT, METRIC(description)),
};
#undef OF
#undef METRIC

void print_metrics_sheet(const struct report_out *out, const struct metrics_result *result)
{
    report_array(out, &(struct report_layout){REPORT_COLUMNS(columns), .of = result}, result->rows,
                 result->row_count, sizeof *result->rows);
}

/* ---- By launch ---- */

struct launch_line {
    const struct metrics_launch *launch;
    const struct metrics_metric *metric;
    double value;
};

#define OF(member)     THROUGH(struct launch_line, launch, member)
#define METRIC(member) THROUGH(struct launch_line, metric, member)

static const struct report_column each_columns[] = {
    ITEM("start_ns", COUNT, OF(time)),
    ITEM("device_name", TEXT, OF(device), .cell = device_cell),
    ITEM("context", COUNT, OF(context)),
    ITEM("stream", COUNT, OF(stream)),
    ITEM("correlation", COUNT, OF(correlation)),
    ITEM("kernel", TEXT, OF(kernel)),
    ITEM("metric", TEXT, METRIC(name)),
    ITEM("unit", TEXT, METRIC(unit), .cell = unit_cell),
    ITEM("value", REAL, MEMBER(struct launch_line, value)),
};
#undef OF
#undef METRIC

static void each_value(struct report_table *table, report_take *take)
{
    const struct metrics_result *result = table->of;

    for (size_t i = 0; i < result->launch_count; i++) {
        const struct metrics_launch *launch = &result->launches[i];

        for (size_t at = launch->first; at < launch->first + launch->count; at++)
            take(table, &(struct launch_line){launch, result->values[at].metric,
                                              result->values[at].value});
    }
}

void print_metrics_each_sheet(const struct report_out *out, const struct metrics_result *result)
{
    report_print(out, &(struct report_layout){REPORT_COLUMNS(each_columns), .of = result},
                 each_value);
}

/* ---- What there is ---- */

#define OF(member) MEMBER(struct metrics_metric, member)

static const struct report_column list_columns[] = {
    ITEM("device_name", TEXT, OF(device), .cell = device_cell),
    ITEM("name", TEXT, OF(name)),
    ITEM("description", TEXT, OF(description)),
    ITEM("state", TEXT, OF(state), .cell = state_cell),
    ITEM("unit", TEXT, OF(unit), .cell = unit_cell),
    ITEM("expression", TEXT, OF(expression)),
};

void metrics_sheet_list_begin(struct report_table *table, const struct report_out *out,
                              const struct metrics_result *result)
{
    report_open(table, out, &(struct report_layout){REPORT_COLUMNS(list_columns), .of = result});
    report_header(table);
}
