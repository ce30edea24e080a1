/* Prints layers as a table or a tree. Text shows the columns that fit beside a path; CSV has all
 * of them.
 */
#include "report/layers/layers.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/data/buffer.h"
#include "base/text/units.h"
#include "report/common/quality.h"

#include "base/poison.h"

/* Text ends with the column of the layer; CSV has all columns. */
static const struct report_column columns[] = {
    {.title = "Time(%)", .kind = REPORT_CELL_PERCENT, .width = 7},
    {.title = "Total", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Self", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Calls", .kind = REPORT_CELL_COUNT, .width = 5},
    {.title = "Avg", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "P50", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "P99", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Kernels", .kind = REPORT_CELL_REAL, .width = 7},
    {.title = "Launch", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Gap", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Layer", .kind = REPORT_CELL_TEXT, .width = 5, .left = true},
    {.title = "Depth", .kind = REPORT_CELL_COUNT},
    {.title = "Instances", .kind = REPORT_CELL_COUNT},
    {.title = "Mark", .kind = REPORT_CELL_TEXT},
    {.title = "Layer type", .kind = REPORT_CELL_TEXT},
    {.title = "Precision", .kind = REPORT_CELL_TEXT},
    {.title = "Dimensions", .kind = REPORT_CELL_TEXT},
    {.title = "Tactic", .kind = REPORT_CELL_TEXT},
    {.title = "Kernel names", .kind = REPORT_CELL_TEXT},
};

#define CSV_COLUMNS  (sizeof columns / sizeof *columns)
#define TEXT_COLUMNS 11

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

/* ---- Rows ---- */

struct texts {
    struct mp_buffer layer;
    struct mp_buffer kernels;
};

static struct report_cell mean_cell(uint64_t total, uint64_t count)
{
    return count ? report_real_cell((double)total / (double)count) : report_absent_cell();
}

static struct report_cell of_calls(const struct layer *layer, struct report_cell cell)
{
    return layer->calls ? cell : report_absent_cell();
}

static void layers_fill_cells(const struct layers_result *result, const struct layer *layer,
                              const struct texts *texts, struct report_cell *cells)
{
    static const struct layer_said nothing = {.type = NULL};
    const struct layer_said *said = layer->said ? layer->said : &nothing;
    const struct layer_work *total = layer->total;

    *cells++ = report_real_cell(layers_percent(result, total->device));
    *cells++ = report_number_cell(total->device);
    *cells++ = report_number_cell(layer->self->device);
    *cells++ = layer->name ? report_number_cell(layer->calls) : report_absent_cell();
    *cells++ = of_calls(layer, report_real_cell(layer->device.mean));
    *cells++ = of_calls(layer, report_number_cell(layer->device.p50));
    *cells++ = of_calls(layer, report_number_cell(layer->device.p99));
    *cells++ = mean_cell(total->counts[LAYER_KERNEL], layer->calls);
    *cells++ = total->launches ? mean_cell(total->launch_time, layer->calls) : report_absent_cell();
    *cells++ = mean_cell(layer->self->gap_time, layer->self->gaps);
    *cells++ = report_text_cell((const char *)texts->layer.data);
    *cells++ = report_number_cell(layer->depth);
    *cells++ = report_number_cell(layer->instances);
    *cells++ = report_text_cell(trt_mark_name(layer->mark));
    *cells++ = report_text_cell(said->type);
    *cells++ = report_text_cell(said->precision);
    *cells++ = report_text_cell(said->dimensions);
    *cells++ = report_text_cell(said->tactic);
    *cells++ = report_text_cell((const char *)texts->kernels.data);
}

static void print_kernels(const struct report_out *out, const struct layer *layer)
{
    char time[MP_FORMATTED_BYTES];

    for (size_t i = 0; i < layer->kernel_count; i++) {
        const struct layer_kernel *kernel = &layer->kernels[i];

        fprintf(out->file, "%9s%10s  %8" PRIu64 " x ", "",
                mp_format_time(time, sizeof time, kernel->total), kernel->calls);
        report_put_visible_text(out->file, kernel->short_name);
        fputc('\n', out->file);
    }
}

/* Passes the rows to report_measure, or prints them. MP_ERR_MEMORY. */
static enum mp_status layers_each_row(struct report_table *table, const struct report_out *out,
                                      const struct layers_report *report, struct texts *texts,
                                      bool print)
{
    const struct layers_result *result = report->result;
    size_t shown = report->tree ? result->count : layers_shown(report, result->count);

    for (size_t i = 0; i < shown; i++) {
        uint32_t index = report->tree ? (uint32_t)i : result->by_total[i];
        const struct layer *layer = &result->layers[index];
        struct report_cell cells[CSV_COLUMNS];

        put_layer(&texts->layer, out, report, index);
        put_kernels(&texts->kernels, layer);
        if (texts->layer.status || texts->kernels.status)
            return MP_ERR_MEMORY;
        layers_fill_cells(result, layer, texts, cells);
        if (!print) {
            report_measure(table, cells);
            continue;
        }
        report_row(table, cells);
        if (report->kernels && out->format == REPORT_TEXT)
            print_kernels(out, layer);
    }
    return MP_OK;
}

static enum mp_status layers_print_table(const struct report_out *out,
                                         const struct layers_report *report)
{
    struct report_table table;
    struct texts texts = {.layer = {.data = NULL}};
    enum mp_status status;

    report_begin(&table, out, columns, out->format == REPORT_CSV ? CSV_COLUMNS : TEXT_COLUMNS);
    status = layers_each_row(&table, out, report, &texts, false);
    if (!status) {
        report_header(&table);
        status = layers_each_row(&table, out, report, &texts, true);
    }
    mp_buffer_free(&texts.layer);
    mp_buffer_free(&texts.kernels);
    return status;
}

/* ---- The report ---- */

static void print_title(const struct report_out *out, const struct layers_report *report)
{
    const struct layers_result *result = report->result;

    print_prefix(out, report->trace);
    fputs("Layers: device time by the NVTX ranges that launched it", out->file);
    if (report->options->iteration) {
        fprintf(out->file, ", in %" PRIu64 " iterations \"", result->iterations);
        report_put_visible_text(out->file, report->options->iteration);
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

    if (!result->by_position && !report->tree && shown < result->count)
        print_layers_note(out, report, "%zu of %zu layers are shown.", shown, result->count);
    if (!result->by_position && result->no_calls)
        print_layers_note(out, report,
                          "No API calls in the trace: only what was captured in NVTX ranges is "
                          "known to belong to a layer.");
    if (!result->by_position && result->unlaunched && !result->no_calls)
        print_layers_note(out, report,
                          "%" PRIu64 " of %" PRIu64
                          " activities have no launching call in the trace.",
                          result->unlaunched, result->activities);
    if (!result->by_position && result->kept)
        print_layers_note(out, report,
                          "Too many ranges overlap in part: %" PRIu64
                          " times one was taken to be inside those around its begin.",
                          result->kept);
    if (!result->by_position && open)
        print_layers_note(out, report, "%" PRIu64 " of the ranges %s no end.", open,
                          one ? "has" : "have");
}

static void print_why_by_position(const struct report_out *out, const struct layers_report *report)
{
    if (!report->result->has_ranges)
        print_layers_note(out, report,
                          "No NVTX ranges in the trace: kernels by position instead of layers.");
    else if (report->result->no_calls)
        print_layers_note(out, report,
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
        return MP_OK;
    }
    MP_TRY(layers_print_table(out, report));
    print_layers_groups(out, report);
    return MP_OK;
}

enum mp_status print_layers(const struct report_out *out, const struct layers_report *report)
{
    const struct layers_result *result = report->result;

    if (out->format == REPORT_JSON) {
        print_layers_json(out->file, report);
        return MP_OK;
    }
    print_head(out, report->trace, &result->quality, report->options->range,
               result->capture_ranges);
    if (result->by_position) {
        print_why_by_position(out, report);
        print_layers_positions(out, report);
    } else {
        MP_TRY(print_layer_table(out, report));
    }
    layers_print_notes(out, report);
    return MP_OK;
}
