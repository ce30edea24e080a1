/* Samples of counters as rows: a counter is defined once for each file, before its first sample. */
#include "record/rows/sample_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/rows/recording.h"

#include "base/poison.h"

#define DEVICE_NAME_BYTES 128

_Static_assert((int)MP_counter_source_nvml == (int)SAMPLED_BY_NVML, "one enumeration");

static bool is_query(const struct recording *recording)
{
    return recording->gpu && recording->gpu->core.config.query == MP_QUERY_SAMPLING;
}

/* For a query: the device's name, since no record tells it. */
static void append_device(struct recording *recording, unsigned device)
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
static void append_metric(struct recording *recording, const struct sample_set *set,
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
    size_t i;

    if (!set || set->first_id)
        return;
    define(store, recording, set->next);
    if (is_query(recording) && (!set->next || set->next->device != set->device))
        append_device(recording, set->device);
    set->first_id = store->ids + 1;
    for (i = 0; i < set->count; i++)
        (is_query(recording) ? append_metric : append_counter)(recording, set, &set->counters[i],
                                                               ++store->ids);
}

void sample_rows_define(struct sample_store *store, struct recording *recording)
{
    define(store, recording, samples_sets(store));
}

static void append_sample(struct recording *recording, const struct sample_batch *batch, size_t at)
{
    const struct sample_set *set = batch->set;
    const uint16_t *values = &batch->values[at * set->count];
    size_t i;

    for (i = 0; i < set->count; i++)
        if (values[i] != SAMPLED_UNKNOWN)
            mp_append_sample(recording->writer, &(struct mp_row_sample){
                                                    .counter = set->first_id + i,
                                                    .time = batch->moments[at].end,
                                                    .length = batch->moments[at].length,
                                                    .value = values[i],
                                                });
}

/* What was counted must lie in a range as a whole: it would else count work of outside. A reading
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
    size_t i;

    sample_rows_define(store, recording); /* a cut may have come since */
    for (i = 0; i < batch->count; i++)
        if (keeps(&recording->capture, batch->set->by, &batch->moments[i]))
            append_sample(recording, batch, i);
    free(batch);
}
