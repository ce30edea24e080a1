/* The documents of a page for which an analysis has to run: iterations, layers, kernels, overlap,
 * advice. The length of each is limited, so the size of a page depends on its timeline only.
 */
#include "page/analyses.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/json_write.h"
#include "profile/reading.h"
#include "reports/advise/advise.h"
#include "reports/advise/print.h"
#include "reports/counters/counters.h"
#include "reports/iterations/print.h"
#include "reports/kernels/kernels.h"
#include "reports/kernels/print.h"
#include "reports/layers/layers.h"
#include "reports/layers/print.h"
#include "reports/overlap/overlap.h"
#include "reports/overlap/print.h"
#include "reports/stacks/print.h"
#include "reports/stacks/stacks.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

static struct report_out json_out(FILE *out)
{
    return (struct report_out){.file = out, .format = REPORT_JSON};
}

/* ---- Iterations ---- */

/* A page without advice is one too. */
void html_advise(struct html_material *material)
{
    const struct advise_input input = {&material->deps, material->trace, &material->study};
    struct mp_error *error = &material->no_advice;
    enum mp_status status;

    *error = (struct mp_error){.status = MP_OK};
    status = advise_build(&input, &material->advice, error);
    if (status && !error->status)
        mp_error_set(error, status, "no advice: %s", mp_status_name(status));
}

enum mp_status html_iterations_find(struct html_material *material, struct mp_error *error)
{
    const struct iterations_options options = {.range = material->range};

    MP_TRY(baseline_build(material->trace, &material->baseline, error));
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

    MP_TRY(layers_build(material->trace, &options, &result, error));
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
    enum mp_status status;
    bool any;

    MP_TRY(reading_has_rows(material->trace, MP_TABLE_stack, &any, error));
    if (!any) {
        fputs("{\"stacks\": false}\n", out);
        return MP_OK;
    }
    MP_TRY(stacks_build(material->trace, &options, &result, error));
    result.row_count = html_at_most(material, "lines", HTML_MAX_CALLERS, result.row_count);
    status = stacks_keep_nodes(&result,
                               html_at_most(material, "stacks", HTML_MAX_NODES, result.node_count));
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
    struct counters_result counters;
    struct kernels kernels;
    enum mp_status status = MP_OK;
    bool any;

    MP_TRY(kernels_build(material->trace, &options, &kernels, error));
    if (kernels.row_count) {
        kernels.row_count = html_at_most(material, "kernels", HTML_MAX_KERNELS, kernels.row_count);
        status = counters_build_any(material->trace, &sampled, &counters, &any, error);
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
    const struct overlap_options options = {.range = material->range};
    struct overlap overlap;

    MP_TRY(overlap_build(material->trace, &options, &overlap, error));
    if (overlap.device_count)
        print_overlap(&report, material->trace, &overlap, options.range);
    else
        html_print_note(out, overlap.recorded
                                 ? "No work of a GPU in the trace, so nothing that overlaps."
                                 : "No work of a GPU in the trace: MINIPROF_GPU=off.");
    overlap_free(&overlap);
    return MP_OK;
}
