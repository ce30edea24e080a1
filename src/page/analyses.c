/* The documents of a page for which an analysis has to run: iterations, layers, kernels, overlap,
 * advice, memory, and the counters over time with their columns. The length of each is limited, so
 * the size of a page depends on its timeline only.
 */
#include "page/documents.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/text/json.h"
#include "profile/profile.h"
#include "reports/advise/advise.h"
#include "reports/advise/print.h"
#include "reports/counters/counters.h"
#include "reports/counters/print.h"
#include "reports/iterations/print.h"
#include "reports/kernels/kernels.h"
#include "reports/layers/layers.h"
#include "reports/layers/print.h"
#include "reports/memory/memory.h"
#include "reports/memory/print.h"
#include "reports/overlap/overlap.h"
#include "reports/stacks/print.h"
#include "reports/stacks/stacks.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- What a page does not hold ---- */

void html_print_note(FILE *out, const char *text)
{
    struct json_writer json;

    json_open_document(&json, out, 1);
    JSON_FACTS(&json, FACT("note", text));
    json_close_document(&json);
}

size_t html_at_most(struct html_material *material, const char *key, size_t max, size_t all)
{
    if (all <= max)
        return all;
    if (material->left_out_count < HTML_LEFT_OUT)
        material->left_out[material->left_out_count++] =
            (struct html_left_out){.key = key, .shown = max, .all = all};
    return max;
}

enum mp_status html_print_left_out(FILE *out, struct html_material *material,
                                   struct mp_error *error)
{
    struct json_writer json;

    (void)error;
    json_open_document(&json, out, 1);
    for (size_t i = 0; i < material->left_out_count; i++)
        JSON_KEY_OBJECT(&json, material->left_out[i].key,
                        FACT("shown", material->left_out[i].shown),
                        FACT("all", material->left_out[i].all));
    json_close_document(&json);
    return MP_OK;
}

/* ---- Analyses ---- */

static struct report_out json_out(FILE *out)
{
    return (struct report_out){.file = out, .format = REPORT_JSON};
}

/* ---- Iterations ---- */

/* A page without advice is one too. */
void html_advise(struct html_material *material)
{
    const struct advise_input input = {&material->deps, &material->study};
    struct mp_error *error = &material->no_advice;

    *error = (struct mp_error){.status = MP_OK};
    enum mp_status status = advise_build(&input, &material->advice, error);
    if (status && !error->status)
        mp_error_set(error, status, "no advice: %s", mp_status_name(status));
}

enum mp_status html_iterations_find(struct html_material *material, struct mp_error *error)
{
    const struct iterations_options options = {.range = material->range};

    MP_TRY(baseline_build(material->deps.profile, &material->baseline, error));
    MP_TRY(iterations_study(&material->deps, material->trace, &options, &material->study, error));
    return recording_cost_find(&material->deps, material->trace, &material->study,
                               &material->baseline, &material->recording_cost);
}

void html_iterations_free(struct html_material *material)
{
    advise_free(&material->advice);
    baseline_free(&material->baseline);
    iterations_study_free(&material->study);
}

static struct iterations_report report_of(const struct html_material *material)
{
    struct iterations_report report =
        iterations_report_of(material->trace, &material->deps, &material->study);

    report.range = material->range;
    report.baseline = &material->baseline;
    report.recording_cost = &material->recording_cost;
    return report;
}

enum mp_status html_print_iters(FILE *out, struct html_material *material, struct mp_error *error)
{
    const struct report_out report = json_out(out);
    struct iterations_summary shown = material->study.summary;
    struct iterations_report iterations = report_of(material);
    struct counters_clocks *clocks;

    MP_TRY(counters_clocks(material->trace, &material->study.iterations, &clocks, error));
    iterations.clocks = clocks;
    shown.outlier_count =
        html_at_most(material, "outliers", HTML_MAX_OUTLIERS, shown.outlier_count);
    iterations.summary = &shown;
    print_iterations(&report, &iterations);
    free(clocks);
    return MP_OK;
}

enum mp_status html_print_iterations(FILE *out, struct html_material *material,
                                     struct mp_error *error)
{
    const struct iterations_report report = report_of(material);

    (void)error;
    print_iterations_columns(
        out, &report,
        html_at_most(material, "iterations", HTML_MAX_ITERATIONS, report.iterations->count));
    return MP_OK;
}

enum mp_status html_print_advise(FILE *out, struct html_material *material, struct mp_error *error)
{
    const struct report_out report = json_out(out);
    const struct advise_report advice = {report_of(material), &material->advice};

