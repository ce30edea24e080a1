/* The dependency analysis over many iterations: mean and percentiles of each row. */
#include <stdlib.h>

#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/common/statistics.h"
#include "reports/deps/rows.h"
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
static void iterations_each_row(struct report_table *table,
                                const struct deps_iterations *iterations,
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

static enum mp_status iterations_print_table(struct report_table *table,
                                             const struct deps_report *report, bool parts)
{
    struct statistics other = {0};
    struct deps_table_rows rows;

    if (!parts)
        MP_TRY(other_statistics(report, &other));
    MP_TRY(deps_rows_build(report->deps, &report->iterations->total, parts, &rows));
    if (table->format == REPORT_CSV)
        iterations_each_row(table, report->iterations, &rows, &other, report_measure);
    report_header(table);
    iterations_each_row(table, report->iterations, &rows, &other, report_row);
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
    MP_TRY(iterations_print_table(&table, report, report->parts));
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
    MP_TRY(iterations_print_table(&table, report, false));
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
