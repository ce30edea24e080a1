/* Prints a comparison: sides, latency with its verdict, quantities, and the names that changed
 * most.
 */
#include "reports/diff/print.h"

#include <math.h>
#include <string.h>

#include "base/text/foreign.h"
#include "base/text/units.h"
#include "reports/common/summary_table.h"

#include "base/poison.h"

#define LINE "======== "

static const char side_names[DIFF_SIDES] = {'A', 'B'};

/* ---- Sides ---- */

static void print_side(FILE *out, const struct diff *diff, int side)
{
    const struct diff_side *own = &diff->sides[side];

    fprintf(out, LINE "%c: ", side_names[side]);
    if (own->run_count > 1)
        fprintf(out, "%s runs: ", mp_count(own->run_count).text);
    for (size_t i = 0; i < own->run_count; i++) {
        if (i)
            fputs(", ", out);
        foreign_put_text(out, own->runs[i].path);
    }
    fputc('\n', out);
}

static void print_run_notes(FILE *out, const struct diff *diff, int side)
{
    const struct diff_side *own = &diff->sides[side];

    for (size_t i = 0; i < own->run_count; i++) {
        const struct diff_run *run = &own->runs[i];
        const char *note = run->no_work    ? "no GPU work in the trace"
                           : run->no_calls ? "no API calls in the trace: work belongs to the "
                                             "iteration in which it began"
                                           : NULL;

        if (*run->warning) {
            fprintf(out, LINE "Warning: %c: ", side_names[side]);
            foreign_put_text(out, run->path);
            fprintf(out, ": %s.\n", run->warning);
        }
        if (note) {
            fprintf(out, LINE "Note: %c: ", side_names[side]);
            foreign_put_text(out, run->path);
            fprintf(out, ": %s.\n", note);
        }
        if (run->outside)
            fprintf(out, LINE "Note: %c: %s device activit%s to no iteration.\n", side_names[side],
                    mp_count(run->outside).text, run->outside == 1 ? "y belongs" : "ies belong");
    }
}

#define MAX_OF_FACT 512 /* bytes; facts are compared as a whole */

static void put_fact(FILE *out, const char *fact)
{
    size_t bytes = strlen(fact);
    size_t shown = bytes < MAX_OF_FACT ? bytes : MAX_OF_FACT;

    while (shown < bytes && shown && (fact[shown] & 0xc0) == 0x80)
        shown--; /* no part of a character */
    foreign_put(out, fact, shown);
    fputs(shown < bytes ? "..." : "", out);
}

static void print_facts(FILE *out, const struct diff *diff)
{
    for (int kind = 0; kind < DIFF_FACTS; kind++) {
        const char *a = diff_fact(&diff->sides[DIFF_A], kind);
        const char *b = diff_fact(&diff->sides[DIFF_B], kind);

        if (!strcmp(a, b))
            continue;
        fprintf(out, LINE "Note: %s: A ", diff_fact_name((enum diff_fact_kind)kind));
        put_fact(out, *a ? a : "not known");
        fputs("; B ", out);
        put_fact(out, *b ? b : "not known");
        fputs(".\n", out);
    }
}

static void print_way(FILE *out, const struct diff *diff)
{
    static const char *const ways[ITERATIONS_WAYS] = {
        [ITERATIONS_NVTX] = "Iterations by NVTX range",
        [ITERATIONS_RANGES] = "Iterations by capture range",
        [ITERATIONS_GRAPH] = "Iterations by launch of a CUDA graph",
        [ITERATIONS_KERNELS] = "Iterations by a sequence of kernels that repeats",
        [ITERATIONS_SYNCS] = "Iterations by waits of a thread for its work",
        [ITERATIONS_REQUESTS] = "Requests: what a thread launches up to the wait for it",
        [ITERATIONS_WHOLE] = "One iteration, the whole trace",
    };

    if (*diff->why) {
        fputs(LINE "Note: ", out);
        foreign_put_text(out, diff->why);
        fputs(": the first way that both sides have is taken.\n", out);
    }
    fprintf(out, LINE "%s", ways[diff->way]);
    if (diff->name) {
        fputs(" \"", out);
        foreign_put_text(out, diff->name);
        fputc('"', out);
    }
    fputs(diff->found ? ":\n" : ", as asked for:\n", out);
}

