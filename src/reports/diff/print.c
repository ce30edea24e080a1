/* Prints a comparison: sides, latency with its verdict, quantities, and the names that changed
 * most.
 */
#include "reports/diff/print.h"

#include <math.h>
#include <string.h>

#include "base/text/foreign.h"
#include "base/text/units.h"
#include "profile/common/statistics.h"

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

#define OF(member) MEMBER(struct diff_side, member)

static struct report_cell side_cell(const void *at, struct report_table *table)
{
    const struct diff *diff = table->of;

    return report_text_cell(
        report_say(table, "%c", side_names[(const struct diff_side *)at - diff->sides]));
}

static const struct report_column latency_columns[] = {
    COLUMN("Latency", "side", TEXT, 7, .cell = side_cell, .left = true),
    COLUMN("Runs", NULL, COUNT, 5, OF(run_count)),
    COLUMN("Iterations", NULL, COUNT, 10, OF(iterations)),
    COLUMN("Mean", NULL, MEAN, 8, OF(latency.mean)),
    COLUMN("P50", NULL, TIME, 8, OF(latency.p50)),
    COLUMN("P90", NULL, TIME, 8, OF(latency.p90)),
    COLUMN("P99", NULL, TIME, 8, OF(latency.p99)),
};
#undef OF

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
    report_array(out,
                 &(struct report_layout){REPORT_COLUMNS(latency_columns), .of = diff,
                                         .name = "latency", .measuring = REPORT_FIT_UNITS},
                 diff->sides, DIFF_SIDES, sizeof *diff->sides);
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

/* ---- Quantities, kernels, layers ---- */

#define OF(member) MEMBER(struct diff_row, member)

/* bits of the layout's `there` */
#define TIMES   1u
#define COUNTS  2u
#define KERNELS 4u
#define LAYERS  8u

/* Which rows a table has; its `of`. */
struct chosen_rows {
    const struct diff_report *report;
    const struct diff_rows *rows; /* NULL: quantities */
    int first, end;               /* of quantities */
};

static struct report_cell of_whole_cell(double part, double whole)
{
    return report_real_if(whole > 0, 100 * part / whole);
}

static struct report_cell percent_cell(const void *at, struct report_table *table)
{
    const struct diff_row *row = at;

    (void)table;
    return of_whole_cell(row->difference, row->mean[DIFF_A]);
}

static struct report_cell of_iteration_cell(const void *at, struct report_table *table)
{
    const struct chosen_rows *chosen = table->of;

    return of_whole_cell(((const struct diff_row *)at)->difference,
                         chosen->report->diff->sides[DIFF_A].latency.mean);
}

static struct report_cell difference_cell(const void *at, struct report_table *table)
{
    double ns = ((const struct diff_row *)at)->difference;

    (void)table;
    return report_number_cell((uint64_t)llround(fmax(-9e18, fmin(9e18, ns))));
}

static struct report_cell quantity_cell(const void *at, struct report_table *table)
{
    const struct chosen_rows *chosen = table->of;
    const struct diff_row *rows = chosen->report->diff->quantities.rows;

    return report_text_cell(
        iteration_quantity_name((enum iteration_quantity)((const struct diff_row *)at - rows)));
}

static struct report_cell quantity_change_cell(const void *at, struct report_table *table)
{
    (void)table;
    return report_text_cell(diff_quantity_change_name(((const struct diff_row *)at)->change));
}

static struct report_cell change_cell(const void *at, struct report_table *table)
{
    (void)table;
    return report_text_cell(diff_change_name(((const struct diff_row *)at)->change));
}

static const struct report_column quantity_columns[] = {
    COLUMN("Time of an iteration", "quantity", TEXT, 25, .cell = quantity_cell, .left = true,
           .name = true, .needs = TIMES),
    COLUMN("Count of an iteration", "quantity", TEXT, 25, .cell = quantity_cell, .left = true,
           .name = true, .needs = COUNTS),
    COLUMN("Mean A", "a_mean", MEAN, 8, OF(mean[DIFF_A]), .needs = TIMES),
    COLUMN("Mean A", "a_mean", REAL, 8, OF(mean[DIFF_A]), .needs = COUNTS),
    COLUMN("Mean B", "b_mean", MEAN, 8, OF(mean[DIFF_B]), .needs = TIMES),
    COLUMN("Mean B", "b_mean", REAL, 8, OF(mean[DIFF_B]), .needs = COUNTS),
    COLUMN("Difference", NULL, CHANGE, 13, .cell = difference_cell, .needs = TIMES),
    COLUMN("Difference", NULL, REAL, 13, OF(difference), .needs = COUNTS),
    COLUMN("Percent", NULL, PERCENT, 9, .cell = percent_cell),
    COLUMN("Change", NULL, TEXT, 9, .cell = quantity_change_cell),
};

