/* A slow iteration beside the median one: both paths, row by row, the greatest difference first.
 * The differences of all rows add up to that of the lengths. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/deps/rows.h"
#include "reports/deps/sections.h"

#include "base/poison.h"

#define ROWS_IN_TEXT 10

static const struct report_column columns[] = {
    {.title = "Iteration", .kind = REPORT_CELL_ID, .width = 9},
    {.title = "Difference", .key = "difference_ns", .kind = REPORT_CELL_CHANGE, .width = 13},
    {.title = "Critical path", .key = "critical_ns", .kind = REPORT_CELL_TIME, .width = 13},
    {.title = "In the median", .key = "median_critical_ns", .kind = REPORT_CELL_TIME, .width = 13},
    {.title = "Name", .key = "name", .kind = REPORT_CELL_TEXT, .width = 4},
};

#define COLUMN_COUNT (sizeof columns / sizeof *columns)

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

static void slowest_take_row(struct report_table *table, const struct comparison *comparison,
                             const struct difference *row,
                             void (*take)(struct report_table *, const struct report_cell *))
{
    struct report_cell cells[COLUMN_COUNT] = {
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
        slowest_take_row(table, comparison, &rest, report_row);
}

static void slowest_print_text(const struct comparison *comparison, void *context)
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
    report_begin(&table, out, columns + 1, COLUMN_COUNT - 1);
    report_header(&table);
    while (shown < ROWS_IN_TEXT && shown < comparison->count &&
           difference_of(&comparison->rows[shown]) > 0)
        slowest_take_row(&table, comparison, &comparison->rows[shown++], report_row);
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
        slowest_take_row(&csv->table, comparison, &comparison->rows[i], csv->take);
}

static enum mp_status print_csv(const struct report_out *out, const struct deps_report *report)
{
    struct csv csv = {.take = report_measure};

    report_begin(&csv.table, out, columns, COLUMN_COUNT);
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
    return each_slowest(report, &to, slowest_print_text);
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
    report_begin_json(&table, json, columns + 1, COLUMN_COUNT - 1);
    for (size_t i = 0; i < comparison->count; i++)
        slowest_take_row(&table, comparison, &comparison->rows[i], report_row);
    report_end(&table);
    json_close_array(json);
    json_close_object(json);
}

enum mp_status json_deps_slowest(struct json_writer *json, const struct deps_report *report)
{
    unsigned lines = json->lines;
    enum mp_status status;

    json->lines = lines + 2; /* an object, an array */
    json_open_array(json);
    status = each_slowest(report, json, json_comparison);
    json_close_array(json);
    json->lines = lines;
    return status;
}
