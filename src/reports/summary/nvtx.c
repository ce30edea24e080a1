/* nvprof's NVTX result. nvprof prints a banner when the thread or the domain changes, and a range's
 * groups below its title.
 */
#include "reports/summary/print.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/foreign.h"
#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

/* ---- Text and CSV ---- */

static const struct definition_thread *nvtx_thread_of(const struct nvtx_result *result,
                                                      uint64_t number)
{
    const struct definition_thread *thread =
        dense_at(&result->profile->definitions.threads, number);

    return thread && thread->defined ? thread : NULL;
}

static void print_thread(const struct report_out *out, const struct mp_trace *trace,
                         const struct nvtx_result *result, uint64_t number)
{
    const struct definition_thread *thread = nvtx_thread_of(result, number);
    const char *name =
        thread ? definitions_text(&result->profile->definitions, thread->name) : NULL;

    print_prefix(out, trace);
    fputs("  Thread \"", out->file);
    foreign_put_text(out->file, name ? name : "<unnamed>");
    fprintf(out->file, "\" (id = %" PRIu64 ")\n", thread ? thread->tid : number);
}

/* The title of a range of either kind: pushed, or captured. */
struct title {
    uint64_t thread;
    const char *domain;
    const char *name;
};

/* Prints the thread and the domain above a range if they differ from those of `before`. */
static void print_banners(const struct report_out *out, const struct mp_trace *trace,
                          const struct nvtx_result *result, const struct title *before,
                          const struct title *range)
{
    bool new_thread = !before || before->thread != range->thread;
    bool new_domain = new_thread || !before->domain != !range->domain ||
                      (range->domain && strcmp(before->domain, range->domain) != 0);

    if (new_thread)
        print_thread(out, trace, result, range->thread);
    if (new_domain) {
        print_prefix(out, trace);
        fputs("    Domain \"", out->file);
        foreign_put_text(out->file, range->domain ? range->domain : "<unnamed>");
        fputs("\"\n", out->file);
    }
    print_prefix(out, trace);
    fputs("      Range \"", out->file);
    foreign_put_text(out->file, range->name);
    fputs("\"\n", out->file);
}

/* In CSV nvprof puts the colon here, and only here. */
static const char *range_title(const struct report_out *out)
{
    return out->format == REPORT_CSV ? "Range:" : "Range";
}

/* The rows of a range: its instances, and what happened in them by group. */
static struct summary_rows rows_of(const struct report_out *out,
                                   const struct nvtx_named_range *range, int group)
{
    if (group < 0)
        return (struct summary_rows){range_title(out), &range->instances, 1};
    return SUMMARY_ROWS(group, &range->groups[group]);
}

static void print_range(const struct report_out *out, const struct mp_trace *trace,
                        const struct nvtx_named_range *range)
{
    struct report_table table;

    summary_open(&table, out, 0);
    for (int i = -1; i < SUMMARY_GROUPS && report_needs_survey(&table); i++) {
        const struct summary_rows rows = rows_of(out, range, i);

        summary_each_row(&table, report_survey, &rows);
    }
    report_header(&table);
    for (int i = -1; i < SUMMARY_GROUPS; i++) {
        const struct summary_rows rows = rows_of(out, range, i);

        summary_each_row(&table, report_put, &rows);
        if (rows.count)
            continue;
        report_flush(&table);
        print_csv_prefix(out, trace);
        fprintf(out->file, "%s in this range.\n", summary_group_words[i].empty);
    }
    report_end(&table);
    fputc('\n', out->file);
}

void print_nvtx_result(const struct report_out *out, const struct mp_trace *trace,
                       const struct nvtx_result *result)
{
    struct title before = {.thread = 0};

    if (!result->range_count)
        return;
    print_note(out, trace, "NVTX result:");
    for (size_t i = 0; i < result->range_count; i++) {
        const struct nvtx_named_range *range = &result->ranges[i];
        struct title title = {range->thread, range->domain, range->name};

        print_banners(out, trace, result, i ? &before : NULL, &title);
        print_range(out, trace, range);
        before = title;
    }
}

