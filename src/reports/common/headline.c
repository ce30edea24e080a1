/* The sentences on how long an iteration takes and what recording costs. */
#include "reports/common/headline.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

/* ---- What recording costs ----
 *
 * A measurement with its interval, or a rough estimate.
 */

static const char *const sources[RECORDING_COST_SOURCES] = {
    [RECORDING_COST_BUILT_IN] = "built-in costs",
    [RECORDING_COST_CALIBRATED_HERE] = "costs calibrated here",
    [RECORDING_COST_CALIBRATED_THERE] = "costs calibrated where it was recorded",
};

/* How it was measured, after the times. */
static void add_source(const struct recording_cost *cost, char text[RECORDING_COST_BYTES])
{
    const char *steps = mp_count(cost->steps).text;

    if (cost->source == RECORDING_COST_PAIRED)
        mp_text_add(text, RECORDING_COST_BYTES, "measured in %s %s of runs%s.",
                    mp_count(cost->pairs).text, cost->pairs == 1 ? "pair" : "pairs",
                    cost->high - cost->low > cost->without / 4 ? ", which differ" : "");
    else if (cost->source == RECORDING_COST_IN_RUN)
        mp_text_add(text, RECORDING_COST_BYTES,
                    "measured in this run, in %s steps before CUPTI came.", steps);
    else
        mp_text_add(text, RECORDING_COST_BYTES,
                    "measured in %s steps. CUPTI stays, at some %.1fus a launch and a node.", steps,
                    RECORDING_COST_FLOOR_NS / 1000.0);
}

static void describe_measured(const struct recording_cost *cost, char text[RECORDING_COST_BYTES])
{
    char times[4][MP_FORMATTED_BYTES];
    double error = ((double)cost->high - (double)cost->low) / 2;

    *text = '\0';
    mp_text_add(text, RECORDING_COST_BYTES, "A step '%.300s' takes %s %s (%s to %s), %s with it: ",
                cost->name ? cost->name : "",
                mp_format_time_within(times[0], sizeof *times, cost->without, error),
                recording_cost_is_bare(cost) ? "without recording" : "while it is not recorded",
                mp_format_time_within(times[1], sizeof *times, cost->low, error),
                mp_format_time_within(times[2], sizeof *times, cost->high, error),
                mp_format_time(times[3], sizeof *times, cost->of));
    add_source(cost, text);
}

/* Percent of the recorded time. */
static double percent_less(const struct recording_cost *cost, uint64_t without)
{
    return without < cost->of ? 100 * (double)(cost->of - without) / (double)cost->of : 0;
}

const char *describe_recording_cost(const struct recording_cost *cost,
                                    char text[RECORDING_COST_BYTES])
{
    char time[MP_FORMATTED_BYTES];

    if (cost->source >= RECORDING_COST_NOT_RECORDED) {
        describe_measured(cost, text);
        return text;
    }
    if (cost->source == RECORDING_COST_UNKNOWN || !cost->cost)
        return NULL;
    snprintf(text, RECORDING_COST_BYTES,
             "Recording costs about %s of it (%.0f to %.0f %%): estimated with %s.",
             mp_format_time_within(time, sizeof time, cost->cost, (double)cost->cost),
             percent_less(cost, cost->high), percent_less(cost, cost->low), sources[cost->source]);
    return text;
}

/* ---- A baseline ---- */

static const char remedy[] = "--step=NAME makes NVTX ranges steps";

static void print_missing(const struct report_out *out, const struct mp_trace *trace,
                          const struct baseline *baseline)
{
    if (!baseline->steps)
        print_note(out, trace, "No baseline: no steps were found; %s.", remedy);
    else if (baseline->steps == 1)
        print_note(out, trace, "No baseline: only one step was found; %s.", remedy);
    else if (baseline->unrecorded.count < BASELINE_MIN)
        print_note(out, trace,
                   "No baseline: %s of %s steps were not recorded, and it takes %d; let the "
                   "program run longer, or wait for the GPU at the end of a step.",
                   mp_count(baseline->unrecorded.count).text,
                   mp_count(baseline->recorded.count + baseline->unrecorded.count).text,
                   BASELINE_MIN);
    else
        print_note(out, trace,
                   "No baseline: only %s steps were recorded, and it takes %d; let the program run "
                   "longer, or take a smaller share.",
                   mp_count(baseline->recorded.count).text, BASELINE_MIN);
}

void print_baseline(const struct report_out *out, const struct mp_trace *trace,
                    const struct baseline *baseline)
{
    const struct recording_cost cost = recording_cost_measured(baseline);
    char text[RECORDING_COST_BYTES];

    if (cost.source)
        print_note(out, trace, "%s", describe_recording_cost(&cost, text));
    else if (baseline->asked)
        print_missing(out, trace, baseline);
}

static void json_side(struct json_writer *json, const char *key, const struct baseline_side *side)
{
    bool any = side->count != 0;

    JSON_KEY_OBJECT(json, key, FACT("steps", (uint64_t)side->count),
                    FACT_IF("p50_ns", any, side->times.p50), FACT_IF("p25_ns", any, side->low),
                    FACT_IF("p75_ns", any, side->high), FACT_IF("mean_ns", any, side->times.mean));
}

