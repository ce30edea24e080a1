/* What-if: lengths before and after, and which activities would gain most. */
#include <stdlib.h>
#include <string.h>

#include "base/text/strings.h"
#include "profile/common/statistics.h"
#include "reports/common/quality.h"
#include "reports/deps/sections.h"

#include "base/poison.h"

/* ---- What if ---- */

struct outcome {
    const char *name;
    double now; /* ns; without the change, on the same basis */
    double changed;
};

static struct report_cell difference_cell(const void *at, struct report_table *table)
{
    const struct outcome *outcome = at;
    double difference = outcome->changed - outcome->now;

    (void)table;
    return report_number_cell(
        (uint64_t)(int64_t)(difference < 0 ? difference - 0.5 : difference + 0.5));
}

static struct report_cell percent_cell(const void *at, struct report_table *table)
{
    const struct outcome *outcome = at;

    (void)table;
    return report_real_cell(deps_percent(outcome->changed - outcome->now, outcome->now));
}

static const struct report_column columns[] = {
    COLUMN("Now", NULL, MEAN, 13, MEMBER(struct outcome, now)),
    COLUMN("New", NULL, MEAN, 13, MEMBER(struct outcome, changed)),
    COLUMN("Difference", NULL, CHANGE, 13, .cell = difference_cell),
    COLUMN("Difference(%)", NULL, PERCENT, 13, .cell = percent_cell),
    COLUMN("Name", NULL, TEXT, 4, MEMBER(struct outcome, name)),
};

static uint64_t total_of(const struct deps_report *report, const uint64_t *lengths)
{
    uint64_t total = 0;

    for (size_t i = 0; i < report->windows->count; i++)
        total += lengths[i];
    return total;
}

static enum mp_status statistics_of_windows(const struct deps_report *report,
                                            const uint64_t *lengths, struct statistics *statistics)
{
    size_t count = report->windows->count;
    uint64_t *copy = calloc(count + 1, sizeof *copy);

    if (!copy)
        return MP_ERR_MEMORY;
    memcpy(copy, lengths, count * sizeof *copy);
    *statistics = statistics_of(copy, count);
    free(copy);
    return MP_OK;
}

static void print_title(const struct report_out *out, const struct deps_report *report)
{
    if (!report_has_titles(out))
        return;
    print_prefix(out, report->trace);
    for (size_t i = 0; i < report->change_count; i++)
        fprintf(out->file, "%s%s", i ? ", " : "What if ", report->changes[i]);
    fprintf(out->file, " (%s):\n", deps_basis_text(report->what_if->without_recording));
}

/* What a change leaves as it is, although its name sounds otherwise. */
static const struct {
    const char *change;
    bool without_gain; /* it is said only if nothing is gained */
    const char *note;
} stays[] = {
    {"launch_latency=", true, "Note: the calls that launch stay; launch=0 takes them away too."},
    {"launch=", false,
     "Note: host code between the launches stays, which a CUDA graph saves too: miniprof advise."},
    {"wait=", true, "Note: a wait still ends when what it waits for does."},
};

static bool is_named(const struct deps_report *report, const char *change)
{
    for (size_t i = 0; i < report->change_count; i++)
        if (mp_text_starts_with(report->changes[i], change))
            return true;
    return false;
}

static void print_what_stays(const struct report_out *out, const struct deps_report *report)
{
    bool gains =
        total_of(report, report->what_if->after) != total_of(report, report->what_if->before);

    for (size_t i = 0; report_has_titles(out) && i < sizeof stays / sizeof *stays; i++)
        if (is_named(report, stays[i].change) && !(stays[i].without_gain && gains))
            print_note(out, report->trace, "%s", stays[i].note);
}

enum mp_status print_deps_what_if(const struct report_out *out, const struct deps_report *report)
{
    const struct deps_what_if *what_if = report->what_if;
    struct outcome outcomes[4] = {{"Total", (double)total_of(report, what_if->before),
                                   (double)total_of(report, what_if->after)}};
    struct statistics before;
    struct statistics after;

