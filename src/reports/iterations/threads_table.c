/* Prints how the iterations are spread over threads, if there are several. */
#include "reports/iterations/print.h"

#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

/* In text the busiest ones. */
#define THREADS_SHOWN 16

#define OF(member) MEMBER(struct iterations_row, member)

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
        lane == DEPS_NONE ? NULL : dense_at(&deps->definitions.threads, deps->lanes[lane].id);

    return report_text_cell(
        thread && thread->name ? definitions_text(&deps->definitions, thread->name) : NULL);
}

static struct report_cell busy_cell(const void *at, struct report_table *table)
{
    return report_number_if(iterations_is_known(table->of, ITERATION_BUSY),
                            ((const struct iterations_row *)at)->busy);
}

static const struct report_column columns[] = {
    COLUMN("Thread", "thread", ID, 9, .cell = thread_cell),
    COLUMN("Name", "name", TEXT, 12, .cell = name_cell, .left = true),
    COLUMN("Count", "count", COUNT, 7, OF(count)),
    COLUMN("GPU busy", "busy_ns", TIME, 8, .cell = busy_cell),
    COLUMN("Mean", "mean_ns", MEAN, 8, OF(latency.mean)),
    COLUMN("P50", "p50_ns", TIME, 8, OF(latency.p50)),
    COLUMN("P90", "p90_ns", TIME, 8, OF(latency.p90)),
    COLUMN("P99", "p99_ns", TIME, 8, OF(latency.p99)),
    COLUMN("Max", "max_ns", TIME, 8, OF(latency.max)),
};

void print_iterations_threads(const struct report_out *out, const struct iterations_report *report)
{
    size_t threads = report->iterations->threads;
    bool cut = out->format == REPORT_TEXT && threads > THREADS_SHOWN;
    size_t count = cut ? THREADS_SHOWN : threads;
    const struct report_layout layout = {REPORT_COLUMNS(columns), .of = report, .name = "threads",
                                         .measuring = REPORT_FIT_UNITS};

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
    report_array(out, &layout, report->threads, count, sizeof *report->threads);
}

void json_iterations_threads(struct json_writer *json, const struct iterations_report *report)
{
    report_json_array(json, "by_thread",
                      &(struct report_layout){REPORT_COLUMNS(columns), .of = report},
                      report->threads, report->iterations->threads, sizeof *report->threads);
}
