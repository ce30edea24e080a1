/* Divides the wished counters of a device among CUPTI, GPM and NVML, the best first, and runs the
 * samplers.
 */
#include "record/counters/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text/strings.h"
#include "record/counters/lacks.h"
#include "record/counters/nvml.h"
#include "record/counters/pm.h"
#include "record/counters/sampling.h"
#include "record/cupti/gpu.h"

#include "base/poison.h"

struct sampling_device {
    struct pm_sampler *pm;     /* NULL: none */
    struct nvml_sampler *nvml; /* NULL: none */
    bool running;
    char reason[MP_ERROR_TEXT_BYTES];      /* why CUPTI measures nothing; empty: it does */
    char nvml_reason[MP_ERROR_TEXT_BYTES]; /* why NVML reads no more; empty: it was not asked */
};

/* ---- The libraries, once ---- */

static void try_pm(struct sampling *sampling)
{
    struct mp_error error;

    if (sampling->pm_tried)
        return;
    sampling->pm_tried = true;
    sampling->pm = calloc(1, sizeof(*sampling->pm));
    if (!sampling->pm)
        mp_text_copy(sampling->pm_reason, sizeof(sampling->pm_reason), "no memory");
    else if (pm_api_open(sampling->pm, &sampling->gpu->cupti, &error) != MP_OK)
        mp_text_copy(sampling->pm_reason, sizeof(sampling->pm_reason), error.text);
}

static const struct nvml_api *try_nvml(struct sampling *sampling)
{
    struct mp_error error;

    if (!sampling->nvml_tried) {
        sampling->nvml_tried = true;
        sampling->nvml = calloc(1, sizeof(*sampling->nvml));
        if (!sampling->nvml) {
            mp_text_copy(sampling->nvml_reason, sizeof(sampling->nvml_reason), "no memory");
        } else if (nvml_api_open(sampling->nvml, &error) != MP_OK) {
            mp_text_copy(sampling->nvml_reason, sizeof(sampling->nvml_reason), error.text);
            free(sampling->nvml);
            sampling->nvml = NULL;
        }
    }
    return sampling->nvml;
}

/* ---- What is measured ---- */

static const char *note_of(const struct sampling_device *opened, const struct sample_plan *plan,
                           size_t at)
{
    const char *note = lacks_note(plan->lacks[at]);

    if (!note && plan->lacks[at] == SAMPLE_LACKS_NVML)
        note = opened->nvml_reason;
    if (!note && *opened->reason)
        note = opened->reason;
    return note ? note : "nothing on this machine measures it";
}

/* The wishes that nobody can grant, as a set without samples. */
static void publish_rest(struct sampling *sampling, unsigned device, const struct sample_plan *plan,
                         const struct sampling_device *opened)
{
    struct sample_set *set = samples_new_set(device, SAMPLED_BY_NOBODY, 0);
    size_t i;

    for (i = 0; set && i < plan->wishes->count; i++)
        if (plan->by[i] == SAMPLED_BY_NOBODY)
            samples_add(set, plan->wishes->items[i].name, plan->wishes->items[i].entry, NULL,
                        note_of(opened, plan, i));
    if (set && set->count)
        samples_publish(&sampling->store, set);
    else
        free(set);
}

static void say(unsigned device, const struct sampling_device *opened,
                const struct sample_plan *plan, uint64_t interval)
{
    size_t max = 0;
    size_t i;

    for (i = 0; i < plan->wishes->count; i++)
        max += plan->by[i] == SAMPLED_BY_CUPTI;
    if (opened->pm)
        mp_log_info("device %u: %zu counters are sampled every %.3g us", device, max,
                    (double)interval / 1e3);
    else if (*opened->reason && opened->nvml)
        mp_log_warn("device %u: NVML is read 10 times a second, since CUPTI cannot sample: %s",
                    device, opened->reason);
    else if (*opened->reason)
        mp_log_warn("device %u: no counters are sampled: %s", device, opened->reason);
    lacks_say(device, plan, opened->nvml_reason);
}

static bool wishes_for(const struct sample_plan *plan, enum sampled_by by)
{
    size_t i;

    for (i = 0; i < plan->wishes->count; i++)
        if (!plan->wishes->items[i].entry ? by == SAMPLED_BY_CUPTI
                                          : sampled_source(plan->wishes->items[i].name, by, 0) &&
                                                plan->by[i] == SAMPLED_BY_NOBODY)
            return true;
    return false;
}

