/* The iterations one by one: in text the parts of a latency, elsewhere everything; and their rows
 * as arrays, which the page uses.
 */
#include "reports/iterations/print.h"

#include "base/poison.h"

struct shown_iteration {
    uint64_t number; /* from 1 on */
    const struct iteration *iteration;
    const uint64_t *values; /* by quantity */
};

#define OF(member)  THROUGH(struct shown_iteration, iteration, member)
#define MAX_COLUMNS (ITERATION_QUANTITIES + 8)
#define NOT_JSON    (REPORT_IN_TEXT | REPORT_IN_CSV | REPORT_IN_SHEET)

static struct report_cell begin_cell(const void *at, struct report_table *table)
{
    const struct iterations_report *report = table->of;

    return report_number_cell(((const struct shown_iteration *)at)->iteration->begin -
                              report->summary->begin);
}

static struct report_cell thread_cell(const void *at, struct report_table *table)
{
    const struct iterations_report *report = table->of;
    uint32_t thread = ((const struct shown_iteration *)at)->iteration->thread;

    return thread == DEPS_NONE ? report_absent_cell()
                               : report_number_cell(report->deps->lanes[thread].id);
}

/* The column's `index` is the quantity. */
static struct report_cell value_cell(const void *at, struct report_table *table)
{
    unsigned quantity = table->column->index;

    return report_number_if(iterations_is_known(table->of, (enum iteration_quantity)quantity),
                            ((const struct shown_iteration *)at)->values[quantity]);
}

#define QUANTITY(title, which, ...)                                                                \
    COLUMN(title, NULL, TIME, 8, .cell = value_cell, .index = ITERATION_##which, __VA_ARGS__)

static const struct report_column text_columns[] = {
    COLUMN("No.", NULL, ID, 5, MEMBER(struct shown_iteration, number)),
    COLUMN("Begin", NULL, TIME, 8, .cell = begin_cell, .moment = true, .drop = 2),
    QUANTITY("Latency", LATENCY),
    QUANTITY("GPU busy", BUSY),
    QUANTITY("Kernels", KERNEL),
    QUANTITY("HtoD", HTOD),
    QUANTITY("DtoH", DTOH),
    QUANTITY("Others", OTHERS, .drop = 3),
    QUANTITY("Launch", IDLE_LAUNCH), /* idle, by cause */
    QUANTITY("Queued", IDLE_QUEUED),
    QUANTITY("CopyWait", IDLE_COPY, .drop = 1),
    QUANTITY("HostWait", IDLE_HOST),
    QUANTITY("SyncWait", IDLE_SYNC),
};

/* Those of scripts: the quantities come between the begin and, in CSV, the last column. */
static const struct report_column first_columns[] = {
    COLUMN("No.", "iteration", ID, 0, MEMBER(struct shown_iteration, number)),
    COLUMN("Begin", NULL, TIME, 0, .cell = begin_cell),
    COLUMN(NULL, "thread", ID, 0, .cell = thread_cell, .formats = REPORT_IN_JSON),
    COLUMN(NULL, "begin_ns", ID, 0, OF(begin), .formats = REPORT_IN_JSON),
    COLUMN(NULL, "host_end_ns", ID, 0, OF(host_end), .formats = REPORT_IN_JSON),
    COLUMN(NULL, "end_ns", ID, 0, OF(end), .formats = REPORT_IN_JSON),
    COLUMN(NULL, "pipelined", BOOL, 0, OF(pipelined), .formats = REPORT_IN_JSON),
};
static const struct report_column last_column =
    COLUMN("Pipelined", NULL, BOOL, 0, OF(pipelined), .formats = NOT_JSON);

static struct report_layout choose_columns(const struct iterations_report *report, bool text,
                                           struct report_column columns[MAX_COLUMNS])
{
    size_t count = 0;

    if (text)
        return (struct report_layout){REPORT_COLUMNS(text_columns), .of = report,
                                      .measuring = REPORT_FIT_UNITS};
    for (size_t i = 0; i < sizeof first_columns / sizeof *first_columns; i++)
        columns[count++] = first_columns[i];
    for (unsigned i = 0; i < ITERATION_QUANTITIES; i++) {
        columns[count++] = (struct report_column){
            .title = iteration_quantity_name((enum iteration_quantity)i),
            .key = iteration_quantity_key((enum iteration_quantity)i),
            .kind = i < ITERATION_TIMES ? REPORT_CELL_TIME : REPORT_CELL_COUNT,
            .cell = value_cell,
            .index = i,
        };
    }
    columns[count++] = last_column;
    return (struct report_layout){
        .columns = columns, .count = count, .of = report, .measuring = REPORT_FIT_UNITS};
}

static struct shown_iteration shown_of(const struct iterations_report *report, size_t index)
{
    return (struct shown_iteration){index + 1, &report->iterations->items[index],
                                    report->measures[index].values};
}

static void each_iteration(struct report_table *table, report_take *take)
{
    const struct iterations_report *report = table->of;

    for (size_t i = 0; i < report->iterations->count; i++) {
        const struct shown_iteration shown = shown_of(report, i);

        if (!report->one || report->one == i + 1)
            take(table, &shown);
    }
}

void print_iterations_each(const struct report_out *out, const struct iterations_report *report)
{
    struct report_column columns[MAX_COLUMNS];
    const struct report_layout layout = choose_columns(report, out->format == REPORT_TEXT, columns);

    report_print(out, &layout, each_iteration);
}

void json_iterations_each(struct json_writer *json, const struct iterations_report *report)
{
    struct report_column columns[MAX_COLUMNS];
    const struct report_layout layout = choose_columns(report, false, columns);

    report_json_print(json, "iterations", &layout, each_iteration);
}

void print_iterations_columns(FILE *out, const struct iterations_report *report, size_t max)
{
    size_t count = report->iterations->count < max ? report->iterations->count : max;
    struct report_column columns[MAX_COLUMNS];
    const struct report_layout layout = choose_columns(report, false, columns);
    struct report_table table;
    struct json_writer json;

    json_open_document(&json, out, 2);
    report_open_json(&table, &json, &layout);
    report_json_keys(&table, "columns");
    json_key_array(&json, "rows");
    for (size_t i = 0; i < count; i++) {
        const struct shown_iteration shown = shown_of(report, i);

        report_json_values(&table, &shown);
    }
    json_close_array(&json);
    json_close_document(&json);
}
