/* The tables besides that of the layers: by type, precision and mark, and kernels by position. */

#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/layers/print.h"

#include "base/poison.h"

size_t layers_shown(const struct layers_report *report, size_t count)
{
    return report->top && report->top < count ? (size_t)report->top : count;
}

/* ---- Types, precisions, marks ---- */

#define OF(member) MEMBER(struct layer_group, member)

static void print_groups(const struct report_out *out, const struct layers_report *report,
                         const struct layer_groups *groups, const char *title, const char *name)
{
    const struct report_column columns[] = {
        COLUMN("Time(%)", "percent", PERCENT, 7, OF(percent)),
        COLUMN("Total", NULL, TIME, 8, OF(total)),
        COLUMN("Layers", NULL, COUNT, 6, OF(layers)),
        COLUMN("Calls", NULL, COUNT, 5, OF(calls)),
        COLUMN(title, NULL, TEXT, 5, OF(name), .left = true),
    };

    if (!groups->count && report_has_titles(out))
        return;
    if (report_has_titles(out))
        fputc('\n', out->file);
    report_array(out, &(struct report_layout){REPORT_COLUMNS(columns), .name = name}, groups->items,
                 layers_shown(report, groups->count), sizeof *groups->items);
}
#undef OF

void print_layers_groups(const struct report_out *out, const struct layers_report *report)
{
    print_groups(out, report, &report->result->types, "Layer type", "types");
    print_groups(out, report, &report->result->precisions, "Precision", "precisions");
    print_groups(out, report, &report->result->marks, "Mark", "marks");
}

/* ---- Positions ---- */

struct shown_position {
    const struct layer_position *position;
    size_t number; /* from 1 on; 0: all others */
};

#define OF(member) THROUGH(struct shown_position, position, member)

static struct report_cell name_cell(const void *at, struct report_table *table)
{
    const struct layer_position *position = ((const struct shown_position *)at)->position;

    return report_text_cell(table->format == REPORT_CSV ? position->name : position->short_name);
}

static const struct report_column position_columns[] = {
    COLUMN("Time(%)", "percent", PERCENT, 7, OF(percent)),
    COLUMN("Total", NULL, TIME, 8, OF(total)),
    COLUMN("Calls", NULL, COUNT, 5, OF(calls)),
    COLUMN("Avg", "mean_ns", MEAN, 8, OF(device.mean), WHEN(struct shown_position, number)),
    COLUMN("P50", NULL, TIME, 8, OF(device.p50), WHEN(struct shown_position, number), .drop = 1),
    COLUMN("P99", NULL, TIME, 8, OF(device.p99), WHEN(struct shown_position, number), .drop = 2),
    COLUMN("Position", NULL, ID, 8, MEMBER(struct shown_position, number), UNLESS_ZERO),
    COLUMN("Kernel", NULL, TEXT, 6, .cell = name_cell, .left = true),
};
#undef OF

static void each_position(struct report_table *table, report_take *take)
{
    const struct layers_report *report = table->of;
    const struct layer_positions *positions = &report->result->positions;
    const struct layer_position others = {
        .name = "<others>",
        .short_name = "<others>",
        .calls = positions->others,
        .total = positions->others_total,
        .percent = positions->total
                       ? 100.0 * (double)positions->others_total / (double)positions->total
                       : 0,
    };

    for (size_t i = 0; i < layers_shown(report, positions->count); i++) {
        size_t index = report->top ? positions->by_total[i] : i;

        take(table, &(struct shown_position){&positions->items[index], index + 1});
    }
    if (positions->others)
        take(table, &(struct shown_position){&others, 0});
}

static void print_positions_title(const struct report_out *out, const struct layers_report *report)
{
    const struct layer_positions *positions = &report->result->positions;

    if (positions->count)
        print_note(out, report->trace,
                   "Kernels by position: %s rounds of %s kernel%s, from kernel %zu on.",
                   mp_count(positions->rounds).text, mp_count(positions->count).text,
                   positions->count == 1 ? "" : "s", positions->start + 1);
    else
        print_note(out, report->trace,
                   "Kernels by position: no sequence of at least half of them repeats "
                   "itself three times.");
}

static struct report_layout positions_layout(const struct layers_report *report)
{
    return (struct report_layout){REPORT_COLUMNS(position_columns), .of = report,
                                  .name = report->options->by_position ? NULL : "positions"};
}

void print_layers_no_positions(const struct report_out *out, const struct layers_report *report)
{
    const struct report_layout layout = positions_layout(report);

    report_array(out, &layout, NULL, 0, 0);
}

void print_layers_positions(const struct report_out *out, const struct layers_report *report)
{
    const struct report_layout layout = positions_layout(report);

    if (!report->result->positions.kernels) {
        print_prefix(out, report->trace);
        fputs("Kernels by position:\n", out->file);
        print_csv_prefix(out, report->trace);
        fputs("No kernels were profiled.\n", out->file);
        if (report_has_titles(out))
            return;
    }
    if (report_has_titles(out))
        print_positions_title(out, report);
    report_print(out, &layout, each_position);
}
