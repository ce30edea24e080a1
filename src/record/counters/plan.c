/* From names of metrics to what one GPU counts. Names are tried on the CUPTI that is loaded, since
 * only it knows what the chip has.
 */
#include "record/counters/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text/strings.h"
#include "record/counters/profiler_api.h"
#include "trace/schema.h"

#include "base/poison.h"

#define DURATION "gpu__time_duration.sum"

_Static_assert((int)MP_metric_unit_celsius == (int)METRIC_UNIT_CELSIUS, "one enumeration");

/* ---- CUPTI's side ---- */

struct chip {
    const struct profiler_api *api;
    struct profiler_chip_info info;
    void *trial; /* a host object with only names that it accepted */
};

static enum mp_status read_availability(struct chip *chip, CUcontext context,
                                        struct mp_error *error)
{
    struct profiler_availability availability = {
        .size = PROFILER_SIZE(struct profiler_availability, image),
        .context = context,
    };

    MP_TRY(profiler_check(chip->api, chip->api->availability(&availability),
                          "CUPTI does not say which counters there are", error));
    chip->info.availability = malloc(availability.image_bytes + 1);
    if (!chip->info.availability)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for the counters' list");
    availability.image = chip->info.availability;
    return profiler_check(chip->api, chip->api->availability(&availability),
                          "CUPTI does not say which counters there are", error);
}

static enum mp_status open_chip(struct chip *chip, const struct profiler_api *api, CUdevice device,
                                CUcontext context, struct mp_error *error)
{
    struct profiler_chip about = {
        .size = PROFILER_SIZE(struct profiler_chip, name),
        .device = (size_t)device,
    };

    *chip = (struct chip){.api = api, .info = {.api = api, .type = PROFILER_RANGE_PROFILING}};
    MP_TRY(profiler_device_check(api, device, PROFILER_RANGE_PROFILING, error));
    MP_TRY(profiler_check(api, api->chip(&about), "CUPTI does not know this chip", error));
    chip->info.name = about.name;
    MP_TRY(read_availability(chip, context, error));
    return profiler_check(api, profiler_host_open(&chip->info, &chip->trial),
                          "CUPTI does not know this chip", error);
}

static void close_chip(struct chip *chip)
{
    profiler_host_close(chip->api, &chip->trial);
    free(chip->info.availability);
}

/* Whether the chip can count the metric: together with those tried before, or alone. */
static bool is_countable(struct chip *chip, const char *name)
{
    struct profiler_properties about;
    const char *names[] = {name};

    for (int attempt = 0; attempt < 2; attempt++) {
        if (!profiler_host_look_up(chip->api, chip->trial, name, &about))
            return false;
        if (profiler_host_add(chip->api, &chip->trial, names, 1) == CUPTI_SUCCESS)
            return true;
        profiler_host_open(&chip->info, &chip->trial);
    }
    return false;
}

/* ---- The choice ---- */

static int find_raw(const struct metric_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->raw_count; i++)
        if (mp_text_equal(plan->raw[i], name))
            return (int)i;
    return -1;
}

/* Adds the inputs of the choice's expression to the plan. False when one of them cannot be counted
 * or there are too many; the inputs before that one stay in the plan. */
static bool take_inputs(struct metric_plan *plan, struct chip *chip, struct metric_choice *choice)
{
    const char *names[METRIC_MAX_INPUTS];
    size_t count = metric_expression_inputs(&choice->expression, names);

    for (size_t i = 0; i < count; i++) {
        int at = find_raw(plan, names[i]);
        if (at < 0 && (plan->raw_count == METRIC_PLAN_MAX || !is_countable(chip, names[i])))
            return false;
        if (at < 0) {
            at = (int)plan->raw_count;
            plan->raw[plan->raw_count++] = names[i];
        }
        choice->inputs[i] = (uint16_t)at;
    }
    return true;
}

static bool try_candidate(struct metric_plan *plan, struct chip *chip, struct metric_choice *choice,
                          const char *text)
{
    size_t before = plan->raw_count;

    if (metric_expression_parse(text, &choice->expression, NULL) == MP_OK &&
        take_inputs(plan, chip, choice)) {
        choice->expression_text = text;
        return true;
    }
    plan->raw_count = before;
    return false;
}

