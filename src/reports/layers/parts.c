/* The tables besides that of the layers: by type, precision and mark, and kernels by position. */

#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/layers/print.h"

#include "base/poison.h"

/* ---- Types, precisions, marks ---- */

#define GROUP_COLUMNS 5

static void each_group(struct report_table *table, const struct layers_report *report,
                       const struct layer_groups *groups,
                       void (*take)(struct report_table *, const struct report_cell *))
{
    for (size_t i = 0; i < layers_shown(report, groups->count); i++) {
        const struct layer_group *group = &groups->items[i];
        struct report_cell cells[GROUP_COLUMNS] = {
            report_real_cell(group->percent), report_number_cell(group->total),
            report_number_cell(group->layers), report_number_cell(group->calls),
            report_text_cell(group->name)};

        take(table, cells);
    }
}

static void print_groups(const struct report_out *out, const struct layers_report *report,
                         const struct layer_groups *groups, const char *title, const char *name)
{
    const struct report_column columns[GROUP_COLUMNS] = {
        {.title = "Time(%)", .key = "percent", .kind = REPORT_CELL_PERCENT, .width = 7},
        {.title = "Total", .kind = REPORT_CELL_TIME, .width = 8},
        {.title = "Layers", .kind = REPORT_CELL_COUNT, .width = 6},
        {.title = "Calls", .kind = REPORT_CELL_COUNT, .width = 5},
        {.title = title, .kind = REPORT_CELL_TEXT, .width = 5, .left = true},
    };
    struct report_table table;

    if (!groups->count && report_has_titles(out))
        return;
    if (report_has_titles(out))
        fputc('\n', out->file);
    report_begin(&table, out, columns, GROUP_COLUMNS);
    table.name = name;
    each_group(&table, report, groups, report_measure);
    report_header(&table);
    each_group(&table, report, groups, report_row);
    report_end(&table);
}

void print_layers_groups(const struct report_out *out, const struct layers_report *report)
{
    print_groups(out, report, &report->result->types, "Layer type", "types");
    print_groups(out, report, &report->result->precisions, "Precision", "precisions");
    print_groups(out, report, &report->result->marks, "Mark", "marks");
}

/* ---- Positions ---- */

static const struct report_column position_columns[] = {
    {.title = "Time(%)", .key = "percent", .kind = REPORT_CELL_PERCENT, .width = 7},
    {.title = "Total", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Calls", .kind = REPORT_CELL_COUNT, .width = 5},
    {.title = "Avg", .key = "mean_ns", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "P50", .kind = REPORT_CELL_TIME, .width = 8, .drop = 1},
    {.title = "P99", .kind = REPORT_CELL_TIME, .width = 8, .drop = 2},
    {.title = "Position", .kind = REPORT_CELL_ID, .width = 8},
    {.title = "Kernel", .kind = REPORT_CELL_TEXT, .width = 6, .left = true},
};

#define POSITION_COLUMNS (sizeof position_columns / sizeof *position_columns)

static void take_others(struct report_table *table, const struct layer_positions *positions,
                        void (*take)(struct report_table *, const struct report_cell *))
{
    double percent =
        positions->total ? 100.0 * (double)positions->others_total / (double)positions->total : 0;
    struct report_cell cells[POSITION_COLUMNS] = {
        report_real_cell(percent),
        report_number_cell(positions->others_total),
        report_number_cell(positions->others),
        report_absent_cell(),
        report_absent_cell(),
        report_absent_cell(),
        report_absent_cell(),
        report_text_cell("<others>"),
    };

    if (positions->others)
        take(table, cells);
}

static void each_position(struct report_table *table, const struct layers_report *report,
                          void (*take)(struct report_table *, const struct report_cell *))
{
    const struct layer_positions *positions = &report->result->positions;
    bool whole = table->format == REPORT_CSV;

    for (size_t i = 0; i < layers_shown(report, positions->count); i++) {
        size_t index = report->top ? positions->by_total[i] : i;
        const struct layer_position *position = &positions->items[index];
        struct report_cell cells[POSITION_COLUMNS] = {
            report_real_cell(position->percent),
            report_number_cell(position->total),
            report_number_cell(position->calls),
            report_real_cell(position->device.mean),
            report_number_cell(position->device.p50),
            report_number_cell(position->device.p99),
            report_number_cell(index + 1),
            report_text_cell(whole ? position->name : position->short_name)};

        take(table, cells);
    }
    take_others(table, positions, take);
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

static void begin_positions(struct report_table *table, const struct report_out *out,
                            const struct layers_report *report)
{
    report_begin(table, out, position_columns, POSITION_COLUMNS);
    table->name = report->options->by_position ? NULL : "positions";
}

void print_layers_no_positions(const struct report_out *out, const struct layers_report *report)
{
    struct report_table table;

    begin_positions(&table, out, report);
    report_header(&table);
}

void print_layers_positions(const struct report_out *out, const struct layers_report *report)
{
    const struct layer_positions *positions = &report->result->positions;
    struct report_table table;

    if (!positions->kernels) {
        print_prefix(out, report->trace);
        fputs("Kernels by position:\n", out->file);
        print_csv_prefix(out, report->trace);
        fputs("No kernels were profiled.\n", out->file);
        if (report_has_titles(out))
            return;
    }
    if (report_has_titles(out))
        print_positions_title(out, report);
    begin_positions(&table, out, report);
    each_position(&table, report, report_measure);
    report_header(&table);
    each_position(&table, report, report_row);
    report_end(&table);
}
