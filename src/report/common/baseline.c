/* The line on steps with and without recording, or why there is nothing to say. */
#include "report/common/baseline.h"

#include <stdio.h>

#include "base/text/foreign.h"
#include "base/text/units.h"
#include "report/common/quality.h"

#include "base/poison.h"

static const char remedy[] = "--step=NAME makes NVTX ranges steps";

static void print_missing(FILE *out, const struct baseline *baseline)
{
    if (!baseline->steps)
        fprintf(out, "No baseline: no steps were found; %s.\n", remedy);
    else if (baseline->steps == 1)
        fprintf(out, "No baseline: only one step was found; %s.\n", remedy);
    else if (baseline->unrecorded.count < BASELINE_LEAST)
        fprintf(out,
                "No baseline: %zu of %zu steps were not recorded, and it takes %d; let the program "
                "run longer, or wait for the GPU at the end of a step.\n",
                baseline->unrecorded.count, baseline->recorded.count + baseline->unrecorded.count,
                BASELINE_LEAST);
    else
        fprintf(out,
                "No baseline: only %zu steps were recorded, and it takes %d; let the program run "
                "longer, or take a smaller share.\n",
                baseline->recorded.count, BASELINE_LEAST);
}

static void print_times(FILE *out, const struct baseline *baseline)
{
    char text[6][MP_FORMATTED_BYTES];

    fprintf(out, "recorded %s (%s to %s), without recording %s (%s to %s): measured in %zu steps '",
            mp_format_time(text[0], sizeof text[0], baseline->recorded.times.p50),
            mp_format_time(text[1], sizeof text[1], baseline->recorded.low),
            mp_format_time(text[2], sizeof text[2], baseline->recorded.high),
            mp_format_time(text[3], sizeof text[3], baseline->unrecorded.times.p50),
            mp_format_time(text[4], sizeof text[4], baseline->unrecorded.low),
            mp_format_time(text[5], sizeof text[5], baseline->unrecorded.high),
            baseline->unrecorded.count);
    foreign_put_text(out, baseline->name);
    fputs("'\n", out);
}

void print_baseline(const struct report_out *out, const struct mp_trace *trace,
                    const struct baseline *baseline)
{
    if (!baseline->asked)
        return;
    print_prefix(out, trace);
    if (baseline_is_known(baseline))
        print_times(out->file, baseline);
    else
        print_missing(out->file, baseline);
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
