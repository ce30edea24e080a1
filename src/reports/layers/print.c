/* Prints layers as a table or a tree. Text shows the columns that fit beside a path; CSV has all
 * of them.
 */
#include "reports/layers/print.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/text/foreign.h"
#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/common/sampled.h"

#include "base/poison.h"

/* ---- Texts ---- */

static void put_mark(struct mp_buffer *text, const struct layer *layer)
{
    const char *mark = trt_mark_name(layer->mark);

    if (mark)
        mp_buffer_append_format(text, " [%s]", mark);
}

/* The cell of the layer; in a tree only its own name, below that of its parent. */
static void put_layer(struct mp_buffer *text, const struct report_out *out,
                      const struct layers_report *report, uint32_t index)
{
    const struct layer *layer = &report->result->layers[index];

    mp_buffer_clear(text);
    if (out->format == REPORT_CSV) {
        layers_put_path(text, report->result, index);
    } else if (report->tree) {
        for (uint32_t i = 1; i < layer->depth; i++)
            mp_buffer_append_text(text, "  ");
        layers_put_name(text, layer);
        put_mark(text, layer);
    } else {
        layers_put_path(text, report->result, index);
        put_mark(text, layer);
    }
    mp_buffer_append_byte(text, '\0');
}

/* Distinct names, those with most time first: `gemm; relu`. */
static void put_kernels(struct mp_buffer *text, const struct layer *layer)
{
    mp_buffer_clear(text);
    for (size_t i = 0; i < layer->kernel_count; i++) {
        if (i)
            mp_buffer_append_text(text, "; ");
        mp_buffer_append_text(text, layer->kernels[i].short_name);
    }
    mp_buffer_append_byte(text, '\0');
}

/* ---- Columns ---- */

#define IF_SAMPLED 1u /* the layout's `there` */

struct shown_layer {
    const struct counters_brief *sampled; /* as in struct sampled_row */
    const struct layer *layer;
    const struct layer_work *total, *self; /* of the layer */
    const struct layer_said *said;         /* of the layer; NULL: nothing */
    const char *text, *kernels;
};

#define OF(member)    THROUGH(struct shown_layer, layer, member)
#define SAID(member)  THROUGH(struct shown_layer, said, member)
#define IF_CALLS      .when = REPORT_THROUGH(struct shown_layer, layer, calls)
#define IN_SHEET_ONLY .formats = REPORT_IN_SHEET

static struct report_cell mean_cell(uint64_t total, uint64_t count)
{
    return report_real_if(count, (double)total / (double)count);
}

static struct report_cell percent_cell(const void *at, struct report_table *table)
{
    const struct layers_report *report = table->of;

    return report_real_cell(
        layers_percent(report->result, ((const struct shown_layer *)at)->total->device));
}

static struct report_cell kernels_cell(const void *at, struct report_table *table)
{
    const struct shown_layer *shown = at;

    (void)table;
    return mean_cell(shown->total->counts[LAYER_KERNEL], shown->layer->calls);
}

static struct report_cell launch_cell(const void *at, struct report_table *table)
{
    const struct shown_layer *shown = at;

    (void)table;
    return shown->total->launches ? mean_cell(shown->total->launch_time, shown->layer->calls)
                                  : report_absent_cell();
}

static struct report_cell gap_cell(const void *at, struct report_table *table)
{
    const struct shown_layer *shown = at;

    (void)table;
    return mean_cell(shown->self->gap_time, shown->self->gaps);
}

static struct report_cell mark_cell(const void *at, struct report_table *table)
{
    (void)table;
    return report_text_cell(trt_mark_name(((const struct shown_layer *)at)->layer->mark));
}

