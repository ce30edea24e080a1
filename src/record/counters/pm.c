/* CUPTI's PM sampling of one device, and which requested counters fit into its one pass. */
#include "record/counters/pm.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/metrics/metrics.h"
#include "base/text/strings.h"
#include "record/core/clock.h"
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

/* The suffix begins at the first point after the unit: TPC.TriageCompute.sm__cycles_active.avg. */
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

/* ---- Which of the requested counters CUPTI can count in one pass ---- */

/* What is chosen: names for CUPTI, and the image that they make. */
struct pm_choice {
    const char *names[SAMPLES_MAX_COUNTERS]; /* point into the set, or static */
    size_t count;
    void *host; /* CUPTI's, with all of the names */
    uint8_t *config;
    size_t config_bytes;
};

/* The nth name that CUPTI may know the request by; NULL: no more. */
static const char *name_of(const struct requested_counter *request, size_t nth)
{
    if (!request->entry)
        return nth ? NULL : request->name;
    const struct sampled_source *source = sampled_source(request->name, SAMPLED_BY_CUPTI, nth);
    return source ? source->expression : NULL;
}

static void pm_choice_close(struct pm_choice *choice, const struct profiler_api *api)
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

/* Why nothing of the request fits with the others. */
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

/* Takes the request by the first of its names that fits with the others. False: it has names, and
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

/* Adds to `set`, which is empty, what fits. MP_ERR_UNSUPPORTED, MP_ERR_MEMORY. The choice is empty
 * when nothing does. */
static enum mp_status pm_choose(struct pm_choice *choice, const struct profiler_chip_info *chip,
                                struct sample_plan *plan, struct sample_set *set,
                                struct mp_error *error)
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

/* ---- CUPTI's functions, in toolkits that have them ---- */

/* Results as cupti_result.h of CUDA 13.0 numbers them. */
enum { RESULT_INVALID_OPERATION = 7 };

#define WAY_OUT_OLD                                                                                \
    "this CUPTI has no PM sampling: use CUDA 12.6 or later (MINIPROF_CUPTI names a library)"
#define WAY_OUT_SAMPLED                                                                            \
    "this process samples the GPU's counters already: end the other sampler (torch.profiler's "    \
    "CUPTI metrics, for one)"

