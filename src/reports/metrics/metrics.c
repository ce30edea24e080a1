/* Reads metrics in two passes: first the metrics' definitions, so that values can point to them
 * wherever they are in the file, then the values. */
#include "reports/metrics/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/map.h"
#include "base/data/storage.h"
#include "base/text/strings.h"
#include "profile/activity.h"
#include "profile/dense.h"
#include "profile/ranges.h"
#include "profile/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

/* What is known of a kernel, by the id of its name; zeroed, it has not run yet. */
struct kernel_state {
    const char *name; /* in the wanted style */
    uint32_t order;
    uint64_t time; /* of its last execution; the time and the id tell executions apart */
    uint64_t correlation;
    uint64_t invocations;
    bool wanted;   /* that one */
    size_t launch; /* its place in result->launches, plus 1 */
};

/* A row of the table metric_value. */
struct value_row {
    uint64_t metric;
    uint64_t stream;
    uint64_t kernel;
    uint64_t time;
    uint64_t correlation;
    double value;
};

struct pass {
    const struct metrics_options *options;
    const struct capture_range *range; /* NULL: everything */
    struct metrics_result *result;
    struct dense kernels;  /* of struct kernel_state */
    struct mp_map metrics; /* id: place in result->metrics */
    struct mp_map rows;    /* kernel's order and metric's place: place in result->rows */
    uint32_t orders;
    size_t metric_capacity;
    size_t row_capacity;
    size_t launch_capacity;
    size_t value_capacity;
};

/* ---- Metrics ---- */

static enum metric_unit unit_of(uint64_t unit)
{
    return unit <= METRIC_UNIT_PER_SECOND ? (enum metric_unit)unit : METRIC_UNIT_NONE;
}

static enum mp_status take_metrics(void *context, const struct mp_batch *batch)
{
    struct pass *pass = context;
    const struct mp_metric_columns metrics = mp_metric_columns(batch->columns);
    struct metrics_result *result = pass->result;

    for (uint32_t row = 0; row < batch->rows; row++) {
        const struct definitions *definitions = &result->definitions;
        struct metrics_metric metric = {
            .id = metrics.id[row],
            .device = metrics.device[row],
            .state = (unsigned)metrics.state[row],
            .unit = unit_of(metrics.unit[row]),
            .name = definitions_text(definitions, metrics.name[row]),
            .expression = definitions_text(definitions, metrics.expression[row]),
            .description = definitions_text(definitions, metrics.description[row]),
        };
        MP_TRY(MP_RESERVE(result->metrics, result->metric_count, pass->metric_capacity));
        MP_TRY(mp_map_put(&pass->metrics, metric.id, (uint32_t)result->metric_count));
        result->metrics[result->metric_count++] = metric;
    }
    return MP_OK;
}

/* Whether it is one of nvprof's events, and how a substitute differs. */
static void complete_metric(struct metrics_metric *metric)
{
    const struct metric_entry *entry = metric->name ? metric_find(metric->name) : NULL;

    if (!entry)
        return;
    metric->event = entry->kind == METRIC_KIND_EVENT;
    for (size_t i = 0; metric->expression && entry->candidates[i].expression; i++) {
        if (mp_text_equal(entry->candidates[i].expression, metric->expression))
            metric->note = entry->candidates[i].note;
    }
}

/* ---- Executions ---- */

static const struct definition_stream *find_stream(const struct pass *pass, uint64_t id)
{
    const struct definition_stream *stream = dense_at(&pass->result->definitions.streams, id);

    return stream && stream->defined ? stream : NULL;
}

static void name_kernel(struct pass *pass, uint64_t id, struct kernel_state *kernel)
{
    const char *text = definitions_text(&pass->result->definitions, id);

    kernel->name = text ? names_demangle(text, pass->options->style, &pass->result->names)
                        : ACTIVITY_UNNAMED_KERNEL;
    kernel->order = pass->orders++;
}

static bool metrics_is_wanted(const struct pass *pass, const struct value_row *row,
                              uint64_t invocation)
{
    const struct kernel_filter *filter = pass->options->filter;
    const struct definition_stream *stream = find_stream(pass, row->stream);

    return !filter || kernel_filter_matches(
                          filter, stream ? stream->context : 0, stream ? stream->stream : 0,
                          definitions_text(&pass->result->definitions, row->kernel), invocation);
}

