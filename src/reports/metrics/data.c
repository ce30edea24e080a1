/* Metrics for scripts: the JSON document, and rows of our own CSV. */
#include <math.h>

#include "reports/common/quality.h"
#include "reports/metrics/print.h"

#include "base/poison.h"

const char *metric_state_name(unsigned state)
{
    const char *name = mp_enum_name("metric_state", state);

    return name ? name : "unknown";
}

const char *metric_unit_name(enum metric_unit unit)
{
    const char *name = mp_enum_name("metric_unit", (uint64_t)unit);

    return name ? name : "unknown";
}

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

/* ---- Metrics: the same columns in our own CSV and in JSON ---- */

#define OF(member) MEMBER(struct metrics_metric, member)

static struct report_cell note_cell(const void *row, struct report_table *table)
{
    char note[METRIC_NOTE_BYTES];

    metric_note(row, note, sizeof note);
    return report_text_cell(*note ? report_copy(table, note) : NULL);
}

static const struct report_column metric_columns[] = {
    ITEM("device", ID, OF(device), .formats = REPORT_IN_JSON),
    ITEM("device_name", TEXT, OF(device), .cell = device_cell, .formats = REPORT_IN_SHEET),
    ITEM("name", TEXT, OF(name)),
    ITEM("description", TEXT, OF(description)),
    ITEM("event", BOOL, OF(event), .formats = REPORT_IN_JSON),
    ITEM("state", TEXT, OF(state), .cell = state_cell),
    ITEM("unit", TEXT, OF(unit), .cell = unit_cell),
    ITEM("expression", TEXT, OF(expression)),
    ITEM("note", TEXT, .cell = note_cell, .formats = REPORT_IN_JSON),
};
#undef OF

struct report_layout metrics_layout(const struct metrics_result *result)
{
    return (struct report_layout){REPORT_COLUMNS(metric_columns), .of = result};
}

/* ---- Rows of our own CSV ----
 *
 * nvprof's CSV has a column for each metric and writes the unit after each value. Here each value
 * is a number in a separate row, with the unit next to it.
 */

#define OF(member)     MEMBER(struct metrics_row, member)
#define METRIC(member) THROUGH(struct metrics_row, metric, member)
#define IF_VALUES      WHEN(struct metrics_row, values)

static struct report_cell total_cell(const void *at, struct report_table *table)
{
    return ((const struct metrics_row *)at)->metric->event ? report_value_cell(at, table)
                                                           : report_absent_cell();
}

static const struct report_column row_columns[] = {
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
    report_array(out, &(struct report_layout){REPORT_COLUMNS(row_columns), .of = result},
                 result->rows, result->row_count, sizeof *result->rows);
}

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

/* ---- The JSON document ----
 *
 * Rows come sorted by device, kernel and metric, so nested objects are made as the keys change.
 */

static void put_row(struct json_writer *json, const struct metrics_row *row)
{
    double nothing = row->values ? 0 : (double)NAN; /* which is null */

    JSON_OBJECT(json, FACT("name", row->metric->name), FACT("invocations", row->invocations),
                FACT("values", row->values), FACT("min", row->min + nothing),
                FACT("max", row->max + nothing), FACT("mean", row->mean + nothing),
                FACT("total", row->total + nothing));
}

/* Rows of one kernel on one device, from `at` on; returns where the next begins. */
static size_t put_kernel(struct json_writer *json, const struct metrics_result *result, size_t at)
{
    const struct metrics_row *first = &result->rows[at];
    const char *device = metrics_device_name(result, first->metric->device);

    json_open_object(json);
    JSON_FACTS(json, FACT("device", first->metric->device), FACT("device_name", device),
               FACT("name", first->kernel));
    json_key_array(json, "metrics");
    for (; at < result->row_count; at++) {
        const struct metrics_row *row = &result->rows[at];

        if (row->order != first->order || row->metric->device != first->metric->device)
            break;
        put_row(json, row);
    }
    json_close_array(json);
    json_close_object(json);
    return at;
}

static void put_launch(struct json_writer *json, const struct metrics_result *result,
                       const struct metrics_launch *launch)
{
    json_open_object(json);
    JSON_FACTS(json, FACT("time_ns", launch->time), FACT("correlation", launch->correlation),
               FACT("device", launch->device), FACT("context", launch->context),
               FACT("stream", launch->stream), FACT("invocation", launch->invocation),
               FACT("kernel", launch->kernel));
    json_key_object(json, "metrics");
    for (size_t i = launch->first; i < launch->first + launch->count; i++) {
        const struct metrics_value *value = &result->values[i];

        JSON_FACTS(json, FACT(value->metric->name ? value->metric->name : "?", value->value));
    }
    json_close_object(json);
    json_close_object(json);
}

static void put_launches(struct json_writer *json, const struct metrics_result *result)
{
    json_key_array(json, "executions");
    for (size_t i = 0; i < result->launch_count; i++)
        put_launch(json, result, &result->launches[i]);
    json_close_array(json);
}

void print_metrics_json(FILE *out, const struct mp_trace *trace,
                        const struct metrics_result *result)
{
    const struct report_layout layout = metrics_layout(result);
    struct json_writer json;

    json_open_document(&json, out, 4);
    json_head(&json, trace, &result->quality, &result->definitions, result->range,
              result->range_count);
    report_json_array(&json, "metrics", &layout, result->metrics, result->metric_count,
                      sizeof *result->metrics);
    json_key_array(&json, "kernels");
    for (size_t i = 0; i < result->row_count;)
        i = put_kernel(&json, result, i);
    json_close_array(&json);
    if (result->each)
        put_launches(&json, result);
    json_close_document(&json);
}