enum mp_status pm_api_open(struct pm_api *api, const struct cupti_api *cupti,
                           struct mp_error *error)
{
    /* The reference is kept: CUPTI stays loaded for as long as the process lives. */
    void *library = dlopen(cupti->path, RTLD_NOLOAD | RTLD_LAZY);

#define PM_RESOLVE(field, symbol, parameters)                                                      \
    *(void **)&api->field = library ? dlsym(library, #symbol) : NULL;                              \
    if (!api->field)                                                                               \
        return mp_error_set(error, MP_ERR_UNSUPPORTED, WAY_OUT_OLD);
    PM_FUNCTIONS(PM_RESOLVE)
#undef PM_RESOLVE
    return profiler_api_open(&api->profiler, cupti, error);
}

/* profiler_check, with words for what PM sampling alone can meet. */
static enum mp_status pm_check(const struct pm_api *api, CUptiResult result, const char *what,
                               struct mp_error *error)
{
    if ((int)result == RESULT_INVALID_OPERATION)
        return mp_error_set(error, MP_ERR_UNSUPPORTED, WAY_OUT_SAMPLED);
    return profiler_check(&api->profiler, result, what, error);
}

/* ---- The sampler ---- */

#define HARDWARE_BYTES ((size_t)64 << 20)
#define IMAGE_SAMPLES  1024u /* that CUPTI decodes at a time */
#define ONE_CLOCK_NS   INT64_C(10000000000)
#define ENOUGH_TO_TIME 64u /* samples, to know how long one takes */
/* The GPU's system clock is near 1.5 GHz; the samples' own times say how long each was. */
#define CYCLES(ns) ((ns) + (ns) / 2)

struct pm_sampler {
    const struct pm_api *api;
    struct sample_set *set;
    struct pm_choice choice;
    void *object;      /* CUPTI's */
    uint8_t *counters; /* CUPTI's image of samples */
    size_t bytes;
    bool running;
    bool first;       /* the next sample is the first since the start, which is left out */
    bool oldest;      /* a full buffer keeps the oldest samples, and then takes no more */
    bool clock_known; /* `ahead` is one of two clocks that we can read */
    bool warned;      /* that samples come faster than their values are worked out */
    int64_t ahead;    /* of CUPTI's clock before the trace's, ns */
};

struct sample_set *pm_set(struct pm_sampler *sampler)
{
    return sampler->set;
}

bool pm_is_running(const struct pm_sampler *sampler)
{
    return sampler->running;
}

/* ---- Setting up ---- */

static enum mp_status read_chip(struct profiler_chip_info *chip, const struct pm_api *api,
                                unsigned device, struct mp_error *error)
{
    const char *what = "CUPTI does not say which counters there are";
    struct profiler_chip about = {.size = PROFILER_SIZE(struct profiler_chip, name),
                                  .device = device};
    struct pm_availability availability = {.size = PROFILER_SIZE(struct pm_availability, image),
                                           .device = device};

    MP_TRY(profiler_device_check(&api->profiler, (CUdevice)device, PM_SAMPLING_API, error));
    MP_TRY(pm_check(api, api->profiler.chip(&about), "CUPTI does not know this chip", error));
    chip->name = about.name;
    MP_TRY(pm_check(api, api->availability(&availability), what, error));
    chip->availability = malloc(availability.image_bytes + 1);
    if (!chip->availability)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for the counters' list");
    availability.image = chip->availability;
    return pm_check(api, api->availability(&availability), what, error);
}

/* By time if the GPU can, otherwise by cycles; the latest samples if it can, otherwise the oldest.
 */
static enum mp_status set_config(struct pm_sampler *sampler, struct mp_error *error)
{
    CUptiResult result = CUPTI_SUCCESS;

    for (int attempt = 0; attempt < 4; attempt++) {
        bool cycles = attempt & 1;
        bool oldest = attempt & 2;
        struct pm_set_config config = {
            .size = PROFILER_SIZE(struct pm_set_config, keep),
            .object = sampler->object,
            .config_bytes = sampler->choice.config_bytes,
            .config = sampler->choice.config,
            .hardware_bytes = HARDWARE_BYTES,
            .interval = cycles ? CYCLES(sampler->set->interval) : sampler->set->interval,
            .trigger = cycles ? PM_TRIGGER_CYCLES : PM_TRIGGER_TIME,
            .keep = oldest ? PM_KEEP_OLDEST : PM_KEEP_LATEST,
        };

        result = sampler->api->set_config(&config);
        sampler->oldest = oldest;
        if (result == CUPTI_SUCCESS)
            return MP_OK;
    }
    return pm_check(sampler->api, result, "the sampling cannot be set up", error);
}

static CUptiResult empty_image(const struct pm_sampler *sampler)
{
    struct pm_blank blank = {.size = PROFILER_SIZE(struct pm_blank, counters),
                             .object = sampler->object,
                             .bytes = sampler->bytes,
                             .counters = sampler->counters};

    return sampler->api->blank(&blank);
}

static enum mp_status make_room(struct pm_sampler *sampler, struct mp_error *error)
{
    const struct pm_api *api = sampler->api;
    struct pm_counters_size size = {
        .size = PROFILER_SIZE(struct pm_counters_size, bytes),
        .object = sampler->object,
        .names = sampler->choice.names,
        .count = sampler->choice.count,
        .samples = IMAGE_SAMPLES,
    };

    MP_TRY(pm_check(api, api->counters_size(&size), "no room for samples", error));
    sampler->bytes = size.bytes;
    sampler->counters = malloc(size.bytes + 1);
    if (!sampler->counters)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for samples");
    return pm_check(api, empty_image(sampler), "no room for samples", error);
}

static enum mp_status set_up(struct pm_sampler *sampler, struct mp_error *error)
{
    struct pm_enable enable = {.size = PROFILER_SIZE(struct pm_enable, object),
                               .device = sampler->set->device};

