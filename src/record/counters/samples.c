/* Samples of counters: batches between two threads, with a bound, the sets that they belong to, the
 * counters that MINIPROF_SAMPLE asks for, and why some of them are not available.
 */
#include "record/counters/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
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

/* ---- Requested counters ---- */

static void request_one(struct requested_counters *requested, const char *name,
                        const struct sampled_entry *entry)
{
    struct requested_counter *request = &requested->items[requested->count];

    for (size_t i = 0; i < requested->count; i++)
        if (mp_text_equal(requested->items[i].name, name))
            return;
    if (requested->count == SAMPLES_MAX_COUNTERS) {
        mp_log_warn("MINIPROF_SAMPLE: more than %u counters: '%s' is left out",
                    SAMPLES_MAX_COUNTERS, name);
        return;
    }
    mp_text_copy(request->name, sizeof(request->name), name);
    request->entry = entry;
    requested->count++;
}

static void request_all(struct requested_counters *requested, bool preset_only)
{
    size_t count;
    const struct sampled_entry *entries = sampled_entries(&count);

    for (size_t i = 0; i < count; i++)
        if (entries[i].preset || !preset_only)
            request_one(requested, entries[i].name, &entries[i]);
}

static void warn_of(const char *name)
{
    const char *near = sampled_suggest(name);

    if (metric_is_raw(name))
        mp_log_warn("there is no counter '%s'; one of CUPTI's has a rollup: '%s.sum', .avg, ...",
                    name, name);
    else
        mp_log_warn(
            "there is no counter '%s'%s%s%s `miniprof metrics --query --sampling` lists them", name,
            near ? "; did you mean '" : ";", near ? near : "", near ? "'?" : "");
}

void requested_read(struct requested_counters *requested, const char *names)
{
    const char *item;
    size_t bytes;

    requested->count = 0;
    while (mp_text_next_item(&names, &item, &bytes)) {
        char name[METRIC_NAME_BYTES];

        if (!bytes || bytes >= sizeof(name))
            continue;
        memcpy(name, item, bytes);
        name[bytes] = '\0';
        const struct sampled_entry *entry = sampled_find(name);
        if (mp_text_equal(name, SAMPLED_DEFAULT) || mp_text_equal(name, SAMPLED_ALL))
            request_all(requested, mp_text_equal(name, SAMPLED_DEFAULT));
        else if (entry || (metric_is_raw(name) && strchr(name, '.')))
            request_one(requested, name, entry);
        else
            warn_of(name);
    }
}

/* ---- Unavailable counters ----
 *
 * Each reason has its own line, since what to do about it differs.
 */

#define LIST_BYTES 1024u /* of names in a line */
#define ITEM_BYTES (2 * METRIC_NAME_BYTES + 32)

const char *unavailable_note(enum unavailable why)
{
    switch (why) {
    case UNAVAILABLE_COUNTER:
        return "this GPU has no such counter";
    case UNAVAILABLE_PASS:
        return "CUPTI needs several passes for it, and sampling has one";
    case UNAVAILABLE_ROOM:
        return "it does not fit into one pass beside the counters before it: sample it in a run of "
               "its own";
    case UNAVAILABLE_NOT:
    case UNAVAILABLE_NVML:
        break;
    }
    return NULL;
}

static void describe(const struct sample_plan *plan, size_t at, char item[ITEM_BYTES])
{
    const char *name = plan->requested->items[at].name;

    if (*plan->near[at])
        snprintf(item, ITEM_BYTES, "'%s' (did you mean '%s'?)", name, plan->near[at]);
    else
        snprintf(item, ITEM_BYTES, "'%s'%s", name,
                 plan->by[at] == SAMPLED_BY_NOBODY ? "" : " (NVML reads it)");
}

/* "'a', 'b'": the requests that this holds for. False: none. */
static bool list(const struct sample_plan *plan, enum unavailable why, char text[LIST_BYTES])
{
    size_t used = 0, left = 0;

    for (size_t i = 0; i < plan->requested->count; i++) {
        char item[ITEM_BYTES];

        if (plan->unavailable[i] != why)
            continue;
        describe(plan, i, item);
        if (used + strlen(item) + sizeof(", and 64 more") > LIST_BYTES)
            left++;
        else
            used +=
                (size_t)snprintf(text + used, LIST_BYTES - used, "%s%s", used ? ", " : "", item);
    }
    if (left)
        snprintf(text + used, LIST_BYTES - used, ", and %zu more", left);
    return used > 0;
}

void unavailable_say(unsigned device, const struct sample_plan *plan, const char *nvml_reason)
{
    char names[LIST_BYTES];

    if (list(plan, UNAVAILABLE_COUNTER, names))
        mp_log_warn("device %u: the GPU has no counter %s: `miniprof metrics --query --sampling` "
                    "lists those that it has",
                    device, names);
    if (list(plan, UNAVAILABLE_ROOM, names))
        mp_log_warn("device %u: no room in the one pass that sampling takes: %s: sample them in a "
                    "run of their own",
                    device, names);
    if (list(plan, UNAVAILABLE_PASS, names))
        mp_log_warn("device %u: more than the one pass that sampling takes, even alone: %s: "
                    "MINIPROF_METRICS counts them, in several passes",
                    device, names);
    if (list(plan, UNAVAILABLE_NVML, names))
        mp_log_warn("device %u: not sampled: %s: %s", device, names, nvml_reason);
}
