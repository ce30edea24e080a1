/* Prints how iterations were found, or what else repeats, and the statistics of each quantity.
 * Quantities that are parts of others are indented below them.
 */
#include "reports/iterations/print.h"

#include <inttypes.h>

#include "base/text/foreign.h"
#include "base/text/units.h"
#include "profile/common/statistics.h"
#include "profile/ranges.h"
#include "reports/common/headline.h"
#include "reports/common/quality.h"

#include "base/poison.h"

/* ---- What repeats and could be the iterations ----
 *
 * The best come first. The first column is what --iterations takes.
 */

#define OF(member) MEMBER(struct iterations_candidate, member)

static struct report_cell by_cell(const void *at, struct report_table *table)
{
    const struct iterations_report *report = table->of;
    const struct iterations_candidate *candidate = at;
    const char *key = iterations_way_key(candidate->way);
    const char *text = key;

    if (candidate->way == ITERATIONS_NVTX)
        text = report_say(table, "%s:%.200s%s%.80s", key, candidate->name,
                          candidate->domain ? "@" : "", candidate->domain ? candidate->domain : "");
    else if (candidate->way == ITERATIONS_GRAPH)
        text = report_say(table, "%s:%" PRIu64, key, candidate->graph);
    else if ((candidate->way == ITERATIONS_SYNCS || candidate->way == ITERATIONS_KERNELS) &&
             candidate->thread != DEPS_NONE)
        text = report_say(table, "%s:%" PRIu64, key, report->deps->lanes[candidate->thread].tid);
    return report_text_cell(text);
}

/* The column's value is a share from 0 to 1. */
static struct report_cell percent_cell(const void *at, struct report_table *table)
{
    struct report_cell cell = report_value_cell(at, table);

    cell.real *= 100;
    return cell;
}

static struct report_cell chosen_cell(const void *at, struct report_table *table)
{
    const struct iterations *found = ((const struct iterations_report *)table->of)->iterations;
    const struct iterations_candidate *candidate = at;

    return report_number_cell((size_t)(candidate - found->candidates) == found->chosen);
}

static const struct report_column candidate_columns[] = {
    COLUMN("By", "by", TEXT, 24, .cell = by_cell, .left = true),
    COLUMN("Count", "count", COUNT, 8, OF(count)),
    COLUMN("Threads", "threads", COUNT, 7, OF(threads)),
    COLUMN("Coverage", "coverage_percent", PERCENT, 8, OF(coverage), .cell = percent_cell),
    COLUMN("Regular", "regularity_percent", PERCENT, 8, OF(regularity), .cell = percent_cell),
    COLUMN("Score", "score_percent", PERCENT, 8, OF(score), UNLESS_ZERO, .cell = percent_cell),
    COLUMN("Chosen", "chosen", BOOL, 6, .cell = chosen_cell),
};

static void print_candidate_notes(const struct report_out *out,
                                  const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;
    size_t libraries = 0;

    for (size_t i = 0; i < found->candidate_count; i++)
        libraries += found->candidates[i].library;
    if (libraries)
        print_note(out, report->trace,
                   "Note: %s without a score %s of a library's NVTX domain, which does not compete "
                   "with the program's own.",
                   mp_count(libraries).text, libraries == 1 ? "is" : "are");
    if (found->candidates_left)
        print_note(out, report->trace, "%s more score less.",
                   mp_count(found->candidates_left).text);
}

static void print_candidates(const struct report_out *out, const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;

    if (!found->candidate_count)
        print_note(out, report->trace, "Nothing repeats: %s", found->why_whole);
    else if (report_has_titles(out))
        print_note(out, report->trace, "What repeats, and how much of the GPU work it covers:");
    if (!found->candidate_count && out->format == REPORT_TEXT)
        return;
    report_array(out, &(struct report_layout){REPORT_COLUMNS(candidate_columns), .of = report},
                 found->candidates, found->candidate_count, sizeof *found->candidates);
    if (out->format == REPORT_TEXT)
        print_candidate_notes(out, report);
}

static void json_candidates(struct json_writer *json, const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;

    report_json_array(json, "candidates",
                      &(struct report_layout){REPORT_COLUMNS(candidate_columns), .of = report},
                      found->candidates, found->candidate_count, sizeof *found->candidates);
}

/* ---- Threads, if iterations are spread over several ---- */

/* In text the busiest ones. */
#define THREADS_SHOWN 16