static void plan_choose(struct metric_plan *plan, struct chip *chip, struct metric_choice *choice)
{
    if (!metric_look_up(choice->name, &choice->entry)) {
        choice->state = MP_metric_state_unknown;
        return;
    }
    choice->state = choice->entry.candidates[0].expression ? MP_metric_state_unavailable
                                                           : MP_metric_state_discontinued;
    for (size_t i = 0; i < METRIC_MAX_CANDIDATES && choice->entry.candidates[i].expression; i++)
        if (try_candidate(plan, chip, choice, choice->entry.candidates[i].expression)) {
            choice->state = choice->entry.candidates[i].note ? MP_metric_state_substitute
                                                             : MP_metric_state_exact;
            return;
        }
}

static size_t count_names(const char *list)
{
    struct metric_names names;
    char name[METRIC_NAME_BYTES];
    size_t count = 0;

    metric_names_begin(&names, list);
    while (count < METRIC_PLAN_MAX && metric_names_next(&names, name))
        count++;
    return count;
}

static void choose_all(struct metric_plan *plan, struct chip *chip, const char *list)
{
    struct metric_names names;

    metric_names_begin(&names, list);
    while (plan->choice_count < METRIC_PLAN_MAX &&
           metric_names_next(&names, plan->choices[plan->choice_count].name)) {
        plan_choose(plan, chip, &plan->choices[plan->choice_count++]);
    }
}

/* CUPTI's host object owns the descriptions of CUPTI's own metrics, so it stays. */
static void describe_all(struct metric_plan *plan)
{
    struct profiler_properties about;

    for (size_t i = 0; i < plan->choice_count; i++) {
        struct metric_choice *choice = &plan->choices[i];
        bool raw = choice->entry.kind == METRIC_KIND_RAW;

        choice->description = metric_description(choice->entry.kind, choice->name);
        if (raw && profiler_host_look_up(plan->api, plan->host, choice->name, &about) &&
            about.description)
            choice->description = about.description;
    }
}

/* ---- What the GPU is to count ---- */

/* Removes a raw metric, and the choices that use it. */
static void drop_raw(struct metric_plan *plan, size_t at)
{
    for (size_t i = 0; i < plan->choice_count; i++) {
        struct metric_choice *choice = &plan->choices[i];
        size_t count = metric_expression_inputs(&choice->expression, NULL);

        for (size_t input = 0; choice->expression_text && input < count; input++) {
            if (choice->inputs[input] == at) {
                choice->expression_text = NULL;
                choice->state = MP_metric_state_unavailable;
            } else if (choice->inputs[input] > at) {
                choice->inputs[input]--;
            }
        }
    }
    plan->raw_count--;
    memmove(&plan->raw[at], &plan->raw[at + 1], (plan->raw_count - at) * sizeof(*plan->raw));
}

/* Removes metrics that CUPTI cannot count together with those before them (the bytes on PCIe, for
 * one: CUDA 13.0), and says so. */
static enum mp_status drop_loners(struct metric_plan *plan, const struct chip *chip,
                                  struct mp_error *error)
{
    const char *what = "CUPTI cannot count these metrics";
    void *host = NULL;
    size_t done = 0;

    while (done < plan->raw_count) {
        if (!host)
            MP_TRY(profiler_check(plan->api, profiler_host_open(&chip->info, &host), what, error));
        if (profiler_host_add(plan->api, &host, &plan->raw[done++], 1) == CUPTI_SUCCESS)
            continue;
        if (done == 1) /* the duration is always needed */
            return mp_error_set(error, MP_ERR_UNSUPPORTED, "%s", what);
        mp_log_warn("%s cannot be counted together with the other metrics: ask for it alone",
                    plan->raw[done - 1]);
        drop_raw(plan, done - 1);
        done = 0;
    }
    profiler_host_close(plan->api, &host);
    return MP_OK;
}

