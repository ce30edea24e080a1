/* Batches of samples between two threads, with a bound, and the sets that they belong to. */
#include "record/counters/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/strings.h"

#include "base/poison.h"

void samples_open(struct sample_store *store)
{
    memset(store, 0, sizeof(*store));
    pthread_mutex_init(&store->lock, NULL);
}

struct sample_set *samples_new_set(unsigned device, enum sampled_by by, uint64_t interval)
{
    struct sample_set *set = calloc(1, sizeof(*set));

    if (!set)
        return NULL;
    set->device = device;
    set->by = by;
    set->interval = interval;
    return set;
}

void samples_publish(struct sample_store *store, struct sample_set *set)
{
    pthread_mutex_lock(&store->lock);
    set->next = store->sets;
    store->sets = set;
    pthread_mutex_unlock(&store->lock);
}

bool samples_add(struct sample_set *set, const char *name, const struct sampled_entry *entry,
                 const struct sampled_source *source, const char *note)
{
    struct sample_counter *counter = &set->counters[set->count];

    if (set->count == SAMPLES_MAX_COUNTERS)
        return false;
    mp_text_copy(counter->name, sizeof(counter->name), name);
    counter->expression = source ? source->expression : NULL;
    counter->description = entry ? entry->description : NULL;
    counter->note = note;
    counter->number = source ? source->number : 0;
    counter->factor = source ? source->factor : 1;
    counter->step = entry ? entry->step : sampled_raw_step(name);
    counter->unit = entry ? entry->unit : metric_raw_unit(name);
    if (!entry && set->by == SAMPLED_BY_CUPTI)
        counter->expression = counter->name;
    set->count++;
    return true;
}

struct sample_batch *samples_new_batch(struct sample_set *set, size_t capacity)
{
    size_t sample = sizeof(struct sample_moment) + set->count * sizeof(uint16_t);
    size_t bytes = sizeof(struct sample_batch) + capacity * sample;
    struct sample_batch *batch = malloc(bytes);

    if (!batch)
        return NULL;
    *batch = (struct sample_batch){.set = set, .capacity = capacity, .bytes = bytes};
    batch->moments = (struct sample_moment *)(batch + 1);
    batch->values = (uint16_t *)(batch->moments + capacity);
    return batch;
}

void samples_append(struct sample_batch *batch, struct sample_moment moment, const double *values)
{
    const struct sample_set *set = batch->set;
    uint16_t *packed = &batch->values[batch->count * set->count];

    for (size_t i = 0; i < set->count; i++)
        packed[i] = sampled_pack(values[i], set->counters[i].step);
    batch->moments[batch->count++] = moment;
}

void samples_put(struct sample_store *store, struct sample_batch *batch)
{
    if (!batch)
        return;
    if (!batch->count) {
        free(batch);
        return;
    }
    pthread_mutex_lock(&store->lock);
    bool room = store->waiting + batch->bytes <= SAMPLES_MAX_BYTES;
    if (room) {
        if (store->last)
            store->last->next = batch;
        else
            store->first = batch;
        store->last = batch;
        store->waiting += batch->bytes;
    }
    pthread_mutex_unlock(&store->lock);
    if (!room) {
        atomic_fetch_add(&store->lost, batch->count);
        free(batch);
    }
}

struct sample_batch *samples_take(struct sample_store *store)
{
    pthread_mutex_lock(&store->lock);
    struct sample_batch *batch = store->first;
    if (batch) {
        store->first = batch->next;
        if (!store->first)
            store->last = NULL;
        store->waiting -= batch->bytes;
    }
    pthread_mutex_unlock(&store->lock);
    return batch;
}

struct sample_set *samples_sets(struct sample_store *store)
{
    pthread_mutex_lock(&store->lock);
    struct sample_set *sets = store->sets;
    pthread_mutex_unlock(&store->lock);
    return sets;
}

void samples_restart(struct sample_store *store)
{
    for (struct sample_set *set = samples_sets(store); set; set = set->next)
        set->first_id = 0;
    store->ids = 0;
}