#define ROW(member) MEMBER(struct iterations_row, member)

static struct report_cell thread_cell(const void *at, struct report_table *table)
{
    const struct iterations_report *report = table->of;
    uint32_t thread = ((const struct iterations_row *)at)->thread;

    return thread == DEPS_NONE ? report_absent_cell()
                               : report_number_cell(report->deps->lanes[thread].tid);
}

static struct report_cell name_cell(const void *at, struct report_table *table)
{
    const struct deps *deps = ((const struct iterations_report *)table->of)->deps;
    uint32_t lane = ((const struct iterations_row *)at)->thread;
    const struct definition_thread *thread =
        lane == DEPS_NONE ? NULL
                          : dense_at(&deps->profile->definitions.threads, deps->lanes[lane].id);

    return report_text_cell(thread && thread->name
                                ? definitions_text(&deps->profile->definitions, thread->name)
                                : NULL);
}

static struct report_cell busy_cell(const void *at, struct report_table *table)
{
    return report_number_if(iterations_is_known(table->of, ITERATION_BUSY),
                            ((const struct iterations_row *)at)->busy);
}

static const struct report_column thread_columns[] = {
    COLUMN("Thread", "thread", ID, 9, .cell = thread_cell),
    COLUMN("Name", "name", TEXT, 12, .cell = name_cell, .left = true),
    COLUMN("Count", "count", COUNT, 7, ROW(count)),
    COLUMN("GPU busy", "busy_ns", TIME, 8, .cell = busy_cell),
    COLUMN("Mean", "mean_ns", MEAN, 8, ROW(latency.mean)),
    COLUMN("P50", "p50_ns", TIME, 8, ROW(latency.p50)),
    COLUMN("P90", "p90_ns", TIME, 8, ROW(latency.p90)),
    COLUMN("P99", "p99_ns", TIME, 8, ROW(latency.p99)),
    COLUMN("Max", "max_ns", TIME, 8, ROW(latency.max)),
};

/* Nothing if one thread has all iterations. */
static void print_threads(const struct report_out *out, const struct iterations_report *report)
{
    size_t threads = report->iterations->threads;
    bool cut = out->format == REPORT_TEXT && threads > THREADS_SHOWN;
    size_t count = cut ? THREADS_SHOWN : threads;
    const struct report_layout layout = {REPORT_COLUMNS(thread_columns), .of = report,
                                         .name = "threads", .measuring = REPORT_FIT_UNITS};

    if (threads < 2 && report_has_titles(out))
        return;
    if (report_has_titles(out))
        print_note(out, report->trace, "Latency by thread%s%s%s%s:", cut ? ", the " : "",
                   cut ? mp_count(count).text : "", cut ? " busiest of " : "",
                   cut ? mp_count(threads).text : "");
    report_array(out, &layout, report->threads, count, sizeof *report->threads);
}

static void json_threads(struct json_writer *json, const struct iterations_report *report)
{
    report_json_array(json, "by_thread",
                      &(struct report_layout){REPORT_COLUMNS(thread_columns), .of = report},
                      report->threads, report->iterations->threads, sizeof *report->threads);
}

/* ---- The JSON document ---- */

#define JSON_LINES 2 /* the document and its arrays have each item on its own line */

static void json_way(struct json_writer *json, const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;

    JSON_FACTS(
        json, FACT("by", iterations_way_key(found->way)), FLAG("asked_for", !found->found),
        FACT("name", found->name), FACT("domain", found->domain),
        FACT_IF("coverage_percent", !quality_gap(&report->deps->quality), 100 * found->coverage),
        FACT_IF("graph", found->way == ITERATIONS_GRAPH, found->graph),
        FACT_IF("kernel_period", found->way == ITERATIONS_KERNELS, found->period),
        FACT_IF("wait_period", found->way == ITERATIONS_SYNCS, found->period),
        FACT_IF("why_whole", *found->why_whole, found->why_whole));
}

static void json_counts(struct json_writer *json, const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;
    const struct iterations_summary *summary = report->summary;

    JSON_FACTS(json, FACT("count", found->count), FACT("threads", found->threads),
               FACT("at_once", summary->at_once), FACT("max_at_once", summary->max_at_once),
               FACT("unfinished", found->unfinished), FACT("pipelined", found->pipelined),
               FACT("outside", found->outside), FACT("begin_ns", summary->begin),
               FACT("end_ns", summary->end),
               FACT_IF("throughput_per_second", summary->throughput > 0, summary->throughput),
               FACT_IF("period_mean_ns", summary->period > 0, summary->period),
               FACT("median", (uint64_t)summary->median + 1),
               FACT("outlier_limit_ns", summary->limit));
}