/* ---- Latency ---- */

static const struct report_column latency_columns[] = {
    {.title = "Latency", .key = "side", .kind = REPORT_CELL_TEXT, .width = 7, .left = true},
    {.title = "Runs", .kind = REPORT_CELL_COUNT, .width = 5},
    {.title = "Iterations", .kind = REPORT_CELL_COUNT, .width = 10},
    {.title = "Mean", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "P50", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "P90", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "P99", .kind = REPORT_CELL_TIME, .width = 8},
};

#define LATENCY_COLUMNS (sizeof latency_columns / sizeof *latency_columns)

static void each_side(struct report_table *table, const struct diff *diff,
                      void (*take)(struct report_table *, const struct report_cell *))
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct diff_side *own = &diff->sides[side];
        const char name[] = {side_names[side], '\0'};
        const struct report_cell cells[LATENCY_COLUMNS] = {
            report_text_cell(name),
            report_number_cell(own->run_count),
            report_number_cell(own->iterations),
            report_real_cell(own->latency.mean),
            report_number_cell(own->latency.p50),
            report_number_cell(own->latency.p90),
            report_number_cell(own->latency.p99),
        };
        take(table, cells);
    }
}

/* `+4.588us`, `-909ns`, to the digits that the interval allows. */
static const char *signed_time(double ns, double error, char buffer[MP_FORMATTED_BYTES])
{
    buffer[0] = ns < 0 ? '-' : '+';
    mp_format_time_within(buffer + 1, MP_FORMATTED_BYTES - 1, mp_whole_ns(fabs(ns)), error);
    return buffer;
}

/* `+44`, `-85.61`; `0.0` has no minus. */
static const char *signed_percent(double percent, int places, char buffer[MP_FORMATTED_BYTES])
{
    buffer[0] = '+';
    mp_show_places(buffer + (percent > 0), MP_FORMATTED_BYTES - 1, percent, places);
    return buffer;
}

static const char *verdict_of(const struct diff *diff)
{
    switch (diff->change) {
    case DIFF_SLOWER:
        return "B is slower";
    case DIFF_FASTER:
        return "B is faster";
    case DIFF_UNKNOWN:
        return "there are too few iterations to tell from noise";
    case DIFF_UNCHANGED:
    case DIFF_ADDED:
    case DIFF_REMOVED:
    case DIFF_CHANGES:
    default:
        return "no more than noise";
    }
}

static void print_shift(FILE *out, const struct diff *diff)
{
    const struct shift *shift = &diff->latency;
    char center[MP_FORMATTED_BYTES], low[MP_FORMATTED_BYTES], high[MP_FORMATTED_BYTES];
    double usual = (double)diff->sides[DIFF_A].latency.p50;
    double error = shift->bounded ? ((double)shift->high - (double)shift->low) / 2 : 0;
    int places = usual > 0 && shift->bounded ? mp_places_within(100 * error / usual) : 2;

    fprintf(out, LINE "Latency of B minus that of A: %s",
            signed_time(shift->center, error, center));
    if (usual > 0)
        fprintf(out, ", %s%% of A's P50", signed_percent(diff_percent(diff), places, low));
    if (shift->bounded) {
        fprintf(out, "; 95%% interval %s to %s", signed_time((double)shift->low, error, low),
                signed_time((double)shift->high, error, high));
        if (usual > 0)
            fprintf(out, ", %s%% to %s%%",
                    signed_percent(100 * (double)shift->low / usual, places, low),
                    signed_percent(100 * (double)shift->high / usual, places, high));
    }
    fprintf(out, ": %s.\n", verdict_of(diff));
}

