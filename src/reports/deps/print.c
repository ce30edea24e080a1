/* The dependency analysis: the order of its sections, the JSON document around all of them, and the
 * lines that say what the numbers rest on.
 */
#include "reports/deps/print.h"

#include "base/text/units.h"
#include "profile/ranges.h"
#include "reports/common/quality.h"
#include "reports/deps/sections.h"

#include "base/poison.h"

/* Containers that have each item on its own line: the document and its arrays. */
#define JSON_LINES 2

/* ---- The first and the last lines: how far the path can be trusted ---- */

#define MAX_DOUBTFUL 2.0 /* percent */

static double doubtful_percent(const struct deps_counts *counts)
{
    uint64_t doubtful = counts->overlapping + counts->contradicted + counts->clamped;

    return counts->dependencies ? 100.0 * (double)doubtful / (double)counts->dependencies : 0;
}

static void print_doubts(const struct report_out *out, const struct deps_report *report)
{
    const struct deps_counts *counts = &report->deps->counts;

    if (doubtful_percent(counts) <= MAX_DOUBTFUL)
        return;
    print_prefix(out, report->trace);
    fprintf(out->file,
            "Warning: %.1f%% of %s dependencies are doubtful: %s"
            " overlap, %s are contradicted, %s were clamped (see below).\n",
            doubtful_percent(counts), mp_count(counts->dependencies).text,
            mp_count(counts->overlapping).text, mp_count(counts->contradicted).text,
            mp_count(counts->clamped).text);
}

/* "1 dependency was", "3 dependencies were". */
static void note_count(const struct report_out *out, const struct deps_report *report,
                       uint64_t count, const char *one, const char *more)
{
    if (count)
        print_note(out, report->trace, "%s %s", mp_count(count).text, count == 1 ? one : more);
}

static void note_counts(const struct report_out *out, const struct deps_report *report)
{
    const struct deps_counts *counts = &report->deps->counts;

    note_count(out, report, counts->clamped,
               "time of a dependency is off by up to 2 us and was clamped (two clocks).",
               "times of dependencies are off by up to 2 us and were clamped (two clocks).");
    note_count(out, report, counts->contradicted,
               "dependency is contradicted by the recorded times and was left out.",
               "dependencies are contradicted by the recorded times and were left out.");
    note_count(out, report, counts->overlapping,
               "activity began before the one ahead of it in its stream had ended: its own time is "
               "what it ran alone.",
               "activities began before the one ahead of them in their stream had ended: their own "
               "time is what they ran alone.");
    note_count(out, report, counts->undecided,
               "activity may have waited for its launch or for its stream: too few examples to "
               "tell.",
               "activities may have waited for their launch or for their stream: too few examples "
               "to tell.");
    note_count(out, report, counts->unknown_events,
               "wait for an event whose record is not in the trace was left out.",
               "waits for events whose records are not in the trace were left out.");
    note_count(out, report, counts->unknown_values,
               "wait of a stream for a value in memory has no known order: the host, a kernel, a "
               "graph or another process wrote it.",
               "waits of streams for values in memory have no known order: the host, a kernel, a "
               "graph or another process wrote them.");
    note_count(out, report, counts->unknown_wakers,
               "wait names a thread that the trace does not know: the wait has a time of its own.",
               "waits name threads that the trace does not know: they have a time of their own.");
    note_count(out, report, counts->wrong_wakers,
               "wait names a waker that cannot have ended it: the wait has a time of its own.",
               "waits name a waker that cannot have ended them: they have a time of their own.");
    note_count(out, report, counts->unlaunched,
               "device activity has no launching call in the trace.",
               "device activities have no launching call in the trace.");
    note_count(out, report, counts->unknown_graphs,
               "graph launch has no edges in the trace: its nodes go by stream order.",
               "graph launches have no edges in the trace: their nodes go by stream order.");
}