static void json_statistics(struct json_writer *json, const struct iterations_report *report)
{
    json_key_object(json, "statistics");
    for (int i = 0; i < ITERATION_QUANTITIES; i++) {
        enum iteration_quantity quantity = (enum iteration_quantity)i;
        const char *key = iteration_quantity_key(quantity);

        if (iterations_is_known(report, quantity))
            JSON_KEY_OBJECT(json, key, STATISTICS_FACTS(&report->summary->statistics[i], ""));
        else
            JSON_FACTS(json, json_fact_null(key));
    }
    json_close_object(json);
}

static void print_json(FILE *out, const struct iterations_report *report)
{
    const struct deps *deps = report->deps;
    const struct host_code host = iterations_host(report);
    struct json_writer json;

    json_open_document(&json, out, JSON_LINES);
    json_head(&json, report->trace, &deps->quality, &deps->profile->definitions, report->range,
              ranges_count(&deps->profile->ranges));
    if (report->candidates) {
        json_candidates(&json, report);
        json_close_document(&json);
        return;
    }
    json_way(&json, report);
    json_counts(&json, report);
    JSON_FACTS(&json, FACT("no_calls", deps->no_calls),
               FACT("unlaunched", deps->counts.unlaunched));
    json_headline(&json, &report->summary->headline);
    json_recording_cost(&json, report->baseline, report->recording_cost);
    json_statistics(&json, report);
    json_iterations_outliers(&json, report);
    json_threads(&json, report);
    json_host_code(&json, &host);
    if (report->each)
        json_iterations_each(&json, report);
    json_close_document(&json);
}

/* ---- Lines ---- */

static void print_what(FILE *out, const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;

    switch (found->way) {
    case ITERATIONS_NVTX:
        fputs("Iterations by NVTX range \"", out);
        foreign_put_text(out, found->name);
        fputs("\"", out);
        if (found->domain) {
            fputs(" of domain \"", out);
            foreign_put_text(out, found->domain);
            fputs("\"", out);
        }
        break;
    case ITERATIONS_RANGES:
        fputs("Iterations by capture range", out);
        break;
    case ITERATIONS_GRAPH:
        fprintf(out, "Iterations by launch of CUDA graph %" PRIu64, found->graph);
        break;
    case ITERATIONS_KERNELS:
        fprintf(out,
                "Iterations by sequence of %s kernel%s that repeats (%s"
                " of %s kernels)",
                mp_count(found->period).text, found->period == 1 ? "" : "s",
                mp_count(found->kernels).text, mp_count(found->kernels_all).text);
        break;
    case ITERATIONS_SYNCS:
        if (found->period == 1)
            fputs("Iterations by wait of a thread for its work", out);
        else
            fprintf(out, "Iterations by %s waits of a thread that repeat",
                    mp_count(found->period).text);
        break;
    case ITERATIONS_REQUESTS:
        fputs("Requests: what a thread launches up to the wait for it", out);
        break;
    case ITERATIONS_WHOLE:
        if (found->count > 1)
            fputs("Each capture range counts as one iteration", out);
        else
            fprintf(out, "One iteration, the whole %s",
                    ranges_count(&report->deps->profile->ranges) ? "capture range" : "trace");
        break;
    case ITERATIONS_AUTO:
    case ITERATIONS_WAYS:
    default:
        break;
    }
}

void print_iterations_way(FILE *out, const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;

    print_what(out, report);
    if (quality_gap(&report->deps->quality))
        return;
    if (found->way != ITERATIONS_WHOLE)
        fprintf(out, ": %s of the GPU work%s", mp_percent(100 * found->coverage).text,
                found->found ? "" : ", as asked for");
    else if (*found->why_whole)
        fprintf(out, ": %s", found->why_whole);
}

void print_iterations_warning(const struct report_out *out, const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;

    if (report->deps->count > report->deps->host_count && !quality_gap(&report->deps->quality) &&
        found->coverage < ITERATIONS_ENOUGH_COVERAGE)
        print_note(out, report->trace,
                   "Warning: %s of the GPU work is in no iteration; iters --candidates lists "
                   "what else repeats.",
                   mp_percent(100 * (1 - found->coverage)).text);
}