    MP_TRY(
        pm_check(sampler->api, sampler->api->enable(&enable), "the counters cannot be had", error));
    sampler->object = enable.object;
    MP_TRY(set_config(sampler, error));
    return make_room(sampler, error);
}

static void pm_free(struct pm_sampler *sampler)
{
    struct pm_object object = {.size = PROFILER_SIZE(struct pm_object, object),
                               .object = sampler->object};

    if (sampler->object)
        sampler->api->disable(&object);
    pm_choice_close(&sampler->choice, &sampler->api->profiler);
    free(sampler->counters);
    free(sampler->set);
    free(sampler);
}

enum mp_status pm_open(struct pm_sampler **made, const struct pm_api *api, unsigned device,
                       uint64_t interval, struct sample_plan *plan, bool only_listed,
                       struct mp_error *error)
{
    struct profiler_chip_info chip = {.api = &api->profiler, .type = PM_PROFILER_TYPE};
    struct pm_sampler *sampler = calloc(1, sizeof(*sampler));
    struct sample_set *set = samples_new_set(device, SAMPLED_BY_CUPTI, interval);

    *made = NULL;
    if (!sampler || !set) {
        free(sampler);
        free(set);
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for samples");
    }
    sampler->api = api;
    sampler->set = set;
    enum mp_status status = read_chip(&chip, api, device, error);
    if (status == MP_OK)
        status = pm_choose(&sampler->choice, &chip, plan, set, error);
    free(chip.availability);
    if (status == MP_OK && sampler->choice.count && !only_listed)
        status = set_up(sampler, error);
    if (status == MP_OK && sampler->choice.count)
        *made = sampler;
    else
        pm_free(sampler);
    return status;
}

enum mp_status pm_start(struct pm_sampler *sampler, struct mp_error *error)
{
    struct pm_object object = {.size = PROFILER_SIZE(struct pm_object, object),
                               .object = sampler->object};