/* For layers, the count is that of pieces of work. */
static const struct report_column row_columns[] = {
    COLUMN("Change", NULL, TEXT, 9, .cell = change_cell, .left = true),
    COLUMN("Difference", NULL, CHANGE, 13, .cell = difference_cell),
    COLUMN("Percent", NULL, PERCENT, 9, .cell = percent_cell),
    COLUMN("Of iter", "of_iteration", PERCENT, 8, .cell = of_iteration_cell, .drop = 2),
    COLUMN("Calls A", "a_calls", REAL, 7, OF(calls[DIFF_A]), .needs = KERNELS, .drop = 3),
    COLUMN("Work A", "a_work", REAL, 7, OF(calls[DIFF_A]), .needs = LAYERS, .drop = 3),
    COLUMN("Calls B", "b_calls", REAL, 7, OF(calls[DIFF_B]), .needs = KERNELS, .drop = 3),
    COLUMN("Work B", "b_work", REAL, 7, OF(calls[DIFF_B]), .needs = LAYERS, .drop = 3),
    COLUMN("Time A", "a_mean", MEAN, 8, OF(mean[DIFF_A]), .drop = 1),
    COLUMN("Time B", "b_mean", MEAN, 8, OF(mean[DIFF_B])),
    COLUMN("Name", NULL, TEXT, 0, OF(name), .left = true, .needs = KERNELS),
    COLUMN("Layer", NULL, TEXT, 0, OF(name), .left = true, .needs = LAYERS),
};

static void each_quantity(struct report_table *table, report_take *take)
{
    const struct chosen_rows *chosen = table->of;
    const struct diff *diff = chosen->report->diff;
    bool whole = !diff_gap(diff);

    for (int i = chosen->first; i < chosen->end; i++) {
        const struct diff_row *row = &diff->quantities.rows[i];

        if (!whole && !iteration_quantity_is_of_host((enum iteration_quantity)i))
            continue;
        if ((i != ITERATION_IDLE_UNKNOWN && i != ITERATION_IDLE_RECORDING &&
             i != ITERATION_IDLE_PEER) ||
            row->mean[DIFF_A] > 0 || row->mean[DIFF_B] > 0)
            take(table, row);
    }
}

static void print_quantities(const struct report_out *out, const struct diff_report *report,
                             bool times)
{
    const struct chosen_rows chosen = {.report = report,
                                       .first = times ? 0 : ITERATION_TIMES,
                                       .end = times ? ITERATION_TIMES : ITERATION_QUANTITIES};

    report_print(out,
                 &(struct report_layout){REPORT_COLUMNS(quantity_columns), .of = &chosen,
                                         .name = times ? "times" : "counts",
                                         .there = times ? TIMES : COUNTS,
                                         .measuring = REPORT_FIT_UNITS},
                 each_quantity);
}

static bool shows_unchanged(const struct diff_report *report, enum report_format format)
{
    return report->all || format == REPORT_CSV;
}

