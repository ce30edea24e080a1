/* Layers as a JSON document; its keys stand in miniprof-layers(1). */
#include "report/common/quality.h"
#include "report/layers/layers.h"

#include "base/poison.h"

/* Containers that have each item on its own line: the document and its arrays. */
#define JSON_LINES 2

static void json_mean(struct json_writer *json, const char *key, uint64_t total, uint64_t count)
{
    json_key(json, key);
    if (count)
        json_real(json, (double)total / (double)count);
    else
        json_null(json);
}

/* Of no calls there are none. */
static void json_statistics(struct json_writer *json, const struct statistics *device,
                            uint64_t calls)
{
    const struct {
        const char *key;
        uint64_t ns;
    } whole[] = {{"p50_ns", device->p50},
                 {"p99_ns", device->p99},
                 {"min_ns", device->least},
                 {"max_ns", device->greatest}};

    json_key(json, "mean_ns");
    if (calls)
        json_real(json, device->mean);
    else
        json_null(json);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        json_key(json, whole[i].key);
        if (calls)
            json_number(json, whole[i].ns);
        else
            json_null(json);
    }
}

static void json_kernels(struct json_writer *json, const struct layer *layer)
{
    json_key(json, "work");
    json_open_array(json);
    for (size_t i = 0; i < layer->kernel_count; i++) {
        const struct layer_kernel *kernel = &layer->kernels[i];

        json_open_object(json);
        json_key_text(json, "name", kernel->name);
        json_key_text(json, "short_name", kernel->short_name);
        json_key_number(json, "calls", kernel->calls);
        json_key_number(json, "total_ns", kernel->total);
        json_key_number(json, "self_calls", kernel->self_calls);
        json_key_number(json, "self_ns", kernel->self);
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_work(struct json_writer *json, const struct layers_result *result,
                      const struct layer *layer)
{
    const struct layer_work *total = layer->total;

    json_key_number(json, "total_ns", total->device);
    json_key_number(json, "self_ns", layer->self->device);
    json_key_real(json, "percent", layers_percent(result, total->device));
    json_key_real(json, "self_percent", layers_percent(result, layer->self->device));
    json_key_number(json, "calls", layer->calls);
    json_key_number(json, "instances", layer->instances);
    json_statistics(json, &layer->device, layer->calls);
    json_key_number(json, "kernels", total->counts[LAYER_KERNEL]);
    json_key_number(json, "copies", total->counts[LAYER_COPY]);
    json_key_number(json, "sets", total->counts[LAYER_SET]);
    json_key_number(json, "graphs", total->counts[LAYER_GRAPH]);
    json_mean(json, "kernels_per_call", total->counts[LAYER_KERNEL], layer->calls);
    json_key_number(json, "launches", total->launches);
    json_key_number(json, "launch_ns", total->launch_time);
    json_mean(json, "launch_mean_ns", total->launch_time, layer->calls);
    json_key_number(json, "gaps", layer->self->gaps);
    json_key_number(json, "gap_ns", layer->self->gap_time);
    json_mean(json, "gap_mean_ns", layer->self->gap_time, layer->self->gaps);
}

static void json_layer(struct json_writer *json, const struct layers_result *result, uint32_t index)
{
    static const struct layer_said nothing = {.type = NULL};
    const struct layer *layer = &result->layers[index];
    const struct layer_said *said = layer->said ? layer->said : &nothing;

    json_open_object(json);
    json_key_number(json, "id", index);
    json_key(json, "parent");
    if (layer->parent == LAYER_NONE)
        json_null(json);
    else
        json_number(json, layer->parent);
    json_key_number(json, "depth", layer->depth);
    json_key_text(json, "domain", layer->domain);
    json_key_text(json, "name", layer->name);
    json_work(json, result, layer);
    json_key_text(json, "mark", trt_mark_name(layer->mark));
    json_key_text(json, "layer_type", said->type);
    json_key_text(json, "precision", said->precision);
    json_key_text(json, "dimensions", said->dimensions);
    json_key_text(json, "input_dimensions", said->input_dimensions);
    json_key_text(json, "tactic", said->tactic);
    json_kernels(json, layer);
    json_close_object(json);
}

static void json_groups(struct json_writer *json, const char *key,
                        const struct layer_groups *groups)
{
    json_key(json, key);
    json_open_array(json);
    for (size_t i = 0; i < groups->count; i++) {
        const struct layer_group *group = &groups->items[i];

        json_open_object(json);
        json_key_text(json, "name", group->name);
        json_key_number(json, "layers", group->layers);
        json_key_number(json, "calls", group->calls);
        json_key_number(json, "total_ns", group->total);
        json_key_real(json, "percent", group->percent);
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_position(struct json_writer *json, const struct layer_position *position,
                          size_t index)
{
    json_open_object(json);
    json_key_number(json, "position", index + 1);
    json_key_text(json, "name", position->name);
    json_key_text(json, "short_name", position->short_name);
    json_key_number(json, "calls", position->calls);
    json_key_number(json, "total_ns", position->total);
    json_key_real(json, "percent", position->percent);
    json_statistics(json, &position->device, position->calls);
    json_close_object(json);
}

static void json_positions(struct json_writer *json, const struct layers_report *report)
{
    const struct layer_positions *positions = &report->result->positions;

    json_key_number(json, "kernels", positions->kernels);
    json_key_number(json, "device_ns", positions->total);
    json_key_number(json, "start", positions->start);
    json_key_number(json, "rounds", positions->rounds);
    json_key_number(json, "round_kernels", positions->count);
    json_key_number(json, "other_kernels", positions->others);
    json_key_number(json, "other_ns", positions->others_total);
    json_key(json, "positions");
    json_open_array(json);
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

    json_key_number(json, "device_ns", result->device);
    json_key_number(json, "activities", result->activities);
    json_key_number(json, "unlaunched", result->unlaunched);
    json_key_number(json, "layer_count", result->count);
    json_key(json, "layers");
    json_open_array(json);
    for (size_t i = 0; i < shown; i++)
        json_layer(json, result, report->tree ? (uint32_t)i : result->by_total[i]);
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

    json_begin(&json, out, JSON_LINES);
    json_open_object(&json);
    json_head(&json, report->trace, &result->quality, &result->definitions, options->range,
              result->capture_ranges);
    json_key_text(&json, "by", result->by_position ? "position" : "nvtx");
    json_key_bool(&json, "has_ranges", result->has_ranges);
    json_key_bool(&json, "no_calls", result->no_calls);
    json_key_number(&json, "unfinished", result->unfinished);
    json_key_number(&json, "kept", result->kept);
    json_key_text(&json, "domain", options->domain);
    json_key_text(&json, "iteration", options->iteration);
    json_key(&json, "iterations");
    if (options->iteration)
        json_number(&json, result->iterations);
    else
        json_null(&json);
    if (result->by_position)
        json_positions(&json, report);
    else
        json_layers(&json, report);
    json_close_object(&json);
    json_end(&json);
}