static const char *unit_of(const struct iterations *found)
{
    return found->way == ITERATIONS_REQUESTS ? "request" : "iteration";
}

void print_iterations_headline(const struct report_out *out, const struct iterations_report *report)
{
    const struct iterations_headline *headline = &report->summary->headline;
    char text[HEADLINE_BYTES];

    if (!headline->queued && headline->split == ITERATIONS_ALIKE)
        return;
    print_note(out, report->trace, "%s.",
               describe_headline(headline, unit_of(report->iterations),
                                 report->summary->statistics[ITERATION_LATENCY].p50, text));
}

/* "1600 requests in 8 threads, 4.52 at once, at most 8" */
static void print_count(FILE *out, const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;

    fprintf(out, "%s %s%s", mp_count(found->count).text, unit_of(found),
            found->count == 1 ? "" : "s");
    if (found->threads > 1 || found->way == ITERATIONS_REQUESTS)
        fprintf(out, " in %s thread%s, %s at once, at most %s", mp_count(found->threads).text,
                found->threads == 1 ? "" : "s", mp_rounded(report->summary->at_once).text,
                mp_count(report->summary->max_at_once).text);
}

static void print_head_lines(const struct report_out *out, const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;
    const struct iterations_summary *summary = report->summary;
    char period[MP_FORMATTED_BYTES];

    if (!report_has_titles(out)) {
        print_iterations_warning(out, report);
        return;
    }
    print_prefix(out, report->trace);
    print_iterations_way(out->file, report);
    fputc('\n', out->file);
    print_iterations_warning(out, report);
    print_prefix(out, report->trace);
    print_count(out->file, report);
    if (found->count > 1)
        fprintf(out->file, ", %s a second", mp_rounded(summary->throughput).text);
    if (summary->period > 0)
        fprintf(out->file, ", one begins every %s",
                mp_format_time_mean(period, sizeof period, summary->period));
    if (found->pipelined)
        fprintf(out->file, "; of %s the next one begins before the end",
                mp_count(found->pipelined).text);
    else if (found->count > 1)
        fputs("; none begins before the previous one ends", out->file);
    fputc('\n', out->file);
    print_iterations_headline(out, report);
    print_recording_cost(out, report->trace, report->baseline, report->recording_cost);
}

/* ---- The tables of statistics ---- */

/* How far the name of a quantity is indented: by one step for each quantity that it is part of. */
static unsigned depth_of(enum iteration_quantity quantity)
{
    if (quantity == ITERATION_API || (quantity >= ITERATION_KERNEL && quantity < ITERATION_OTHERS))
        return 2;
    return quantity > ITERATION_IDLE && quantity < ITERATION_TIMES ? 2 : 0;
}

#define STATISTIC(title, kind, width, member, ...)                                                 \
    COLUMN(title, NULL, kind, width, THROUGH(struct shown_quantity, statistics, member),           \
           __VA_ARGS__)
#define STATISTICS(mean_kind, mean_width, kind)                                                    \
    STATISTIC("Mean", mean_kind, mean_width, mean),                                                \
        STATISTIC("Std", mean_kind, 8, deviation, .drop = 6),                                      \
        STATISTIC("Min", kind, 8, min, .drop = 4), STATISTIC("P50", kind, 8, p50),                 \
        STATISTIC("P90", kind, 8, p90, .drop = 3), STATISTIC("P95", kind, 8, p95, .drop = 5),      \
        STATISTIC("P99", kind, 8, p99), STATISTIC("Max", kind, 8, max, .drop = 2)

struct shown_quantity {
    enum iteration_quantity quantity;
    const struct statistics *statistics;
    double share; /* percent of the mean latency */
};

static struct report_cell quantity_cell(const void *at, struct report_table *table)
{
    const struct shown_quantity *row = at;
    unsigned depth = table->format == REPORT_TEXT ? depth_of(row->quantity) : 0;

    return report_text_cell(
        report_say(table, "%*s%s", (int)depth, "", iteration_quantity_name(row->quantity)));
}

static const struct report_column time_columns[] = {
    COLUMN("Time", "quantity", TEXT, 25, .cell = quantity_cell, .left = true),
    COLUMN("Share", NULL, PERCENT, 7, MEMBER(struct shown_quantity, share), .share = true),
    STATISTICS(MEAN, 8, TIME),
};