/* ---- Captured ranges ---- */

static void print_captured_work(const struct report_out *out,
                                const struct nvtx_captured_range *range)
{
    summary_print_rows(out, 0, &SUMMARY_ROWS(SUMMARY_GPU, &range->work), 1);
    fputc('\n', out->file);
}

static void print_captured(const struct report_out *out, const struct mp_trace *trace,
                           const struct nvtx_result *result)
{
    struct title before = {.thread = 0};

    if (!result->captured_count)
        return;
    print_note(out, trace,
               "Captured ranges: work of CUDA graphs, by the NVTX ranges in which its nodes were "
               "captured.");
    for (size_t i = 0; i < result->captured_count; i++) {
        const struct nvtx_captured_range *range = &result->captured[i];
        struct title title = {range->thread, range->domain, range->name};

        print_banners(out, trace, result, i ? &before : NULL, &title);
        print_captured_work(out, range);
        before = title;
    }
}

/* ---- Our own CSV: a row for each name in each range, and the same of captured ranges ---- */

struct range_line {
    const struct definition_thread *thread; /* NULL: not defined */
    const char *thread_name, *domain, *range;
    const char *type;
    const struct summary_row *row;
};

static const struct report_column range_columns[] = {
    COLUMN(NULL, "tid", COUNT, 0, THROUGH(struct range_line, thread, tid)),
    COLUMN(NULL, "thread_name", TEXT, 0, MEMBER(struct range_line, thread_name)),
    COLUMN(NULL, "domain", TEXT, 0, MEMBER(struct range_line, domain)),
    COLUMN(NULL, "range", TEXT, 0, MEMBER(struct range_line, range)),
    SUMMARY_COLUMNS(struct range_line),
};

static struct range_line line_of(const struct nvtx_result *result, uint64_t number,
                                 const char *domain, const char *name)
{
    const struct definition_thread *thread = nvtx_thread_of(result, number);

    return (struct range_line){
        .thread = thread,
        .thread_name =
            thread ? definitions_text(&result->profile->definitions, thread->name) : NULL,
        .domain = domain,
        .range = name,
    };
}

static void take_lines(struct report_table *table, report_take *take, struct range_line line,
                       const char *type, const struct summary_row *rows, size_t count)
{
    line.type = type;
    for (size_t i = 0; i < count; i++) {
        line.row = &rows[i];
        take(table, &line);
    }
}

static void each_range(struct report_table *table, report_take *take)
{
    const struct nvtx_result *result = table->of;

    for (size_t i = 0; i < result->range_count; i++) {
        const struct nvtx_named_range *range = &result->ranges[i];
        const struct range_line line = line_of(result, range->thread, range->domain, range->name);

        take_lines(table, take, line, "Range", &range->instances, 1);
        for (int group = 0; group < SUMMARY_GROUPS; group++)
            take_lines(table, take, line, summary_group_words[group].title,
                       range->groups[group].rows, range->groups[group].row_count);
    }
}

static void each_captured(struct report_table *table, report_take *take)
{
    const struct nvtx_result *result = table->of;

    for (size_t i = 0; i < result->captured_count; i++) {
        const struct nvtx_captured_range *range = &result->captured[i];

        take_lines(table, take, line_of(result, range->thread, range->domain, range->name),
                   summary_group_words[SUMMARY_GPU].title, range->work.rows, range->work.row_count);
    }
}

static void print_nvtx_sheet(const struct report_out *out, const struct nvtx_result *result)
{
    struct report_layout layout = {REPORT_COLUMNS(range_columns), .of = result};

    report_print(out, &layout, each_range);
    layout.name = "captured";
    report_print(out, &layout, each_captured);
}

/* ---- JSON ---- */