/* The state of the row's kernel; counts the execution to which the row belongs. */
static enum mp_status find_kernel(struct pass *pass, const struct value_row *row,
                                  struct kernel_state **found)
{
    enum mp_status status = dense_reach(&pass->kernels, row->kernel);
    uint64_t id = row->kernel;

    if (status == MP_ERR_LIMIT) {
        id = 0;
        status = dense_reach(&pass->kernels, id);
    }
    MP_TRY(status);
    struct kernel_state *kernel = *found = dense_at(&pass->kernels, id);
    if (!kernel->name)
        name_kernel(pass, id, kernel);
    if (kernel->invocations && kernel->time == row->time && kernel->correlation == row->correlation)
        return MP_OK;
    kernel->time = row->time;
    kernel->correlation = row->correlation;
    kernel->wanted = metrics_is_wanted(pass, row, ++kernel->invocations);
    kernel->launch = 0;
    return MP_OK;
}

/* Begins an execution. An execution whose values stand apart counts again; our recorder writes none
 * such. */
static enum mp_status add_launch(struct pass *pass, const struct value_row *row,
                                 const struct metrics_metric *metric, struct kernel_state *kernel)
{
    const struct definition_stream *stream = find_stream(pass, row->stream);
    struct metrics_result *result = pass->result;

    MP_TRY(MP_RESERVE(result->launches, result->launch_count, pass->launch_capacity));
    result->launches[result->launch_count++] = (struct metrics_launch){
        .time = row->time,
        .correlation = row->correlation,
        .device = metric->device,
        .context = stream ? stream->context : 0,
        .stream = stream ? stream->stream : 0,
        .invocation = kernel->invocations,
        .kernel = kernel->name,
        .first = result->value_count,
    };
    kernel->launch = result->launch_count;
    return MP_OK;
}

static enum mp_status add_to_launch(struct pass *pass, const struct value_row *row,
                                    const struct metrics_metric *metric,
                                    struct kernel_state *kernel)
{
    struct metrics_result *result = pass->result;

    if (!kernel->launch || kernel->launch != result->launch_count)
        MP_TRY(add_launch(pass, row, metric, kernel));
    MP_TRY(MP_RESERVE(result->values, result->value_count, pass->value_capacity));
    result->values[result->value_count++] =
        (struct metrics_value){.metric = metric, .value = row->value};
    result->launches[kernel->launch - 1].count++;
    return MP_OK;
}

/* ---- Sums ---- */

static enum mp_status find_row(struct pass *pass, const struct kernel_state *kernel,
                               const struct metrics_metric *metric, struct metrics_row **row)
{
    struct metrics_result *result = pass->result;
    uint64_t key = (uint64_t)kernel->order << 32 | (uint32_t)(metric - result->metrics);
    uint32_t at = mp_map_get(&pass->rows, key);

    if (at == MP_MAP_ABSENT) {
        at = (uint32_t)result->row_count;
        MP_TRY(MP_RESERVE(result->rows, result->row_count, pass->row_capacity));
        MP_TRY(mp_map_put(&pass->rows, key, at));
        result->rows[result->row_count++] =
            (struct metrics_row){.metric = metric, .kernel = kernel->name, .order = kernel->order};
    }
    *row = &result->rows[at];
    return MP_OK;
}

static void add_value(struct metrics_row *row, double value)
{
    row->invocations++;
    if (!isfinite(value))
        return;
    if (!row->values || value < row->min)
        row->min = value;
    if (!row->values || value > row->max)
        row->max = value;
    row->total += value;
    row->values++;
}

static enum mp_status take_value(struct pass *pass, const struct value_row *value)
{
    uint32_t place = mp_map_get(&pass->metrics, value->metric);
    struct kernel_state *kernel;
    struct metrics_row *row;

    if (pass->range && !range_has_work(pass->range, value->correlation, value->time))
        return MP_OK;
    if (place == MP_MAP_ABSENT) {
        pass->result->quality.undefined++;
        return MP_OK;
    }
    const struct metrics_metric *metric = &pass->result->metrics[place];
    MP_TRY(find_kernel(pass, value, &kernel));
    if (!definitions_text(&pass->result->definitions, value->kernel))
        pass->result->quality.undefined++;
    if (!kernel->wanted)
        return MP_OK;
    MP_TRY(find_row(pass, kernel, metric, &row));
    add_value(row, value->value);
    return pass->options->each ? add_to_launch(pass, value, metric, kernel) : MP_OK;
}

