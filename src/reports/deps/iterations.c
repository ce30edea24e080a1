/* The dependency analysis over many iterations: mean and percentiles of each row. Then a slow
 * iteration beside the median one: both paths, row by row, the greatest difference first. The
 * differences of all rows add up to that of the lengths.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/text/units.h"
#include "profile/common/statistics.h"
#include "reports/common/quality.h"
#include "reports/deps/sections.h"

#include "base/poison.h"

struct mean_table {
    const struct deps_iterations *iterations;
    struct deps_table_rows rows; /* owned */
};

struct mean_row {
    const char *name;
    const struct statistics *critical;
    double waiting;
};

static struct report_cell percent_cell(const void *at, struct report_table *table)
{
    const struct mean_row *row = at;
    const struct mean_table *means = table->of;

    return report_real_cell(deps_percent(row->critical->mean, means->iterations->window.mean));
}

static const struct report_column columns[] = {
    COLUMN("Critical path(%)", NULL, PERCENT, 16, .cell = percent_cell, .share = true),
    COLUMN("Mean", "mean_ns", MEAN, 13, THROUGH(struct mean_row, critical, mean)),
    COLUMN("P50", "p50_ns", TIME, 13, THROUGH(struct mean_row, critical, p50), .drop = 1),
    COLUMN("P99", "p99_ns", TIME, 13, THROUGH(struct mean_row, critical, p99)),
    COLUMN("Waiting time", "waiting_mean_ns", MEAN, 12, MEMBER(struct mean_row, waiting),
           .share = true),
    COLUMN("Name", "name", TEXT, 4, MEMBER(struct mean_row, name)),
};

static const struct statistics *statistics_of_row(const struct mean_table *means,
                                                  const struct deps_table_row *row)
{
    if (row->id)
        return &means->iterations->critical[row->id];
    if (row->group != DEPS_NONE)
        return &means->iterations->host[row->group][row->part];
    return &means->iterations->parts[row->part];
}

static void each_mean_row(struct report_table *table, report_take *take)
{
    const struct mean_table *means = table->of;

    for (size_t i = 0; i < means->rows.count; i++) {
        const struct deps_table_row *row = &means->rows.items[i];
        const struct mean_row mean = {
            .name = row->name,
            .critical = statistics_of_row(means, row),
            .waiting = row->id ? means->iterations->waiting[row->id].mean : 0,
        };

        take(table, &mean);
    }
}

/* As text or CSV to `out`, or as the key `rows`. */
static enum mp_status print_means(const struct report_out *out, struct json_writer *json,
                                  const struct deps_report *report)
{
    struct mean_table means = {.iterations = report->iterations};
    const struct report_layout layout = {REPORT_COLUMNS(columns), .of = &means,
                                         .measuring = REPORT_FIT_UNITS};

    MP_TRY(deps_rows_build(report->deps, &report->iterations->total, false, &means.rows));
    if (out)
        report_print(out, &layout, each_mean_row);
    else
        report_json_print(json, "rows", &layout, each_mean_row);
    deps_rows_free(&means.rows);
    return MP_OK;
}

static void print_length(const struct report_out *out, const struct deps_report *report)
{
    const struct statistics *window = &report->iterations->window;
    char text[5][MP_FORMATTED_BYTES];
    uint64_t ns[5] = {mp_whole_ns(window->mean), window->p50, window->p99, window->min,
                      window->max};

    for (int i = 0; i < 5; i++)
        mp_format_time(text[i], sizeof text[i], ns[i]);
    print_deps_title(out, report, "Length: mean %s, P50 %s, P99 %s, min %s, max %s", text[0],
                     text[1], text[2], text[3], text[4]);
}

enum mp_status print_deps_iterations(const struct report_out *out, const struct deps_report *report)
{
    const struct deps_windows *windows = report->windows;

    print_deps_title(out, report,
                     "Dependency Analysis of %s iteration%s '%s':", mp_count(windows->count).text,
                     windows->count == 1 ? "" : "s", report->iterations_name);
    print_length(out, report);
    if (windows->unfinished)
        print_note(out, report->trace, "%s more %s no begin or no end in the trace",
                   mp_count(windows->unfinished).text, windows->unfinished == 1 ? "has" : "have");
    MP_TRY(print_means(out, NULL, report));
    if (report->parts)
        print_deps_host(out, report);
    return MP_OK;
}

