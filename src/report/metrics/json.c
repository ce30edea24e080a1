/* The JSON document about metrics. Rows come sorted by device, kernel and metric, so nested
 * objects are made as the keys change.
 */
#include "report/metrics/json.h"

#include <math.h>

#include "report/common/quality.h"
#include "report/metrics/metrics.h"

#include "base/poison.h"

#define NOTE_BYTES 2048

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

void json_metric(struct json_writer *json, const struct metrics_metric *metric)
{
    char note[NOTE_BYTES];

    json_open_object(json);
    json_key_number(json, "device", metric->device);
    json_key_text(json, "name", metric->name);
    json_key_text(json, "description", metric->description);
    json_key_bool(json, "event", metric->event);
    json_key_text(json, "state", metric_state_name(metric->state));
    json_key_text(json, "unit", metric_unit_name(metric->unit));
    json_key_text(json, "expression", metric->expression);
    json_key_text(json, "note", *metric_note(metric, note, sizeof note) ? note : NULL);
    json_close_object(json);
}

static void put_row(struct json_writer *json, const struct metrics_row *row)
{
    double nothing = row->values ? 0 : (double)NAN; /* which is null */

    json_open_object(json);
    json_key_text(json, "name", row->metric->name);
    json_key_number(json, "invocations", row->invocations);
    json_key_number(json, "values", row->values);
    json_key_real(json, "min", row->least + nothing);
    json_key_real(json, "max", row->greatest + nothing);
    json_key_real(json, "avg", row->mean + nothing);
    json_key_real(json, "total", row->total + nothing);
    json_close_object(json);
}

/* Rows of one kernel on one device, from `at` on; returns where the next begins. */
static size_t put_kernel(struct json_writer *json, const struct metrics_result *result, size_t at)
{
    const struct metrics_row *first = &result->rows[at];
    const char *device = metrics_device_name(result, first->metric->device);

    json_open_object(json);
    json_key_number(json, "device", first->metric->device);
    json_key_text(json, "device_name", device);
    json_key_text(json, "name", first->kernel);
    json_key(json, "metrics");
    json_open_array(json);
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
    json_key_number(json, "time_ns", launch->time);
    json_key_number(json, "correlation", launch->correlation);
    json_key_number(json, "device", launch->device);
    json_key_number(json, "context", launch->context);
    json_key_number(json, "stream", launch->stream);
    json_key_number(json, "invocation", launch->invocation);
    json_key_text(json, "kernel", launch->kernel);
    json_key(json, "metrics");
    json_open_object(json);
    for (size_t i = launch->first; i < launch->first + launch->count; i++) {
        const struct metrics_value *value = &result->values[i];

        json_key_real(json, value->metric->name ? value->metric->name : "?", value->value);
    }
    json_close_object(json);
    json_close_object(json);
}

static void put_launches(struct json_writer *json, const struct metrics_result *result)
{
    json_key(json, "executions");
    json_open_array(json);
    for (size_t i = 0; i < result->launch_count; i++)
        put_launch(json, result, &result->launches[i]);
    json_close_array(json);
}

void print_metrics_json(FILE *out, const struct mp_trace *trace,
                        const struct metrics_result *result)
{
    struct json_writer json;

    json_begin(&json, out, 4);
    json_open_object(&json);
    json_head(&json, trace, &result->quality, &result->definitions, result->range,
              result->range_count);
    json_key(&json, "metrics");
    json_open_array(&json);
    for (size_t i = 0; i < result->metric_count; i++)
        json_metric(&json, &result->metrics[i]);
    json_close_array(&json);
    json_key(&json, "kernels");
    json_open_array(&json);
    for (size_t i = 0; i < result->row_count;)
        i = put_kernel(&json, result, i);
    json_close_array(&json);
    if (result->each)
        put_launches(&json, result);
    json_close_object(&json);
    json_end(&json);
}