    MP_TRY(
        pm_check(sampler->api, sampler->api->start(&object), "the sampling does not start", error));
    sampler->running = sampler->first = true;
    sampler->clock_known = false;
    return MP_OK;
}

/* ---- Samples ---- */

/* Which clock the samples' times are of. The last sample has just ended: if that is not near our
 * time, it is near the time of day, or of a clock that we cannot read. Then no sample ends later
 * than now, which bounds how far that clock is ahead. */
static void find_clock(struct pm_sampler *sampler, uint64_t end)
{
    uint64_t now = mp_clock_now();
    int64_t off = (int64_t)(end - now);
    int64_t day_ahead = (int64_t)(mp_system_clock_ns(CLOCK_REALTIME) - now);

    if (off > -ONE_CLOCK_NS && off < ONE_CLOCK_NS) {
        sampler->ahead = 0;
        sampler->clock_known = true;
    } else if (off - day_ahead > -ONE_CLOCK_NS && off - day_ahead < ONE_CLOCK_NS) {
        sampler->ahead = day_ahead;
        sampler->clock_known = true;
    } else if (!sampler->ahead || off > sampler->ahead) {
        sampler->ahead = off;
    }
}

static bool get_moment(const struct pm_sampler *sampler, size_t index, struct sample_moment *moment)
{
    struct pm_sample sample = {
        .size = PROFILER_SIZE(struct pm_sample, end),
        .object = sampler->object,
        .counters = sampler->counters,
        .bytes = sampler->bytes,
        .index = index,
    };

    if (sampler->api->sample(&sample) != CUPTI_SUCCESS || sample.end <= sample.start)
        return false;
    *moment = (struct sample_moment){sample.end, sample.end - sample.start};
    return true;
}

static bool get_values(struct pm_sampler *sampler, size_t index, double *values)
{
    struct profiler_evaluate evaluate = {
        .size = PROFILER_SIZE(struct profiler_evaluate, values),
        .host = sampler->choice.host,
        .counters = sampler->counters,
        .bytes = sampler->bytes,
        .range = index,
        .names = sampler->choice.names,
        .count = sampler->choice.count,
        .values = values,
    };

    return sampler->api->profiler.evaluate(&evaluate) == CUPTI_SUCCESS;
}

/* Takes the samples of an image, and says how many it has. The first one after a start is left out:
 * it may have begun before the start. */
static size_t take_image(struct pm_sampler *sampler, struct sample_store *store)
{
    struct pm_info info = {
        .size = PROFILER_SIZE(struct pm_info, completed),
        .counters = sampler->counters,
        .bytes = sampler->bytes,
    };
    double values[SAMPLES_MAX_COUNTERS];
    struct sample_moment moment;
    size_t i = 0;

    if (sampler->api->info(&info) != CUPTI_SUCCESS || !info.completed)
        return 0;
    if (!sampler->clock_known && get_moment(sampler, info.completed - 1, &moment))
        find_clock(sampler, moment.end);
    i = sampler->first;
    sampler->first = false;
    struct sample_batch *batch = samples_new_batch(sampler->set, info.completed);
    if (!batch) {
        atomic_fetch_add(&store->lost, info.completed - i);
        return info.completed;
    }
    for (; i < info.completed; i++)
        if (get_moment(sampler, i, &moment) && get_values(sampler, i, values)) {
            moment.end -= (uint64_t)sampler->ahead;
            samples_append(batch, moment, values);
        }
    samples_put(store, batch);
    return info.completed;
}

/* A full buffer that keeps the oldest takes no more samples until it is started again. */
static void begin_again(struct pm_sampler *sampler)
{
    struct pm_object object = {.size = PROFILER_SIZE(struct pm_object, object),
                               .object = sampler->object};

    sampler->api->stop(&object);
    sampler->first = true;
    sampler->running = sampler->api->start(&object) == CUPTI_SUCCESS;
}

/* CUPTI works out each value by its counter's name: 7 us a value on an H200 (docs/counters.md). If
 * that takes longer than the samples take to come, the oldest are overwritten without a word. */
static void mind_pace(struct pm_sampler *sampler, size_t samples, uint64_t taken)
{
    uint64_t each = samples ? taken / samples : 0;

    mp_log_debug("device %u: %zu samples, %" PRIu64 " ns each", sampler->set->device, samples,
                 each);
    if (sampler->warned || samples < ENOUGH_TO_TIME || each <= sampler->set->interval)
        return;
    sampler->warned = true;
    mp_log_warn("device %u: CUPTI takes %" PRIu64 " us for a sample of %zu counters, and one comes "
                "every %" PRIu64 " us: some may get lost; ask for fewer counters, or for @%" PRIu64
                "Hz",
                sampler->set->device, each / 1000, sampler->choice.count,
                sampler->set->interval / 1000, UINT64_C(1000000000) / each);
}

/* The pace is of this thread's CPU time, in which CUPTI decodes samples and works out values. Real
 * time would also count the turns of other threads on its core, which no lower rate makes shorter.
 */
void pm_drain(struct pm_sampler *sampler, struct sample_store *store)
{
    struct pm_decode decode;
    CUptiResult result;
    bool overflow = false;
    uint64_t begin = mp_system_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    size_t samples = 0;

    do {
        decode = (struct pm_decode){
            .size = PROFILER_SIZE(struct pm_decode, overflow),
            .object = sampler->object,
            .counters = sampler->counters,
            .bytes = sampler->bytes,
        };
        result = sampler->api->decode(&decode);
        overflow |= decode.overflow || result == CUPTI_ERROR_OUT_OF_MEMORY;
        samples += take_image(sampler, store);
    } while (empty_image(sampler) == CUPTI_SUCCESS && result == CUPTI_SUCCESS &&
             decode.stopped == PM_STOPPED_FULL);
    mind_pace(sampler, samples, mp_system_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
    if (overflow) {
        atomic_fetch_add(&store->overflows, 1);
        if (sampler->oldest && sampler->running)
            begin_again(sampler);
    }
}

void pm_stop(struct pm_sampler *sampler, struct sample_store *store)
{
    struct pm_object object = {.size = PROFILER_SIZE(struct pm_object, object),
                               .object = sampler->object};

    sampler->running = false;
    sampler->api->stop(&object);
    pm_drain(sampler, store);
}
