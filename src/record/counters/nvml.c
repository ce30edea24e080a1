/* Reads NVML at intervals. A reading is what NVML says at its end, and stands for the time since
 * the one before it; GPM's metrics are means over that time.
 */
#include "record/counters/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include "base/settings/config.h"
#include "record/core/clock.h"
#include "record/counters/samples.h"

#include "base/poison.h"

#define WAY_OUT_LIBRARY                                                                            \
    "; it comes with the driver, and to a container with NVIDIA_DRIVER_CAPABILITIES=utility"

struct nvml_sampler {
    const struct nvml_api *api;
    nvml_device device;
    struct sample_set *readings; /* NULL: none */
    struct sample_set *gpm;
    nvml_gpm_sample before, after;
    uint64_t since; /* when the last reading was, on the trace's clock */
    uint64_t real;  /* and on ours, which is that of NVML */
    bool gpm_has_first;
};

enum mp_status nvml_api_open(struct nvml_api *api, struct mp_error *error)
{
    /* The reference is kept: NVML stays loaded. */
    void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY);

    if (!library)
        return mp_error_set(error, MP_ERR_UNSUPPORTED, "NVML does not load: %s" WAY_OUT_LIBRARY,
                            dlerror());
#define NVML_RESOLVE(field, symbol, parameters) *(void **)&api->field = dlsym(library, #symbol);
    NVML_FUNCTIONS(NVML_RESOLVE)
#undef NVML_RESOLVE
    *(void **)&api->error_text = dlsym(library, "nvmlErrorString");
    if (!api->reasons)
        api->reasons = api->old_reasons;
    if (!api->init || !api->find)
        return mp_error_set(error, MP_ERR_UNSUPPORTED, "this libnvidia-ml.so.1 is too old");
    int result = api->init();
    if (result == NVML_SUCCESS)
        return MP_OK;
    return mp_error_set(error, MP_ERR_UNSUPPORTED,
                        "NVML does not start (error %d%s%s): see whether `nvidia-smi` works",
                        result, api->error_text ? ", " : "",
                        api->error_text ? api->error_text(result) : "");
}

struct sample_set *nvml_readings(struct nvml_sampler *sampler)
{
    return sampler->readings;
}

struct sample_set *nvml_gpm(struct nvml_sampler *sampler)
{
    return sampler->gpm;
}

/* ---- Values ---- */

/* Whether NVML has the function and it answers. */
#define READS(function, ...)                                                                       \
    (sampler->api->function && sampler->api->function(sampler->device, __VA_ARGS__) == NVML_SUCCESS)

/* What NVML says now; not a number when it says nothing. */
static double read_one(const struct nvml_sampler *sampler, unsigned what)
{
    struct nvml_memory memory;
    unsigned long long reasons;
    unsigned value;

    switch ((enum sampled_nvml)what) {
    case SAMPLED_NVML_SM_CLOCK:
        return READS(clock, NVML_CLOCK_SM, &value) ? value * 1e6 : (double)NAN;
    case SAMPLED_NVML_MEMORY_CLOCK:
        return READS(clock, NVML_CLOCK_MEM, &value) ? value * 1e6 : (double)NAN;
    case SAMPLED_NVML_POWER: /* in mW */
        return READS(power, &value) ? value / 1e3 : (double)NAN;
    case SAMPLED_NVML_TEMPERATURE:
        return READS(temperature, NVML_TEMPERATURE_GPU, &value) ? value : (double)NAN;
    case SAMPLED_NVML_MEMORY_USED:
        return READS(memory, &memory) ? (double)memory.used : (double)NAN;
    case SAMPLED_NVML_POWER_CAPPED:
        return !READS(reasons, &reasons) ? (double)NAN : reasons & NVML_REASONS_POWER ? 100 : 0;
    case SAMPLED_NVML_TOO_HOT:
        return !READS(reasons, &reasons) ? (double)NAN : reasons & NVML_REASONS_HEAT ? 100 : 0;
    }
    return (double)NAN;
}

/* ---- Choosing ---- */

static void take(struct sample_set *set, struct sample_plan *plan, size_t at,
                 const struct sampled_source *source, const char *note)
{
    const struct requested_counter *request = &plan->requested->items[at];

    if (set && samples_add(set, request->name, request->entry, source, note))
        plan->by[at] = set->by;
}

/* What GPM has of the requests that CUPTI does not measure. */
static void choose_gpm(struct nvml_sampler *sampler, struct sample_plan *plan, const char *reason)
{
    for (size_t i = 0; i < plan->requested->count && sampler->gpm->count < NVML_MAX_GPM; i++) {
        const struct sampled_source *source =
            sampled_source(plan->requested->items[i].name, SAMPLED_BY_GPM, 0);
        const char *note = unavailable_note(plan->unavailable[i]);

        if (source && plan->by[i] == SAMPLED_BY_NOBODY)
            take(sampler->gpm, plan, i, source, note ? note : reason);
    }
}

static void choose_readings(struct nvml_sampler *sampler, struct sample_plan *plan)
{
    for (size_t i = 0; i < plan->requested->count; i++) {
        const struct sampled_source *source =
            sampled_source(plan->requested->items[i].name, SAMPLED_BY_NVML, 0);

        if (source && plan->by[i] == SAMPLED_BY_NOBODY && !isnan(read_one(sampler, source->number)))
            take(sampler->readings, plan, i, source, unavailable_note(plan->unavailable[i]));
    }
}