    if (material->no_advice.status) {
        *error = material->no_advice;
        return error->status;
    }
    return print_advise(&report, &advice);
}

/* ---- Layers ---- */

/* An outer layer lists the names of the work of all layers inside it. */
static void shorten_work(struct html_material *material, struct layers_result *result)
{
    size_t max = 0;

    for (size_t i = 0; i < result->count; i++) {
        struct layer *layer = &result->layers[i];

        if (layer->kernel_count > max)
            max = layer->kernel_count;
        if (layer->kernel_count > HTML_MAX_WORK)
            layer->kernel_count = HTML_MAX_WORK;
    }
    html_at_most(material, "layer_work", HTML_MAX_WORK, max);
}

enum mp_status html_print_layers(FILE *out, struct html_material *material, struct mp_error *error)
{
    const struct report_out report = json_out(out);
    const struct layers_options options = {.range = material->range, .style = material->style};
    struct layers_result result;
    struct counters_brief *sampled = NULL;
    struct layers_report layers = {
        .trace = material->trace, .result = &result, .options = &options, .top = HTML_MAX_LAYERS};
    enum mp_status status = MP_OK;

    MP_TRY(layers_build(material->deps.profile, &options, &result, error));
    if (result.by_position && !result.positions.kernels) {
        html_print_note(out, "No kernels in the trace: neither layers nor positions.");
    } else if (!result.by_position && !result.count) {
        html_print_note(out, "No device activities in the trace that layers could have launched.");
    } else {
        if (result.by_position)
            html_at_most(material, "positions", HTML_MAX_LAYERS, result.positions.count);
        else
            html_at_most(material, "layers", HTML_MAX_LAYERS, result.count);
        shorten_work(material, &result);
        status = counters_of_layers(material->trace, &options, &result, &sampled, error);
        layers.sampled = sampled;
        if (!status)
            status = print_layers(&report, &layers);
        free(sampled);
    }
    layers_free(&result);
    return status;
}

/* ---- Stacks ---- */

/* {"stacks": false} of a trace without any: the page has no such view then. */
enum mp_status html_print_stacks(FILE *out, struct html_material *material, struct mp_error *error)
{
    const struct report_out report = json_out(out);
    const struct stacks_options options = {.range = material->range};
    struct stacks_result result;
    const struct stacks_report stacks = {
        .trace = material->trace, .result = &result, .options = &options};

    if (!profile_has_rows(material->deps.profile, MP_TABLE_stack)) {
        fputs("{\"stacks\": false}\n", out);
        return MP_OK;
    }
    MP_TRY(stacks_build(material->trace, &options, &result, error));
    result.row_count = html_at_most(material, "lines", HTML_MAX_CALLERS, result.row_count);
    enum mp_status status = stacks_keep_nodes(
        &result, html_at_most(material, "stacks", HTML_MAX_NODES, result.node_count));
    if (!status)
        status = print_stacks(&report, &stacks);
    stacks_free(&result);
    return status;
}

/* ---- Kernels, overlap ---- */

enum mp_status html_print_kernels(FILE *out, struct html_material *material, struct mp_error *error)
{
    const struct report_out report = json_out(out);
    const struct kernels_options options = {.range = material->range, .style = material->style};
    const struct counters_options sampled = {.range = material->range, .style = material->style};
    const bool any = profile_has_rows(material->deps.profile, MP_TABLE_sample);
    struct counters_result counters;
    struct kernels kernels;
    enum mp_status status = MP_OK;

    MP_TRY(kernels_build(material->deps.profile, &options, &kernels, error));
    if (kernels.row_count) {
        kernels.row_count = html_at_most(material, "kernels", HTML_MAX_KERNELS, kernels.row_count);
        if (any)
            status = counters_build(material->trace, &sampled, &counters, error);
        kernels.counters = !status && any ? &counters : NULL;
        if (!status)
            print_kernels(&report, material->trace, &kernels, &options);
        if (kernels.counters)
            counters_result_free(&counters);
    } else {
        html_print_note(out, kernels.recorded ? "No kernels in the trace."
                                              : "No kernels in the trace: MINIPROF_GPU=off.");
    }
    kernels_free(&kernels);
    return status;
}

enum mp_status html_print_overlap(FILE *out, struct html_material *material, struct mp_error *error)
{
    const struct report_out report = json_out(out);
    const struct overlap_options options = {.range = material->range, .peers = material->peers};
    struct overlap overlap;

