/* What-if: lengths before and after, and which activities would gain most. */
#include <stdlib.h>
#include <string.h>

#include "base/text/strings.h"
#include "profile/common/statistics.h"
#include "reports/common/quality.h"
#include "reports/deps/sections.h"

#include "base/poison.h"

/* ---- What if ---- */

static const struct report_column columns[] = {
    {.title = "Now", .kind = REPORT_CELL_MEAN, .width = 13},
    {.title = "New", .kind = REPORT_CELL_MEAN, .width = 13},
    {.title = "Difference", .kind = REPORT_CELL_CHANGE, .width = 13},
    {.title = "Difference(%)", .kind = REPORT_CELL_PERCENT, .width = 13},
    {.title = "Name", .kind = REPORT_CELL_TEXT, .width = 4},
};

#define COLUMN_COUNT (sizeof columns / sizeof *columns)

struct outcome {
    const char *name;
    double now; /* ns; without the change, on the same basis */
    double changed;
};

static uint64_t total_of(const struct deps_report *report)
{
    uint64_t total = 0;

    for (size_t i = 0; i < report->windows->count; i++)
        total += report->lengths[i];
    return total;
}

static enum mp_status new_statistics(const struct deps_report *report,
                                     struct statistics *statistics)
{
    size_t count = report->windows->count;
    uint64_t *lengths = calloc(count + 1, sizeof *lengths);

    if (!lengths)
        return MP_ERR_MEMORY;
    memcpy(lengths, report->lengths, count * sizeof *lengths);
    *statistics = statistics_of(lengths, count);
    free(lengths);
    return MP_OK;
}

static void take_outcome(struct report_table *table, const struct outcome *outcome,
                         void (*take)(struct report_table *, const struct report_cell *))
{
    double difference = outcome->changed - outcome->now;
    int64_t whole = (int64_t)(difference < 0 ? difference - 0.5 : difference + 0.5);
    struct report_cell cells[COLUMN_COUNT] = {
        report_real_cell(outcome->now), report_real_cell(outcome->changed),
        report_number_cell((uint64_t)whole),
        report_real_cell(deps_percent(difference, outcome->now)), report_text_cell(outcome->name)};

    take(table, cells);
}

static void print_outcomes(const struct report_out *out, const struct outcome *outcomes,
                           size_t count)
{
    struct report_table table;

    report_begin(&table, out, columns, COLUMN_COUNT);
    for (size_t i = 0; i < count && out->format == REPORT_CSV; i++)
        take_outcome(&table, &outcomes[i], report_measure);
    report_header(&table);
    for (size_t i = 0; i < count; i++)
        take_outcome(&table, &outcomes[i], report_row);
    report_end(&table);
}

static void print_title(const struct report_out *out, const struct deps_report *report)
{
    if (!report_has_titles(out))
        return;
    print_prefix(out, report->trace);
    for (size_t i = 0; i < report->change_count; i++)
        fprintf(out->file, "%s%s", i ? ", " : "What if ", report->changes[i]);
    fputs(":\n", out->file);
}

/* Says why a change of the launch latency gained nothing: the calls that launch still take their
 * time. */
static void print_what_stays(const struct report_out *out, const struct deps_report *report)
{
    bool latency = false;

    for (size_t i = 0; i < report->change_count; i++)
        latency |= mp_text_starts_with(report->changes[i], "launch_latency=");
    if (latency && report_has_titles(out) && total_of(report) == report->result->window)
        print_note(out, report->trace,
                   "Note: the calls that launch stay; a change such as cudaLaunchKernel=0 takes "
                   "them away.");
}

enum mp_status print_deps_what_if(const struct report_out *out, const struct deps_report *report)
{
    struct outcome outcomes[4] = {
        {"Total", (double)report->result->window, (double)total_of(report)}};
    struct statistics after = {0};

