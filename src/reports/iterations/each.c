/* The iterations one by one: in text the parts of a latency, elsewhere everything, and their rows
 * as arrays, which the page uses. Then those that stand out, and which of them came with lower
 * clocks.
 */
#include <math.h>

#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/counters/counters.h"
#include "reports/iterations/print.h"

#include "base/poison.h"

bool iterations_is_known(const struct iterations_report *report, enum iteration_quantity quantity)
{
    if (quantity == ITERATION_IDLE_RECORDING && !report->deps->recording.before)
        return false;
    if (quantity == ITERATION_IDLE_PEER && !report->deps->peers)
        return false;
    return iteration_quantity_is_of_host(quantity) || !quality_gap(&report->deps->quality);
}

struct shown_iteration {
    uint64_t number; /* from 1 on */
    const struct iteration *iteration;
    const uint64_t *values; /* by quantity */
};

#define OF(member)  THROUGH(struct shown_iteration, iteration, member)
#define MAX_COLUMNS (ITERATION_QUANTITIES + 8)
#define NOT_JSON    (REPORT_IN_TEXT | REPORT_IN_CSV | REPORT_IN_SHEET)

static struct report_cell begin_cell(const void *at, struct report_table *table)
{
    const struct iterations_report *report = table->of;

    return report_number_cell(((const struct shown_iteration *)at)->iteration->begin -
                              report->summary->begin);
}

static struct report_cell thread_cell(const void *at, struct report_table *table)
{
    const struct iterations_report *report = table->of;
    uint32_t thread = ((const struct shown_iteration *)at)->iteration->thread;

    return thread == DEPS_NONE ? report_absent_cell()
                               : report_number_cell(report->deps->lanes[thread].id);
}

/* The column's `index` is the quantity. */
static struct report_cell value_cell(const void *at, struct report_table *table)
{
    unsigned quantity = table->column->index;

    return report_number_if(iterations_is_known(table->of, (enum iteration_quantity)quantity),
                            ((const struct shown_iteration *)at)->values[quantity]);
}