static void open_pm(struct sampling *sampling, struct sampling_device *opened, unsigned device,
                    struct sample_plan *plan, bool only_listed)
{
    struct mp_error error;

    if (!wishes_for(plan, SAMPLED_BY_CUPTI))
        return;
    try_pm(sampling);
    if (*sampling->pm_reason) {
        mp_text_copy(opened->reason, sizeof(opened->reason), sampling->pm_reason);
    } else if (pm_open(&opened->pm, sampling->pm, device, sampling->interval, plan, only_listed,
                       &error) != MP_OK) {
        mp_text_copy(opened->reason, sizeof(opened->reason), error.text);
        memset(plan->by, 0, sizeof(plan->by));
        memset(plan->lacks, 0, sizeof(plan->lacks));
    }
}

/* What no other source has, and NVML does not read either. */
static void note_unread(struct sample_plan *plan)
{
    size_t i;

    for (i = 0; i < plan->wishes->count; i++)
        if (plan->by[i] == SAMPLED_BY_NOBODY && plan->wishes->items[i].entry &&
            !sampled_source(plan->wishes->items[i].name, SAMPLED_BY_CUPTI, 0))
            plan->lacks[i] = SAMPLE_LACKS_NVML;
}

static void open_nvml(struct sampling *sampling, struct sampling_device *opened, unsigned device,
                      struct sample_plan *plan)
{
    const char *place = sampling->places[device];
    const struct nvml_api *api;
    struct mp_error error;

    if (!wishes_for(plan, SAMPLED_BY_GPM) && !wishes_for(plan, SAMPLED_BY_NVML))
        return;
    api = *place ? try_nvml(sampling) : NULL;
    if (!*place)
        mp_error_set(&error, MP_ERR_UNSUPPORTED, "CUDA does not tell the GPU's place on the bus");
    else if (!api)
        mp_error_set(&error, MP_ERR_UNSUPPORTED, "%s", sampling->nvml_reason);
    else
        opened->nvml =
            nvml_open(api, device, place, plan, *opened->reason ? opened->reason : NULL, &error);
    mp_text_copy(opened->nvml_reason, sizeof(opened->nvml_reason), error.text);
    note_unread(plan);
}

static void publish(struct sampling *sampling, struct sample_set *set)
{
    if (set)
        samples_publish(&sampling->store, set);
}

struct sampling_device *sampling_device_open(struct sampling *sampling, unsigned device,
                                             bool only_listed)
{
    struct sampling_device *opened = calloc(1, sizeof(*opened));
    struct sample_plan plan = {.wishes = sampling->wishes};

    if (!opened)
        return NULL;
    open_pm(sampling, opened, device, &plan, only_listed);
    open_nvml(sampling, opened, device, &plan);
    if (opened->pm)
        publish(sampling, pm_set(opened->pm));
    if (opened->nvml) {
        publish(sampling, nvml_gpm(opened->nvml));
        publish(sampling, nvml_readings(opened->nvml));
    }
    publish_rest(sampling, device, &plan, opened);
    if (!only_listed)
        say(device, opened, &plan, sampling->interval);
    return opened;
}

/* ---- Sampling ---- */

void sampling_device_start(struct sampling *sampling, struct sampling_device *device)
{
    struct mp_error error;

    (void)sampling;
    if (device->running)
        return;
    device->running = true;
    if (device->pm && pm_start(device->pm, &error) != MP_OK && !*device->reason) {
        mp_text_copy(device->reason, sizeof(device->reason), error.text);
        mp_log_warn("device %u: counters are not sampled: %s", pm_set(device->pm)->device,
                    error.text);
    }
    if (device->nvml)
        nvml_start(device->nvml);
}

void sampling_device_drain(struct sampling *sampling, struct sampling_device *device)
{
    if (device->pm && pm_is_running(device->pm))
        pm_drain(device->pm, &sampling->store);
    if (device->nvml && device->running)
        nvml_tick(device->nvml, &sampling->store, false);
}

void sampling_device_stop(struct sampling *sampling, struct sampling_device *device)
{
    if (!device->running)
        return;
    device->running = false;
    if (device->pm && pm_is_running(device->pm))
        pm_stop(device->pm, &sampling->store);
    if (device->nvml)
        nvml_tick(device->nvml, &sampling->store, true);
}
