/* Prints the iterations one by one: in text the parts of a latency, in CSV everything. */
#include "reports/common/summary_table.h"
#include "reports/iterations/print.h"

#include "base/poison.h"

static const struct report_column text_columns[] = {
    {.title = "No.", .kind = REPORT_CELL_ID, .width = 5},
    {.title = "Begin", .kind = REPORT_CELL_TIME, .width = 8, .moment = true, .drop = 2},
    {.title = "Latency", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "GPU busy", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Kernels", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "HtoD", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "DtoH", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Others", .kind = REPORT_CELL_TIME, .width = 8, .drop = 3},
    {.title = "Launch", .kind = REPORT_CELL_TIME, .width = 8}, /* idle, by cause */
    {.title = "Queued", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "CopyWait", .kind = REPORT_CELL_TIME, .width = 8, .drop = 1},
    {.title = "HostWait", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "SyncWait", .kind = REPORT_CELL_TIME, .width = 8},
};

/* Of the columns from the third on. */
static const enum iteration_quantity text_quantities[] = {
    ITERATION_LATENCY,   ITERATION_BUSY,      ITERATION_KERNEL,      ITERATION_HTOD,
    ITERATION_DTOH,      ITERATION_OTHERS,    ITERATION_IDLE_LAUNCH, ITERATION_IDLE_QUEUED,
    ITERATION_IDLE_COPY, ITERATION_IDLE_HOST, ITERATION_IDLE_SYNC,
};

#define TEXT_COLUMNS (sizeof text_columns / sizeof *text_columns)
#define CSV_COLUMNS  (ITERATION_QUANTITIES + 3)

static void csv_columns(struct report_column *columns)
{
    columns[0] = (struct report_column){.title = "No.", .key = "iteration", .kind = REPORT_CELL_ID};
    columns[1] = (struct report_column){.title = "Begin", .kind = REPORT_CELL_TIME};
    for (int i = 0; i < ITERATION_QUANTITIES; i++) {
        enum report_kind kind = i < ITERATION_TIMES ? REPORT_CELL_TIME : REPORT_CELL_COUNT;

        columns[i + 2] =
            (struct report_column){.title = iteration_quantity_name((enum iteration_quantity)i),
                                   .key = iteration_quantity_key((enum iteration_quantity)i),
                                   .kind = kind};
    }
    columns[CSV_COLUMNS - 1] =
        (struct report_column){.title = "Pipelined", .kind = REPORT_CELL_BOOL};
}

static void each_iteration_row(struct report_table *table, const struct iterations_report *report,
                               void (*take)(struct report_table *, const struct report_cell *))
{
    bool text = table->format == REPORT_TEXT;

    for (size_t i = 0; i < report->iterations->count; i++) {
        const struct iteration *iteration = &report->iterations->items[i];
        const uint64_t *values = report->measures[i].values;
        struct report_cell cells[CSV_COLUMNS];

        if (report->one && report->one != i + 1)
            continue;
        cells[0] = report_number_cell(i + 1);
        cells[1] = report_number_cell(iteration->begin - report->summary->begin);
        for (size_t at = 2; at < (text ? TEXT_COLUMNS : CSV_COLUMNS - 1); at++) {
            enum iteration_quantity quantity =
                text ? text_quantities[at - 2] : (enum iteration_quantity)(at - 2);

            cells[at] = iterations_is_known(report, quantity) ? report_number_cell(values[quantity])
                                                              : report_absent_cell();
        }
        if (!text)
            cells[CSV_COLUMNS - 1] = report_number_cell(iteration->pipelined);
        take(table, cells);
    }
}

void print_iterations_each(const struct report_out *out, const struct iterations_report *report)
{
    bool text = out->format == REPORT_TEXT;
    struct report_column columns[CSV_COLUMNS];
    struct report_table table;

    csv_columns(columns);
    report_begin(&table, out, text ? text_columns : columns, text ? TEXT_COLUMNS : CSV_COLUMNS);
    if (summary_needs_measure(out))
        each_iteration_row(&table, report, report_measure);
    report_header(&table);
    each_iteration_row(&table, report, report_row);
    report_end(&table);
}
