/* nvprof's dependency analysis: the table of names, the order of the sections, and the JSON
 * document around all of them.
 */
#include "reports/deps/print.h"

#include "profile/ranges.h"
#include "reports/common/quality.h"
#include "reports/deps/rows.h"
#include "reports/deps/sections.h"

#include "base/poison.h"

/* Containers that have each item on its own line: the document and its arrays. */
#define JSON_LINES 2

/* nvprof 11's columns and widths. */
static const struct report_column columns[] = {
    {.title = "Critical path(%)", .kind = REPORT_CELL_PERCENT, .width = 16, .share = true},
    {.title = "Critical path",
     .key = "critical_ns",
     .kind = REPORT_CELL_TIME,
     .width = 13,
     .decimals = true},
    {.title = "Waiting time",
     .key = "waiting_ns",
     .kind = REPORT_CELL_TIME,
     .width = 12,
     .decimals = true,
     .share = true},
    {.title = "Name", .kind = REPORT_CELL_TEXT, .width = 4},
};

#define COLUMN_COUNT (sizeof columns / sizeof *columns)

/* ---- The table of names ---- */

/* Passes every row to report_row or report_measure. */
static void deps_each_row(struct report_table *table, const struct deps_table_rows *rows,
                          uint64_t window,
                          void (*take)(struct report_table *, const struct report_cell *))
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct deps_table_row *row = &rows->items[i];
        double percent = deps_percent((double)row->numbers.critical, (double)window);
        struct report_cell cells[COLUMN_COUNT] = {
            report_real_cell(percent), report_number_cell(row->numbers.critical),
            report_number_cell(deps_row_waiting(&row->numbers)), report_text_cell(row->name)};
        take(table, cells);
    }
}

static enum mp_status print_names(const struct report_out *out, const struct deps_report *report)
{
    struct report_table table;
    struct deps_table_rows rows;

    if (report->thread)
        print_deps_title(out, report, "Dependency Analysis of thread '%s':", report->thread);
    else
        print_deps_title(out, report, "Dependency Analysis:");
    if (!report->deps->count) {
        print_csv_prefix(out, report->trace);
        fputs("No activities were profiled.\n", out->file);
        if (report_has_titles(out))
            return MP_OK;
    }
    MP_TRY(deps_rows_build(report->deps, report->result, report->parts, &rows));
    report_begin(&table, out, columns, COLUMN_COUNT);
    if (out->format == REPORT_CSV)
        deps_each_row(&table, &rows, report->result->window, report_measure);
    report_header(&table);
    deps_each_row(&table, &rows, report->result->window, report_row);
    report_end(&table);
    deps_rows_free(&rows);
    if (report->job)
        print_job_ranks(out, report->job);
    if (report->parts) {
        print_deps_host(out, report);
        print_deps_latencies(out, report);
    }
    return MP_OK;
}

/* ---- JSON ---- */

