/* The table of a job's ranks, and what each of them did in the iterations: means and percentiles by
 * rank, or each iteration.
 */
#include "reports/job/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/text/foreign.h"
#include "base/text/units.h"
#include "profile/common/statistics.h"

#include "base/poison.h"

#define JSON_LINES 2
#define IN_TURN    60.0 /* percent of all lateness: with less, the rank is one of several */
#define NOTICEABLE 1000 /* a gain is nothing below one thousandth of a step */

/* ---- What reports begin with ---- */

#define TEXT(line) (line)->text, sizeof(line)->text

static void say_step(const struct job_answer *answer, struct job_line *line)
{
    char p50[MP_FORMATTED_BYTES], p99[MP_FORMATTED_BYTES];

    snprintf(TEXT(line), "The job: %" PRIu32 " ranks; a step takes %s (P50 of %s), P99 %s.",
             answer->ranks, mp_format_time(p50, sizeof p50, answer->step.p50),
             mp_count(answer->steps).text, mp_format_time(p99, sizeof p99, answer->step.p99));
}

static void say_late(const struct job_answer *answer, struct job_line *line)
{
    const char *cause = lateness_cause_key(answer->cause);
    char behind[MP_FORMATTED_BYTES];

    if (answer->late == RANKS_NONE) {
        snprintf(TEXT(line), "No rank is late to its peers.");
        return;
    }
    snprintf(TEXT(line),
             "%s rank %" PRIu32 ": last in %s of its %s operations of NCCL, by %s of a step, "
             "%.0f %% of all lateness. Cause: %s%s%.600s.",
             answer->share < IN_TURN ? "Ranks are late in turn, above all" : "Late is",
             answer->late_rank, mp_count(answer->last).text, mp_count(answer->of).text,
             mp_format_time(behind, sizeof behind, answer->behind), answer->share,
             cause ? cause : "unknown", answer->activity ? ", " : "",
             answer->activity ? answer->activity : "");
}

/* A GPU that is slower than the others. */
static bool say_pace(const struct job_answer *answer, struct job_line *line)
{
    char clock[48] = "";

    if (answer->pace < JOB_SLOWER)
        return false;
    if (!isnan(answer->clock))
        snprintf(clock, sizeof clock, ", at %.2f times their clock", answer->clock);
    snprintf(TEXT(line),
             "Its GPU is slower: kernels take %.2f times as long as the same ones of the others%s.",
             answer->pace, clock);
    return true;
}

static void say_waiting(const struct job_answer *answer, struct job_line *line)
{
    char mean[MP_FORMATTED_BYTES], longest[MP_FORMATTED_BYTES];

    mp_format_time(mean, sizeof mean, answer->waiting);
    if (answer->ranks == 2 && answer->late != RANKS_NONE) {
        snprintf(TEXT(line), "Rank %" PRIu32 " waits for it in NCCL for %s of a step.",
                 answer->longest_rank, mean);
        return;
    }
    snprintf(TEXT(line),
             "%s wait for peers in NCCL for %s of a step on average; rank %" PRIu32
             " waits longest: %s.",
             answer->late == RANKS_NONE ? "The ranks" : "The others", mean, answer->longest_rank,
             mp_format_time(longest, sizeof longest, answer->longest));
}

/* "-5.449ms, 27.9 %" */
static const char *gain_of(const struct job_answer *answer, uint64_t gain, char *text, size_t size)
{
    char time[MP_FORMATTED_BYTES];

    if (gain >= answer->basis / NOTICEABLE)
        snprintf(text, size, "-%s, %.1f %%", mp_format_time(time, sizeof time, gain),
                 100.0 * (double)gain / (double)answer->basis);
    else
        snprintf(text, size, "nothing");
    return text;
}

static bool say_gains(const struct job_answer *answer, struct job_line *line)
{
    char basis[MP_FORMATTED_BYTES], balanced[64], in_time[64];
    bool both = answer->balanced != JOB_UNKNOWN && answer->in_time != JOB_UNKNOWN;
    char late[160] = "";

    if (answer->balanced == JOB_UNKNOWN && answer->in_time == JOB_UNKNOWN)
        return false;
    if (answer->in_time != JOB_UNKNOWN)
        snprintf(late, sizeof late, "%srank %" PRIu32 " %s: %s", both ? "; " : "",
                 answer->late_rank, answer->by_work ? "computing like the others" : "in time",
                 gain_of(answer, answer->in_time, in_time, sizeof in_time));
    snprintf(TEXT(line), "Balance gains, of %s: %s%s%s.",
             mp_format_time(basis, sizeof basis, answer->basis),
             answer->balanced == JOB_UNKNOWN ? "" : "equal work on all ranks: ",
             answer->balanced == JOB_UNKNOWN
                 ? ""
                 : gain_of(answer, answer->balanced, balanced, sizeof balanced),
             late);
    return true;
}

