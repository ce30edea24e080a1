/* A job's head, and the table of its ranks.
 */
#include "reports/job/print.h"

#include "base/text/units.h"

#include "base/poison.h"

static const struct report_column columns[] = {
    {.title = "Rank", .key = "rank", .kind = REPORT_CELL_ID, .width = 4},
    {.title = "Critical path(%)", .kind = REPORT_CELL_PERCENT, .width = 8},
    {.title = "Critical path", .key = "critical_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Host code", .key = "host_code_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Computing", .key = "gpu_computing_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Transfer", .key = "transfer_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Hidden", .key = "hidden_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "For peers", .key = "peer_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Idle for peers", .key = "peer_idle_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Bubbles", .key = "bubbles_ns", .kind = REPORT_CELL_TIME, .width = 8, .drop = 1},
};

#define COLUMN_COUNT (sizeof columns / sizeof *columns)

static void each_rank(struct report_table *table, const struct job_report *report,
                      void (*take)(struct report_table *, const struct report_cell *))
{
    for (size_t i = 0; i < report->usage->count; i++) {
        const struct job_rank *rank = &report->usage->ranks[i];
        double share = report->window ? 100.0 * (double)rank->critical / (double)report->window : 0;
        const struct report_cell cells[COLUMN_COUNT] = {
            report_number_cell(rank->rank),      report_real_cell(share),
            report_number_cell(rank->critical),  report_number_cell(rank->host),
            report_number_cell(rank->computing), report_number_cell(rank->transfer),
            report_number_cell(rank->hidden),    report_number_cell(rank->waiting),
            report_number_cell(rank->idle),      report_number_cell(rank->bubbles)};

        take(table, cells);
    }
}

void print_job_head(const struct report_out *out, const struct job_report *report)
{
    print_ranks_head(out, report->ranks);
}

void json_job_head(struct json_writer *json, const struct job_report *report)
{
    json_ranks_head(json, report->ranks);
}

void print_job_ranks(const struct report_out *out, const struct job_report *report)
{
    struct report_table table;

    if (report_has_titles(out))
        fprintf(out->file, "======== Ranks; the critical path changes them %s time%s:\n",
                mp_count(report->usage->changes).text, report->usage->changes == 1 ? "" : "s");
    report_begin(&table, out, columns, COLUMN_COUNT);
    table.name = "ranks";
    each_rank(&table, report, out->format == REPORT_TEXT ? report_measure : report_measure_units);
    report_header(&table);
    each_rank(&table, report, report_row);
    report_end(&table);
}

void json_job_ranks(struct json_writer *json, const struct job_report *report)
{
    struct report_table table;

    JSON_FACTS(json, FACT("path_changes", report->usage->changes));
    json_key_array(json, "by_rank");
    report_begin_json(&table, json, columns, COLUMN_COUNT);
    each_rank(&table, report, report_row);
    report_end(&table);
    json_close_array(json);
}