static const struct report_column count_columns[] = {
    COLUMN("Count", "quantity", TEXT, 25, .cell = quantity_cell, .left = true),
    STATISTICS(REAL, 17, COUNT),
};

/* If causes are known, the row for unknown causes is always empty and is left out. */
static bool is_shown(const struct iterations_report *report, enum iteration_quantity quantity)
{
    return iterations_is_known(report, quantity) &&
           (quantity != ITERATION_IDLE_UNKNOWN || report->summary->statistics[quantity].max);
}

static void each_quantity(struct report_table *table, report_take *take,
                          const struct iterations_report *report, int first, int end)
{
    const struct statistics *statistics = report->summary->statistics;
    double whole = statistics[ITERATION_LATENCY].mean;

    for (int i = first; i < end; i++) {
        double share = whole > 0 ? 100 * statistics[i].mean / whole : 0;

        if (is_shown(report, (enum iteration_quantity)i))
            take(table,
                 &(struct shown_quantity){(enum iteration_quantity)i, &statistics[i], share});
    }
}

static void each_time(struct report_table *table, report_take *take)
{
    each_quantity(table, take, table->of, 0, ITERATION_TIMES);
}

static void each_count(struct report_table *table, report_take *take)
{
    const struct iterations_report *report = table->of;

    if (take != report_put || !quality_gap(&report->deps->quality))
        each_quantity(table, take, report, ITERATION_TIMES, ITERATION_QUANTITIES);
}

static void print_statistics(const struct report_out *out, const struct iterations_report *report)
{
    report_print(out,
                 &(struct report_layout){REPORT_COLUMNS(time_columns), .of = report,
                                         .measuring = REPORT_FIT_UNITS},
                 each_time);
    if (!quality_gap(&report->deps->quality) || out->format == REPORT_CSV)
        report_print(
            out,
            &(struct report_layout){REPORT_COLUMNS(count_columns), .of = report, .name = "counts"},
            each_count);
}

/* ---- Notes ---- */

static void print_notes(const struct report_out *out, const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;
    const struct deps *deps = report->deps;

    if (quality_gap(&deps->quality))
        print_gap(out, report->trace, quality_gap(&deps->quality),
                  "busy time and no causes of idle time");
    else if (deps->count == deps->host_count)
        print_note(out, report->trace, "No GPU work in the trace.");
    if (deps->no_calls)
        print_note(out, report->trace,
                   "No API calls in the trace: work belongs to the iteration in which "
                   "it began, and why the GPU was idle is not known.");
    else if (deps->counts.unlaunched)
        print_note(out, report->trace,
                   "%s device activit%s no launching call in the trace: they belong to "
                   "the iteration in which they began.",
                   mp_count(deps->counts.unlaunched).text,
                   deps->counts.unlaunched == 1 ? "y has" : "ies have");
    if (found->unfinished)
        print_note(out, report->trace, "%s more %s no begin or no end in the trace.",
                   mp_count(found->unfinished).text, found->unfinished == 1 ? "has" : "have");
    if (found->outside)
        print_note(out, report->trace, "%s device activit%s to no iteration.",
                   mp_count(found->outside).text, found->outside == 1 ? "y belongs" : "ies belong");
}

struct iterations_report iterations_report_of(const struct mp_trace *trace, const struct deps *deps,
                                              const struct iterations_study *study)
{
    return (struct iterations_report){.trace = trace,
                                      .deps = deps,
                                      .iterations = &study->iterations,
                                      .measures = study->measures,
                                      .summary = &study->summary,
                                      .threads = study->threads};
}

void print_iterations(const struct report_out *out, const struct iterations_report *report)
{
    const struct host_code host = iterations_host(report);

    if (out->format == REPORT_JSON) {
        print_json(out->file, report);
        return;
    }
    print_head(out, report->trace, &report->deps->quality, report->range,
               ranges_count(&report->deps->profile->ranges));
    if (report->candidates) {
        print_candidates(out, report);
        return;
    }
    print_head_lines(out, report);
    if (report->each) {
        print_iterations_each(out, report);
    } else {
        print_statistics(out, report);
        print_iterations_outliers(out, report);
        print_threads(out, report);
        print_host_code(out, &host);
    }
    if (out->format == REPORT_TEXT)
        print_notes(out, report);
}