static void json_windows(struct json_writer *json, const struct deps_report *report)
{
    json_key_array(json, "windows");
    for (size_t i = 0; i < report->windows->count; i++) {
        const struct deps_window *window = &report->windows->items[i];

        json_open_object(json);
        json_deps_window(json, report, window);
        JSON_FACTS(json, FACT("begin_ns", window->begin), FACT("end_ns", window->end),
                   FACT("window_ns", window->end - window->begin));
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_row(struct json_writer *json, const struct deps_table_row *row)
{
    JSON_OBJECT(json, FACT("name", row->name), FACT("critical_ns", row->numbers.critical),
                FACT("waiting_ns", row->numbers.waiting),
                FACT("device_waiting_ns", row->numbers.device_waiting),
                FACT("calls", row->numbers.calls));
}

/* The parts are an object of their own, so the rows have <Other> as a whole. */
static enum mp_status json_rows(struct json_writer *json, const struct deps_report *report)
{
    struct deps_table_rows rows;

    MP_TRY(deps_rows_build(report->deps, report->result, false, &rows));
    json_key_array(json, "rows");
    for (size_t i = 0; i < rows.count; i++)
        json_row(json, &rows.items[i]);
    json_close_array(json);
    deps_rows_free(&rows);
    json_key_object(json, "parts");
    for (int part = 0; part < DEPS_PARTS; part++)
        JSON_FACTS(json, FACT(deps_part_key(part), report->result->parts[part]));
    json_close_object(json);
    json_deps_host(json, report);
    return MP_OK;
}

static void json_counts(struct json_writer *json, const struct deps_counts *counts)
{
    JSON_FACTS(
        json, FACT("dependencies", counts->dependencies), FACT("clamped", counts->clamped),
        FACT("contradicted", counts->contradicted), FACT("overlapping", counts->overlapping),
        FACT("doubtful_percent", deps_doubtful(counts)), FACT("undecided", counts->undecided),
        FACT("unknown_wakers", counts->unknown_wakers), FACT("wrong_wakers", counts->wrong_wakers),
        FACT("unknown_events", counts->unknown_events), FACT("unlaunched", counts->unlaunched),
        FACT("unknown_graphs", counts->unknown_graphs));
}

static enum mp_status json_sections(struct json_writer *json, const struct deps_report *report)
{
    if (report->critical) {
        json_key(json, "activities");
        MP_TRY(json_deps_trace(json, report));
    }
    if (report->iterations) {
        json_key(json, "iterations");
        MP_TRY(json_deps_iterations(json, report));
    }
    if (report->lengths) {
        json_key(json, "what_if");
        MP_TRY(json_deps_what_if(json, report));
    }
    if (report->gains) {
        json_key(json, "top");
        json_deps_top(json, report);
    }
    return MP_OK;
}

/* In place of what rests on the times of kernels. */
static void json_nothing(struct json_writer *json)
{
    JSON_FACTS(json, json_fact_null("window_ns"), json_fact_null("windows"), json_fact_null("rows"),
               json_fact_null("parts"), json_fact_null("latencies"), json_fact_null("activities"),
               json_fact_null("iterations"), json_fact_null("what_if"), json_fact_null("top"));
    json_close_document(json);
}

static enum mp_status deps_print_json(FILE *out, const struct deps_report *report)
{
    const struct deps *deps = report->deps;
    struct json_writer json;

    json_open_document(&json, out, JSON_LINES);
    if (report->job)
        json_job_head(&json, report->job);
    else
        json_head(&json, report->trace, &deps->quality, &deps->definitions, report->range,
                  ranges_count(&deps->ranges));
    if (quality_gap(&deps->quality)) {
        json_nothing(&json);
        return MP_OK;
    }
    JSON_FACTS(&json, FACT_IF("thread", report->thread, report->thread),
               FACT("window_ns", report->result->window));
    if (report->job)
        json_job_ranks(&json, report->job);
    json_windows(&json, report);
    MP_TRY(json_rows(&json, report));
    json_counts(&json, &deps->counts);
    json_key(&json, "latencies");
    json_deps_latencies(&json, report);
    MP_TRY(json_sections(&json, report));
    json_close_document(&json);
    return MP_OK;
}

/* ---- The report ---- */

/* Prints what was asked for. What-if and --gains replace the table. */
static enum mp_status print_sections(const struct report_out *out, const struct deps_report *report)
{
    bool alone = !report->lengths && (!report->gains || report->gains_too);

    if (quality_gap(&report->deps->quality)) {
        print_gap(out, report->trace, quality_gap(&report->deps->quality), "critical path");
        if (report_has_titles(out))
            return MP_OK;
    }
    if (report->critical)
        return print_deps_trace(out, report);
    if (report->iterations && (report->slowest || alone))
        MP_TRY(print_deps_iterations(out, report));
    else if (alone)
        MP_TRY(print_names(out, report));
    if (report->slowest)
        MP_TRY(print_deps_slowest(out, report));
    if (report->lengths)
        MP_TRY(print_deps_what_if(out, report));
    if (report->gains)
        print_deps_top(out, report);
    return MP_OK;
}

static void print_deps_head(const struct report_out *out, const struct deps_report *report)
{
    const struct deps *deps = report->deps;

    if (report->job) {
        print_job_head(out, report->job);
        return;
    }
    print_head(out, report->trace, &deps->quality, report->range, ranges_count(&deps->ranges));
}

enum mp_status print_deps(const struct report_out *out, const struct deps_report *report)
{
    const struct deps *deps = report->deps;

    if (out->format == REPORT_JSON)
        return deps_print_json(out->file, report);
    if (report->section)
        return print_sections(out, report);
    if (!quality_gap(&deps->quality))
        print_deps_doubts(out, report);
    print_deps_head(out, report);
    MP_TRY(print_sections(out, report));
    if (out->format == REPORT_TEXT && !quality_gap(&deps->quality))
        print_deps_notes(out, report);
    return MP_OK;
}
