/* See profiled.h. */
#include "record/profiled.h"

#include <stdlib.h>
#include <string.h>

#include "base/reserve.h"
#include "record/recording.h"

#include "base/poison.h"

/* What the writer keeps of a launch until its activity record comes. */
struct profiled_time {
    uint64_t start; /* 0: answered */
    uint64_t end;
};

struct plan_ids {
    const struct metric_plan *plan;
    uint32_t first;
};

void profiled_open(struct profiled_store *store)
{
    memset(store, 0, sizeof(*store));
    pthread_mutex_init(&store->lock, NULL);
}

/* ---- Any thread ---- */

struct profiled_launch *profiled_new(const struct metric_plan *plan, const char *kernel)
{
    size_t values = plan->raw_count * sizeof(double);
    size_t name = strlen(kernel) + 1;
    struct profiled_launch *launch = calloc(1, sizeof(*launch) + values + name);

    if (!launch)
        return NULL;
    launch->plan = plan;
    launch->device = plan->device;
    launch->kernel = memcpy((char *)launch->values + values, kernel, name);
    return launch;
}

void profiled_put(struct profiled_store *store, struct profiled_launch *launch)
{
    launch->next = NULL;
    pthread_mutex_lock(&store->lock);
    if (store->last)
        store->last->next = launch;
    else
        store->first = launch;
    store->last = launch;
    pthread_mutex_unlock(&store->lock);
}

/* ---- The writer ---- */

/* A query: the device's name, which no record tells it. */
static void append_device(struct recording *recording, const struct metric_plan *plan)
{
    if (*plan->device_name)
        mp_append_device(recording->writer,
                         &(struct mp_row_device){
                             .id = plan->device,
                             .name = dictionary_string(&recording->dictionary, plan->device_name),
                         });
}

/* A query: one of CUPTI's own metrics. */
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

static void keep_times(struct profiled_store *store, const struct profiled_launch *launch)
{
    double duration = launch->values[0];
    uint64_t end = launch->leave;
    uint64_t start = end;

    if (duration > 0 && duration < (double)(launch->leave - launch->enter))
        start = end - (uint64_t)(duration + 0.5);
    if (mp_reserve((void **)&store->times, store->time_count, &store->time_capacity,
                   sizeof(*store->times)) != MP_OK ||
        mp_map_put(&store->index, launch->correlation, (uint32_t)store->time_count) != MP_OK)
        return;
    store->times[store->time_count++] = (struct profiled_time){start, end};
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

static struct profiled_launch *take_all(struct profiled_store *store)
{
    struct profiled_launch *first;

    pthread_mutex_lock(&store->lock);
    first = store->first;
    store->first = store->last = NULL;
    pthread_mutex_unlock(&store->lock);
    return first;
}

void profiled_collect(struct profiled_store *store)
{
    struct profiled_launch *launch = take_all(store);

    if (!launch)
        return;
    if (store->pending_last)
        store->pending_last->next = launch;
    else
        store->pending = launch;
    for (; launch; launch = launch->next) {
        store->pending_last = launch;
        if (launch->enter)
            keep_times(store, launch);
    }
}

struct profiled_launch *profiled_next(struct profiled_store *store)
{
    struct profiled_launch *launch;

    profiled_collect(store);
    launch = store->pending;
    if (!launch)
        return NULL;
    store->pending = launch->next;
    if (!store->pending)
        store->pending_last = NULL;
    return launch;
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

bool profiled_times(struct profiled_store *store, uint32_t correlation, uint64_t *start,
                    uint64_t *end)
{
    uint32_t at = store->time_count ? mp_map_get(&store->index, correlation) : MP_MAP_ABSENT;
    struct profiled_time *time;

    if (at == MP_MAP_ABSENT)
        return false;
    time = &store->times[at];
    *start = time->start;
    *end = time->end;
    time->start = 0;
    return true;
}

void profiled_restart(struct profiled_store *store)
{
    store->plan_count = 0;
    store->metric_ids = 0;
}

void profiled_close(struct profiled_store *store)
{
    struct profiled_launch *launch;

    while ((launch = profiled_next(store)))
        free(launch);
    mp_map_free(&store->index);
    free(store->times);
    free(store->plans);
    store->times = NULL;
    store->plans = NULL;
}