static void note_watchers(const struct report_out *out, const struct deps_report *report)
{
    char text[DEPS_THREADS_BYTES];
    uint32_t count = deps_list_watchers(report->deps, text);

    if (count)
        print_note(out, report->trace, "%s thread%s only watch%s the GPU and carr%s no path: %s.",
                   mp_count(count).text, count == 1 ? "" : "s", count == 1 ? "es" : "",
                   count == 1 ? "ies" : "y", text);
}

static bool has_stacks(const struct deps *deps)
{
    for (uint32_t i = 0; i < deps->host_count; i++) {
        if (deps->activities[i].flags & DEPS_STACKED)
            return true;
    }
    return false;
}

#define MUCH_HOST_PERCENT 10.0

/* What would name host code, where there is much of it. */
static void note_host(const struct report_out *out, const struct deps_report *report)
{
    uint64_t host = 0;

    for (int part = 0; part < DEPS_HOST_PARTS; part++)
        host += report->result->parts[part];
    double percent = deps_percent((double)host, (double)report->result->window);
    bool known = has_stacks(report->deps);
    if (percent < MUCH_HOST_PERCENT || (known && (report->parts || report->job)) ||
        report->critical || report->what_if)
        return;
    print_note(out, report->trace, "%.0f%% of the path is host code: %s.", percent,
               known ? "--parts has its lines"
                     : "miniprof run --stacks=both records its functions");
}

static void note_by_time(const struct report_out *out, const struct deps_report *report)
{
    const struct deps_result *result = report->result;

    if (result->by_time)
        print_note(out, report->trace,
                   "%.1f%% of the path is work that the path reached by time: no record says that "
                   "something waited for it.",
                   deps_percent((double)result->by_time, (double)result->window));
}

/* Elsewhere times of kernels are as recorded. */
static void note_recording(const struct report_out *out, const struct deps_report *report)
{
    char time[MP_FORMATTED_BYTES];

    if (report->result->recording_inside)
        print_note(out, report->trace,
                   "%s of <recording> lies inside the recorded times of kernels, copies and sets.",
                   mp_format_time(time, sizeof time, report->result->recording_inside));
}

/* Such as wait for a lock of their context. Less than a hundredth of the path is noise. */
static void note_late_launches(const struct report_out *out, const struct deps_report *report)
{
    char time[MP_FORMATTED_BYTES];
    uint64_t late = report->result->late_launches;

    if (late && late >= report->result->window / 100)
        print_note(out, report->trace,
                   "%s of the launch latency lies in calls that launch and take longer than usual; "
                   "miniprof advise.",
                   mp_format_time(time, sizeof time, late));
}

