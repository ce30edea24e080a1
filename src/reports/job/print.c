/* The table of a job's ranks, and what each of them did in the iterations: means and percentiles by
 * rank, or each iteration.
 */
#include "reports/job/print.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text/units.h"
#include "profile/common/statistics.h"

#include "base/poison.h"

#define JSON_LINES 2

/* ---- Rows and columns ---- */

/* What a rank did in all windows, or in one iteration. */
struct job_line {
    const struct job_rank *rank;
    double share;                /* of all windows: percent that the critical path is on the rank */
    uint64_t iteration, latency; /* from 1; ns */
    struct statistics peers;     /* of all iterations: ns of waiting for peers */
};

#define OF(member)   MEMBER(struct job_line, member)
#define RANK(member) THROUGH(struct job_line, rank, member)

#define IF_ALL  1u /* bits of `there`: all windows together */
#define IF_EACH 2u /* each iteration */

static const struct report_column columns[] = {
    COLUMN("Iteration", "iteration", ID, 4, OF(iteration), .needs = IF_EACH),
    COLUMN("Latency", "latency_ns", TIME, 8, OF(latency), .needs = IF_EACH),
    COLUMN("Rank", "rank", ID, 4, RANK(rank)),
    COLUMN("Critical path(%)", NULL, PERCENT, 8, OF(share), .needs = IF_ALL),
    COLUMN("Critical path", "critical_ns", TIME, 8, RANK(critical)),
    COLUMN("Host code", "host_code_ns", TIME, 8, RANK(host), .needs = IF_ALL),
    COLUMN("Computing", "gpu_computing_ns", TIME, 8, RANK(computing)),
    COLUMN("Transfer", "transfer_ns", TIME, 8, RANK(transfer)),
    COLUMN("Hidden", "hidden_ns", TIME, 8, RANK(hidden)),
    COLUMN("For peers", "peer_ns", TIME, 8, RANK(waiting)),
    COLUMN("Idle for peers", "peer_idle_ns", TIME, 8, RANK(idle)),
    COLUMN("Bubbles", "bubbles_ns", TIME, 8, RANK(bubbles), .needs = IF_ALL, .drop = 1),
};

/* ---- All windows together ---- */

static void each_rank(struct report_table *table, report_take *take)
{
    const struct job_report *report = table->of;
    double window = (double)report->window;

    for (size_t i = 0; i < report->usage->count; i++) {
        const struct job_rank *rank = &report->usage->ranks[i];
        double share = report->window ? 100.0 * (double)rank->critical / window : 0;

        take(table, &(struct job_line){.rank = rank, .share = share});
    }
}

static struct report_layout layout_of_ranks(const struct job_report *report)
{
    return (struct report_layout){REPORT_COLUMNS(columns), .of = report, .name = "ranks",
                                  .there = IF_ALL};
}

void print_job_ranks(const struct report_out *out, const struct job_report *report)
{
    const struct report_layout layout = layout_of_ranks(report);

    if (report_has_titles(out))
        fprintf(out->file, "======== Ranks; the critical path changes them %s time%s:\n",
                mp_count(report->usage->changes).text, report->usage->changes == 1 ? "" : "s");
    report_print(out, &layout, each_rank);
}

void json_job_ranks(struct json_writer *json, const struct job_report *report)
{
    const struct report_layout layout = layout_of_ranks(report);

    JSON_FACTS(json, FACT("path_changes", report->usage->changes));
    report_json_print(json, "by_rank", &layout, each_rank);
}

/* ---- Iterations ---- */

/* The `of` of their tables. */
struct job_iterations {
    const struct job_iterations_report *report;
    uint64_t *values; /* room for all iterations; owned */
};

/* The column's value is a sum over all iterations. */
static struct report_cell mean_cell(const void *row, struct report_table *table)
{
    size_t count = ((const struct job_iterations *)table->of)->report->windows->count;

    return report_real_cell(count ? report_value_cell(row, table).real / (double)count : 0);
}

