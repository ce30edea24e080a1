/* Prints kernels by launch shape or by name, and the notes on what occupancy rests on. */
#include "reports/kernels/print.h"

#include "base/text/units.h"
#include "reports/common/kernel_time.h"
#include "reports/common/quality.h"
#include "reports/common/sampled.h"
#include "reports/kernels/columns.h"

#include "base/poison.h"

static void kernels_each_row(const struct kernels_columns *columns, struct report_table *table,
                             void (*take)(struct report_table *, const struct report_cell *))
{
    struct report_cell cells[REPORT_MAX_COLUMNS];
    struct kernels_texts texts;

    for (size_t i = 0; i < columns->kernels->row_count; i++) {
        kernels_columns_fill(columns, &columns->kernels->rows[i], &texts, cells);
        take(table, cells);
    }
}

/* ---- What the table rests on ---- */

static void print_totals(const struct report_out *out, const struct mp_trace *trace,
                         const struct kernels *kernels)
{
    print_prefix(out, trace);
    fprintf(out->file, "Tensor-core kernels, by their names: %s of the time of all kernels.\n",
            mp_percent(
                kernels->total ? 100.0 * (double)kernels->tensor_total / (double)kernels->total : 0)
                .text);
    if (!kernels->percent_total)
        return;
    print_prefix(out, trace);
    fprintf(out->file, "Theoretical occupancy: %s, mean weighted by time.\n",
            mp_percent(kernels->percent).text);
}

static void kernels_print_notes(const struct report_out *out, const struct mp_trace *trace,
                                const struct kernels *kernels)
{
    print_kernel_time(out, trace, &kernels->time);
    if (kernels->counters)
        print_sampled_note(out, trace);
    if (kernels->graph_launches) {
        print_prefix(out, trace);
        fprintf(out->file,
                "Note: %s launch%s of CUDA graphs %s recorded as a whole: their kernels "
                "are not known.\n",
                mp_count(kernels->graph_launches).text, kernels->graph_launches == 1 ? "" : "es",
                kernels->graph_launches == 1 ? "is" : "are");
    }
    if (kernels->cluster_calls) {
        print_prefix(out, trace);
        fprintf(out->file,
                "Note: %s"
                " launch%s with clusters: waves do not take into account that the blocks "
                "of a cluster run together.\n",
                mp_count(kernels->cluster_calls).text, kernels->cluster_calls == 1 ? "" : "es");
    }
    if (kernels->unknown_major) {
        print_prefix(out, trace);
        fprintf(out->file,
                "Note: compute capability %" PRIu32 ".%" PRIu32 " is not known here: occupancy is "
                "computed as for the nearest that is.\n",
                kernels->unknown_major, kernels->unknown_minor);
    }
    if (kernels->calls && kernels->percent_total < kernels->total) {
        print_prefix(out, trace);
        fputs("Note: the trace lacks limits of a device or a launch shape: occupancy is not known "
              "where '-' stands for it.\n",
              out->file);
    }
}

static void print_none(const struct report_out *out, const struct mp_trace *trace,
                       const struct kernels *kernels)
{
    print_prefix(out, trace);
    fprintf(out->file, "%s\n",
            kernels->quality.untimed.without ? "No kernel has times."
            : kernels->recorded              ? "No kernels in the trace."
                                             : "No kernels in the trace: MINIPROF_GPU=off.");
}

static void kernels_print_text(const struct report_out *out, const struct mp_trace *trace,
                               const struct kernels *kernels, const struct kernels_options *options)
{
    struct kernels_columns columns;
    struct report_table table;

    print_head(out, trace, &kernels->quality, options->range, kernels->capture_ranges);
    if (!kernels->row_count) {
        print_none(out, trace, kernels);
        if (report_has_titles(out)) {
            kernels_print_notes(out, trace, kernels);
            return;
        }
    }
    if (report_has_titles(out)) {
        print_prefix(out, trace);
        fprintf(out->file, "Kernels by %s:\n", options->by_name ? "name" : "launch shape");
    }
    kernels_columns_choose(&columns, out, kernels, options->by_name);
    report_begin(&table, out, columns.columns, columns.count);
    kernels_each_row(&columns, &table,
                     out->format == REPORT_TEXT ? report_measure : report_measure_units);
    report_header(&table);
    kernels_each_row(&columns, &table, report_row);
    report_end(&table);
    if (out->format == REPORT_TEXT)
        print_totals(out, trace, kernels);
    kernels_print_notes(out, trace, kernels);
}

static void kernels_print_json(const struct report_out *out, const struct mp_trace *trace,
                               const struct kernels *kernels, const struct kernels_options *options)
{
    struct kernels_columns columns;
    struct report_table table;
    struct json_writer json;

    json_open_document(&json, out->file, 2);
    json_head(&json, trace, &kernels->quality, &kernels->definitions, options->range,
              kernels->capture_ranges);
    JSON_FACTS(&json, FACT("by_name", options->by_name), FACT("calls", kernels->calls),
               FACT("total_ns", kernels->total), FACT("tensor_core_ns", kernels->tensor_total),
               FACT("graph_launches", kernels->graph_launches),
               FACT("cluster_launches", kernels->cluster_calls),
               FACT_IF("occupancy_percent", kernels->percent_total, kernels->percent));
    json_kernel_time(&json, &kernels->time);
    json_key_array(&json, "kernels");
    kernels_columns_choose(&columns, out, kernels, options->by_name);
    report_begin_json(&table, &json, columns.columns, columns.count);
    kernels_each_row(&columns, &table, report_row);
    report_end(&table);
    json_close_array(&json);
    json_close_document(&json);
}

void print_kernels(const struct report_out *out, const struct mp_trace *trace,
                   const struct kernels *kernels, const struct kernels_options *options)
{
    if (out->format == REPORT_JSON)
        kernels_print_json(out, trace, kernels, options);
    else
        kernels_print_text(out, trace, kernels, options);
}