static void print_samples(FILE *out, const struct diff *diff)
{
    size_t a = diff->sides[DIFF_A].run_count;
    size_t b = diff->sides[DIFF_B].run_count;

    if (diff->by_runs)
        fputs(LINE "The interval is over the runs' medians.\n", out);
    else if (diff->latency.bounded && (a > 1 || b > 1))
        fprintf(out,
                LINE "Note: the interval is over all iterations, which are not independent within "
                     "a run; %s and %s runs are too few for one over their medians (4 and 4 are "
                     "enough).\n",
                mp_count(a).text, mp_count(b).text);
    else if (diff->latency.bounded)
        fputs(LINE "Note: the interval is over the iterations of one run a side, which are not "
                   "independent; with 4 runs a side it is over their medians.\n",
              out);
}

static void print_latency(const struct report_out *out, const struct diff *diff)
{
    struct report_table table;

    report_begin(&table, out, latency_columns, LATENCY_COLUMNS);
    table.name = "latency";
    if (summary_needs_measure(out))
        each_side(&table, diff, report_measure);
    report_header(&table);
    each_side(&table, diff, report_row);
    report_end(&table);
    if (!report_has_titles(out))
        return;
    print_shift(out->file, diff);
    print_samples(out->file, diff);
}

static void print_allowed(FILE *out, const struct diff_report *report)
{
    const char *verdict = "Passed: B is not surely slower";
    const char *why = "";

    if (!report->fail_above)
        return;
    if (diff_is_above(report->diff, report->allowed)) {
        verdict = "Failed: B is slower";
    } else if (!report->diff->latency.bounded) {
        verdict = "Note: not known whether B is slower";
        why = ": too few iterations";
    }
    fprintf(out, LINE "%s by more than %.15g%%%s.\n", verdict, report->allowed, why);
}

/* ---- Quantities ---- */

static const struct report_column time_columns[] = {
    {.title = "Time of an iteration",
     .key = "quantity",
     .kind = REPORT_CELL_TEXT,
     .width = 25,
     .left = true,
     .name = true},
    {.title = "Mean A", .key = "a_mean", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Mean B", .key = "b_mean", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Difference", .kind = REPORT_CELL_CHANGE, .width = 13},
    {.title = "Percent", .kind = REPORT_CELL_PERCENT, .width = 9},
    {.title = "Change", .kind = REPORT_CELL_TEXT, .width = 9},
};

static const struct report_column count_columns[] = {
    {.title = "Count of an iteration",
     .key = "quantity",
     .kind = REPORT_CELL_TEXT,
     .width = 25,
     .left = true,
     .name = true},
    {.title = "Mean A", .key = "a_mean", .kind = REPORT_CELL_REAL, .width = 8},
    {.title = "Mean B", .key = "b_mean", .kind = REPORT_CELL_REAL, .width = 8},
    {.title = "Difference", .kind = REPORT_CELL_REAL, .width = 13},
    {.title = "Percent", .kind = REPORT_CELL_PERCENT, .width = 9},
    {.title = "Change", .kind = REPORT_CELL_TEXT, .width = 9},
};

#define QUANTITY_COLUMNS (sizeof time_columns / sizeof *time_columns)

static struct report_cell percent_cell(double part, double whole)
{
    return whole > 0 ? report_real_cell(100 * part / whole) : report_absent_cell();
}

static struct report_cell change_cell(double ns)
{
    return report_number_cell((uint64_t)llround(fmax(-9e18, fmin(9e18, ns))));
}

