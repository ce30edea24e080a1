/* Chooses counters for one pass: all at once if CUPTI takes them, otherwise one after the other, as
 * long as they fit beside those before them.
 */
#include "record/sampling/pm_choose.h"

#include <stdlib.h>

#include "base/poison.h"

static const char *const no_such = "this GPU has no such counter";
static const char *const no_room =
    "it does not fit into one pass beside the counters before it: sample it in a run of its own";

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
           profiler_host_add(chip->api, choice->host, choice->names, choice->count) ==
               CUPTI_SUCCESS &&
           profiler_host_config(chip->api, choice->host, &choice->config, &choice->config_bytes,
                                &passes, &error) == MP_OK &&
           passes == 1;
}

/* Whether the chip has the metric, whatever it goes with. */
static bool is_known(const struct profiler_chip_info *chip, const char *name)
{
    struct profiler_properties about;
    void *host = NULL;
    bool known = profiler_host_open(chip, &host) == CUPTI_SUCCESS &&
                 profiler_host_look_up(chip->api, host, name, &about);

    profiler_host_close(chip->api, &host);
    return known;
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

static void take_what_fits(struct pm_choice *choice, const struct profiler_chip_info *chip,
                           struct sample_plan *plan, struct sample_set *set)
{
    size_t i, nth;

    for (i = 0; i < plan->wishes->count; i++) {
        bool known = false;
        const char *name;

        if (plan->by[i] != SAMPLED_BY_NOBODY)
            continue;
        for (nth = 0; (name = name_of(&plan->wishes->items[i], nth)); nth++) {
            known |= is_known(chip, name);
            choice->count = set->count;
            choice->names[choice->count++] = name;
            if (fits(choice, chip)) {
                take(choice, plan, i, nth, set);
                break;
            }
        }
        choice->count = set->count;
        if (nth && plan->by[i] == SAMPLED_BY_NOBODY)
            plan->notes[i] = known ? no_room : no_such;
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