#define QUANTITY(title, which, ...)                                                                \
    COLUMN(title, NULL, TIME, 8, .cell = value_cell, .index = ITERATION_##which, __VA_ARGS__)

#define IF_PEERS 1u /* a bit of `there`: it is known how long NCCL waited */

static const struct report_column text_columns[] = {
    COLUMN("No.", NULL, ID, 5, MEMBER(struct shown_iteration, number)),
    COLUMN("Begin", NULL, TIME, 8, .cell = begin_cell, .moment = true, .drop = 2),
    QUANTITY("Latency", LATENCY),
    QUANTITY("GPU busy", BUSY),
    QUANTITY("Kernels", KERNEL),
    QUANTITY("HtoD", HTOD),
    QUANTITY("DtoH", DTOH),
    QUANTITY("Others", OTHERS, .drop = 3),
    QUANTITY("Launch", IDLE_LAUNCH), /* idle, by cause */
    QUANTITY("Queued", IDLE_QUEUED),
    QUANTITY("CopyWait", IDLE_COPY, .drop = 1),
    QUANTITY("HostWait", IDLE_HOST),
    QUANTITY("SyncWait", IDLE_SYNC),
    QUANTITY("PeerWait", IDLE_PEER, .needs = IF_PEERS),
    COLUMN("Recording", NULL, TIME, 9, .cell = value_cell, .index = ITERATION_IDLE_RECORDING,
           .drop = 4),
};

/* Those of scripts: the quantities come between the begin and, in CSV, the last column. */
static const struct report_column first_columns[] = {
    COLUMN("No.", "iteration", ID, 0, MEMBER(struct shown_iteration, number)),
    COLUMN("Begin", NULL, TIME, 0, .cell = begin_cell),
    COLUMN(NULL, "thread", ID, 0, .cell = thread_cell, .formats = REPORT_IN_JSON),
    COLUMN(NULL, "begin_ns", ID, 0, OF(begin), .formats = REPORT_IN_JSON),
    COLUMN(NULL, "host_end_ns", ID, 0, OF(host_end), .formats = REPORT_IN_JSON),
    COLUMN(NULL, "end_ns", ID, 0, OF(end), .formats = REPORT_IN_JSON),
    COLUMN(NULL, "pipelined", BOOL, 0, OF(pipelined), .formats = REPORT_IN_JSON),
};
static const struct report_column last_column =
    COLUMN("Pipelined", NULL, BOOL, 0, OF(pipelined), .formats = NOT_JSON);

static struct report_layout choose_columns(const struct iterations_report *report, bool text,
                                           struct report_column columns[MAX_COLUMNS])
{
    size_t count = 0;

    if (text)
        return (struct report_layout){REPORT_COLUMNS(text_columns), .of = report,
                                      .measuring = REPORT_FIT_UNITS,
                                      .there = report->deps->peers ? IF_PEERS : 0};
    for (size_t i = 0; i < sizeof first_columns / sizeof *first_columns; i++)
        columns[count++] = first_columns[i];
    for (unsigned i = 0; i < ITERATION_QUANTITIES; i++) {
        columns[count++] = (struct report_column){
            .title = iteration_quantity_name((enum iteration_quantity)i),
            .key = iteration_quantity_key((enum iteration_quantity)i),
            .kind = i < ITERATION_TIMES ? REPORT_CELL_TIME : REPORT_CELL_COUNT,
            .cell = value_cell,
            .index = i,
        };
    }
    columns[count++] = last_column;
    return (struct report_layout){
        .columns = columns, .count = count, .of = report, .measuring = REPORT_FIT_UNITS};
}

static struct shown_iteration shown_of(const struct iterations_report *report, size_t index)
{
    return (struct shown_iteration){index + 1, &report->iterations->items[index],
                                    report->measures[index].values};
}

static void each_iteration(struct report_table *table, report_take *take)
{
    const struct iterations_report *report = table->of;

    for (size_t i = 0; i < report->iterations->count; i++) {
        const struct shown_iteration shown = shown_of(report, i);

        if (!report->one || report->one == i + 1)
            take(table, &shown);
    }
}

void print_iterations_each(const struct report_out *out, const struct iterations_report *report)
{
    struct report_column columns[MAX_COLUMNS];
    const struct report_layout layout = choose_columns(report, out->format == REPORT_TEXT, columns);

    report_print(out, &layout, each_iteration);
}

void json_iterations_each(struct json_writer *json, const struct iterations_report *report)
{
    struct report_column columns[MAX_COLUMNS];
    const struct report_layout layout = choose_columns(report, false, columns);

    report_json_print(json, "iterations", &layout, each_iteration);
}

void print_iterations_columns(FILE *out, const struct iterations_report *report, size_t max)
{
    size_t count = report->iterations->count < max ? report->iterations->count : max;
    struct report_column columns[MAX_COLUMNS];
    const struct report_layout layout = choose_columns(report, false, columns);
    struct report_table table;
    struct json_writer json;

    json_open_document(&json, out, 2);
    report_open_json(&table, &json, &layout);
    report_json_keys(&table, "columns");
    json_key_array(&json, "rows");
    for (size_t i = 0; i < count; i++) {
        const struct shown_iteration shown = shown_of(report, i);

        report_json_values(&table, &shown);
    }
    json_close_array(&json);
    json_close_document(&json);
}

/* ---- Iterations that stand out ---- */

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

#define OUTLIER(member) MEMBER(struct shown_outlier, member)
#define CLOCK(member)   THROUGH(struct shown_outlier, clocks, member)
#define IF_CLOCKS       1u /* the layout's `there` */
#define IF_KNOWN        WHEN(struct shown_outlier, is_known)

static struct report_cell outlier_begin_cell(const void *at, struct report_table *table)
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
    COLUMN("Iteration", "iteration", ID, 9, OUTLIER(number)),
    COLUMN("Begin", NULL, TIME, 8, .cell = outlier_begin_cell, .moment = true),
    COLUMN(NULL, "begin_ns", TIME, 8, OUTLIER(begin), .formats = REPORT_IN_JSON),
    COLUMN("Latency", "latency_ns", TIME, 8, OUTLIER(latency)),
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
    char limit[MP_FORMATTED_BYTES], longest[32] = "";

    if (cut)
        snprintf(longest, sizeof longest, "; the longest %d", OUTLIERS_SHOWN);
    print_note(out, report->trace,
               "%s outlier%s, latencies over %s%s:", mp_count(summary->outlier_count).text,
               summary->outlier_count == 1 ? "" : "s",
               mp_format_time(limit, sizeof limit, summary->limit), longest);
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