size_t job_answer_lines(const struct job_answer *answer, struct job_line lines[JOB_ANSWERS])
{
    size_t count = 0;

    if (!answer->steps)
        return 0;
    say_step(answer, &lines[count++]);
    say_late(answer, &lines[count++]);
    count += say_pace(answer, &lines[count]);
    say_waiting(answer, &lines[count++]);
    return count + say_gains(answer, &lines[count]);
}

void print_job_answer(const struct report_out *out, const struct job_answer *answer)
{
    struct job_line lines[JOB_ANSWERS];
    size_t count = answer ? job_answer_lines(answer, lines) : 0;

    for (size_t i = 0; i < count; i++) {
        fputs("======== ", out->file);
        foreign_put_text(out->file, lines[i].text);
        fputc('\n', out->file);
    }
}

static void json_answer(struct json_writer *json, const struct job_answer *answer)
{
    struct job_line lines[JOB_ANSWERS];
    size_t count = job_answer_lines(answer, lines);

    json_key_array(json, "answer");
    for (size_t i = 0; i < count; i++)
        json_text(json, lines[i].text);
    json_close_array(json);
}

void json_job_answer(struct json_writer *json, const struct job_answer *answer)
{
    if (!answer || !answer->steps) {
        JSON_FACTS(json, json_fact_null("job"));
        return;
    }
    bool late = answer->late != RANKS_NONE;
    json_key_object(json, "job");
    json_answer(json, answer);
    JSON_FACTS(json, FACT("ranks", answer->ranks), FACT("steps", answer->steps),
               FACT("rank", answer->rank), FACT("step_p50_ns", answer->step.p50),
               FACT("step_min_ns", answer->step.min), FACT("step_p99_ns", answer->step.p99),
               FACT("step_max_ns", answer->step.max), FACT("step_mean_ns", answer->basis),
               FACT_IF("late_rank", late, answer->late_rank),
               FACT_IF("last_instances", late, answer->last),
               FACT_IF("instances", late, answer->of), FACT_IF("behind_ns", late, answer->behind),
               FACT_IF("behind_percent", late, answer->share),
               FACT("cause", late ? lateness_cause_key(answer->cause) : NULL),
               FACT("activity", (const char *)answer->activity),
               FACT_IF("kernel_ratio", answer->pace > 0, answer->pace),
               FACT_IF("clock_ratio", !isnan(answer->clock), answer->clock),
               FACT("peer_ns", answer->waiting), FACT("peer_max_rank", answer->longest_rank),
               FACT("peer_max_ns", answer->longest),
               FACT_IF("balanced_gain_ns", answer->balanced != JOB_UNKNOWN, answer->balanced),
               FACT_IF("in_time_gain_ns", answer->in_time != JOB_UNKNOWN, answer->in_time),
               FLAG("in_time_by_work", answer->by_work));
    json_close_object(json);
}

/* ---- Rows and columns ---- */

/* What a rank did in all windows, or in one iteration. */
struct job_row {
    const struct job_rank *rank;
    double share;                /* of all windows: percent that the critical path is on the rank */
    uint64_t iteration, latency; /* from 1; ns */
    struct statistics peers;     /* of all iterations: ns of waiting for peers */
};

#define OF(member)   MEMBER(struct job_row, member)
#define RANK(member) THROUGH(struct job_row, rank, member)

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

        take(table, &(struct job_row){.rank = rank, .share = share});
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
             &(struct job_row){.rank = &all->ranks[i], .peers = statistics_of(of->values, count)});
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
            take(table, &(struct job_row){.rank = &report->each[i].ranks[k],
                                          .iteration = i + 1,
                                          .latency = window->end - window->begin});
    }
}

static void print_document(FILE *out, const struct job_iterations_report *report,
                           const struct report_layout *means, const struct report_layout *each)
{
    struct json_writer json;

    json_open_document(&json, out, JSON_LINES);
    json_job_answer(&json, report->job.answer);
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
    print_job_answer(out, report->job.answer);
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