    MP_TRY(overlap_build(material->deps.profile, &options, &overlap, error));
    if (overlap.device_count)
        print_overlap(&report, material->trace, &overlap, options.range);
    else
        html_print_note(out, overlap.recorded
                                 ? "No work of a GPU in the trace, so nothing that overlaps."
                                 : "No work of a GPU in the trace: MINIPROF_GPU=off.");
    overlap_free(&overlap);
    return MP_OK;
}

/* ---- Memory ---- */

/* Of all lists the longest. */
static size_t longest_list(const struct memory *memory)
{
    size_t longest = memory->kept_groups;

    if (memory->source_count > longest)
        longest = memory->source_count;
    for (size_t i = 0; i < memory->device_count; i++) {
        if (memory->devices[i].alive_count > longest)
            longest = (size_t)memory->devices[i].alive_count;
    }
    return longest;
}

enum mp_status html_print_memory(FILE *out, struct html_material *material, struct mp_error *error)
{
    const struct report_out report = {.file = out, .format = REPORT_JSON};
    const struct memory_options options = {.range = material->range, .top = HTML_MAX_MEMORY};
    struct memory *memory = &material->memory;
    enum mp_status status = memory_build(material->trace, &options, memory, error);
    if (status) {
        if (!error->status)
            mp_error_set(error, status, "cannot add up the allocations: %s",
                         mp_status_name(status));
        material->no_memory = *error;
        return status;
    }
    html_at_most(material, "memory", HTML_MAX_MEMORY, longest_list(memory));
    const char *nothing = memory_why_nothing(material->trace, memory);
    if (nothing)
        html_print_note(out, nothing);
    else
        print_memory(&report, material->trace, memory, options.range);
    return MP_OK;
}

/* ---- Over time ---- */

/* Points come step by step, in each step first devices, then pools. So they fill the rows of a
 * matrix that is printed column by column. */
struct points {
    size_t lines;                /* of a step */
    size_t shown;                /* of these */
    struct memory_point *points; /* [step * shown + line]; owned */
    size_t taken;
};

static void take_point(void *context, const struct memory_point *point)
{
    struct points *points = context;
    size_t step = points->taken / points->lines;
    size_t line = points->taken % points->lines;

    points->taken++;
    if (line < points->shown && step < HTML_MEMORY_STEPS)
        points->points[step * points->shown + line] = *point;
}

static uint64_t max_of(const struct memory_point *point)
{
    return point->max;
}

static uint64_t live_of(const struct memory_point *point)
{
    return point->live;
}

static void json_line(struct json_writer *json, const struct points *points, size_t line,
                      const char *key, uint64_t (*value_of)(const struct memory_point *point))
{
    json_key_array(json, key);
    for (size_t i = line; i < points->shown * HTML_MEMORY_STEPS; i += points->shown)
        json_number(json, value_of(&points->points[i]));
    json_close_array(json);
}