#define MEAN_OF(title, key, member) COLUMN(title, key, MEAN, 8, RANK(member), .cell = mean_cell)

static const struct report_column mean_columns[] = {
    COLUMN("Rank", "rank", ID, 4, RANK(rank)),
    MEAN_OF("Critical path", "critical_mean_ns", critical),
    MEAN_OF("Computing", "gpu_computing_mean_ns", computing),
    MEAN_OF("Transfer", "transfer_mean_ns", transfer),
    MEAN_OF("Hidden", "hidden_mean_ns", hidden),
    MEAN_OF("For peers", "peer_mean_ns", waiting),
    COLUMN("P50", "peer_p50_ns", TIME, 8, OF(peers.p50), .drop = 1),
    COLUMN("P99", "peer_p99_ns", TIME, 8, OF(peers.p99), .drop = 1),
    COLUMN("Max", "peer_max_ns", TIME, 8, OF(peers.max), .drop = 1),
    MEAN_OF("Idle for peers", "peer_idle_mean_ns", idle),
};

static void each_mean(struct report_table *table, report_take *take)
{
    const struct job_iterations *of = table->of;
    const struct job_usage *all = of->report->job.usage;
    size_t count = of->report->windows->count;

    for (size_t i = 0; i < all->count; i++) {
        for (size_t k = 0; k < count; k++)
            of->values[k] = of->report->each[k].ranks[i].waiting;
        take(table,
             &(struct job_line){.rank = &all->ranks[i], .peers = statistics_of(of->values, count)});
    }
}

static void each_iteration(struct report_table *table, report_take *take)
{
    const struct job_iterations_report *report = ((const struct job_iterations *)table->of)->report;

    for (size_t i = 0; i < report->windows->count; i++) {
        const struct deps_window *window = &report->windows->items[i];

        if (report->one && report->one != i + 1)
            continue;
        for (size_t k = 0; k < report->each[i].count; k++)
            take(table, &(struct job_line){.rank = &report->each[i].ranks[k],
                                           .iteration = i + 1,
                                           .latency = window->end - window->begin});
    }
}

static void print_document(FILE *out, const struct job_iterations_report *report,
                           const struct report_layout *means, const struct report_layout *each)
{
    struct json_writer json;

    json_open_document(&json, out, JSON_LINES);
    json_ranks_head(&json, report->job.ranks);
    JSON_FACTS(&json, FACT("iterations", (uint64_t)report->windows->count),
               FACT("path_changes", report->job.usage->changes));
    report_json_print(&json, "by_rank", means, each_mean);
    if (report->rows)
        report_json_print(&json, "each", each, each_iteration);
    json_close_document(&json);
}

static void print_text(const struct report_out *out, const struct job_iterations_report *report,
                       const struct report_layout *means, const struct report_layout *each)
{
    print_ranks_head(out, report->job.ranks);
    if (report_has_titles(out))
        fprintf(out->file, "======== Ranks in %s iteration%s of rank %" PRIu32 ":\n",
                mp_count(report->windows->count).text, report->windows->count == 1 ? "" : "s",
                report->rank);
    if (report->rows)
        report_print(out, each, each_iteration);
    else
        report_print(out, means, each_mean);
}

enum mp_status print_job_iterations(const struct report_out *out,
                                    const struct job_iterations_report *report)
{
    const struct job_iterations of = {report,
                                      calloc(report->windows->count + 1, sizeof *of.values)};
    const struct report_layout means = {REPORT_COLUMNS(mean_columns), .of = &of, .name = "peers"};
    const struct report_layout each = {REPORT_COLUMNS(columns), .of = &of, .name = "peers",
                                       .there = IF_EACH};

    if (!of.values)
        return MP_ERR_MEMORY;
    if (out->format == REPORT_JSON)
        print_document(out->file, report, &means, &each);
    else
        print_text(out, report, &means, &each);
    free(of.values);
    return MP_OK;
}