/* ---- JSON ---- */

static void json_parts(struct json_writer *json, const struct deps_iterations *iterations)
{
    json_key_array(json, "parts");
    for (int part = 0; part < DEPS_RECORDING; part++)
        JSON_OBJECT(json, FACT("name", deps_part_name(part)),
                    STATISTICS_MIDDLE(&iterations->parts[part], true));
    json_close_array(json);
}

enum mp_status json_deps_iterations(struct json_writer *json, const struct deps_report *report)
{
    const struct deps_iterations *iterations = report->iterations;
    unsigned lines = json->lines;

    json->lines = lines + 1; /* its rows are one level deeper than those of the document */
    json_open_object(json);
    JSON_FACTS(json, FACT("name", report->iterations_name), FACT("count", report->windows->count),
               FACT("unfinished", report->windows->unfinished),
               STATISTICS_MIDDLE(&iterations->window, true),
               STATISTICS_ENDS(&iterations->window, true));
    MP_TRY(print_means(NULL, json, report));
    json_parts(json, iterations);
    if (report->slowest) {
        json_key(json, "slowest");
        MP_TRY(json_deps_slowest(json, report));
    }
    json_close_object(json);
    json->lines = lines;
    return MP_OK;
}

/* ---- The slowest against the median one ---- */

#define ROWS_IN_TEXT 10

struct difference {
    const char *name;
    uint64_t iteration;
    uint64_t slow; /* ns on the path */
    uint64_t median;
    int64_t more; /* ns: slow - median */
};

static const struct report_column slowest_columns[] = {
    COLUMN("Iteration", NULL, ID, 9, MEMBER(struct difference, iteration),
           .formats = REPORT_IN_CSV | REPORT_IN_SHEET),
    COLUMN("Difference", "difference_ns", CHANGE, 13, MEMBER(struct difference, more)),
    COLUMN("Critical path", "critical_ns", TIME, 13, MEMBER(struct difference, slow)),
    COLUMN("In the median", "median_critical_ns", TIME, 13, MEMBER(struct difference, median)),
    COLUMN("Name", "name", TEXT, 4, MEMBER(struct difference, name)),
};

static const struct report_layout slowest_layout = {
    REPORT_COLUMNS(slowest_columns), .name = "slowest", .measuring = REPORT_FIT_UNITS};

struct comparison {
    const struct deps_report *report;
    const struct deps_window *slow;
    const struct deps_window *median;
    struct deps_result slow_result;
    struct deps_result median_result;
    struct difference *rows; /* owned; greatest difference first */
    size_t count;
};

MP_COMPARE(compare_differences, struct difference,
           MP_ORDER(b->more, a->more) ?: strcmp(a->name, b->name));

static void comparison_free(struct comparison *comparison)
{
    deps_result_free(&comparison->slow_result);
    deps_result_free(&comparison->median_result);
    free(comparison->rows);
}

static enum mp_status comparison_init(struct comparison *comparison,
                                      const struct deps_report *report)
{
    const struct deps *deps = report->deps;

    *comparison = (struct comparison){
        .report = report, .median = &report->windows->items[report->iterations->median]};
    comparison->rows = calloc((size_t)deps->names.count + 1 + DEPS_PARTS, sizeof *comparison->rows);
    if (!comparison->rows || deps_result_init(deps, &comparison->median_result) != MP_OK ||
        deps_result_init(deps, &comparison->slow_result) != MP_OK) {
        comparison_free(comparison);
        return MP_ERR_MEMORY;
    }
    deps_path(deps, comparison->median, &comparison->median_result, NULL);
    return MP_OK;
}

static void add_row(struct comparison *comparison, const char *name, uint64_t slow, uint64_t median)
{
    if (slow || median)
        comparison->rows[comparison->count++] =
            (struct difference){name, comparison->slow->id, slow, median, (int64_t)(slow - median)};
}

static void compare_with(struct comparison *comparison, const struct deps_window *slow)
{
    const struct deps *deps = comparison->report->deps;
    const struct deps_result *median = &comparison->median_result;
    struct deps_result *result = &comparison->slow_result;

    comparison->slow = slow;
    comparison->count = 0;
    deps_result_clear(result);
    deps_path(deps, slow, result, NULL);
    for (uint32_t id = 1; id < result->row_count; id++)
        add_row(comparison, mp_intern_get(&deps->names, id, NULL), result->rows[id].critical,
                median->rows[id].critical);
    for (int part = 0; part < DEPS_PARTS; part++)
        add_row(comparison, deps_part_name(part), result->parts[part], median->parts[part]);
    qsort(comparison->rows, comparison->count, sizeof *comparison->rows, compare_differences);
}