static void json_lines(struct json_writer *json, const struct memory *memory,
                       const struct points *points)
{
    json_key_array(json, "lines");
    for (size_t i = 0; i < points->shown; i++) {
        const struct memory_point *point = &points->points[i];
        char pool[32];

        json_open_object(json);
        memory_json_device(json, memory, point->device);
        if (point->pool)
            snprintf(pool, sizeof pool, "0x%" PRIx64, point->pool->address);
        JSON_FACTS(json, FACT_IF("pool", point->pool, pool));
        json_line(json, points, i, "max_bytes", max_of);
        json_line(json, points, i, "end_bytes", live_of);
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_times(struct json_writer *json, const struct memory *memory,
                       const struct points *points)
{
    json_key_array(json, "time_ns");
    for (size_t i = 0; i < HTML_MEMORY_STEPS; i++)
        json_number(json, points->points[i * points->shown].time - memory->events.first_time);
    json_close_array(json);
}

static void print_lines(FILE *out, const struct memory *memory, const struct points *points)
{
    struct json_writer json;

    json_open_document(&json, out, 1);
    JSON_FACTS(&json, FACT("start_ns", memory->events.first_time));
    json_times(&json, memory, points);
    json_lines(&json, memory, points);
    json_close_document(&json);
}

enum mp_status html_print_memory_lines(FILE *out, struct html_material *material,
                                       struct mp_error *error)
{
    const struct memory *memory = &material->memory;
    struct points points = {.lines = memory->device_count + memory->pool_count};

    if (material->no_memory.status) {
        *error = material->no_memory;
        return error->status;
    }
    if (!memory->events.count) {
        html_print_note(out, "No allocations in the trace.");
        return MP_OK;
    }
    points.shown = html_at_most(material, "memory_lines", HTML_MAX_LINES, points.lines);
    points.points = calloc(points.shown * HTML_MEMORY_STEPS, sizeof *points.points);
    if (!points.points)
        return MP_ERR_MEMORY;
    enum mp_status status = memory_each_step(memory, HTML_MEMORY_STEPS, take_point, &points);
    if (!status)
        print_lines(out, memory, &points);
    free(points.points);
    return status;
}

/* ---- Counters over time ---- */

static const struct counters_bin *bins_of(const struct counters_bins *set, size_t place)
{
    return &set->values[place * set->max];
}

/* ---- What there is ---- */

static double max_value(const struct counters_bins *set, size_t place, double step)
{
    uint16_t max = 0;

    for (size_t i = 0; i < set->count; i++) {
        const struct counters_bin *bin = &bins_of(set, place)[i];

        if (bin->mean != SAMPLED_UNKNOWN && bin->max > max)
            max = bin->max;
    }
    return sampled_unpack(max, step);
}

static void json_set(struct json_writer *json, const struct counters_lines *lines,
                     const struct counters_bins *set)
{
    json_open_object(json);
    JSON_FACTS(json, FACT("device", set->device), FACT("bins", (uint64_t)set->count));
    json_key_array(json, "counters");
    for (size_t i = 0; i < set->width; i++) {
        const struct counters_counter *counter = &lines->result.counters[set->counters[i]];

        JSON_OBJECT(json, FACT("name", counter->name),
                    FACT("unit", counters_unit_name(counter->unit)),
                    FACT("source", counters_source_name(counter->by)), FACT("step", counter->step),
                    FACT("most", max_value(set, i, counter->step)));
    }
    json_close_array(json);
    json_close_object(json);
}

enum mp_status html_print_counter_lines(FILE *out, struct html_material *material,
                                        struct mp_error *error)
{
    const struct counters_window window = {.range = material->range,
                                           .from = material->timeline.origin,
                                           .until = material->timeline.end,
                                           .max = HTML_COUNTER_BINS};
    struct counters_lines *lines = &material->counters;
    struct json_writer json;

    MP_TRY(counters_lines_build(material->trace, &window, lines, error));
    if (!lines->count) {
        html_print_note(out, "No sampled counters in the trace.");
        return MP_OK;
    }
    json_open_document(&json, out, 2);
    json_key_array(&json, "sets");
    for (size_t i = 0; i < lines->count; i++)
        json_set(&json, lines, &lines->sets[i]);
    json_close_array(&json);
    json_close_document(&json);
    return MP_OK;
}

/* ---- Columns ---- */

static void pack_times(struct mp_buffer *blob, const struct counters_bins *set, uint64_t origin)
{
    uint64_t before = origin;

    for (size_t i = 0; i < set->count; i++) {
        mp_buffer_append_varint(blob, mp_delta(set->begins[i], before));
        before = set->ends[i];
    }
    for (size_t i = 0; i < set->count; i++)
        mp_buffer_append_varint(blob, set->ends[i] - set->begins[i]);
}

static void pack_values(struct mp_buffer *blob, const struct counters_bin *bins, size_t count)
{
    uint16_t last = 0;

    for (size_t i = 0; i < count; i++) {
        if (bins[i].mean == SAMPLED_UNKNOWN) {
            mp_buffer_append_varint(blob, 0);
            continue;
        }
        mp_buffer_append_varint(blob, 1 + mp_delta(bins[i].mean, last));
        last = bins[i].mean;
    }
    for (size_t i = 0; i < count; i++)
        if (bins[i].mean != SAMPLED_UNKNOWN)
            mp_buffer_append_varint(blob, (uint16_t)(bins[i].max - bins[i].mean));
    for (size_t i = 0; i < count; i++)
        if (bins[i].mean != SAMPLED_UNKNOWN)
            mp_buffer_append_varint(blob, (uint16_t)(bins[i].mean - bins[i].min));
}

enum mp_status html_pack_counter_lines(struct mp_buffer *blob, const struct counters_lines *lines,
                                       uint64_t origin)
{
    for (size_t i = 0; i < lines->count; i++) {
        const struct counters_bins *set = &lines->sets[i];

        pack_times(blob, set, origin);
        for (size_t place = 0; place < set->width; place++)
            pack_values(blob, bins_of(set, place), set->count);
    }
    return blob->status;
}
