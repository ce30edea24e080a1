/* Launches that were profiled for metrics as rows: a metric is defined once for each file, before
 * its first value.
 */
#include "record/rows/profiled_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/reserve.h"
#include "record/rows/recording.h"

#include "base/poison.h"

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
    size_t i;

    for (i = 0; i < store->plan_count; i++)
        if (store->plans[i].plan == plan)
            return store->plans[i].first;
    if (mp_reserve((void **)&store->plans, store->plan_count, &store->plan_capacity, sizeof(ids)) !=
        MP_OK)
        return 0;
    store->plans[store->plan_count++] = ids;
    append_device(recording, plan);
    for (i = 0; i < plan->choice_count; i++)
        append_metric(recording, plan, &plan->choices[i], ++store->metric_ids);
    for (i = 0; i < plan->base_count; i++)
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
    size_t i;

    if (!first)
        atomic_fetch_add(&store->lost, 1);
    for (i = 0; i < launch->plan->choice_count && first; i++) {
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
