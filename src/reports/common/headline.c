/* The sentence on how long an iteration takes. */
#include "reports/common/headline.h"

#include <inttypes.h>

#include "base/text/strings.h"
#include "base/text/units.h"

#include "base/poison.h"

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