static const struct report_column columns[] = {
    COLUMN("Time(%)", "percent", PERCENT, 7, .cell = percent_cell, .share = true),
    COLUMN("Total", NULL, TIME, 8, THROUGH(struct shown_layer, total, device)),
    COLUMN("Self", NULL, TIME, 8, THROUGH(struct shown_layer, self, device)),
    COLUMN("Calls", NULL, COUNT, 5, OF(calls),
           .when = REPORT_THROUGH(struct shown_layer, layer, name)),
    COLUMN("Avg", "mean_ns", MEAN, 8, OF(device.mean), IF_CALLS),
    COLUMN("P50", NULL, TIME, 8, OF(device.p50), IF_CALLS, .drop = 2),
    COLUMN("P99", NULL, TIME, 8, OF(device.p99), IF_CALLS, .drop = 1),
    COLUMN("Kernels", NULL, REAL, 7, .cell = kernels_cell, .drop = 3),
    COLUMN("Launch", "launch_mean_ns", MEAN, 8, .cell = launch_cell, .drop = 4),
    COLUMN("Gap", "gap_mean_ns", MEAN, 8, .cell = gap_cell, .drop = 5),
    SAMPLED_COLUMNS(IF_SAMPLED, 7, 9, 8),
    SAMPLED_BOUND(IF_SAMPLED, 6),
    COLUMN("Layer", NULL, TEXT, 5, MEMBER(struct shown_layer, text), .left = true),
    COLUMN("Depth", NULL, COUNT, 0, OF(depth), IN_SHEET_ONLY),
    COLUMN("Instances", NULL, COUNT, 0, OF(instances), IN_SHEET_ONLY),
    COLUMN("Mark", NULL, TEXT, 0, .cell = mark_cell, IN_SHEET_ONLY),
    COLUMN("Layer type", NULL, TEXT, 0, SAID(type), IN_SHEET_ONLY),
    COLUMN("Precision", NULL, TEXT, 0, SAID(precision), IN_SHEET_ONLY),
    COLUMN("Dimensions", NULL, TEXT, 0, SAID(dimensions), IN_SHEET_ONLY),
    COLUMN("Tactic", NULL, TEXT, 0, SAID(tactic), IN_SHEET_ONLY),
    COLUMN("Kernel names", NULL, TEXT, 0, MEMBER(struct shown_layer, kernels), IN_SHEET_ONLY),
    SAMPLED_ERRORS,
};

static struct report_layout layers_layout(const struct report_out *out,
                                          const struct layers_report *report)
{
    bool sampled = report->sampled || out->format == REPORT_CSV;

    return (struct report_layout){REPORT_COLUMNS(columns), .of = report,
                                  .there = sampled ? IF_SAMPLED : 0};
}

/* ---- Rows ---- */

struct texts {
    struct mp_buffer layer;
    struct mp_buffer kernels;
};

/* The kernels of a layer, below its row. */
static enum mp_status print_kernels(struct report_table *table, const struct layer *layer)
{
    char time[MP_FORMATTED_BYTES];
    char *text = NULL;
    size_t bytes;
    FILE *out = memory_file_open(&text, &bytes);

    if (!out)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < layer->kernel_count; i++) {
        const struct layer_kernel *kernel = &layer->kernels[i];
        int taken =
            fprintf(out, "%9s%10s  %8s x ", "", mp_format_time(time, sizeof time, kernel->total),
                    mp_count(kernel->calls).text);

        report_put_name(out, table->view, taken > 0 ? (size_t)taken : 0, kernel->short_name);
        fputc('\n', out);
    }
    if (fclose(out) == 0 && *text)
        report_below(table, text);
    free(text);
    return text ? MP_OK : MP_ERR_MEMORY;
}

/* Passes the rows to `take`. MP_ERR_MEMORY. */
static enum mp_status each_layer(struct report_table *table, const struct report_out *out,
                                 const struct layers_report *report, struct texts *texts,
                                 report_take *take)
{
    const struct layers_result *result = report->result;
    size_t count = report->tree ? result->count : layers_shown(report, result->count);

    for (size_t i = 0; i < count; i++) {
        uint32_t index = report->tree ? (uint32_t)i : result->by_total[i];
        const struct layer *layer = &result->layers[index];

        put_layer(&texts->layer, out, report, index);
        put_kernels(&texts->kernels, layer);
        if (texts->layer.status || texts->kernels.status)
            return MP_ERR_MEMORY;
        take(table, &(struct shown_layer){
                        .sampled = report->sampled ? &report->sampled[index] : NULL,
                        .layer = layer,
                        .total = layer->total,
                        .self = layer->self,
                        .said = layer->said,
                        .text = (const char *)texts->layer.data,
                        .kernels = (const char *)texts->kernels.data,
                    });
        if (take == report_put && report->kernels && out->format == REPORT_TEXT)
            MP_TRY(print_kernels(table, layer));
    }
    return MP_OK;
}