/* Calls `print` for each of the slowest iterations. */
static enum mp_status each_slowest(const struct deps_report *report, void *context,
                                   void (*print)(const struct comparison *, void *context))
{
    struct comparison comparison;

    if (!report->windows->count)
        return MP_OK;
    MP_TRY(comparison_init(&comparison, report));
    for (size_t i = 0; i < report->slowest && i < report->windows->count; i++) {
        compare_with(&comparison, &report->windows->items[report->iterations->by_length[i]]);
        print(&comparison, context);
    }
    comparison_free(&comparison);
    return MP_OK;
}

static uint64_t length_of(const struct deps_window *window)
{
    return window->end - window->begin;
}

/* ---- Text: the greatest differences, and one row for the others ---- */

static struct difference rest_of(const struct comparison *comparison, size_t from)
{
    struct difference rest = {.name = "(all others)"};

    for (size_t i = from; i < comparison->count; i++) {
        rest.slow += comparison->rows[i].slow;
        rest.median += comparison->rows[i].median;
    }
    rest.more = (int64_t)(rest.slow - rest.median);
    return rest;
}

static void print_comparison(const struct comparison *comparison, void *context)
{
    char slow[MP_FORMATTED_BYTES];
    char median[MP_FORMATTED_BYTES];
    struct difference rows[ROWS_IN_TEXT + 1];
    const struct report_out *out = context;
    size_t count = 0;

    mp_format_time(slow, sizeof slow, length_of(comparison->slow));
    mp_format_time(median, sizeof median, length_of(comparison->median));
    print_note(out, comparison->report->trace,
               "Iteration %" PRIu64 ": %s; the median one (%" PRIu64 "): %s", comparison->slow->id,
               slow, comparison->median->id, median);
    for (; count < ROWS_IN_TEXT && count < comparison->count && comparison->rows[count].more > 0;
         count++)
        rows[count] = comparison->rows[count];
    if (count < comparison->count) {
        rows[count] = rest_of(comparison, count);
        count++;
    }
    report_array(out, &slowest_layout, rows, count, sizeof *rows);
}

/* ---- CSV: all rows in one table ---- */

struct csv {
    struct report_table table;
    report_take *take;
};

static void take_csv(const struct comparison *comparison, void *context)
{
    struct csv *csv = context;

    for (size_t i = 0; i < comparison->count; i++)
        csv->take(&csv->table, &comparison->rows[i]);
}

static enum mp_status print_csv(const struct report_out *out, const struct deps_report *report)
{
    struct csv csv = {.take = report_survey};

    report_open(&csv.table, out, &slowest_layout);
    if (report_needs_survey(&csv.table))
        MP_TRY(each_slowest(report, &csv, take_csv));
    report_header(&csv.table);
    csv.take = report_put;
    MP_TRY(each_slowest(report, &csv, take_csv));
    report_end(&csv.table);
    return MP_OK;
}

enum mp_status print_deps_slowest(const struct report_out *out, const struct deps_report *report)
{
    struct report_out to = *out;

    print_deps_title(out, report, "The slowest iterations against the median one:");
    if (out->format == REPORT_CSV)
        return print_csv(out, report);
    return each_slowest(report, &to, print_comparison);
}

/* ---- JSON ---- */

static void json_comparison(const struct comparison *comparison, void *context)
{
    struct json_writer *json = context;

    json_open_object(json);
    JSON_FACTS(json, FACT("iteration", comparison->slow->id),
               FACT("window_ns", length_of(comparison->slow)),
               FACT("median_iteration", comparison->median->id),
               FACT("median_window_ns", length_of(comparison->median)));
    report_json_array(json, "rows", &slowest_layout, comparison->rows, comparison->count,
                      sizeof *comparison->rows);
    json_close_object(json);
}

enum mp_status json_deps_slowest(struct json_writer *json, const struct deps_report *report)
{
    unsigned lines = json->lines;

    json->lines = lines + 2; /* an object, an array */
    json_open_array(json);
    enum mp_status status = each_slowest(report, json, json_comparison);
    json_close_array(json);
    json->lines = lines;
    return status;
}
