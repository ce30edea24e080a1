/* The JSON document about metrics. Rows come sorted by device, kernel and metric, so nested
 * objects are made as the keys change.
 */
#include "reports/metrics/print.h"

#include <math.h>

#include "reports/common/quality.h"

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

    JSON_OBJECT(json, FACT("device", metric->device), FACT("name", metric->name),
                FACT("description", metric->description), FACT("event", metric->event),
                FACT("state", metric_state_name(metric->state)),
                FACT("unit", metric_unit_name(metric->unit)),
                FACT("expression", metric->expression),
                FACT_IF("note", *metric_note(metric, note, sizeof note), note));
}

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
    struct json_writer json;

    json_open_document(&json, out, 4);
    json_head(&json, trace, &result->quality, &result->definitions, result->range,
              result->range_count);
    json_key_array(&json, "metrics");
    for (size_t i = 0; i < result->metric_count; i++)
        json_metric(&json, &result->metrics[i]);
    json_close_array(&json);
    json_key_array(&json, "kernels");
    for (size_t i = 0; i < result->row_count;)
        i = put_kernel(&json, result, i);
    json_close_array(&json);
    if (result->each)
        put_launches(&json, result);
    json_close_document(&json);
}
