/* Rows of counters: of profiled kernels, and of samples over time. */
#include "record/rows/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"

#include "base/poison.h"

/* ---- Kernels that were profiled: a metric is defined once a file, before its first value ---- */

struct plan_ids {
    const struct metric_plan *plan;
    uint32_t first;
};

/* For a query: the device's name, since no record tells it. */
static void append_device(struct recording *recording, const struct metric_plan *plan)
{
    if (*plan->device_name)
        mp_append_device(recording->writer,
                         &(struct mp_row_device){
                             .id = plan->device,
                             .name = dictionary_string(&recording->dictionary, plan->device_name),
                         });
}

/* For a query: one of CUPTI's own metrics. */
static void append_base(struct recording *recording, const struct metric_plan *plan,
                        const char *name, uint32_t id)
{
    uint32_t text = dictionary_string(&recording->dictionary, name);

    mp_append_metric(recording->writer, &(struct mp_row_metric){
                                            .id = id,
                                            .device = plan->device,
                                            .name = text,
                                            .state = MP_metric_state_exact,
                                            .expression = text,
                                        });
}

static void append_metric(struct recording *recording, const struct metric_plan *plan,
                          const struct metric_choice *choice, uint32_t id)
{
    struct dictionary *dictionary = &recording->dictionary;

    mp_append_metric(recording->writer,
                     &(struct mp_row_metric){
                         .id = id,
                         .device = plan->device,
                         .name = dictionary_string(dictionary, choice->name),
                         .state = choice->state,
                         .unit = choice->entry.unit,
                         .expression = dictionary_string(dictionary, choice->expression_text),
                         .description = dictionary_string(dictionary, choice->description),
                     });
}

