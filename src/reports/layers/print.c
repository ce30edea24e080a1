/* Prints layers as a table or a tree. Text shows the columns that fit beside a path; CSV has all
 * of them.
 */
#include "reports/layers/print.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/buffer.h"
#include "base/data/memory_file.h"
#include "base/text/foreign.h"
#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/common/sampled.h"

#include "base/poison.h"

/* Text ends with the column of the layer, and has what was sampled if something was; CSV has all
 * columns. */
static const struct report_column columns[] = {
    {.title = "Time(%)", .key = "percent", .kind = REPORT_CELL_PERCENT, .width = 7, .share = true},
    {.title = "Total", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Self", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Calls", .kind = REPORT_CELL_COUNT, .width = 5},
    {.title = "Avg", .key = "mean_ns", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "P50", .kind = REPORT_CELL_TIME, .width = 8, .drop = 2},
    {.title = "P99", .kind = REPORT_CELL_TIME, .width = 8, .drop = 1},
    {.title = "Kernels", .kind = REPORT_CELL_REAL, .width = 7, .drop = 3},
    {.title = "Launch", .key = "launch_mean_ns", .kind = REPORT_CELL_MEAN, .width = 8, .drop = 4},
    {.title = "Gap", .key = "gap_mean_ns", .kind = REPORT_CELL_MEAN, .width = 8, .drop = 5},
    {.title = "SMs",
     .key = "sm_active_percent",
     .kind = REPORT_CELL_PERCENT,
     .rough = true,
     .width = 6,
     .drop = 7},
    {.title = "TActive",
     .key = "tensor_active_percent",
     .kind = REPORT_CELL_PERCENT,
     .rough = true,
     .width = 7,
     .drop = 7},
    {.title = "DRAM",
     .key = "dram_active_percent",
     .kind = REPORT_CELL_PERCENT,
     .rough = true,
     .width = 6,
     .drop = 7},
    {.title = "+-",
     .key = "sampled_error_percent",
     .kind = REPORT_CELL_PERCENT,
     .rough = true,
     .width = 5,
     .drop = 9},
    {.title = "PCIe in",
     .key = "pcie_in_bytes_per_second",
     .kind = REPORT_CELL_THROUGHPUT,
     .width = 8,
     .drop = 8},
    {.title = "PCIe out",
     .key = "pcie_out_bytes_per_second",
     .kind = REPORT_CELL_THROUGHPUT,
     .width = 8,
     .drop = 8},
    {.title = "Bound by", .kind = REPORT_CELL_TEXT, .width = 8, .drop = 6},
    {.title = "Layer", .kind = REPORT_CELL_TEXT, .width = 5, .left = true},
    {.title = "Depth", .kind = REPORT_CELL_COUNT},
    {.title = "Instances", .kind = REPORT_CELL_COUNT},
    {.title = "Mark", .kind = REPORT_CELL_TEXT},
    {.title = "Layer type", .kind = REPORT_CELL_TEXT},
    {.title = "Precision", .kind = REPORT_CELL_TEXT},
    {.title = "Dimensions", .kind = REPORT_CELL_TEXT},
    {.title = "Tactic", .kind = REPORT_CELL_TEXT},
    {.title = "Kernel names", .kind = REPORT_CELL_TEXT},
    {.title = "SMs +-", .key = "sm_active_error_percent", .kind = REPORT_CELL_PERCENT},
    {.title = "TActive +-", .key = "tensor_active_error_percent", .kind = REPORT_CELL_PERCENT},
    {.title = "DRAM +-", .key = "dram_active_error_percent", .kind = REPORT_CELL_PERCENT},
    {.title = "PCIe in +-",
     .key = "pcie_in_error_bytes_per_second",
     .kind = REPORT_CELL_THROUGHPUT},
    {.title = "PCIe out +-",
     .key = "pcie_out_error_bytes_per_second",
     .kind = REPORT_CELL_THROUGHPUT},
};

#define CSV_COLUMNS     (sizeof columns / sizeof *columns)
#define TEXT_COLUMNS    18
#define FIRST_SAMPLED   10
#define SAMPLED_COLUMNS 7

/* Leaves columns or cells of what was not sampled out of `items`; returns how many remain of
 * `count`. */