static void json_title(struct json_writer *json, const struct nvtx_result *result,
                       const struct title *title)
{
    const struct definition_thread *thread = nvtx_thread_of(result, title->thread);

    JSON_FACTS(json, FACT("thread", title->thread), FACT_IF("tid", thread, thread->tid),
               FACT_IF("thread_name", thread,
                       definitions_text(&result->profile->definitions, thread->name)),
               FACT("domain", title->domain), FACT("name", title->name));
}

static void json_group(struct json_writer *json, const char *key, const struct nvtx_group *group)
{
    json_key_object(json, key);
    summary_json_rows(json, 0, group->total, group->rows, group->row_count);
    json_close_object(json);
}

static void json_range(struct json_writer *json, const struct nvtx_result *result,
                       const struct nvtx_named_range *range)
{
    json_open_object(json);
    json_title(json, result, &(struct title){range->thread, range->domain, range->name});
    JSON_FACTS(json, FACT("instances", range->instances.tally.calls),
               FACT("unfinished", range->unfinished), FACT("cut", range->cut),
               FACT("total_ns", range->instances.tally.total),
               FACT("mean_ns", range->instances.mean), FACT("min_ns", range->instances.tally.min),
               FACT("max_ns", range->instances.tally.max));
    for (int i = 0; i < SUMMARY_GROUPS; i++)
        json_group(json, summary_group_words[i].key, &range->groups[i]);
    json_close_object(json);
}

static void json_captured(struct json_writer *json, const struct nvtx_result *result,
                          const struct nvtx_captured_range *range)
{
    json_open_object(json);
    json_title(json, result, &(struct title){range->thread, range->domain, range->name});
    JSON_FACTS(json, FACT("nodes", range->nodes));
    json_group(json, summary_group_words[SUMMARY_GPU].key, &range->work);
    json_close_object(json);
}

static void nvtx_print_json(FILE *out, const struct mp_trace *trace,
                            const struct nvtx_result *result, uint64_t range)
{
    struct json_writer json;

    json_open_document(&json, out, 5);
    json_head(&json, trace, &result->quality, &result->profile->definitions, range,
              ranges_count(&result->profile->ranges));
    JSON_FACTS(&json, FACT("unfinished", result->unfinished), FACT("cut", result->cut),
               FACT("no_calls", result->no_calls));
    json_key_array(&json, "nvtx_ranges");
    for (size_t i = 0; i < result->range_count; i++)
        json_range(&json, result, &result->ranges[i]);
    json_close_array(&json);
    json_key_array(&json, "captured_ranges");
    for (size_t i = 0; i < result->captured_count; i++)
        json_captured(&json, result, &result->captured[i]);
    json_close_array(&json);
    json_close_document(&json);
}

/* ---- The command's report ---- */

void print_nvtx(const struct report_out *out, const struct mp_trace *trace,
                const struct nvtx_result *result, uint64_t range)
{
    if (out->format == REPORT_JSON) {
        nvtx_print_json(out->file, trace, result, range);
        return;
    }
    print_head(out, trace, &result->quality, range, ranges_count(&result->profile->ranges));
    if (report_has_titles(out)) {
        print_nvtx_result(out, trace, result);
        print_captured(out, trace, result);
    } else {
        print_nvtx_sheet(out, result);
    }
    if (!result->range_count) {
        print_note(out, trace, "No NVTX ranges in the trace.");
        return;
    }
    if (result->no_calls)
        print_note(out, trace, "No API calls in the trace: what the ranges launched is not known.");
    if (result->unfinished) {
        bool one = result->unfinished == 1;
        print_note(out, trace, "%s of the ranges %s no end and %s to the end of the %s.",
                   mp_count(result->unfinished).text, one ? "has" : "have", one ? "lasts" : "last",
                   range ? "capture range" : "trace");
    }
    if (result->cut)
        print_note(out, trace,
                   "%s of the ranges %s on outside of a capture range: the part in it counts.",
                   mp_count(result->cut).text, result->cut == 1 ? "goes" : "go");
}
