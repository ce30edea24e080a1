/* CUPTI lists its metrics without their suffixes, some thousands. So both halves of a name are
 * looked for on their own, and CUPTI is asked whether they go together.
 */
#include "record/counters/pm_near.h"

#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"

#include "base/poison.h"

#define ALL_OF(rollup)                                                                             \
    "." rollup, "." rollup ".per_second", "." rollup ".per_cycle_active",                          \
        "." rollup ".per_cycle_elapsed", "." rollup ".peak_sustained",                             \
        "." rollup ".pct_of_peak_sustained_active", "." rollup ".pct_of_peak_sustained_elapsed"

/* As CUPTI 13.0 has them (cuptiProfilerHostGetSubMetrics), without the rare ones. */
static const char *const suffixes[] = {
    ALL_OF("sum"), ALL_OF("avg"), ALL_OF("min"), ALL_OF("max"), ".ratio", ".pct", ".max_rate",
};

bool pm_is_known(const struct profiler_chip_info *chip, const char *name)
{
    struct profiler_properties about;
    void *host = NULL;
    bool known = profiler_host_open(chip, &host) == CUPTI_SUCCESS &&
                 profiler_host_look_up(chip->api, host, name, &about);

    profiler_host_close(chip->api, &host);
    return known;
}

static void offer_bases(struct mp_meant *meant, const struct profiler_chip_info *chip, void *host)
{
    struct profiler_base_metrics list = {
        .size = PROFILER_SIZE(struct profiler_base_metrics, count),
        .host = host,
    };
    size_t i;

    for (list.type = 0; list.type < PROFILER_METRIC_TYPES; list.type++)
        if (chip->api->base_metrics(&list) == CUPTI_SUCCESS)
            for (i = 0; i < list.count; i++)
                mp_meant_offer(meant, list.names[i]);
}

/* The suffix begins at the first point behind the unit: TPC.TriageCompute.sm__cycles_active.avg. */
static const char *suffix_of(const char *name)
{
    const char *unit = strstr(name, "__");
    const char *point = unit ? strchr(unit, '.') : NULL;

    return point ? point : name + strlen(name);
}

/* Static; NULL: none is near. */
static const char *near_suffix(const char *suffix)
{
    struct mp_meant meant = {.typed = suffix};
    size_t i;

    for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
        mp_meant_offer(&meant, suffixes[i]);
    return mp_meant_name(&meant);
}

bool pm_near(const struct profiler_chip_info *chip, const char *name, char near[METRIC_NAME_BYTES])
{
    const char *suffix = suffix_of(name);
    const char *end = near_suffix(suffix);
    char base[METRIC_NAME_BYTES];
    struct mp_meant meant = {.typed = base};
    void *host = NULL;

    *near = '\0';
    snprintf(base, sizeof(base), "%.*s", (int)(suffix - name), name);
    if (profiler_host_open(chip, &host) == CUPTI_SUCCESS)
        offer_bases(&meant, chip, host);
    if (end && mp_meant_name(&meant)) /* before the list goes with the object that gave it */
        snprintf(near, METRIC_NAME_BYTES, "%s%s", mp_meant_name(&meant), end);
    profiler_host_close(chip->api, &host);
    if (*near && !pm_is_known(chip, near))
        *near = '\0';
    return *near;
}
