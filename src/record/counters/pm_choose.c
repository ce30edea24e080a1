/* Which requested counters fit into the one pass of PM sampling. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/metrics/metrics.h"
#include "base/text/strings.h"
#include "record/counters/pm.h"
#include "record/counters/profiler_api.h"

#include "base/poison.h"

/* ---- The nearest counter ----
 *
 * CUPTI lists its metrics without their suffixes, some thousands. So both halves of a name are
 * looked for on their own, and CUPTI is asked whether they go together.
 */

#define ALL_OF(rollup)                                                                             \
    "." rollup, "." rollup ".per_second", "." rollup ".per_cycle_active",                          \
        "." rollup ".per_cycle_elapsed", "." rollup ".peak_sustained",                             \
        "." rollup ".pct_of_peak_sustained_active", "." rollup ".pct_of_peak_sustained_elapsed"

/* As CUPTI 13.0 has them (cuptiProfilerHostGetSubMetrics), without the rare ones. */
static const char *const suffixes[] = {
    ALL_OF("sum"), ALL_OF("avg"), ALL_OF("min"), ALL_OF("max"), ".ratio", ".pct", ".max_rate",
};

/* Whether the chip has the metric, whatever it goes with. */
static bool pm_is_known(const struct profiler_chip_info *chip, const char *name)
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

    for (list.type = 0; list.type < PROFILER_METRIC_TYPES; list.type++)
        if (chip->api->base_metrics(&list) == CUPTI_SUCCESS)
            for (size_t i = 0; i < list.count; i++)
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

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
        mp_meant_offer(&meant, suffixes[i]);
    return mp_meant_name(&meant);
}

/* Writes the name of a metric that the chip has; false, and an empty name, when none is near. */
static bool pm_near(const struct profiler_chip_info *chip, const char *name,
                    char near[METRIC_NAME_BYTES])
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

/* ---- The choice ---- */

/* The nth name that CUPTI may know the request by; NULL: no more. */
static const char *name_of(const struct requested_counter *request, size_t nth)
{
    if (!request->entry)
        return nth ? NULL : request->name;
    const struct sampled_source *source = sampled_source(request->name, SAMPLED_BY_CUPTI, nth);
    return source ? source->expression : NULL;
}

void pm_choice_close(struct pm_choice *choice, const struct profiler_api *api)
{
    profiler_host_close(api, &choice->host);
    free(choice->config);
    choice->config = NULL;
}

/* Makes the image of the names anew; false when they are no single pass. */
static bool fits(struct pm_choice *choice, const struct profiler_chip_info *chip)
{
    struct mp_error error;
    size_t passes = 0;

    pm_choice_close(choice, chip->api);
    return profiler_host_open(chip, &choice->host) == CUPTI_SUCCESS &&
           profiler_host_add(chip->api, &choice->host, choice->names, choice->count) ==
               CUPTI_SUCCESS &&
           profiler_host_config(chip->api, choice->host, &choice->config, &choice->config_bytes,
                                &passes, &error) == MP_OK &&
           passes == 1;
}

/* Why nothing of the request fits beside the others. */
static enum unavailable why_not(const struct profiler_chip_info *chip,
                                const struct requested_counter *request)
{
    enum unavailable why = UNAVAILABLE_COUNTER;
    const char *name;

    for (size_t nth = 0; (name = name_of(request, nth)) && why != UNAVAILABLE_ROOM; nth++) {
        struct pm_choice alone = {.names = {name}, .count = 1};

        if (!pm_is_known(chip, name))
            continue;
        why = fits(&alone, chip) ? UNAVAILABLE_ROOM : UNAVAILABLE_PASS;
        pm_choice_close(&alone, chip->api);
    }
    return why;
}

static void take(struct pm_choice *choice, struct sample_plan *plan, size_t at, size_t nth,
                 struct sample_set *set)
{
    const struct requested_counter *request = &plan->requested->items[at];
    const struct sampled_source *source =
        request->entry ? sampled_source(request->name, SAMPLED_BY_CUPTI, nth) : NULL;

    samples_add(set, request->name, request->entry, source, NULL);
    plan->by[at] = SAMPLED_BY_CUPTI;
    choice->names[set->count - 1] = set->counters[set->count - 1].expression;
    choice->count = set->count;
}

/* The first names of all, which most chips can count together. */
static bool take_all(struct pm_choice *choice, const struct profiler_chip_info *chip,
                     struct sample_plan *plan, struct sample_set *set)
{
    for (size_t i = 0; i < plan->requested->count; i++) {
        const char *name = name_of(&plan->requested->items[i], 0);

        if (plan->by[i] == SAMPLED_BY_NOBODY && name)
            choice->names[choice->count++] = name;
    }
    if (!choice->count || !fits(choice, chip)) {
        choice->count = 0;
        return false;
    }
    for (size_t i = 0; i < plan->requested->count; i++)
        if (plan->by[i] == SAMPLED_BY_NOBODY && name_of(&plan->requested->items[i], 0))
            take(choice, plan, i, 0, set);
    return true;
}

/* Takes the request by the first of its names that fits beside the others. False: it has names, and
 * none does. */
static bool take_one(struct pm_choice *choice, const struct profiler_chip_info *chip,
                     struct sample_plan *plan, size_t at, struct sample_set *set)
{
    const char *name;
    size_t nth;

    for (nth = 0; (name = name_of(&plan->requested->items[at], nth)); nth++) {
        choice->count = set->count;
        choice->names[choice->count++] = name;
        if (fits(choice, chip)) {
            take(choice, plan, at, nth, set);
            return true;
        }
    }
    choice->count = set->count;
    return nth == 0;
}

static void take_what_fits(struct pm_choice *choice, const struct profiler_chip_info *chip,
                           struct sample_plan *plan, struct sample_set *set)
{
    for (size_t i = 0; i < plan->requested->count; i++) {
        const struct requested_counter *request = &plan->requested->items[i];

        if (plan->by[i] != SAMPLED_BY_NOBODY || take_one(choice, chip, plan, i, set))
            continue;
        plan->unavailable[i] = why_not(chip, request);
        if (plan->unavailable[i] == UNAVAILABLE_COUNTER && !request->entry)
            pm_near(chip, request->name, plan->near[i]);
    }
}

enum mp_status pm_choose(struct pm_choice *choice, const struct profiler_chip_info *chip,
                         struct sample_plan *plan, struct sample_set *set, struct mp_error *error)
{
    *choice = (struct pm_choice){.count = 0};
    if (take_all(choice, chip, plan, set))
        return MP_OK;
    take_what_fits(choice, chip, plan, set);
    if (!choice->count) {
        pm_choice_close(choice, chip->api);
        return MP_OK;
    }
    /* The last name that was tried may be none of those that were taken. */
    if (!fits(choice, chip))
        return mp_error_set(error, MP_ERR_UNSUPPORTED, "CUPTI cannot count these counters");
    return MP_OK;
}
