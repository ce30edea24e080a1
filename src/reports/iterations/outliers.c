/* Iterations that stand out: the table, the keys, and which came with lower clocks. */
#include <math.h>

#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/common/summary_table.h"
#include "reports/counters/counters.h"
#include "reports/iterations/print.h"

#include "base/poison.h"

/* The last three are there in text if clocks were sampled. */
static const struct report_column outlier_columns[] = {
    {.title = "Iteration", .kind = REPORT_CELL_ID, .width = 9},
    {.title = "Begin", .kind = REPORT_CELL_TIME, .width = 8, .moment = true},
    {.title = "Latency", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "More by", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Most of it", .key = "grew", .kind = REPORT_CELL_TEXT, .width = 20},
    {.title = "By", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Clock", .key = "clock_percent", .kind = REPORT_CELL_PERCENT, .width = 7},
    {.title = "Power", .key = "power_capped_percent", .kind = REPORT_CELL_PERCENT, .width = 7},
    {.title = "Heat", .key = "too_hot_percent", .kind = REPORT_CELL_PERCENT, .width = 7},
};

#define OUTLIER_COLUMNS (sizeof outlier_columns / sizeof *outlier_columns)
#define CLOCK_COLUMNS   3
#define OUTLIERS_SHOWN  10

static const struct counters_clocks unknown_clocks = {(double)NAN, (double)NAN, (double)NAN,
                                                      (double)NAN, (double)NAN};

static const struct counters_clocks *clocks_of(const struct iterations_report *report,
                                               const struct iteration_outlier *outlier)
{
    return report->clocks ? &report->clocks[outlier->iteration] : &unknown_clocks;
}

static struct report_cell percent_cell(double percent)
{
    return isnan(percent) ? report_absent_cell() : report_real_cell(percent);
}

static void each_outlier(struct report_table *table, const struct iterations_report *report,
                         size_t count,
                         void (*take)(struct report_table *, const struct report_cell *))
{
    const struct iterations_summary *summary = report->summary;
    uint64_t usual = summary->statistics[ITERATION_LATENCY].p50;

    for (size_t i = 0; i < count; i++) {
        const struct iteration_outlier *outlier = &summary->outliers[i];
        const struct iteration *iteration = &report->iterations->items[outlier->iteration];
        const struct counters_clocks *clocks = clocks_of(report, outlier);
        uint64_t latency = report->measures[outlier->iteration].values[ITERATION_LATENCY];
        bool known = outlier->by != 0 && iterations_is_known(report, outlier->grew);
        struct report_cell cells[OUTLIER_COLUMNS] = {
            report_number_cell((uint64_t)outlier->iteration + 1),
            report_number_cell(iteration->begin - summary->begin),
            report_number_cell(latency),
            report_number_cell(latency - usual),
            known ? report_text_cell(iteration_quantity_name(outlier->grew)) : report_absent_cell(),
            known ? report_number_cell(outlier->by) : report_absent_cell(),
            percent_cell(clocks->percent),
            percent_cell(clocks->power_capped),
            percent_cell(clocks->too_hot),
        };
        take(table, cells);
    }
}

static void print_outliers_title(const struct report_out *out,
                                 const struct iterations_report *report, bool cut)
{
    const struct iterations_summary *summary = report->summary;
    char limit[MP_FORMATTED_BYTES];

    mp_format_time(limit, sizeof limit, summary->limit);
    print_prefix(out, report->trace);
    fprintf(out->file, "%s outlier%s, latencies over %s", mp_count(summary->outlier_count).text,
            summary->outlier_count == 1 ? "" : "s", limit);
    if (cut)
        fprintf(out->file, "; the longest %d", OUTLIERS_SHOWN);
    fputs(":\n", out->file);
}

/* "3 of the 4 came with lower clocks or more throttling: power 2, unknown 1." */
static void print_low_clocks(const struct report_out *out, const struct iterations_report *report)
{
    static const char *const causes[] = {"power", "heat", "unknown"};
    const struct iterations_summary *summary = report->summary;
    size_t counts[sizeof causes / sizeof *causes] = {0};
    const char *separator = ": ";
    size_t low = 0;

    for (size_t i = 0; i < summary->outlier_count; i++) {
        const char *why;

        if (!counters_clocks_are_low(clocks_of(report, &summary->outliers[i]), &why))
            continue;
        low++;
        for (size_t c = 0; c < sizeof causes / sizeof *causes; c++)
            counts[c] += *causes[c] == *why;
    }
    print_prefix(out, report->trace);
    fprintf(out->file, "%s of the %s came with lower clocks or more throttling", mp_count(low).text,
            mp_count(summary->outlier_count).text);
    for (size_t c = 0; c < sizeof causes / sizeof *causes; c++) {
        if (!counts[c])
            continue;
        fprintf(out->file, "%s%s %s", separator, causes[c], mp_count(counts[c]).text);
        separator = ", ";
    }
    fputs(".\n", out->file);
}

void print_iterations_outliers(const struct report_out *out, const struct iterations_report *report)
{
    const struct iterations_summary *summary = report->summary;
    bool cut = out->format == REPORT_TEXT && summary->outlier_count > OUTLIERS_SHOWN;
    bool plain = out->format == REPORT_TEXT && !report->clocks;
    size_t count = cut ? OUTLIERS_SHOWN : summary->outlier_count;
    struct report_table table;

    if (!summary->outlier_count && report_has_titles(out))
        return;
    if (report_has_titles(out))
        print_outliers_title(out, report, cut);
    report_begin(&table, out, outlier_columns, OUTLIER_COLUMNS - (plain ? CLOCK_COLUMNS : 0));
    table.name = "outliers";
    if (summary_needs_measure(out))
        each_outlier(&table, report, count, report_measure);
    report_header(&table);
    each_outlier(&table, report, count, report_row);
    report_end(&table);
    if (out->format == REPORT_TEXT && report->clocks)
        print_low_clocks(out, report);
}

static struct json_fact percent_fact(const char *key, double percent)
{
    return FACT_IF(key, !isnan(percent), percent);
}

void json_iterations_outliers(struct json_writer *json, const struct iterations_report *report)
{
    const struct iterations_summary *summary = report->summary;

    json_key_array(json, "outliers");
    for (size_t i = 0; i < summary->outlier_count; i++) {
        const struct iteration_outlier *outlier = &summary->outliers[i];
        const struct counters_clocks *clocks = clocks_of(report, outlier);
        uint32_t at = outlier->iteration;

        JSON_OBJECT(json, FACT("iteration", (uint64_t)at + 1),
                    FACT("begin_ns", report->iterations->items[at].begin),
                    FACT("latency_ns", report->measures[at].values[ITERATION_LATENCY]),
                    FACT_IF("grew", outlier->by && iterations_is_known(report, outlier->grew),
                            iteration_quantity_key(outlier->grew)),
                    FACT("by_ns", outlier->by), percent_fact("clock_percent", clocks->percent),
                    percent_fact("power_capped_percent", clocks->power_capped),
                    percent_fact("too_hot_percent", clocks->too_hot));
    }
    json_close_array(json);
}
