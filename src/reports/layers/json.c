/* Layers as a JSON document; its keys stand in miniprof-layers(1). */
#include "profile/common/statistics.h"
#include "reports/common/quality.h"
#include "reports/common/sampled.h"
#include "reports/layers/print.h"

#include "base/poison.h"

/* Containers that have each item on its own line: the document and its arrays. */
#define JSON_LINES 2

static struct json_fact mean_of(const char *key, uint64_t total, uint64_t count)
{
    return FACT_IF(key, count, (double)total / (double)count);
}

#define CALL_FACTS(of)                                                                             \
    STATISTICS_MIDDLE(&(of)->device, (of)->calls), STATISTICS_ENDS(&(of)->device, (of)->calls)

static void json_kernels(struct json_writer *json, const struct layer *layer)
{
    json_key_array(json, "work");
    for (size_t i = 0; i < layer->kernel_count; i++) {
        const struct layer_kernel *kernel = &layer->kernels[i];

        JSON_OBJECT(json, FACT("name", kernel->name), FACT("short_name", kernel->short_name),
                    FACT("calls", kernel->calls), FACT("total_ns", kernel->total),
                    FACT("self_calls", kernel->self_calls), FACT("self_ns", kernel->self));
    }
    json_close_array(json);
}

static void json_work(struct json_writer *json, const struct layers_result *result,
                      const struct layer *layer)
{
    const struct layer_work *total = layer->total;
    const struct layer_work *self = layer->self;

    JSON_FACTS(json, FACT("total_ns", total->device), FACT("self_ns", self->device),
               FACT("percent", layers_percent(result, total->device)),
               FACT("self_percent", layers_percent(result, self->device)),
               FACT("calls", layer->calls), FACT("instances", layer->instances), CALL_FACTS(layer));
    JSON_FACTS(json, FACT("kernels", total->counts[LAYER_KERNEL]),
               FACT("copies", total->counts[LAYER_COPY]), FACT("sets", total->counts[LAYER_SET]),
               FACT("graphs", total->counts[LAYER_GRAPH]),
               mean_of("kernels_per_call", total->counts[LAYER_KERNEL], layer->calls));
    JSON_FACTS(json, FACT("launches", total->launches), FACT("launch_ns", total->launch_time),
               mean_of("launch_mean_ns", total->launch_time, layer->calls),
               FACT("gaps", self->gaps), FACT("gap_ns", self->gap_time),
               mean_of("gap_mean_ns", self->gap_time, self->gaps));
}

static void json_layer(struct json_writer *json, const struct layers_report *report, uint32_t index)
{
    const struct layers_result *result = report->result;
    static const struct layer_said nothing = {.type = NULL};
    const struct layer *layer = &result->layers[index];
    const struct layer_said *said = layer->said ? layer->said : &nothing;

    json_open_object(json);
    JSON_FACTS(
        json, FACT("id", index), FACT_IF("parent", layer->parent != LAYER_NONE, layer->parent),
        FACT("depth", layer->depth), FACT("domain", layer->domain), FACT("name", layer->name));
    json_work(json, result, layer);
    JSON_FACTS(json, FACT("mark", trt_mark_name(layer->mark)), FACT("layer_type", said->type),
               FACT("precision", said->precision), FACT("dimensions", said->dimensions),
               FACT("input_dimensions", said->input_dimensions), FACT("tactic", said->tactic));
    json_sampled(json, report->sampled ? &report->sampled[index] : NULL);
    json_kernels(json, layer);
    json_close_object(json);
}

static void json_groups(struct json_writer *json, const char *key,
                        const struct layer_groups *groups)
{
    json_key_array(json, key);
    for (size_t i = 0; i < groups->count; i++) {
        const struct layer_group *group = &groups->items[i];

        JSON_OBJECT(json, FACT("name", group->name), FACT("layers", group->layers),
                    FACT("calls", group->calls), FACT("total_ns", group->total),
                    FACT("percent", group->percent));
    }
    json_close_array(json);
}

static void json_position(struct json_writer *json, const struct layer_position *position,
                          size_t index)
{
    JSON_OBJECT(json, FACT("position", index + 1), FACT("name", position->name),
                FACT("short_name", position->short_name), FACT("calls", position->calls),
                FACT("total_ns", position->total), FACT("percent", position->percent),
                CALL_FACTS(position));
}

static void json_positions(struct json_writer *json, const struct layers_report *report)
{
    const struct layer_positions *positions = &report->result->positions;

    JSON_FACTS(json, FACT("kernels", positions->kernels), FACT("kernel_ns", positions->total),
               FACT("start", positions->start), FACT("rounds", positions->rounds),
               FACT("round_kernels", positions->count), FACT("other_kernels", positions->others),
               FACT("other_ns", positions->others_total));
    json_key_array(json, "positions");
    for (size_t i = 0; i < layers_shown(report, positions->count); i++) {
        size_t index = report->top ? positions->by_total[i] : i;

        json_position(json, &positions->items[index], index);
    }
    json_close_array(json);
}

static void json_layers(struct json_writer *json, const struct layers_report *report)
{
    const struct layers_result *result = report->result;
    size_t shown = report->tree ? result->count : layers_shown(report, result->count);

    JSON_FACTS(json, FACT("device_ns", result->device), FACT("activities", result->activities),
               FACT("unlaunched", result->unlaunched), FACT("layer_count", result->count));
    json_key_array(json, "layers");
    for (size_t i = 0; i < shown; i++)
        json_layer(json, report, report->tree ? (uint32_t)i : result->by_total[i]);
    json_close_array(json);
    json_groups(json, "layer_types", &result->types);
    json_groups(json, "precisions", &result->precisions);
    json_groups(json, "marks", &result->marks);
}

void print_layers_json(FILE *out, const struct layers_report *report)
{
    const struct layers_result *result = report->result;
    const struct layers_options *options = report->options;
    struct json_writer json;

    json_open_document(&json, out, JSON_LINES);
    json_head(&json, report->trace, &result->quality, &result->profile->definitions, options->range,
              ranges_count(&result->profile->ranges));
    JSON_FACTS(&json, FACT("by", result->by_position ? "position" : "nvtx"),
               FACT("has_ranges", result->has_ranges), FACT("no_calls", result->no_calls),
               FACT("unfinished", result->unfinished), FACT("kept", result->kept),
               FACT("domain", options->domain), FACT("iteration", options->iteration),
               FACT_IF("iterations", options->iteration, result->iterations));
    if (quality_gap(&result->quality))
        JSON_FACTS(&json, json_fact_null("layers"));
    else if (result->by_position)
        json_positions(&json, report);
    else
        json_layers(&json, report);
    json_close_document(&json);
}
