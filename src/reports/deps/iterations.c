/* The dependency analysis over many iterations: mean and percentiles of each row. Then a slow
 * iteration beside the median one: both paths, row by row, the greatest difference first. The
 * differences of all rows add up to that of the lengths.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/units.h"
#include "profile/common/statistics.h"
#include "reports/common/quality.h"
#include "reports/deps/sections.h"

#include "base/poison.h"

static const struct report_column columns[] = {
    {.title = "Critical path(%)", .kind = REPORT_CELL_PERCENT, .width = 16, .share = true},
    {.title = "Mean", .key = "mean_ns", .kind = REPORT_CELL_MEAN, .width = 13},
    {.title = "P50", .key = "p50_ns", .kind = REPORT_CELL_TIME, .width = 13, .drop = 1},
    {.title = "P99", .key = "p99_ns", .kind = REPORT_CELL_TIME, .width = 13},
    {.title = "Waiting time",
     .key = "waiting_mean_ns",
     .kind = REPORT_CELL_MEAN,
     .width = 12,
     .share = true},
    {.title = "Name", .key = "name", .kind = REPORT_CELL_TEXT, .width = 4},
};

#define COLUMN_COUNT (sizeof columns / sizeof *columns)

/* Percentiles of the sum of the parts, which do not follow from the percentiles of the parts. */
static enum mp_status other_statistics(const struct deps_report *report, struct statistics *other)
{
    size_t count = report->windows->count;
    uint64_t *sums = calloc(count + 1, sizeof *sums);
    struct deps_result result;

    if (!sums || deps_result_init(report->deps, &result) != MP_OK) {
        free(sums);
        return MP_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        deps_result_clear(&result);
        deps_path(report->deps, &report->windows->items[i], &result, NULL);
        sums[i] = deps_other(result.parts);
    }
    *other = statistics_of(sums, count);
    deps_result_free(&result);
    free(sums);
    return MP_OK;
}

static const struct statistics *statistics_of_row(const struct deps_iterations *iterations,
                                                  const struct statistics *other,
                                                  const struct deps_table_row *row)
{
    if (row->id)
        return &iterations->critical[row->id];
    return row->part < DEPS_PARTS ? &iterations->parts[row->part] : other;
}

/* Passes every row to report_row or report_measure. */
static void each_mean_row(struct report_table *table, const struct deps_iterations *iterations,
                          const struct deps_table_rows *rows, const struct statistics *other,
                          void (*take)(struct report_table *, const struct report_cell *))
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct deps_table_row *row = &rows->items[i];
        const struct statistics *critical = statistics_of_row(iterations, other, row);
        double waiting = row->id ? iterations->waiting[row->id].mean : 0;
        struct report_cell cells[COLUMN_COUNT] = {
            report_real_cell(deps_percent(critical->mean, iterations->window.mean)),
            report_real_cell(critical->mean),
            report_number_cell(critical->p50),
            report_number_cell(critical->p99),
            report_real_cell(waiting),
            report_text_cell(row->name)};
        take(table, cells);
    }
}

static enum mp_status print_table(struct report_table *table, const struct deps_report *report,
                                  bool parts)
{
    struct statistics other = {0};
    struct deps_table_rows rows;

    if (!parts)
        MP_TRY(other_statistics(report, &other));
    MP_TRY(deps_rows_build(report->deps, &report->iterations->total, parts, &rows));
    if (table->format == REPORT_CSV)
        each_mean_row(table, report->iterations, &rows, &other, report_measure);
    report_header(table);
    each_mean_row(table, report->iterations, &rows, &other, report_row);
    report_end(table);
    deps_rows_free(&rows);
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
    struct report_table table;

    print_deps_title(out, report,
                     "Dependency Analysis of %s iteration%s '%s':", mp_count(windows->count).text,
                     windows->count == 1 ? "" : "s", report->iterations_name);
    print_length(out, report);
    if (windows->unfinished)
        print_note(out, report->trace, "%s more %s no begin or no end in the trace",
                   mp_count(windows->unfinished).text, windows->unfinished == 1 ? "has" : "have");
    report_begin(&table, out, columns, COLUMN_COUNT);
    MP_TRY(print_table(&table, report, report->parts));
    if (report->parts)
        print_deps_host(out, report);
    return MP_OK;
}

/* ---- JSON ---- */

static void json_parts(struct json_writer *json, const struct deps_iterations *iterations)
{
    json_key_array(json, "parts");
    for (int part = 0; part < DEPS_PARTS; part++)
        JSON_OBJECT(json, FACT("name", deps_part_name(part)),
                    STATISTICS_MIDDLE(&iterations->parts[part], true));
    json_close_array(json);
}

static enum mp_status json_rows(struct json_writer *json, const struct deps_report *report)
{
    struct report_table table;