static bool has_gpm(struct nvml_sampler *sampler)
{
    const struct nvml_api *api = sampler->api;
    struct nvml_gpm_support support = {.version = NVML_GPM_VERSION};

    return api->gpm_support && api->gpm_alloc && api->gpm_sample && api->gpm_metrics &&
           api->gpm_support(sampler->device, &support) == NVML_SUCCESS && support.supported &&
           api->gpm_alloc(&sampler->before) == NVML_SUCCESS &&
           api->gpm_alloc(&sampler->after) == NVML_SUCCESS &&
           api->gpm_sample(sampler->device, sampler->before) == NVML_SUCCESS;
}

static struct sample_set *unless_empty(struct sample_set *set)
{
    if (set && set->count)
        return set;
    free(set);
    return NULL;
}

struct nvml_sampler *nvml_open(const struct nvml_api *api, unsigned device, const char *bus_id,
                               struct sample_plan *plan, const char *reason, struct mp_error *error)
{
    struct nvml_sampler *sampler = calloc(1, sizeof(*sampler));
    uint64_t interval = mp_time_limit_ns(MP_TIME_NVML_INTERVAL);

    mp_error_set(error, MP_ERR_UNSUPPORTED, "NVML does not tell that of this GPU");
    if (!sampler)
        return NULL;
    sampler->api = api;
    if (api->find(bus_id, &sampler->device) != NVML_SUCCESS) {
        mp_error_set(error, MP_ERR_UNSUPPORTED, "NVML does not know the GPU at %s", bus_id);
        free(sampler);
        return NULL;
    }
    sampler->readings = samples_new_set(device, SAMPLED_BY_NVML, interval);
    sampler->gpm = samples_new_set(device, SAMPLED_BY_GPM, interval);
    if (sampler->gpm && has_gpm(sampler))
        choose_gpm(sampler, plan, reason);
    choose_readings(sampler, plan);
    sampler->readings = unless_empty(sampler->readings);
    sampler->gpm = unless_empty(sampler->gpm);
    if (sampler->readings || sampler->gpm)
        return sampler;
    free(sampler);
    return NULL;
}

/* ---- Time ---- */

void nvml_start(struct nvml_sampler *sampler)
{
    sampler->since = mp_clock_now();
    sampler->real = mp_monotonic_ns();
    sampler->gpm_has_first =
        sampler->gpm && sampler->api->gpm_sample(sampler->device, sampler->before) == NVML_SUCCESS;
}

/* One sample. */
static void put(struct sample_set *set, struct sample_store *store, struct sample_moment moment,
                const double *values)
{
    struct sample_batch *batch = samples_new_batch(set, 1);

    if (!batch) {
        atomic_fetch_add(&store->lost, 1);
        return;
    }
    samples_append(batch, moment, values);
    samples_put(store, batch);
}

static void put_gpm(struct nvml_sampler *sampler, struct sample_store *store,
                    struct sample_moment moment)
{
    const struct nvml_api *api = sampler->api;
    const struct sample_set *set = sampler->gpm;
    struct nvml_gpm_metrics metrics = {.version = NVML_GPM_VERSION, .count = (unsigned)set->count};
    double values[SAMPLES_MAX_COUNTERS];
    nvml_gpm_sample swap = sampler->before;

    if (api->gpm_sample(sampler->device, sampler->after) != NVML_SUCCESS)
        return;
    metrics.before = sampler->before;
    metrics.after = sampler->after;
    for (size_t i = 0; i < set->count; i++)
        metrics.items[i].id = set->counters[i].number;
    if (sampler->gpm_has_first && api->gpm_metrics(&metrics) == NVML_SUCCESS) {
        for (size_t i = 0; i < set->count; i++)
            values[i] = metrics.items[i].result == NVML_SUCCESS
                            ? metrics.items[i].value * set->counters[i].factor
                            : (double)NAN;
        put(sampler->gpm, store, moment, values);
    }
    sampler->before = sampler->after;
    sampler->after = swap;
    sampler->gpm_has_first = true;
}

static void put_readings(struct nvml_sampler *sampler, struct sample_store *store,
                         struct sample_moment moment)
{
    double values[SAMPLES_MAX_COUNTERS];

    for (size_t i = 0; i < sampler->readings->count; i++)
        values[i] = read_one(sampler, sampler->readings->counters[i].number);
    put(sampler->readings, store, moment, values);
}

void nvml_tick(struct nvml_sampler *sampler, struct sample_store *store, bool last)
{
    uint64_t real = mp_monotonic_ns();
    uint64_t now = mp_clock_now();
    struct sample_moment moment = {now, now - sampler->since};
    bool whole = real - sampler->real >= mp_time_limit_ns(MP_TIME_NVML_INTERVAL);

    if (now <= sampler->since || (!whole && !last))
        return;
    if (sampler->gpm && whole)
        put_gpm(sampler, store, moment);
    if (sampler->readings)
        put_readings(sampler, store, moment);
    sampler->since = now;
    sampler->real = real;
}