static void print_notes(const struct report_out *out, const struct deps_report *report)
{
    const struct deps *deps = report->deps;

    if (deps->no_calls)
        print_note(out, report->trace,
                   "No API calls in the trace: when work was launched is not known.");
    if (deps->no_syncs)
        print_note(out, report->trace,
                   "No synchronisation in the trace: what waits is inferred from times.");
    note_counts(out, report);
    note_watchers(out, report);
    note_host(out, report);
    note_by_time(out, report);
    note_recording(out, report);
    note_late_launches(out, report);
    print_note(out, report->trace,
               "Not modelled: contention on the GPU, polling on host memory%s; "
               "miniprof-deps(1).",
               deps->wait_count ? ""
                                : ", threads that wait for each other (miniprof run records "
                                  "their waits)");
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

static void json_watchers(struct json_writer *json, const struct deps *deps)
{
    json_key_array(json, "watchers");
    for (uint32_t i = 0; i < deps->thread_count; i++) {
        const struct deps_lane *lane = &deps->lanes[i];

        if (!lane->watches)
            continue;
        json_open_object(json);
        JSON_FACTS(
            json,
            FACT_IF("rank", deps->ranks != NULL, deps->ranks ? deps->ranks[lane->process] : 0u),
            FACT("tid", lane->tid));
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_counts(struct json_writer *json, const struct deps_counts *counts)
{
    JSON_FACTS(
        json, FACT("dependencies", counts->dependencies), FACT("clamped", counts->clamped),
        FACT("contradicted", counts->contradicted), FACT("overlapping", counts->overlapping),
        FACT("doubtful_percent", doubtful_percent(counts)), FACT("undecided", counts->undecided),
        FACT("unknown_wakers", counts->unknown_wakers), FACT("wrong_wakers", counts->wrong_wakers),
        FACT("unknown_events", counts->unknown_events),
        FACT("unknown_values", counts->unknown_values), FACT("unlaunched", counts->unlaunched),
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
    if (report->what_if) {
        json_key(json, "what_if");
        MP_TRY(json_deps_what_if(json, report));
    }
    if (report->gains)
        json_deps_top(json, report);
    return MP_OK;
}

/* In place of what rests on the times of kernels. */
static void json_nothing(struct json_writer *json)
{
    JSON_FACTS(json, json_fact_null("window_ns"), json_fact_null("windows"), json_fact_null("rows"),
               json_fact_null("parts"), json_fact_null("by_time_ns"), json_fact_null("latencies"),
               json_fact_null("activities"), json_fact_null("iterations"),
               json_fact_null("what_if"), json_fact_null("top"));
    json_close_document(json);
}

static enum mp_status print_json(FILE *out, const struct deps_report *report)
{
    const struct deps *deps = report->deps;
    struct json_writer json;

    json_open_document(&json, out, JSON_LINES);
    if (report->job)
        json_ranks_head(&json, report->job->ranks);
    else
        json_head(&json, report->trace, &deps->quality, &deps->profile->definitions, report->range,
                  ranges_count(&deps->profile->ranges));
    if (quality_gap(&deps->quality)) {
        json_nothing(&json);
        return MP_OK;
    }
    JSON_FACTS(&json, FACT_IF("thread", report->thread, report->thread),
               FACT("window_ns", report->result->window),
               FACT("by_time_ns", report->result->by_time));
    if (report->job)
        json_job_ranks(&json, report->job);
    json_windows(&json, report);
    MP_TRY(json_deps_names(&json, report));
    json_counts(&json, &deps->counts);
    json_watchers(&json, deps);
    json_deps_latencies(&json, report);
    MP_TRY(json_sections(&json, report));
    json_close_document(&json);
    return MP_OK;
}

/* ---- The report ---- */

/* Prints what was asked for. What-if and --gains replace the table. */
static enum mp_status print_sections(const struct report_out *out, const struct deps_report *report)
{
    bool alone = !report->what_if && (!report->gains || report->gains_too);

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
        MP_TRY(print_deps_names(out, report));
    if (report->slowest)
        MP_TRY(print_deps_slowest(out, report));
    if (report->what_if)
        MP_TRY(print_deps_what_if(out, report));
    if (report->gains)
        print_deps_top(out, report);
    return MP_OK;
}

static void print_job_or_trace_head(const struct report_out *out, const struct deps_report *report)
{
    const struct deps *deps = report->deps;

    if (report->job) {
        print_ranks_head(out, report->job->ranks);
        return;
    }
    print_head(out, report->trace, &deps->quality, report->range,
               ranges_count(&deps->profile->ranges));
}

enum mp_status print_deps(const struct report_out *out, const struct deps_report *report)
{
    const struct deps *deps = report->deps;

    if (out->format == REPORT_JSON)
        return print_json(out->file, report);
    if (report->section)
        return print_sections(out, report);
    if (!quality_gap(&deps->quality))
        print_doubts(out, report);
    print_job_or_trace_head(out, report);
    MP_TRY(print_sections(out, report));
    if (out->format == REPORT_TEXT && !quality_gap(&deps->quality))
        print_notes(out, report);
    return MP_OK;
}