    MP_TRY(new_statistics(report, &after));
    if (report->iterations) {
        const struct statistics *before = &report->iterations->window;
        outcomes[1] = (struct outcome){"Iteration, mean", before->mean, after.mean};
        outcomes[2] = (struct outcome){"Iteration, P50", (double)before->p50, (double)after.p50};
        outcomes[3] = (struct outcome){"Iteration, P99", (double)before->p99, (double)after.p99};
    }
    print_title(out, report);
    print_outcomes(out, outcomes, report->iterations ? 4 : 1);
    print_what_stays(out, report);
    return MP_OK;
}

static void json_new_windows(struct json_writer *json, const struct deps_report *report)
{
    json_key_array(json, "windows");
    for (size_t i = 0; i < report->windows->count; i++) {
        const struct deps_window *window = &report->windows->items[i];

        json_open_object(json);
        json_deps_window(json, report, window);
        JSON_FACTS(json, FACT("now_ns", window->end - window->begin),
                   FACT("new_ns", report->lengths[i]));
        json_close_object(json);
    }
    json_close_array(json);
}

enum mp_status json_deps_what_if(struct json_writer *json, const struct deps_report *report)
{
    struct statistics after;
    unsigned lines = json->lines;

    MP_TRY(new_statistics(report, &after));
    json->lines = lines + 1;
    json_open_object(json);
    json_key_array(json, "changes");
    for (size_t i = 0; i < report->change_count; i++)
        json_text(json, report->changes[i]);
    json_close_array(json);
    JSON_FACTS(json, FACT("now_ns", report->result->window), FACT("new_ns", total_of(report)));
    json_new_windows(json, report);
    if (report->iterations)
        JSON_KEY_OBJECT(json, "iterations", FACT("count", report->windows->count),
                        STATISTICS_MIDDLE(&after, true));
    json_close_object(json);
    json->lines = lines;
    return MP_OK;
}

/* ---- What would gain most ---- */

static const struct report_column gain_columns[] = {
    {.title = "Gain(%)", .kind = REPORT_CELL_PERCENT, .width = 7},
    {.title = "Gain", .key = "gain_ns", .kind = REPORT_CELL_TIME, .width = 13},
    {.title = "Critical path", .key = "critical_ns", .kind = REPORT_CELL_TIME, .width = 13},
    {.title = "Name", .key = "name", .kind = REPORT_CELL_TEXT, .width = 4},
};

#define GAIN_COLUMN_COUNT (sizeof gain_columns / sizeof *gain_columns)

/* Passes every row to report_row or report_measure. */
static void each_gain(struct report_table *table, const struct deps_report *report,
                      void (*take)(struct report_table *, const struct report_cell *))
{
    for (size_t i = 0; i < report->gain_count; i++) {
        const struct deps_gain *gain = &report->gains[i];
        double percent = deps_percent((double)gain->gain, (double)report->result->window);
        struct report_cell cells[GAIN_COLUMN_COUNT] = {
            report_real_cell(percent), report_number_cell(gain->gain),
            report_number_cell(gain->critical),
            report_text_cell(mp_intern_get(&report->deps->names, gain->name, NULL))};
        take(table, cells);
    }
}

void print_deps_top(const struct report_out *out, const struct deps_report *report)
{
    struct report_table table;

    print_deps_title(out, report, "What if one activity were twice as fast:");
    if (!report->gain_count && report_has_titles(out)) {
        fputs("No activity would make a difference.\n", out->file);
        return;
    }
    report_begin(&table, out, gain_columns, GAIN_COLUMN_COUNT);
    table.name = report->lengths || report->slowest || report->gains_too ? "gains" : NULL;
    if (out->format == REPORT_CSV)
        each_gain(&table, report, report_measure);
    report_header(&table);
    each_gain(&table, report, report_row);
    report_end(&table);
}

void json_deps_top(struct json_writer *json, const struct deps_report *report)
{
    struct report_table table;

    json_open_array(json);
    report_begin_json(&table, json, gain_columns, GAIN_COLUMN_COUNT);
    each_gain(&table, report, report_row);
    report_end(&table);
    json_close_array(json);
}