void json_baseline(struct json_writer *json, const struct baseline *baseline)
{
    if (!baseline->asked)
        return;
    json_key_object(json, "baseline");
    JSON_FACTS(json, FLAG("known", baseline_is_known(baseline)),
               FACT("steps", (uint64_t)baseline->steps),
               FACT_IF("name", baseline->name, (const char *)baseline->name));
    json_side(json, "recorded", &baseline->recorded);
    json_side(json, "unrecorded", &baseline->unrecorded);
    json_close_object(json);
}

/* ---- Either ---- */

void print_recording_cost(const struct report_out *out, const struct mp_trace *trace,
                          const struct baseline *baseline, const struct recording_cost *cost)
{
    char text[RECORDING_COST_BYTES];

    if (baseline)
        print_baseline(out, trace, baseline);
    if (cost && cost->source < RECORDING_COST_NOT_RECORDED && describe_recording_cost(cost, text))
        print_note(out, trace, "%s", text);
}

void json_recording_cost(struct json_writer *json, const struct baseline *baseline,
                         const struct recording_cost *cost)
{
    if (baseline)
        json_baseline(json, baseline);
    if (!cost)
        return;
    bool known = cost->source != RECORDING_COST_UNKNOWN;
    bool measured = cost->source >= RECORDING_COST_NOT_RECORDED;
    bool floor = cost->source == RECORDING_COST_NOT_RECORDED;
    JSON_KEY_OBJECT(
        json, "recording_cost", FACT("source", recording_cost_source_key(cost->source)),
        FACT_IF("why_not", cost->why_not, cost->why_not), FACT_IF("cost_ns", known, cost->cost),
        FACT_IF("of_ns", known, cost->of), FACT_IF("without_ns", known, cost->without),
        FACT_IF("low_ns", cost->high, cost->low), FACT_IF("high_ns", cost->high, cost->high),
        FACT_IF("floor_ns", floor, (uint64_t)RECORDING_COST_FLOOR_NS),
        FACT_IF("pairs", cost->pairs, (uint64_t)cost->pairs),
        FACT_IF("steps", measured, (uint64_t)cost->steps),
        FACT_IF("step_name", measured, cost->name));
}

/* ---- How long an iteration takes ---- */

#define ADD(text, ...) mp_text_add((text), HEADLINE_BYTES, __VA_ARGS__)

static void add_ranges(const struct iterations_headline *headline, char text[HEADLINE_BYTES])
{
    char time[MP_FORMATTED_BYTES];

    for (size_t i = 0; i < headline->kind_count; i++) {
        const struct iterations_kind *kind = &headline->kinds[i];

        ADD(text, "%s %s in range %" PRIu64 " (P50 of %s)", i ? "," : "",
            mp_format_time(time, sizeof time, kind->p50), kind->range, mp_count(kind->count).text);
    }
}

static void add_modes(const struct iterations_headline *headline, char text[HEADLINE_BYTES])
{
    char time[MP_FORMATTED_BYTES];
    uint64_t all = 0;

    for (size_t i = 0; i < headline->kind_count; i++)
        all += headline->kinds[i].count;
    for (size_t i = 0; i < headline->kind_count; i++)
        ADD(text, "%s %s (%s of %s)",
            !i                              ? ""
            : i + 1 == headline->kind_count ? " or"
                                            : ",",
            mp_format_time(time, sizeof time, headline->kinds[i].p50),
            mp_count(headline->kinds[i].count).text, mp_count(all).text);
}

const char *describe_headline(const struct iterations_headline *headline, const char *unit,
                              uint64_t latency, char text[HEADLINE_BYTES])
{
    char time[MP_FORMATTED_BYTES];

    *text = '\0';
    ADD(text, "%s %s %s", *unit == 'i' ? "An" : "A", unit,
        headline->queued ? "ends every" : "takes");
    if (headline->split == ITERATIONS_BY_RANGE)
        add_ranges(headline, text);
    else if (headline->split == ITERATIONS_BY_MODE)
        add_modes(headline, text);
    else
        ADD(text, " %s (P50 of %s)", mp_format_time(time, sizeof time, headline->p50),
            mp_count(headline->count).text);
    if (headline->queued)
        ADD(text, "; queued ahead, its latency is %s", mp_format_time(time, sizeof time, latency));
    return text;
}

void json_headline(struct json_writer *json, const struct iterations_headline *headline)
{
    static const char *const splits[] = {[ITERATIONS_ALIKE] = "none",
                                         [ITERATIONS_BY_RANGE] = "range",
                                         [ITERATIONS_BY_MODE] = "mode"};

    json_key_object(json, "headline");
    JSON_FACTS(json, FACT("of", headline->queued ? "period" : "latency"),
               FACT("p50_ns", headline->p50), FACT("split", splits[headline->split]));
    json_key_array(json, "kinds");
    for (size_t i = 0; i < headline->kind_count; i++) {
        const struct iterations_kind *kind = &headline->kinds[i];

        JSON_OBJECT(json, FACT_IF("range", headline->split == ITERATIONS_BY_RANGE, kind->range),
                    FACT("count", kind->count), FACT("p25_ns", kind->p25),
                    FACT("p50_ns", kind->p50), FACT("p75_ns", kind->p75));
    }
    json_close_array(json);
    json_close_object(json);
}
