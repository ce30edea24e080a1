/* The line on times with and without recording, and whose costs were taken out. */
#include "report/common/undisturbed.h"

#include <stdio.h>

#include "base/text/units.h"
#include "report/common/baseline.h"
#include "report/common/quality.h"

#include "base/poison.h"

static const char *const whose[UNDISTURBED_SOURCES] = {
    [UNDISTURBED_BUILT_IN] =
        "estimated with built-in costs, those of an H200 (`miniprof calibrate` "
        "measures this machine's)",
    [UNDISTURBED_CALIBRATED_HERE] = "estimated with what `miniprof calibrate` measured here",
    [UNDISTURBED_CALIBRATED_THERE] =
        "estimated with what `miniprof calibrate` measured where it was recorded",
};

const char *describe_undisturbed(const struct undisturbed *undisturbed,
                                 char text[UNDISTURBED_BYTES])
{
    char recorded[MP_FORMATTED_BYTES];
    char without[MP_FORMATTED_BYTES];

    if (undisturbed->source == UNDISTURBED_NONE ||
        undisturbed->recorded == undisturbed->undisturbed)
        return NULL;
    mp_format_time(recorded, sizeof recorded, undisturbed->recorded);
    mp_format_time(without, sizeof without, undisturbed->undisturbed);
    if (undisturbed->source == UNDISTURBED_MEASURED)
        snprintf(text, UNDISTURBED_BYTES,
                 "recorded %s, without recording %s: measured in %zu steps", recorded, without,
                 undisturbed->steps);
    else
        snprintf(text, UNDISTURBED_BYTES, "recorded %s, without recording %s: %s", recorded,
                 without, whose[undisturbed->source]);
    return text;
}

void print_undisturbed(const struct report_out *out, const struct mp_trace *trace,
                       const struct baseline *baseline, const struct undisturbed *undisturbed)
{
    char text[UNDISTURBED_BYTES];

    if (baseline)
        print_baseline(out, trace, baseline);
    if (!undisturbed || undisturbed->source == UNDISTURBED_MEASURED ||
        !describe_undisturbed(undisturbed, text))
        return;
    print_prefix(out, trace);
    fprintf(out->file, "%s\n", text);
}

static void json_costs(struct json_writer *json, const struct undisturbed *undisturbed)
{
    bool any = undisturbed->source != UNDISTURBED_NONE;

    JSON_KEY_OBJECT(json, "undisturbed",
                    FACT("source", undisturbed_source_key(undisturbed->source)),
                    FACT_IF("why_not", undisturbed->why_not, undisturbed->why_not),
                    FACT_IF("recorded_ns", any, undisturbed->recorded),
                    FACT_IF("undisturbed_ns", any, undisturbed->undisturbed),
                    FACT_IF("scale", any, undisturbed->scale),
                    FACT_IF("steps", undisturbed->source == UNDISTURBED_MEASURED,
                            (uint64_t)undisturbed->steps));
}

void json_undisturbed(struct json_writer *json, const struct baseline *baseline,
                      const struct undisturbed *undisturbed)
{
    if (baseline)
        json_baseline(json, baseline);
    if (undisturbed)
        json_costs(json, undisturbed);
}
