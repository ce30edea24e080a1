/* Prints how the iterations are spread over threads, if there are several. */
#include "reports/iterations/print.h"

#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/common/summary_table.h"

#include "base/poison.h"

/* In text the busiest ones. */
#define THREADS_SHOWN 16

static const struct report_column columns[] = {
    {.title = "Thread", .key = "thread", .kind = REPORT_CELL_ID, .width = 9},
    {.title = "Name", .key = "name", .kind = REPORT_CELL_TEXT, .width = 12, .left = true},
    {.title = "Count", .key = "count", .kind = REPORT_CELL_COUNT, .width = 7},
    {.title = "GPU busy", .key = "busy_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Mean", .key = "mean_ns", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "P50", .key = "p50_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "P90", .key = "p90_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "P99", .key = "p99_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Max", .key = "max_ns", .kind = REPORT_CELL_TIME, .width = 8},
};

#define COLUMNS (sizeof columns / sizeof *columns)

static void each_row(struct report_table *table, const struct iterations_report *report,
                     size_t count, void (*take)(struct report_table *, const struct report_cell *))
{
    const struct deps *deps = report->deps;

    for (size_t i = 0; i < count; i++) {
        const struct iterations_row *row = &report->threads[i];
        bool known = row->thread != DEPS_NONE;
        const struct definition_thread *thread =
            known ? dense_at(&deps->definitions.threads, deps->lanes[row->thread].id) : NULL;
        const char *name =
            thread && thread->name ? definitions_text(&deps->definitions, thread->name) : NULL;
        const struct report_cell cells[COLUMNS] = {
            known ? report_number_cell(deps->lanes[row->thread].tid) : report_absent_cell(),
            report_text_cell(name),
            report_number_cell(row->count),
            iterations_is_known(report, ITERATION_BUSY) ? report_number_cell(row->busy)
                                                        : report_absent_cell(),
            report_real_cell(row->latency.mean),
            report_number_cell(row->latency.p50),
            report_number_cell(row->latency.p90),
            report_number_cell(row->latency.p99),
            report_number_cell(row->latency.max),
        };

        take(table, cells);
    }
}

void print_iterations_threads(const struct report_out *out, const struct iterations_report *report)
{
    size_t threads = report->iterations->threads;
    bool cut = out->format == REPORT_TEXT && threads > THREADS_SHOWN;
    size_t count = cut ? THREADS_SHOWN : threads;
    struct report_table table;

    if (threads < 2 && report_has_titles(out))
        return;
    if (report_has_titles(out)) {
        print_prefix(out, report->trace);
        fputs("Latency by thread", out->file);
        if (cut)
            fprintf(out->file, ", the %s busiest of %s", mp_count(count).text,
                    mp_count(threads).text);
        fputs(":\n", out->file);
    }
    report_begin(&table, out, columns, COLUMNS);
    table.name = "threads";
    if (summary_needs_measure(out))
        each_row(&table, report, count, report_measure);
    report_header(&table);
    each_row(&table, report, count, report_row);
    report_end(&table);
}

void json_iterations_threads(struct json_writer *json, const struct iterations_report *report)
{
    struct report_table table;

    json_key_array(json, "by_thread");
    report_begin_json(&table, json, columns, COLUMNS);
    each_row(&table, report, report->iterations->threads, report_row);
    report_end(&table);
    json_close_array(json);
}