static void each_row(struct report_table *table, report_take *take)
{
    const struct chosen_rows *chosen = table->of;
    bool all = shows_unchanged(chosen->report, table->format);

    for (size_t i = 0; i < chosen->rows->count; i++) {
        const struct diff_row *row = &chosen->rows->rows[i];

        if (all || row->change != DIFF_UNCHANGED)
            take(table, row);
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
                       const char *what, const struct diff_rows *rows, bool layers)
{
    const struct chosen_rows chosen = {.report = report, .rows = rows};

    if (report_has_titles(out))
        print_counts(out->file, what, rows);
    if (!shows_unchanged(report, out->format) && rows->changes[DIFF_UNCHANGED] == rows->count)
        return;
    report_print(out,
                 &(struct report_layout){
                     REPORT_COLUMNS(row_columns), .of = &chosen, .name = layers ? "layers" : NULL,
                     .there = layers ? LAYERS : KERNELS, .measuring = REPORT_FIT_UNITS},
                 each_row);
}

static void print_layers(const struct report_out *out, const struct diff_report *report)
{
    const struct diff *diff = report->diff;
    bool a = diff->sides[DIFF_A].has_layers;
    bool b = diff->sides[DIFF_B].has_layers;

    if ((a && b) || !report_has_titles(out))
        print_rows(out, report, "Layers of an iteration, paths of NVTX ranges", &diff->layers,
                   true);
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
    print_quantities(out, report, true);
    if (diff_gap(diff)) {
        fprintf(out->file, LINE "No counts, kernels, positions and layers: %s.\n",
                diff_gap(diff)->why);
        return;
    }
    print_quantities(out, report, false);
    print_rows(out, report, "Kernels, copies and sets of an iteration", &diff->kernels, false);
    print_diff_positions(out, report);
    print_layers(out, report);
}

/* ---- The JSON document ----
 *
 * It holds the same facts as the text, also those that the text leaves out as too small.
 */

#define JSON_LINES 3 /* the document, its members and their arrays: each item on its own line */

static const char *const side_keys[DIFF_SIDES] = {"a", "b"};

static void json_runs(struct json_writer *json, const struct diff_side *side)
{
    json_key_array(json, "runs");
    for (size_t i = 0; i < side->run_count; i++) {
        const struct diff_run *run = &side->runs[i];

        json_open_object(json);
        JSON_FACTS(json, FACT("file", run->path), FACT("iterations", run->iterations),
                   FACT("p50_ns", run->p50), FACT("outside", run->outside),
                   FACT("no_calls", run->no_calls), FACT("whole", run->whole),
                   FACT_IF("gap", run->gap, run->gap->key),
                   FACT_IF("missing", *run->warning, run->warning));
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_side_facts(struct json_writer *json, const struct diff_side *side)
{
    static const char *const keys[DIFF_FACTS] = {
        [DIFF_FACT_DEVICES] = "gpu",           [DIFF_FACT_HOST] = "host",
        [DIFF_FACT_DRIVER] = "driver_version", [DIFF_FACT_CUPTI] = "cupti_version",
        [DIFF_FACT_MINIPROF] = "miniprof",     [DIFF_FACT_COMMAND] = "command",
        [DIFF_FACT_SETTINGS] = "settings",
    };

    for (int kind = 0; kind < DIFF_FACTS; kind++)
        JSON_FACTS(json, FACT_IF(keys[kind], *diff_fact(side, kind), diff_fact(side, kind)));
}

static void json_side(struct json_writer *json, const struct diff *diff, int side)
{
    json_key_object(json, side_keys[side]);
    json_side_facts(json, &diff->sides[side]);
    json_runs(json, &diff->sides[side]);
    json_close_object(json);
}

static void json_differs(struct json_writer *json, const struct diff *diff)
{
    json_key_array(json, "differs");
    for (int kind = 0; kind < DIFF_FACTS; kind++)
        if (strcmp(diff_fact(&diff->sides[DIFF_A], kind), diff_fact(&diff->sides[DIFF_B], kind)) !=
            0)
            json_text(json, diff_fact_name((enum diff_fact_kind)kind));
    json_close_array(json);
}

#define SHIFT_FACTS(of)                                                                            \
    FACT("shift_ns", (of)->center), FACT_IF("low_ns", (of)->bounded, (of)->low),                   \
        FACT_IF("high_ns", (of)->bounded, (of)->high)

static void json_latency(struct json_writer *json, const struct diff *diff, int side)
{
    const struct diff_side *own = &diff->sides[side];

    JSON_KEY_OBJECT(json, side_keys[side], FACT("runs", own->run_count),
                    FACT("count", own->iterations), STATISTICS_FACTS(&own->latency, "_ns"));
}

static void json_iterations(struct json_writer *json, const struct diff_report *report)
{
    const struct diff *diff = report->diff;

    json_key_object(json, "iterations");
    JSON_FACTS(json, FACT("by", iterations_way_key(diff->way)), FACT("name", diff->name),
               FLAG("asked_for", !diff->found), FACT_IF("differing_ways", *diff->why, diff->why),
               FACT("samples", diff->by_runs ? "runs" : "iterations"));
    for (int side = 0; side < DIFF_SIDES; side++)
        json_latency(json, diff, side);
    JSON_FACTS(json, SHIFT_FACTS(&diff->latency), FACT("percent", diff_percent(diff)),
               FACT("change", diff_change_name(diff->change)),
               FACT_IF("allowed_percent", report->fail_above, report->allowed),
               FLAG("failed", report->fail_above && diff_is_above(diff, report->allowed)));
    json_close_object(json);
}

static void json_quantities(struct json_writer *json, const struct diff *diff)
{
    bool whole = !diff_gap(diff);

    json_key_array(json, "quantities");
    for (size_t i = 0; i < diff->quantities.count; i++) {
        const struct diff_row *row = &diff->quantities.rows[i];

        if (!whole && !iteration_quantity_is_of_host((enum iteration_quantity)i))
            continue;
        JSON_OBJECT(json, FACT("quantity", row->name),
                    FACT("name", iteration_quantity_name((enum iteration_quantity)i)),
                    FACT("change", diff_quantity_change_name(row->change)),
                    FACT("a", row->mean[DIFF_A]), FACT("b", row->mean[DIFF_B]),
                    FACT("difference", row->difference), FACT("shift", row->shift.center));
    }
    json_close_array(json);
}

/* `counted` are the keys of each side's count. */
static void json_rows(struct json_writer *json, const char *key, const char *const counted[],
                      const struct diff_rows *rows)
{
    json_key_array(json, key);
    for (size_t i = 0; i < rows->count; i++) {
        const struct diff_row *row = &rows->rows[i];

        JSON_OBJECT(json, FACT("name", row->name), FACT("change", diff_change_name(row->change)),
                    FACT(counted[DIFF_A], row->calls[DIFF_A]),
                    FACT(counted[DIFF_B], row->calls[DIFF_B]), FACT("a_ns", row->mean[DIFF_A]),
                    FACT("b_ns", row->mean[DIFF_B]), FACT("difference_ns", row->difference),
                    SHIFT_FACTS(&row->shift));
    }
    json_close_array(json);
}

static void json_changes(struct json_writer *json, const struct diff_positions *positions)
{
    json_key_array(json, "changes");
    for (size_t i = 0; i < positions->change_count; i++) {
        const struct diff_stretch *change = &positions->changes[i];

        JSON_OBJECT(json, FACT("a", (uint64_t)change->begin[DIFF_A] + 1),
                    FACT("a_count", change->length[DIFF_A]), FACT("a_ns", change->ns[DIFF_A]),
                    FACT("b", (uint64_t)change->begin[DIFF_B] + 1),
                    FACT("b_count", change->length[DIFF_B]), FACT("b_ns", change->ns[DIFF_B]));
    }
    json_close_array(json);
}

static void json_positions(struct json_writer *json, const struct diff_report *report)
{
    const struct diff_positions *positions = &report->diff->positions;

    json_key_object(json, "positions");
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct diff_sequence *sequence = &positions->sides[side];

        JSON_KEY_OBJECT(json, side_keys[side], FACT("run", sequence->run),
                        FACT("iteration", sequence->iteration), FACT("begin_ns", sequence->begin),
                        FACT("kernels", sequence->count));
    }
    JSON_FACTS(json, FACT("equal", positions->equal), FACT("replaced", positions->replaced),
               FACT("added", positions->added), FACT("removed", positions->removed));
    json_changes(json, positions);
    json_diff_pairs(json, report);
    json_close_object(json);
}

void print_diff_json(FILE *out, const struct diff_report *report)
{
    static const char *const calls[DIFF_SIDES] = {"a_calls", "b_calls"};
    static const char *const work[DIFF_SIDES] = {"a_work", "b_work"};
    const struct diff *diff = report->diff;
    struct json_writer json;

    json_open_document(&json, out, JSON_LINES);
    for (int side = 0; side < DIFF_SIDES; side++)
        json_side(&json, diff, side);
    json_differs(&json, diff);
    json_iterations(&json, report);
    JSON_FACTS(&json, FACT("confidence_of_rows", diff->kernels.strict ? 0.999 : 0.95));
    json_quantities(&json, diff);
    if (diff_gap(diff)) {
        JSON_FACTS(&json, json_fact_null("kernels"), json_fact_null("positions"),
                   json_fact_null("layers"));
        json_close_document(&json);
        return;
    }
    json_rows(&json, "kernels", calls, &diff->kernels);
    json_positions(&json, report);
    if (diff->sides[DIFF_A].has_layers && diff->sides[DIFF_B].has_layers)
        json_rows(&json, "layers", work, &diff->layers);
    else
        JSON_FACTS(&json, json_fact_null("layers"));
    json_close_document(&json);
}
