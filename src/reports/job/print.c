/* A job's head, the table of its ranks, and what each of them did in the iterations: means and
 * percentiles by rank, or each iteration.
 */
#include "reports/job/print.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text/units.h"
#include "profile/common/statistics.h"

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

#define JSON_LINES 2

/* ---- Iterations, by rank ---- */

static const struct report_column mean_columns[] = {
    {.title = "Rank", .key = "rank", .kind = REPORT_CELL_ID, .width = 4},
    {.title = "Critical path", .key = "critical_mean_ns", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Computing", .key = "gpu_computing_mean_ns", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Transfer", .key = "transfer_mean_ns", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Hidden", .key = "hidden_mean_ns", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "For peers", .key = "peer_mean_ns", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "P50", .key = "peer_p50_ns", .kind = REPORT_CELL_TIME, .width = 8, .drop = 1},
    {.title = "P99", .key = "peer_p99_ns", .kind = REPORT_CELL_TIME, .width = 8, .drop = 1},
    {.title = "Max", .key = "peer_max_ns", .kind = REPORT_CELL_TIME, .width = 8, .drop = 1},
    {.title = "Idle for peers", .key = "peer_idle_mean_ns", .kind = REPORT_CELL_MEAN, .width = 8},
};

#define MEAN_COLUMN_COUNT (sizeof mean_columns / sizeof *mean_columns)

typedef void take_row(struct report_table *table, const struct report_cell *cells);

static struct report_cell mean_cell(const struct job_iterations_report *report, uint64_t sum)
{
    size_t count = report->windows->count;

    return report_real_cell(count ? (double)sum / (double)count : 0);
}

/* `values` has room for all iterations. */
static void each_mean(struct report_table *table, const struct job_iterations_report *report,
                      uint64_t *values, take_row *take)
{
    const struct job_usage *all = report->job.usage;

    for (size_t i = 0; i < all->count; i++) {
        const struct job_rank *sum = &all->ranks[i];
        struct statistics peers;

        for (size_t k = 0; k < report->windows->count; k++)
            values[k] = report->each[k].ranks[i].waiting;
        peers = statistics_of(values, report->windows->count);
        const struct report_cell cells[MEAN_COLUMN_COUNT] = {
            report_number_cell(sum->rank),     mean_cell(report, sum->critical),
            mean_cell(report, sum->computing), mean_cell(report, sum->transfer),
            mean_cell(report, sum->hidden),    mean_cell(report, sum->waiting),
            report_number_cell(peers.p50),     report_number_cell(peers.p99),
            report_number_cell(peers.max),     mean_cell(report, sum->idle)};

        take(table, cells);
    }
}

/* ---- Each iteration ---- */

static const struct report_column each_columns[] = {
    {.title = "Iteration", .key = "iteration", .kind = REPORT_CELL_ID, .width = 4},
    {.title = "Latency", .key = "latency_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Rank", .key = "rank", .kind = REPORT_CELL_ID, .width = 4},
    {.title = "Critical path", .key = "critical_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Computing", .key = "gpu_computing_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Transfer", .key = "transfer_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Hidden", .key = "hidden_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "For peers", .key = "peer_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Idle for peers", .key = "peer_idle_ns", .kind = REPORT_CELL_TIME, .width = 8},
};

#define EACH_COLUMN_COUNT (sizeof each_columns / sizeof *each_columns)

static void each_iteration(struct report_table *table, const struct job_iterations_report *report,
                           uint64_t *values, take_row *take)
{
    (void)values;
    for (size_t i = 0; i < report->windows->count; i++) {
        const struct deps_window *window = &report->windows->items[i];

        for (size_t k = 0; k < report->each[i].count && (!report->one || report->one == i + 1);
             k++) {
            const struct job_rank *rank = &report->each[i].ranks[k];
            const struct report_cell cells[EACH_COLUMN_COUNT] = {
                report_number_cell(i + 1),
                report_number_cell(window->end - window->begin),
                report_number_cell(rank->rank),
                report_number_cell(rank->critical),
                report_number_cell(rank->computing),
                report_number_cell(rank->transfer),
                report_number_cell(rank->hidden),
                report_number_cell(rank->waiting),
                report_number_cell(rank->idle)};

            take(table, cells);
        }
    }
}

/* ---- The report ---- */

struct kind {
    const char *key; /* in JSON */
    const struct report_column *columns;
    size_t count;
    void (*rows)(struct report_table *, const struct job_iterations_report *, uint64_t *,
                 take_row *);
};

static const struct kind by_rank = {"by_rank", mean_columns, MEAN_COLUMN_COUNT, each_mean};
static const struct kind by_iteration = {"each", each_columns, EACH_COLUMN_COUNT, each_iteration};

static void print_text(const struct report_out *out, const struct job_iterations_report *report,
                       const struct kind *kind, uint64_t *values)
{
    struct report_table table;

    print_job_head(out, &report->job);
    if (report_has_titles(out))
        fprintf(out->file, "======== Ranks in %s iteration%s of rank %" PRIu32 ":\n",
                mp_count(report->windows->count).text, report->windows->count == 1 ? "" : "s",
                report->rank);
    report_begin(&table, out, kind->columns, kind->count);
    table.name = "peers";
    kind->rows(&table, report, values,
               out->format == REPORT_TEXT ? report_measure : report_measure_units);
    report_header(&table);
    kind->rows(&table, report, values, report_row);
    report_end(&table);
}

static void json_kind(struct json_writer *json, const struct job_iterations_report *report,
                      const struct kind *kind, uint64_t *values)
{
    struct report_table table;

    json_key_array(json, kind->key);
    report_begin_json(&table, json, kind->columns, kind->count);
    kind->rows(&table, report, values, report_row);
    report_end(&table);
    json_close_array(json);
}

static void print_document(FILE *out, const struct job_iterations_report *report, uint64_t *values)
{
    struct json_writer json;

    json_open_document(&json, out, JSON_LINES);
    json_job_head(&json, &report->job);
    JSON_FACTS(&json, FACT("iterations", (uint64_t)report->windows->count),
               FACT("path_changes", report->job.usage->changes));
    json_kind(&json, report, &by_rank, values);
    if (report->rows)
        json_kind(&json, report, &by_iteration, values);
    json_close_document(&json);
}

enum mp_status print_job_iterations(const struct report_out *out,
                                    const struct job_iterations_report *report)
{
    uint64_t *values = calloc(report->windows->count + 1, sizeof *values);

    if (!values)
        return MP_ERR_MEMORY;
    if (out->format == REPORT_JSON)
        print_document(out->file, report, values);
    else
        print_text(out, report, report->rows ? &by_iteration : &by_rank, values);
    free(values);
    return MP_OK;
}
