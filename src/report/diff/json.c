/* The JSON document of a comparison. It holds the same facts as the text, also those that the text
 * leaves out as too small.
 */
#include "report/diff/diff.h"

#include <string.h>

#include "base/poison.h"

#define JSON_LINES                                                                                 \
    3 /* the document, its members and their arrays have each item on its own line                 \
       */

static const char *const side_keys[DIFF_SIDES] = {"a", "b"};

/* ---- Sides ---- */

static void json_runs(struct json_writer *json, const struct diff_side *side)
{
    json_key(json, "runs");
    json_open_array(json);
    for (size_t i = 0; i < side->run_count; i++) {
        const struct diff_run *run = &side->runs[i];

        json_open_object(json);
        json_key_text(json, "file", run->path);
        json_key_number(json, "iterations", run->iterations);
        json_key_number(json, "p50_ns", run->p50);
        json_key_number(json, "outside", run->outside);
        json_key_bool(json, "no_calls", run->no_calls);
        json_key_bool(json, "whole", run->whole);
        json_key_text(json, "missing", *run->warning ? run->warning : NULL);
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_facts(struct json_writer *json, const struct diff_side *side)
{
    static const char *const keys[DIFF_FACTS] = {
        [DIFF_FACT_DEVICES] = "gpu",           [DIFF_FACT_HOST] = "host",
        [DIFF_FACT_DRIVER] = "driver_version", [DIFF_FACT_CUPTI] = "cupti_version",
        [DIFF_FACT_MINIPROF] = "miniprof",     [DIFF_FACT_COMMAND] = "command",
        [DIFF_FACT_SETTINGS] = "settings",
    };

    for (int kind = 0; kind < DIFF_FACTS; kind++)
        json_key_text(json, keys[kind], *diff_fact(side, kind) ? diff_fact(side, kind) : NULL);
}

static void json_side(struct json_writer *json, const struct diff *diff, int side)
{
    json_key(json, side_keys[side]);
    json_open_object(json);
    json_facts(json, &diff->sides[side]);
    json_runs(json, &diff->sides[side]);
    json_close_object(json);
}

static void json_differs(struct json_writer *json, const struct diff *diff)
{
    json_key(json, "differs");
    json_open_array(json);
    for (int kind = 0; kind < DIFF_FACTS; kind++)
        if (strcmp(diff_fact(&diff->sides[DIFF_A], kind), diff_fact(&diff->sides[DIFF_B], kind)) !=
            0)
            json_text(json, diff_fact_name((enum diff_fact_kind)kind));
    json_close_array(json);
}

/* ---- Iterations ---- */

static void json_shift(struct json_writer *json, const struct shift *shift)
{
    json_key_real(json, "shift_ns", shift->center);
    json_key(json, "low_ns");
    if (shift->bounded)
        json_signed(json, shift->low);
    else
        json_null(json);
    json_key(json, "high_ns");
    if (shift->bounded)
        json_signed(json, shift->high);
    else
        json_null(json);
}

static void json_latency(struct json_writer *json, const struct diff *diff, int side)
{
    const struct diff_side *own = &diff->sides[side];

    json_key(json, side_keys[side]);
    json_open_object(json);
    json_key_number(json, "runs", own->run_count);
    json_key_number(json, "count", own->iterations);
    json_key_real(json, "mean_ns", own->latency.mean);
    json_key_real(json, "std_ns", own->latency.deviation);
    json_key_number(json, "min_ns", own->latency.least);
    json_key_number(json, "p50_ns", own->latency.p50);
    json_key_number(json, "p90_ns", own->latency.p90);
    json_key_number(json, "p95_ns", own->latency.p95);
    json_key_number(json, "p99_ns", own->latency.p99);
    json_key_number(json, "max_ns", own->latency.greatest);
    json_close_object(json);
}

static void json_iterations(struct json_writer *json, const struct diff_report *report)
{
    static const char *const ways[ITERATIONS_WAYS] = {
        [ITERATIONS_AUTO] = "auto",       [ITERATIONS_NVTX] = "nvtx",
        [ITERATIONS_RANGES] = "range",    [ITERATIONS_GRAPH] = "graph",
        [ITERATIONS_KERNELS] = "kernels", [ITERATIONS_WHOLE] = "whole",
    };
    const struct diff *diff = report->diff;

    json_key(json, "iterations");
    json_open_object(json);
    json_key_text(json, "by", ways[diff->way]);
    json_key_text(json, "name", diff->name);
    json_key_bool(json, "asked_for", !diff->found);
    json_key_text(json, "differing_ways", *diff->why ? diff->why : NULL);
    json_key_text(json, "samples", diff->by_runs ? "runs" : "iterations");
    for (int side = 0; side < DIFF_SIDES; side++)
        json_latency(json, diff, side);
    json_shift(json, &diff->latency);
    json_key_real(json, "percent", diff_percent(diff));
    json_key_text(json, "change", diff_change_name(diff->change));
    json_key(json, "allowed_percent");
    if (report->fail_above)
        json_real(json, report->allowed);
    else
        json_null(json);
    json_key_bool(json, "failed", report->fail_above && diff_is_above(diff, report->allowed));
    json_close_object(json);
}

static void json_quantities(struct json_writer *json, const struct diff *diff)
{
    json_key(json, "quantities");
    json_open_array(json);
    for (size_t i = 0; i < diff->quantities.count; i++) {
        const struct diff_row *row = &diff->quantities.rows[i];

        json_open_object(json);
        json_key_text(json, "quantity", row->name);
        json_key_text(json, "name", iteration_quantity_name((enum iteration_quantity)i));
        json_key_text(json, "change", diff_quantity_change_name(row->change));
        json_key_real(json, "a", row->mean[DIFF_A]);
        json_key_real(json, "b", row->mean[DIFF_B]);
        json_key_real(json, "difference", row->difference);
        json_key_real(json, "shift", row->shift.center);
        json_close_object(json);
    }
    json_close_array(json);
}

/* ---- Rows ---- */

/* `counted` are the keys of what is counted on each side. */
static void json_rows(struct json_writer *json, const char *key, const char *const counted[],
                      const struct diff_rows *rows)
{
    json_key(json, key);
    json_open_array(json);
    for (size_t i = 0; i < rows->count; i++) {
        const struct diff_row *row = &rows->rows[i];

        json_open_object(json);
        json_key_text(json, "name", row->name);
        json_key_text(json, "change", diff_change_name(row->change));
        json_key_real(json, counted[DIFF_A], row->calls[DIFF_A]);
        json_key_real(json, counted[DIFF_B], row->calls[DIFF_B]);
        json_key_real(json, "a_ns", row->mean[DIFF_A]);
        json_key_real(json, "b_ns", row->mean[DIFF_B]);
        json_key_real(json, "difference_ns", row->difference);
        json_shift(json, &row->shift);
        json_close_object(json);
    }
    json_close_array(json);
}

/* ---- Positions ---- */

static void json_place(struct json_writer *json, const struct diff_positions *positions, int side,
                       uint32_t place)
{
    static const char *const keys[DIFF_SIDES][3] = {{"a", "a_ns", "a_name"},
                                                    {"b", "b_ns", "b_name"}};
    bool there = place != ALIGN_NONE;

    json_key(json, keys[side][0]);
    if (there)
        json_number(json, (uint64_t)place + 1);
    else
        json_null(json);
    json_key(json, keys[side][1]);
    if (there)
        json_number(json, positions->sides[side].places[place].ns);
    else
        json_null(json);
    json_key_text(json, keys[side][2], there ? diff_positions_name(positions, side, place) : NULL);
}

static void json_pair(struct json_writer *json, const struct diff_positions *positions,
                      const struct diff_pair *pair, bool equal)
{
    const char *change = equal                               ? "equal"
                         : pair->place[DIFF_B] == ALIGN_NONE ? "removed"
                         : pair->place[DIFF_A] == ALIGN_NONE ? "added"
                                                             : "replaced";

    json_open_object(json);
    json_key_text(json, "change", change);
    for (int side = 0; side < DIFF_SIDES; side++)
        json_place(json, positions, side, pair->place[side]);
    json_close_object(json);
}

static void json_pairs(struct json_writer *json, const struct diff_positions *positions, bool all,
                       size_t most)
{
    size_t next = 0;
    size_t put = 0;

    json_key(json, "kernels");
    json_open_array(json);
    for (size_t i = 0; i < positions->count && (!most || put < most); i++) {
        bool equal = next == positions->change_count || i < positions->changes[next].first;

        if (!equal || all) {
            json_pair(json, positions, &positions->pairs[i], equal);
            put++;
        }
        if (!equal && i + 1 == positions->changes[next].first + positions->changes[next].count)
            next++;
    }
    json_close_array(json);
}

static void json_changes(struct json_writer *json, const struct diff_positions *positions)
{
    json_key(json, "changes");
    json_open_array(json);
    for (size_t i = 0; i < positions->change_count; i++) {
        const struct diff_stretch *change = &positions->changes[i];

        json_open_object(json);
        json_key_number(json, "a", (uint64_t)change->begin[DIFF_A] + 1);
        json_key_number(json, "a_count", change->length[DIFF_A]);
        json_key_number(json, "a_ns", change->ns[DIFF_A]);
        json_key_number(json, "b", (uint64_t)change->begin[DIFF_B] + 1);
        json_key_number(json, "b_count", change->length[DIFF_B]);
        json_key_number(json, "b_ns", change->ns[DIFF_B]);
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_positions(struct json_writer *json, const struct diff_report *report)
{
    const struct diff_positions *positions = &report->diff->positions;

    json_key(json, "positions");
    json_open_object(json);
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct diff_sequence *sequence = &positions->sides[side];

        json_key(json, side_keys[side]);
        json_open_object(json);
        json_key_number(json, "run", sequence->run);
        json_key_number(json, "iteration", sequence->iteration);
        json_key_number(json, "begin_ns", sequence->begin);
        json_key_number(json, "kernels", sequence->count);
        json_close_object(json);
    }
    json_key_number(json, "equal", positions->equal);
    json_key_number(json, "replaced", positions->replaced);
    json_key_number(json, "added", positions->added);
    json_key_number(json, "removed", positions->removed);
    json_changes(json, positions);
    json_pairs(json, positions, report->positions, report->most);
    json_close_object(json);
}

void print_diff_json(FILE *out, const struct diff_report *report)
{
    static const char *const calls[DIFF_SIDES] = {"a_calls", "b_calls"};
    static const char *const work[DIFF_SIDES] = {"a_work", "b_work"};
    const struct diff *diff = report->diff;
    struct json_writer json;

    json_begin(&json, out, JSON_LINES);
    json_open_object(&json);
    for (int side = 0; side < DIFF_SIDES; side++)
        json_side(&json, diff, side);
    json_differs(&json, diff);
    json_iterations(&json, report);
    json_key_real(&json, "confidence_of_rows", diff->kernels.strict ? 0.999 : 0.95);
    json_quantities(&json, diff);
    json_rows(&json, "kernels", calls, &diff->kernels);
    json_positions(&json, report);
    if (diff->sides[DIFF_A].has_layers && diff->sides[DIFF_B].has_layers) {
        json_rows(&json, "layers", work, &diff->layers);
    } else {
        json_key(&json, "layers");
        json_null(&json);
    }
    json_close_object(&json);
    json_end(&json);
}
