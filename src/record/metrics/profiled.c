/* See profiled.h. */
#include "record/metrics/profiled.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/reserve.h"
#include "record/core/recording.h"

#include "base/poison.h"

/* What the writer keeps of a launch until its activity record comes. */
struct profiled_time {
    uint64_t correlation; /* in 64 bits */
    uint64_t start;       /* 0, as the end: unknown */
    uint64_t end;
    bool answered;
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
    bool room;

    launch->next = NULL;
    pthread_mutex_lock(&store->lock);
    room = store->waiting < PROFILED_MOST_WAITING;
    if (room) {
        if (store->last)
            store->last->next = launch;
        else
            store->first = launch;
        store->last = launch;
        store->waiting++;
    }
    pthread_mutex_unlock(&store->lock);
    if (room)
        return;
    atomic_fetch_add(&store->lost, 1);
    free(launch);
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

/* The duration is the profiler's; the end is where the launching call returned, after all passes.
 * False when the one does not fit into the other: then nothing is known. */
static bool work_out(const struct profiled_launch *launch, struct profiled_time *time)
{
    double duration = launch->values[0];

    if (!(duration > 0 && duration < (double)(launch->leave - launch->enter)))
        return false;
    time->end = launch->leave;
    time->start = launch->leave - (uint64_t)(duration + 0.5);
    return true;
}

static void keep_times(struct profiled_store *store, const struct profiled_launch *launch)
{
    uint32_t at = (uint32_t)(store->time_count % PROFILED_MOST_TIMES);
    struct profiled_time time = {
        .correlation = decode_correlation(store->decoder, launch->correlation),
    };

    if (!store->times)
        store->times = calloc(PROFILED_MOST_TIMES, sizeof(*store->times));
    work_out(launch, &time);
    if (!store->times)
        return;
    if (store->time_count >= PROFILED_MOST_TIMES)
        mp_map_remove(&store->index, store->times[at].correlation);
    if (mp_map_put(&store->index, time.correlation, at) != MP_OK)
        return;
    store->times[at] = time;
    store->time_count++;
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

static struct profiled_launch *take_all(struct profiled_store *store)
{
    struct profiled_launch *first;

    pthread_mutex_lock(&store->lock);
    first = store->first;
    store->first = store->last = NULL;
    store->waiting = 0;
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

enum profiled_answer profiled_times(struct profiled_store *store, uint64_t correlation,
                                    uint64_t *start, uint64_t *end)
{
    uint32_t at = store->time_count ? mp_map_get(&store->index, correlation) : MP_MAP_ABSENT;
    struct profiled_time *time;

    if (at == MP_MAP_ABSENT)
        return PROFILED_NOT;
    time = &store->times[at];
    if (time->answered)
        return PROFILED_AGAIN;
    time->answered = true;
    *start = time->start;
    *end = time->end;
    return PROFILED_FIRST;
}

void profiled_restart(struct profiled_store *store)
{
    store->plan_count = 0;
    store->metric_ids = 0;
}

static void free_all(struct profiled_launch *launch)
{
    struct profiled_launch *next;

    for (; launch; launch = next) {
        next = launch->next;
        free(launch);
    }
}

void profiled_close(struct profiled_store *store)
{
    free_all(take_all(store));
    free_all(store->pending);
    store->pending = store->pending_last = NULL;
    mp_map_free(&store->index);
    free(store->times);
    free(store->plans);
    store->times = NULL;
    store->plans = NULL;
}