    MP_TRY(statistics_of_windows(report, what_if->before, &before));
    MP_TRY(statistics_of_windows(report, what_if->after, &after));
    outcomes[1] = (struct outcome){"Iteration, mean", before.mean, after.mean};
    outcomes[2] = (struct outcome){"Iteration, P50", (double)before.p50, (double)after.p50};
    outcomes[3] = (struct outcome){"Iteration, P99", (double)before.p99, (double)after.p99};
    print_title(out, report);
    report_array(out,
                 &(struct report_layout){REPORT_COLUMNS(columns), .measuring = REPORT_FIT_UNITS},
                 outcomes, report->iterations ? 4 : 1, sizeof *outcomes);
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
        JSON_FACTS(json, FACT("now_ns", report->what_if->before[i]),
                   FACT("new_ns", report->what_if->after[i]));
        json_close_object(json);
    }
    json_close_array(json);
}

enum mp_status json_deps_what_if(struct json_writer *json, const struct deps_report *report)
{
    const struct deps_what_if *what_if = report->what_if;
    struct statistics after;
    unsigned lines = json->lines;

    MP_TRY(statistics_of_windows(report, what_if->after, &after));
    json->lines = lines + 1;
    json_open_object(json);
    json_key_array(json, "changes");
    for (size_t i = 0; i < report->change_count; i++)
        json_text(json, report->changes[i]);
    json_close_array(json);
    JSON_FACTS(json, FACT("basis", deps_basis_key(what_if->without_recording)),
               FACT("now_ns", total_of(report, what_if->before)),
               FACT("new_ns", total_of(report, what_if->after)));
    json_new_windows(json, report);
    if (report->iterations)
        JSON_KEY_OBJECT(json, "iterations", FACT("count", report->windows->count),
                        STATISTICS_MIDDLE(&after, true));
    json_close_object(json);
    json->lines = lines;
    return MP_OK;
}

/* ---- What would gain most ---- */

static struct report_cell gain_percent_cell(const void *at, struct report_table *table)
{
    const struct deps_gain *gain = at;
    const struct deps_report *report = table->of;

    return report_real_cell(deps_percent((double)gain->gain, (double)report->gains->total));
}

static struct report_cell gain_name_cell(const void *at, struct report_table *table)
{
    const struct deps_report *report = table->of;

    return report_text_cell(
        mp_intern_get(&report->deps->names, ((const struct deps_gain *)at)->name, NULL));
}

static const struct report_column gain_columns[] = {
    COLUMN("Gain(%)", NULL, PERCENT, 7, .cell = gain_percent_cell),
    COLUMN("Gain", "gain_ns", TIME, 13, MEMBER(struct deps_gain, gain)),
    COLUMN("Critical path", "critical_ns", TIME, 13, MEMBER(struct deps_gain, critical)),
    COLUMN("Name", "name", TEXT, 4, .cell = gain_name_cell),
};

void print_deps_top(const struct report_out *out, const struct deps_report *report)
{
    const struct report_layout layout = {
        REPORT_COLUMNS(gain_columns),
        .of = report,
        .name = report->what_if || report->slowest || report->gains_too ? "gains" : NULL,
        .measuring = REPORT_FIT_UNITS,
    };

    print_deps_title(out, report, "What if one activity were twice as fast (%s):",
                     deps_basis_text(report->deps->recording.before));
    if (report->gains->count || !report_has_titles(out))
        report_array(out, &layout, report->gains->items, report->gains->count,
                     sizeof *report->gains->items);
    else
        fputs("No activity would make a difference.\n", out->file);
}

void json_deps_top(struct json_writer *json, const struct deps_report *report)
{
    const struct report_layout layout = {REPORT_COLUMNS(gain_columns), .of = report};

    JSON_FACTS(json, FACT("basis", deps_basis_key(report->deps->recording.before)));
    report_json_array(json, "top", &layout, report->gains->items, report->gains->count,
                      sizeof *report->gains->items);
}