static void each_quantity(struct report_table *table, const struct diff *diff, bool times,
                          void (*take)(struct report_table *, const struct report_cell *))
{
    int end = times ? ITERATION_TIMES : ITERATION_QUANTITIES;
    bool whole = !diff_gap(diff);

    for (int i = times ? 0 : ITERATION_TIMES; i < end; i++) {
        const struct diff_row *row = &diff->quantities.rows[i];
        const struct report_cell cells[QUANTITY_COLUMNS] = {
            report_text_cell(iteration_quantity_name((enum iteration_quantity)i)),
            report_real_cell(row->mean[DIFF_A]),
            report_real_cell(row->mean[DIFF_B]),
            times ? change_cell(row->difference) : report_real_cell(row->difference),
            percent_cell(row->difference, row->mean[DIFF_A]),
            report_text_cell(diff_quantity_change_name(row->change)),
        };
        if (!whole && !iteration_quantity_is_of_host((enum iteration_quantity)i))
            continue;
        if (i == ITERATION_IDLE_UNKNOWN && !(row->mean[DIFF_A] > 0) && !(row->mean[DIFF_B] > 0))
            continue;
        take(table, cells);
    }
}

static void print_quantities(const struct report_out *out, const struct diff *diff, bool times)
{
    struct report_table table;

    report_begin(&table, out, times ? time_columns : count_columns, QUANTITY_COLUMNS);
    table.name = times ? "times" : "counts";
    if (summary_needs_measure(out))
        each_quantity(&table, diff, times, report_measure);
    report_header(&table);
    each_quantity(&table, diff, times, report_row);
    report_end(&table);
}

/* ---- Kernels, layers ---- */

static const struct report_column row_columns[] = {
    {.title = "Change", .kind = REPORT_CELL_TEXT, .width = 9, .left = true},
    {.title = "Difference", .kind = REPORT_CELL_CHANGE, .width = 13},
    {.title = "Percent", .kind = REPORT_CELL_PERCENT, .width = 9},
    {.title = "Of iter", .key = "of_iteration", .kind = REPORT_CELL_PERCENT, .width = 8, .drop = 2},
    {.title = "Calls A", .key = "a_calls", .kind = REPORT_CELL_REAL, .width = 7, .drop = 3},
    {.title = "Calls B", .key = "b_calls", .kind = REPORT_CELL_REAL, .width = 7, .drop = 3},
    {.title = "Time A", .key = "a_mean", .kind = REPORT_CELL_MEAN, .width = 8, .drop = 1},
    {.title = "Time B", .key = "b_mean", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Name", .kind = REPORT_CELL_TEXT, .left = true},
};

#define ROW_COLUMNS (sizeof row_columns / sizeof *row_columns)

/* For layers, the count is that of pieces of work. */
static const struct report_column layer_columns[ROW_COLUMNS] = {
    {.title = "Change", .kind = REPORT_CELL_TEXT, .width = 9, .left = true},
    {.title = "Difference", .kind = REPORT_CELL_CHANGE, .width = 13},
    {.title = "Percent", .kind = REPORT_CELL_PERCENT, .width = 9},
    {.title = "Of iter", .key = "of_iteration", .kind = REPORT_CELL_PERCENT, .width = 8, .drop = 2},
    {.title = "Work A", .key = "a_work", .kind = REPORT_CELL_REAL, .width = 7, .drop = 3},
    {.title = "Work B", .key = "b_work", .kind = REPORT_CELL_REAL, .width = 7, .drop = 3},
    {.title = "Time A", .key = "a_mean", .kind = REPORT_CELL_MEAN, .width = 8, .drop = 1},
    {.title = "Time B", .key = "b_mean", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Layer", .kind = REPORT_CELL_TEXT, .left = true},
};

static void diff_each_row(struct report_table *table, const struct diff_rows *rows, double usual,
                          bool all, void (*take)(struct report_table *, const struct report_cell *))
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct diff_row *row = &rows->rows[i];
        const struct report_cell cells[ROW_COLUMNS] = {
            report_text_cell(diff_change_name(row->change)),
            change_cell(row->difference),
            percent_cell(row->difference, row->mean[DIFF_A]),
            percent_cell(row->difference, usual),
            report_real_cell(row->calls[DIFF_A]),
            report_real_cell(row->calls[DIFF_B]),
            report_real_cell(row->mean[DIFF_A]),
            report_real_cell(row->mean[DIFF_B]),
            report_text_cell(row->name),
        };
        if (all || row->change != DIFF_UNCHANGED)
            take(table, cells);
    }
}