    json_key_array(json, "rows");
    report_begin_json(&table, json, columns, COLUMN_COUNT);
    MP_TRY(print_table(&table, report, false));
    json_close_array(json);
    return MP_OK;
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
    MP_TRY(json_rows(json, report));
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

static const struct report_column slowest_columns[] = {
    {.title = "Iteration", .kind = REPORT_CELL_ID, .width = 9},
    {.title = "Difference", .key = "difference_ns", .kind = REPORT_CELL_CHANGE, .width = 13},
    {.title = "Critical path", .key = "critical_ns", .kind = REPORT_CELL_TIME, .width = 13},
    {.title = "In the median", .key = "median_critical_ns", .kind = REPORT_CELL_TIME, .width = 13},
    {.title = "Name", .key = "name", .kind = REPORT_CELL_TEXT, .width = 4},
};

#define SLOWEST_COLUMN_COUNT (sizeof slowest_columns / sizeof *slowest_columns)

struct difference {
    const char *name;
    uint64_t slow; /* ns on the path */
    uint64_t median;
};

struct comparison {
    const struct deps_report *report;
    const struct deps_window *slow;
    const struct deps_window *median;
    struct deps_result slow_result;
    struct deps_result median_result;
    struct difference *rows; /* owned; greatest difference first */
    size_t count;
};

static int64_t difference_of(const struct difference *row)
{
    return (int64_t)(row->slow - row->median);
}

static int compare_differences(const void *left, const void *right)
{
    int64_t a = difference_of(left);
    int64_t b = difference_of(right);

    if (a != b)
        return a < b ? 1 : -1;
    return strcmp(((const struct difference *)left)->name,
                  ((const struct difference *)right)->name);
}

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
        comparison->rows[comparison->count++] = (struct difference){name, slow, median};
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

static void take_difference(struct report_table *table, const struct comparison *comparison,
                            const struct difference *row,
                            void (*take)(struct report_table *, const struct report_cell *))
{
    struct report_cell cells[SLOWEST_COLUMN_COUNT] = {
        report_number_cell(comparison->slow->id), report_number_cell(row->slow - row->median),
        report_number_cell(row->slow), report_number_cell(row->median),
        report_text_cell(row->name)};

    take(table, table->format == REPORT_CSV ? cells : cells + 1);
}

/* ---- Text: the greatest differences, and one row for the others ---- */

static void print_rest(struct report_table *table, const struct comparison *comparison, size_t from)
{
    struct difference rest = {.name = "(all others)"};

    for (size_t i = from; i < comparison->count; i++) {
        rest.slow += comparison->rows[i].slow;
        rest.median += comparison->rows[i].median;
    }
    if (from < comparison->count)
        take_difference(table, comparison, &rest, report_row);
}

static void print_comparison(const struct comparison *comparison, void *context)
{
    char slow[MP_FORMATTED_BYTES];
    char median[MP_FORMATTED_BYTES];
    struct report_table table;
    const struct report_out *out = context;
    size_t shown = 0;

    mp_format_time(slow, sizeof slow, length_of(comparison->slow));
    mp_format_time(median, sizeof median, length_of(comparison->median));
    print_note(out, comparison->report->trace,
               "Iteration %" PRIu64 ": %s; the median one (%" PRIu64 "): %s", comparison->slow->id,
               slow, comparison->median->id, median);
    report_begin(&table, out, slowest_columns + 1, SLOWEST_COLUMN_COUNT - 1);
    report_header(&table);
    while (shown < ROWS_IN_TEXT && shown < comparison->count &&
           difference_of(&comparison->rows[shown]) > 0)
        take_difference(&table, comparison, &comparison->rows[shown++], report_row);
    print_rest(&table, comparison, shown);
    report_end(&table);
}

/* ---- CSV: all rows in one table ---- */

struct csv {
    struct report_table table;
    void (*take)(struct report_table *, const struct report_cell *);
};

static void take_csv(const struct comparison *comparison, void *context)
{
    struct csv *csv = context;

    for (size_t i = 0; i < comparison->count; i++)
        take_difference(&csv->table, comparison, &comparison->rows[i], csv->take);
}

static enum mp_status print_csv(const struct report_out *out, const struct deps_report *report)
{
    struct csv csv = {.take = report_measure};

    report_begin(&csv.table, out, slowest_columns, SLOWEST_COLUMN_COUNT);
    csv.table.name = "slowest";
    MP_TRY(each_slowest(report, &csv, take_csv));
    report_header(&csv.table);
    csv.take = report_row;
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
    struct report_table table;

    json_open_object(json);
    JSON_FACTS(json, FACT("iteration", comparison->slow->id),
               FACT("window_ns", length_of(comparison->slow)),
               FACT("median_iteration", comparison->median->id),
               FACT("median_window_ns", length_of(comparison->median)));
    json_key_array(json, "rows");
    report_begin_json(&table, json, slowest_columns + 1, SLOWEST_COLUMN_COUNT - 1);
    for (size_t i = 0; i < comparison->count; i++)
        take_difference(&table, comparison, &comparison->rows[i], report_row);
    report_end(&table);
    json_close_array(json);
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