/* Gives all raw metrics to a new host object in one call. Each call gets separate passes, and if
 * several calls have passes, values of some metrics come out as 0 (CUDA 13.0, H100). */
static enum mp_status add_raw(struct metric_plan *plan, const struct chip *chip,
                              struct mp_error *error)
{
    const char *what = "CUPTI cannot count these metrics together";

    MP_TRY(profiler_check(plan->api, profiler_host_open(&chip->info, &plan->host), what, error));
    if (profiler_host_add(plan->api, &plan->host, plan->raw, plan->raw_count) == CUPTI_SUCCESS)
        return MP_OK;
    MP_TRY(drop_loners(plan, chip, error));
    MP_TRY(profiler_check(plan->api, profiler_host_open(&chip->info, &plan->host), what, error));
    return profiler_check(plan->api,
                          profiler_host_add(plan->api, &plan->host, plan->raw, plan->raw_count),
                          what, error);
}

static enum mp_status configure(struct metric_plan *plan, const struct chip *chip,
                                struct mp_error *error)
{
    MP_TRY(add_raw(plan, chip, error));
    return profiler_host_config(plan->api, plan->host, &plan->config, &plan->config_bytes,
                                &plan->passes, error);
}

static enum mp_status plan_fill(struct metric_plan *plan, struct chip *chip, const char *list,
                                bool only_listed, struct mp_error *error)
{
    size_t count = count_names(list);

    plan->choices = calloc(count + 1, sizeof(*plan->choices));
    plan->raw = calloc(METRIC_PLAN_MAX, sizeof(*plan->raw));
    if (!plan->choices || !plan->raw)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for the metrics");
    plan->raw[plan->raw_count++] = DURATION;
    choose_all(plan, chip, list);
    if (only_listed)
        profiler_host_open(&chip->info, &plan->host);
    else
        MP_TRY(configure(plan, chip, error));
    describe_all(plan);
    return MP_OK;
}

enum mp_status metric_plan_build(struct metric_plan **plan, const struct profiler_api *api,
                                 const char *list, CUdevice device, CUcontext context,
                                 bool only_listed, struct mp_error *error)
{
    struct metric_plan *made = calloc(1, sizeof(*made));
    struct chip chip = {.api = api};

    *plan = NULL;
    if (!made)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for the metrics");
    made->api = api;
    made->device = (unsigned)device;
    enum mp_status status = open_chip(&chip, api, device, context, error);
    if (status == MP_OK)
        status = plan_fill(made, &chip, list, only_listed, error);

    if (status == MP_OK)
        *plan = made;
    else
        metric_plan_free(made);
    close_chip(&chip);
    return status;
}

static void add_base_type(struct metric_plan *plan, int type)
{
    struct profiler_base_metrics base = {
        .size = PROFILER_SIZE(struct profiler_base_metrics, count),
        .host = plan->host,
        .type = type,
    };

    if (plan->api->base_metrics(&base) != CUPTI_SUCCESS || !base.count)
        return;
    const char **grown = realloc(plan->base, (plan->base_count + base.count) * sizeof(*plan->base));
    if (!grown)
        return;
    plan->base = grown;
    memcpy(plan->base + plan->base_count, base.names, base.count * sizeof(*plan->base));
    plan->base_count += base.count;
}

void metric_plan_add_base(struct metric_plan *plan)
{
    for (int type = 0; type < PROFILER_METRIC_TYPES; type++)
        add_base_type(plan, type);
}

void metric_plan_free(struct metric_plan *plan)
{
    if (!plan)
        return;
    free(plan->base);
    profiler_host_close(plan->api, &plan->host);
    free(plan->config);
    free(plan->raw);
    free(plan->choices);
    free(plan);
}

double metric_plan_value(const struct metric_choice *choice, const double *raw)
{
    double inputs[METRIC_MAX_INPUTS];
    size_t count = metric_expression_inputs(&choice->expression, NULL);

    for (size_t i = 0; i < count; i++)
        inputs[i] = raw[choice->inputs[i]];
    return metric_expression_value(&choice->expression, inputs);
}