uint32_t profiled_define(struct profiled_store *store, struct recording *recording,
                         const struct metric_plan *plan)
{
    struct plan_ids ids = {plan, store->metric_ids + 1};

    for (size_t i = 0; i < store->plan_count; i++)
        if (store->plans[i].plan == plan)
            return store->plans[i].first;
    if (mp_reserve((void **)&store->plans, store->plan_count, &store->plan_capacity, sizeof(ids)) !=
        MP_OK)
        return 0;
    store->plans[store->plan_count++] = ids;
    append_device(recording, plan);
    for (size_t i = 0; i < plan->choice_count; i++)
        append_metric(recording, plan, &plan->choices[i], ++store->metric_ids);
    for (size_t i = 0; i < plan->base_count; i++)
        append_base(recording, plan, plan->base[i], ++store->metric_ids);
    return ids.first;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static void append_values(struct profiled_store *store, struct recording *recording,
                          const struct profiled_launch *launch, uint64_t correlation)
{
    struct dictionary *dictionary = &recording->dictionary;
    uint32_t first = profiled_define(store, recording, launch->plan);
    uint32_t kernel = dictionary_string(dictionary, launch->kernel);
    uint32_t stream =
        dictionary_stream(dictionary, launch->device, launch->context, launch->stream);

    if (!first)
        atomic_fetch_add(&store->lost, 1);
    for (size_t i = 0; i < launch->plan->choice_count && first; i++) {
        const struct metric_choice *choice = &launch->plan->choices[i];

        if (!choice->expression_text)
            continue;
        mp_append_metric_value(recording->writer,
                               &(struct mp_row_metric_value){
                                   .metric = first + i,
                                   .stream = stream,
                                   .kernel = kernel,
                                   .time = launch->enter,
                                   .correlation = correlation,
                                   .value = bits_of(metric_plan_value(choice, launch->values)),
                               });
    }
}

void profiled_append(struct profiled_store *store, struct recording *recording,
                     struct profiled_launch *launch)
{
    uint64_t correlation = decode_correlation(&recording->decoder, launch->correlation);

    if (!launch->enter)
        profiled_define(store, recording, launch->plan);
    else if (capture_keeps_work(&recording->capture, correlation, launch->enter))
        append_values(store, recording, launch, correlation);
    free(launch);
}

/* ---- Samples: a counter is defined once a file, before its first sample ---- */

#define DEVICE_NAME_BYTES 128

_Static_assert((int)MP_counter_source_nvml == (int)SAMPLED_BY_NVML, "one enumeration");

static bool is_query(const struct recording *recording)
{
    return recording->gpu && recording->gpu->core.config.query == MP_QUERY_SAMPLING;
}

/* For a query: the device's name, since no record tells it. */
static void append_sampled_device(struct recording *recording, unsigned device)
{
    const struct driver_api *driver = &recording->gpu->driver;
    char name[DEVICE_NAME_BYTES] = "";

    if (driver->get_name && driver->get_name(name, sizeof(name), (CUdevice)device) == CUDA_SUCCESS)
        mp_append_device(recording->writer,
                         &(struct mp_row_device){
                             .id = device,
                             .name = dictionary_string(&recording->dictionary, name),
                         });
}

/* For a query: whether and how the device has the counter. */
static void append_sampled_metric(struct recording *recording, const struct sample_set *set,
                                  const struct sample_counter *counter, uint32_t id)
{
    struct dictionary *dictionary = &recording->dictionary;
    const struct sampled_entry *entry = sampled_find(counter->name);
    char text[256];

    snprintf(text, sizeof(text), "%s (%s)", counter->description, entry ? entry->other_names : "");
    mp_append_metric(recording->writer,
                     &(struct mp_row_metric){
                         .id = id,
                         .device = set->device,
                         .name = dictionary_string(dictionary, counter->name),
                         .state = set->by == SAMPLED_BY_NOBODY ? MP_metric_state_unavailable
                                                               : MP_metric_state_substitute,
                         .unit = counter->unit,
                         .expression = dictionary_string(dictionary, set->by == SAMPLED_BY_NOBODY
                                                                         ? counter->note
                                                                         : counter->expression),
                         .description = dictionary_string(dictionary, text),
                     });
}

static void append_counter(struct recording *recording, const struct sample_set *set,
                           const struct sample_counter *counter, uint32_t id)
{
    struct dictionary *dictionary = &recording->dictionary;
    struct mp_row_counter row = {
        .id = id,
        .device = set->device,
        .name = dictionary_string(dictionary, counter->name),
        .source = set->by,
        .unit = counter->unit,
        .interval = set->interval,
        .expression = dictionary_string(dictionary, counter->expression),
        .note = dictionary_string(dictionary, counter->note),
        .description = dictionary_string(dictionary, counter->description),
    };

    memcpy(&row.step, &counter->step, sizeof(row.step));
    mp_append_counter(recording->writer, &row);
}

/* The oldest set first. */
static void define(struct sample_store *store, struct recording *recording, struct sample_set *set)
{
    if (!set || set->first_id)
        return;
    define(store, recording, set->next);
    if (is_query(recording) && (!set->next || set->next->device != set->device))
        append_sampled_device(recording, set->device);
    set->first_id = store->ids + 1;
    for (size_t i = 0; i < set->count; i++)
        (is_query(recording) ? append_sampled_metric
                             : append_counter)(recording, set, &set->counters[i], ++store->ids);
}

void sample_rows_define(struct sample_store *store, struct recording *recording)
{
    define(store, recording, samples_sets(store));
}

static void append_sample(struct recording *recording, const struct sample_batch *batch, size_t at)
{
    const struct sample_set *set = batch->set;
    const uint16_t *values = &batch->values[at * set->count];

    for (size_t i = 0; i < set->count; i++)
        if (values[i] != SAMPLED_UNKNOWN)
            mp_append_sample(recording->writer, &(struct mp_row_sample){
                                                    .counter = set->first_id + i,
                                                    .time = batch->moments[at].end,
                                                    .length = batch->moments[at].length,
                                                    .value = values[i],
                                                });
}

/* A sample must be in a range as a whole: otherwise it counts work of outside. A reading
 * is of one moment. */
static bool keeps(const struct capture *capture, enum sampled_by by,
                  const struct sample_moment *moment)
{
    uint64_t begin = moment->end - moment->length;

    if (by == SAMPLED_BY_NVML)
        return capture_keeps_span(capture, begin, moment->end);
    return capture_keeps_time(capture, begin) && capture_keeps_time(capture, moment->end - 1);
}

void sample_rows_append(struct sample_store *store, struct recording *recording,
                        struct sample_batch *batch)
{
    sample_rows_define(store, recording); /* a cut may have come since */
    for (size_t i = 0; i < batch->count; i++)
        if (keeps(&recording->capture, batch->set->by, &batch->moments[i]))
            append_sample(recording, batch, i);
    free(batch);
}
