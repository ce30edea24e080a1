/* Chooses counters for one pass: all at once if CUPTI takes them, otherwise one after the other, as
 * long as they fit beside those before them.
 */
#include "record/counters/pm_choose.h"

#include <stdlib.h>

#include "record/counters/pm_near.h"

#include "base/poison.h"

/* The nth name that CUPTI may know the wish by; NULL: no more. */
static const char *name_of(const struct sample_wish *wish, size_t nth)
{
    const struct sampled_source *source;

    if (!wish->entry)
        return nth ? NULL : wish->name;
    source = sampled_source(wish->name, SAMPLED_BY_CUPTI, nth);
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

/* Why nothing of the wish fits beside the others. */
static enum sample_lack why_not(const struct profiler_chip_info *chip,
                                const struct sample_wish *wish)
{
    enum sample_lack lack = SAMPLE_LACKS_COUNTER;
    const char *name;
    size_t nth;

    for (nth = 0; (name = name_of(wish, nth)) && lack != SAMPLE_LACKS_ROOM; nth++) {
        struct pm_choice alone = {.names = {name}, .count = 1};

        if (!pm_is_known(chip, name))
            continue;
        lack = fits(&alone, chip) ? SAMPLE_LACKS_ROOM : SAMPLE_LACKS_PASS;
        pm_choice_close(&alone, chip->api);
    }
    return lack;
}

static void take(struct pm_choice *choice, struct sample_plan *plan, size_t at, size_t nth,
                 struct sample_set *set)
{
    const struct sample_wish *wish = &plan->wishes->items[at];
    const struct sampled_source *source =
        wish->entry ? sampled_source(wish->name, SAMPLED_BY_CUPTI, nth) : NULL;

    samples_add(set, wish->name, wish->entry, source, NULL);
    plan->by[at] = SAMPLED_BY_CUPTI;
    choice->names[set->count - 1] = set->counters[set->count - 1].expression;
    choice->count = set->count;
}

/* The first names of all, which most chips can count together. */
static bool take_all(struct pm_choice *choice, const struct profiler_chip_info *chip,
                     struct sample_plan *plan, struct sample_set *set)
{
    size_t i;

    for (i = 0; i < plan->wishes->count; i++) {
        const char *name = name_of(&plan->wishes->items[i], 0);

        if (plan->by[i] == SAMPLED_BY_NOBODY && name)
            choice->names[choice->count++] = name;
    }
    if (!choice->count || !fits(choice, chip)) {
        choice->count = 0;
        return false;
    }
    for (i = 0; i < plan->wishes->count; i++)
        if (plan->by[i] == SAMPLED_BY_NOBODY && name_of(&plan->wishes->items[i], 0))
            take(choice, plan, i, 0, set);
    return true;
}

/* Takes the wish by the first of its names that fits beside the others. False: it has names, and
 * none does. */
static bool take_one(struct pm_choice *choice, const struct profiler_chip_info *chip,
                     struct sample_plan *plan, size_t at, struct sample_set *set)
{
    const char *name;
    size_t nth;

    for (nth = 0; (name = name_of(&plan->wishes->items[at], nth)); nth++) {
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
    size_t i;

    for (i = 0; i < plan->wishes->count; i++) {
        const struct sample_wish *wish = &plan->wishes->items[i];

        if (plan->by[i] != SAMPLED_BY_NOBODY || take_one(choice, chip, plan, i, set))
            continue;
        plan->lacks[i] = why_not(chip, wish);
        if (plan->lacks[i] == SAMPLE_LACKS_COUNTER && !wish->entry)
            pm_near(chip, wish->name, plan->near[i]);
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
