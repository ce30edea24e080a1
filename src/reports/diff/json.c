/* The JSON document of a comparison. It holds the same facts as the text, also those that the text
 * leaves out as too small.
 */
#include "reports/diff/print.h"

#include <string.h>

#include "reports/common/statistics.h"

#include "base/poison.h"

#define JSON_LINES 3 /* the document, its members and their arrays: each item on its own line */

static const char *const side_keys[DIFF_SIDES] = {"a", "b"};

/* ---- Sides ---- */

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

/* ---- Iterations ---- */

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

/* ---- Rows ---- */

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

/* ---- Positions ---- */

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