static size_t leave_out(const struct report_out *out, const struct layers_report *report,
                        void *items, size_t size, size_t count)
{
    char *first = (char *)items + FIRST_SAMPLED * size;
    size_t behind = count - FIRST_SAMPLED - SAMPLED_COLUMNS;

    if (report->sampled || out->format == REPORT_CSV)
        return count;
    memmove(first, first + SAMPLED_COLUMNS * size, behind * size);
    return count - SAMPLED_COLUMNS;
}

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

static void layers_fill_cells(const struct layers_report *report, uint32_t index,
                              const struct texts *texts, struct report_cell *cells)
{
    static const uint8_t sampled[SAMPLED_COLUMNS] = {
        SAMPLED_SMS,     SAMPLED_TENSOR,   SAMPLED_DRAM,    SAMPLED_ERROR,
        SAMPLED_PCIE_IN, SAMPLED_PCIE_OUT, SAMPLED_BOUND_BY};
    const struct counters_brief *brief = report->sampled ? &report->sampled[index] : NULL;
    const struct layers_result *result = report->result;
    const struct layer *layer = &result->layers[index];
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
    for (size_t i = 0; i < SAMPLED_COLUMNS; i++)
        *cells++ = sampled_cell(brief, (enum sampled_cell)sampled[i]);
    *cells++ = report_text_cell((const char *)texts->layer.data);
    *cells++ = report_number_cell(layer->depth);
    *cells++ = report_number_cell(layer->instances);
    *cells++ = report_text_cell(trt_mark_name(layer->mark));
    *cells++ = report_text_cell(said->type);
    *cells++ = report_text_cell(said->precision);
    *cells++ = report_text_cell(said->dimensions);
    *cells++ = report_text_cell(said->tactic);
    *cells++ = report_text_cell((const char *)texts->kernels.data);
    for (enum sampled_cell cell = SAMPLED_SMS_ERROR; cell <= SAMPLED_PCIE_OUT_ERROR; cell++)
        *cells++ = sampled_cell(brief, cell);
}

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
        layers_fill_cells(report, index, texts, cells);
        leave_out(out, report, cells, sizeof *cells, CSV_COLUMNS);
        if (!print) {
            report_measure(table, cells);
            continue;
        }
        report_row(table, cells);
        if (report->kernels && out->format == REPORT_TEXT)
            MP_TRY(print_kernels(table, layer));
    }
    return MP_OK;
}

static enum mp_status layers_print_table(const struct report_out *out,
                                         const struct layers_report *report)
{
    struct report_column chosen[CSV_COLUMNS];
    struct report_table table;
    struct texts texts = {.layer = {.data = NULL}};
    enum mp_status status;
    size_t count;

    memcpy(chosen, columns, sizeof chosen);
    count = leave_out(out, report, chosen, sizeof *chosen,
                      out->format == REPORT_CSV ? CSV_COLUMNS : TEXT_COLUMNS);
    report_begin(&table, out, chosen, count);
    status = layers_each_row(&table, out, report, &texts, false);
    if (!status) {
        report_header(&table);
        status = layers_each_row(&table, out, report, &texts, true);
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

    if (!result->by_position && report->sampled)
        print_sampled_note(out, report->trace);
    if (!result->by_position && !report->tree && shown < result->count)
        print_note(out, report->trace, "%s of %s layers are shown.", mp_count(shown).text,
                   mp_count(result->count).text);
    if (!result->by_position && result->no_calls)
        print_note(out, report->trace,
                   "No API calls in the trace: only what was captured in NVTX ranges is "
                   "known to belong to a layer.");
    if (!result->by_position && result->unlaunched && !result->no_calls)
        print_note(out, report->trace, "%s of %s activities have no launching call in the trace.",
                   mp_count(result->unlaunched).text, mp_count(result->activities).text);
    if (!result->by_position && result->kept)
        print_note(out, report->trace,
                   "Too many ranges overlap in part: %s"
                   " times one was taken to be inside those around its begin.",
                   mp_count(result->kept).text);
    if (!result->by_position && open)
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
    struct report_table table;

    if (report_has_titles(out) || report->options->by_position)
        return;
    report_begin(&table, out, columns, CSV_COLUMNS);
    report_header(&table);
    report_end(&table);
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
               result->capture_ranges);
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
