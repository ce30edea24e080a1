/* Iterations that stand out: the table, the keys, and which came with lower clocks. */
#include <math.h>

#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/counters/counters.h"
#include "reports/iterations/print.h"

#include "base/poison.h"

#define OUTLIERS_SHOWN 10

static const struct counters_clocks unknown_clocks = {(double)NAN, (double)NAN, (double)NAN,
                                                      (double)NAN, (double)NAN};

static const struct counters_clocks *clocks_of(const struct iterations_report *report,
                                               const struct iteration_outlier *outlier)
{
    return report->clocks ? &report->clocks[outlier->iteration] : &unknown_clocks;
}

struct shown_outlier {
    uint64_t number;         /* of the iteration, from 1 on */
    uint64_t begin, latency; /* ns; the begin of the recorder's clock */
    const struct iteration_outlier *outlier;
    bool is_known; /* what grew */
    const struct counters_clocks *clocks;
};

#define OF(member)    MEMBER(struct shown_outlier, member)
#define CLOCK(member) THROUGH(struct shown_outlier, clocks, member)
#define NOT_JSON      (REPORT_IN_TEXT | REPORT_IN_CSV | REPORT_IN_SHEET)
#define IF_CLOCKS     1u /* the layout's `there` */
#define IF_KNOWN      WHEN(struct shown_outlier, is_known)

static struct report_cell begin_cell(const void *at, struct report_table *table)
{
    const struct iterations_report *report = table->of;

    return report_number_cell(((const struct shown_outlier *)at)->begin - report->summary->begin);
}

static struct report_cell more_cell(const void *at, struct report_table *table)
{
    const struct iterations_report *report = table->of;

    return report_number_cell(((const struct shown_outlier *)at)->latency -
                              report->summary->statistics[ITERATION_LATENCY].p50);
}

static struct report_cell grew_cell(const void *at, struct report_table *table)
{
    enum iteration_quantity grew = ((const struct shown_outlier *)at)->outlier->grew;

    return report_text_cell(table->json ? iteration_quantity_key(grew)
                                        : iteration_quantity_name(grew));
}

static const struct report_column outlier_columns[] = {
    COLUMN("Iteration", "iteration", ID, 9, OF(number)),
    COLUMN("Begin", NULL, TIME, 8, .cell = begin_cell, .moment = true),
    COLUMN(NULL, "begin_ns", TIME, 8, OF(begin), .formats = REPORT_IN_JSON),
    COLUMN("Latency", "latency_ns", TIME, 8, OF(latency)),
    COLUMN("More by", NULL, TIME, 8, .cell = more_cell),
    COLUMN("Most of it", "grew", TEXT, 20, .cell = grew_cell, IF_KNOWN),
    COLUMN("By", NULL, TIME, 8, THROUGH(struct shown_outlier, outlier, by), IF_KNOWN,
           .formats = NOT_JSON),
    COLUMN(NULL, "by_ns", TIME, 8, THROUGH(struct shown_outlier, outlier, by),
           .formats = REPORT_IN_JSON),
    COLUMN("Clock", "clock_percent", PERCENT, 7, CLOCK(percent), .needs = IF_CLOCKS),
    COLUMN("Power", "power_capped_percent", PERCENT, 7, CLOCK(power_capped), .needs = IF_CLOCKS),
    COLUMN("Heat", "too_hot_percent", PERCENT, 7, CLOCK(too_hot), .needs = IF_CLOCKS),
};

/* Text shows the first ones, and clocks if they were sampled. */
static void each_outlier(struct report_table *table, report_take *take)
{
    const struct iterations_report *report = table->of;
    size_t count = report->summary->outlier_count;

    if (table->format == REPORT_TEXT && count > OUTLIERS_SHOWN)
        count = OUTLIERS_SHOWN;
    for (size_t i = 0; i < count; i++) {
        const struct iteration_outlier *outlier = &report->summary->outliers[i];

        take(table, &(struct shown_outlier){
                        .number = (uint64_t)outlier->iteration + 1,
                        .begin = report->iterations->items[outlier->iteration].begin,
                        .latency = report->measures[outlier->iteration].values[ITERATION_LATENCY],
                        .outlier = outlier,
                        .is_known = outlier->by && iterations_is_known(report, outlier->grew),
                        .clocks = clocks_of(report, outlier),
                    });
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
    const struct report_layout layout = {
        REPORT_COLUMNS(outlier_columns),
        .of = report,
        .name = "outliers",
        .there = out->format != REPORT_TEXT || report->clocks ? IF_CLOCKS : 0,
        .measuring = REPORT_FIT_UNITS,
    };

    if (!summary->outlier_count && report_has_titles(out))
        return;
    if (report_has_titles(out))
        print_outliers_title(out, report, cut);
    report_print(out, &layout, each_outlier);
    if (out->format == REPORT_TEXT && report->clocks)
        print_low_clocks(out, report);
}

void json_iterations_outliers(struct json_writer *json, const struct iterations_report *report)
{
    report_json_print(
        json, "outliers",
        &(struct report_layout){REPORT_COLUMNS(outlier_columns), .of = report, .there = IF_CLOCKS},
        each_outlier);
}