static double value_of_bits(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static enum mp_status take_values(void *context, const struct mp_batch *batch)
{
    struct pass *pass = context;
    const struct mp_metric_value_columns metric_value = mp_metric_value_columns(batch->columns);

    for (uint32_t row = 0; row < batch->rows; row++) {
        struct value_row value = {
            .metric = metric_value.metric[row],
            .stream = metric_value.stream[row],
            .kernel = metric_value.kernel[row],
            .time = metric_value.time[row],
            .correlation = metric_value.correlation[row],
            .value = value_of_bits(metric_value.value[row]),
        };
        MP_TRY(take_value(pass, &value));
    }
    return MP_OK;
}

/* ---- The passes over the file ---- */

/* Definitions come a second time with the values, so damage in them counts too. */
static enum mp_status metrics_run_pass(struct pass *pass, struct mp_trace *trace, bool values,
                                       struct mp_error *error)
{
    const struct reading_table tables[] = {
        {MP_TABLE_metric, MP_ALL_COLUMNS, .take = values ? NULL : take_metrics},
        {MP_TABLE_metric_value, values ? MP_ALL_COLUMNS : 0, .take = take_values},
    };
    const struct reading reading = {
        .trace = trace,
        .what = "the metrics",
        .context = pass,
        READING_TABLES(tables),
        .quality = values ? &pass->result->quality : NULL,
        .definitions = &pass->result->definitions,
    };

    return reading_run(&reading, error);
}

/* ---- The whole ---- */

MP_COMPARE(metrics_compare_rows, struct metrics_row,
           MP_ORDER(a->metric->device, b->metric->device) ?:
           MP_ORDER(a->order, b->order) ?: MP_ORDER(a->metric->id, b->metric->id));

MP_COMPARE(compare_launches, struct metrics_launch,
           MP_ORDER(a->time, b->time) ?: MP_ORDER(a->first, b->first));

static void metrics_finish(struct metrics_result *result, const struct mp_trace *trace)
{
    const char *asked = mp_trace_property(trace, "MINIPROF_METRICS");

    result->asked = result->metric_count || (asked && *asked);
    for (size_t i = 0; i < result->row_count; i++) {
        struct metrics_row *row = &result->rows[i];
        row->mean = row->values ? row->total / (double)row->values : 0;
    }
    if (result->row_count)
        qsort(result->rows, result->row_count, sizeof *result->rows, metrics_compare_rows);
    if (result->launch_count)
        qsort(result->launches, result->launch_count, sizeof *result->launches, compare_launches);
}

enum mp_status metrics_build(struct mp_trace *trace, const struct metrics_options *options,
                             struct metrics_result *result, struct mp_error *error)
{
    struct pass pass = {.options = options, .result = result};
    struct capture_ranges ranges;

    *result = (struct metrics_result){.each = options->each, .range = options->range};
    definitions_init(&result->definitions, trace);
    quality_init(&result->quality, trace);
    result->quality.only = options->range;
    dense_init(&pass.kernels, sizeof(struct kernel_state), definitions_limit(trace));

    enum mp_status status = ranges_open(&ranges, trace, options->range, &pass.range, error);
    result->range_count = ranges_count(&ranges);
    if (!status)
        status = metrics_run_pass(&pass, trace, false, error);
    for (size_t i = 0; i < result->metric_count; i++)
        complete_metric(&result->metrics[i]);
    if (!status)
        status = metrics_run_pass(&pass, trace, true, error);
    if (!status)
        metrics_finish(result, trace);

    ranges_free(&ranges);
    dense_free(&pass.kernels);
    mp_map_free(&pass.metrics);
    mp_map_free(&pass.rows);
    if (status)
        metrics_free(result);
    return status;
}

void metrics_free(struct metrics_result *result)
{
    free(result->metrics);
    free(result->rows);
    free(result->launches);
    free(result->values);
    mp_arena_free(&result->names);
    quality_free(&result->quality);
    definitions_free(&result->definitions);
    *result = (struct metrics_result){.asked = false};
}

const char *metrics_device_name(const struct metrics_result *result, uint64_t device)
{
    const struct definition_device *found = dense_at(&result->definitions.devices, device);

    return found && found->defined ? definitions_text(&result->definitions, found->name) : NULL;
}