static enum mp_status layers_print_table(const struct report_out *out,
                                         const struct layers_report *report)
{
    const struct report_layout layout = layers_layout(out, report);
    struct texts texts = {.layer = {.data = NULL}};
    struct report_table table;

    report_open(&table, out, &layout);
    enum mp_status status = each_layer(&table, out, report, &texts, report_survey);
    if (!status) {
        report_header(&table);
        status = each_layer(&table, out, report, &texts, report_put);
    }
    report_end(&table);
    mp_buffer_free(&texts.layer);
    mp_buffer_free(&texts.kernels);
    return status;
}

/* ---- The report ---- */

static void print_title(const struct report_out *out, const struct layers_report *report)
{
    const struct layers_result *result = report->result;

    if (!report_has_titles(out))
        return;
    print_prefix(out, report->trace);
    fputs("Layers: device time by the NVTX ranges that launched it", out->file);
    if (report->options->iteration) {
        fprintf(out->file, ", in %s iterations \"", mp_count(result->iterations).text);
        foreign_put_text(out->file, report->options->iteration);
        fputc('"', out->file);
    }
    fputs(".\n", out->file);
}

static void layers_print_notes(const struct report_out *out, const struct layers_report *report)
{
    const struct layers_result *result = report->result;
    size_t shown = layers_shown(report, result->count);
    uint64_t open = result->unfinished;
    bool one = open == 1;

    if (result->by_position)
        return;
    if (report->sampled)
        print_sampled_note(out, report->trace);
    if (!report->tree && shown < result->count)
        print_note(out, report->trace, "%s of %s layers are shown.", mp_count(shown).text,
                   mp_count(result->count).text);
    if (result->no_calls)
        print_note(out, report->trace,
                   "No API calls in the trace: only what was captured in NVTX ranges is "
                   "known to belong to a layer.");
    if (result->unlaunched && !result->no_calls)
        print_note(out, report->trace, "%s of %s activities have no launching call in the trace.",
                   mp_count(result->unlaunched).text, mp_count(result->activities).text);
    if (result->kept)
        print_note(out, report->trace,
                   "Too many ranges overlap in part: %s"
                   " times one was taken to be inside those around its begin.",
                   mp_count(result->kept).text);
    if (open)
        print_note(out, report->trace, "%s of the ranges %s no end.", mp_count(open).text,
                   one ? "has" : "have");
}

static void print_why_by_position(const struct report_out *out, const struct layers_report *report)
{
    if (!report->result->has_ranges)
        print_note(out, report->trace,
                   "No NVTX ranges in the trace: kernels by position instead of layers.");
    else if (report->result->no_calls)
        print_note(out, report->trace,
                   "No API calls in the trace: what the NVTX ranges launched is not known; "
                   "kernels by position instead.");
}

static enum mp_status print_layer_table(const struct report_out *out,
                                        const struct layers_report *report)
{
    print_title(out, report);
    if (!report->result->count) {
        print_csv_prefix(out, report->trace);
        fputs("No device activities were profiled.\n", out->file);
        if (report_has_titles(out))
            return MP_OK;
    }
    MP_TRY(layers_print_table(out, report));
    print_layers_groups(out, report);
    if (!report_has_titles(out))
        print_layers_no_positions(out, report);
    return MP_OK;
}

/* In a sheet a table without layers has its header row all the same, unless --by-position asks for
 * positions. */
static void print_no_layers(const struct report_out *out, const struct layers_report *report)
{
    const struct report_layout layout = layers_layout(out, report);

    if (report_has_titles(out) || report->options->by_position)
        return;
    report_array(out, &layout, NULL, 0, 0);
    print_layers_groups(out, report);
}

enum mp_status print_layers(const struct report_out *out, const struct layers_report *report)
{
    const struct layers_result *result = report->result;

    if (out->format == REPORT_JSON) {
        print_layers_json(out->file, report);
        return MP_OK;
    }
    print_head(out, report->trace, &result->quality, report->options->range,
               ranges_count(&result->profile->ranges));
    if (quality_gap(&result->quality)) {
        print_gap(out, report->trace, quality_gap(&result->quality), "device time of layers");
        if (report_has_titles(out))
            return MP_OK;
    }
    if (result->by_position) {
        print_why_by_position(out, report);
        print_layers_positions(out, report);
        print_no_layers(out, report);
    } else {
        MP_TRY(print_layer_table(out, report));
    }
    layers_print_notes(out, report);
    return MP_OK;
}