static void print_counts(FILE *out, const char *what, const struct diff_rows *rows)
{
    const char *separator = ": ";

    fprintf(out, LINE "%s", what);
    for (int change = 0; change < DIFF_CHANGES; change++) {
        static const enum diff_change order[DIFF_CHANGES] = {
            DIFF_ADDED, DIFF_REMOVED, DIFF_SLOWER, DIFF_FASTER, DIFF_UNKNOWN, DIFF_UNCHANGED};

        if (!rows->changes[order[change]])
            continue;
        fprintf(out, "%s%s %s", separator, mp_count(rows->changes[order[change]]).text,
                diff_change_name(order[change]));
        separator = ", ";
    }
    fputs(rows->count ? ".\n" : ": none.\n", out);
}

static void print_rows(const struct report_out *out, const struct diff_report *report,
                       const char *what, const struct report_column *columns,
                       const struct diff_rows *rows)
{
    double usual = report->diff->sides[DIFF_A].latency.mean;
    bool all = report->all || out->format == REPORT_CSV;
    struct report_table table;

    if (report_has_titles(out))
        print_counts(out->file, what, rows);
    if (!all && rows->changes[DIFF_UNCHANGED] == rows->count)
        return;
    report_begin(&table, out, columns, ROW_COLUMNS);
    table.name = columns == layer_columns ? "layers" : NULL;
    if (summary_needs_measure(out))
        diff_each_row(&table, rows, usual, all, report_measure);
    report_header(&table);
    diff_each_row(&table, rows, usual, all, report_row);
    report_end(&table);
}

static void print_layers(const struct report_out *out, const struct diff_report *report)
{
    const struct diff *diff = report->diff;
    bool a = diff->sides[DIFF_A].has_layers;
    bool b = diff->sides[DIFF_B].has_layers;

    if ((a && b) || !report_has_titles(out))
        print_rows(out, report, "Layers of an iteration, paths of NVTX ranges", layer_columns,
                   &diff->layers);
    else if (a || b)
        fprintf(out->file, LINE "Note: no layers: %c has no NVTX ranges inside its iterations.\n",
                side_names[a ? DIFF_B : DIFF_A]);
}

void print_diff_verdict(FILE *out, const struct diff_report *report)
{
    for (int side = 0; side < DIFF_SIDES; side++)
        print_run_notes(out, report->diff, side);
    print_way(out, report->diff);
    print_shift(out, report->diff);
    print_samples(out, report->diff);
    print_allowed(out, report);
}

void print_diff(const struct report_out *out, const struct diff_report *report)
{
    const struct diff *diff = report->diff;

    if (out->format == REPORT_JSON) {
        print_diff_json(out->file, report);
        return;
    }
    for (int side = 0; side < DIFF_SIDES && report_has_titles(out); side++)
        print_side(out->file, diff, side);
    for (int side = 0; side < DIFF_SIDES; side++)
        print_run_notes(out->file, diff, side);
    print_facts(out->file, diff);
    if (report_has_titles(out))
        print_way(out->file, diff);
    print_latency(out, diff);
    print_allowed(out->file, report);
    print_quantities(out, diff, true);
    if (diff_gap(diff)) {
        fprintf(out->file, LINE "No counts, kernels, positions and layers: %s.\n",
                diff_gap(diff)->why);
        return;
    }
    print_quantities(out, diff, false);
    print_rows(out, report, "Kernels, copies and sets of an iteration", row_columns,
               &diff->kernels);
    print_diff_positions(out, report);
    print_layers(out, report);
}
