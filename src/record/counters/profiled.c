/* The store of profiled launches, between the thread that launched and the writer. The times are
 * kept in a ring, since the activity record of a launch may never come.
 */
#include "record/counters/profiled.h"

#include <stdlib.h>
#include <string.h>

#include "record/cupti/layout.h"

#include "base/poison.h"

/* What the writer keeps of a launch until its activity record comes. */
struct profiled_time {
    uint64_t correlation; /* in 64 bits */
    uint64_t start;       /* 0, like the end, if unknown */
    uint64_t end;
    bool answered;
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
    bool room = store->waiting < PROFILED_MAX_WAITING;
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

/* The duration is the profiler's. The end is the return of the launching call, after all passes.
 * False when the duration does not fit into the call: then the times are unknown. */
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
    uint32_t at = (uint32_t)(store->time_count % PROFILED_MAX_TIMES);
    struct profiled_time time = {
        .correlation = correlation_extend(store->correlation, launch->correlation),
    };

    if (!store->times)
        store->times = calloc(PROFILED_MAX_TIMES, sizeof(*store->times));
    work_out(launch, &time);
    if (!store->times)
        return;
    if (store->time_count >= PROFILED_MAX_TIMES)
        mp_map_remove(&store->index, store->times[at].correlation);
    if (mp_map_put(&store->index, time.correlation, at) != MP_OK)
        return;
    store->times[at] = time;
    store->time_count++;
}

static struct profiled_launch *take_all(struct profiled_store *store)
{
    pthread_mutex_lock(&store->lock);
    struct profiled_launch *first = store->first;
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
    profiled_collect(store);
    struct profiled_launch *launch = store->pending;
    if (!launch)
        return NULL;
    store->pending = launch->next;
    if (!store->pending)
        store->pending_last = NULL;
    return launch;
}

enum profiled_answer profiled_times(struct profiled_store *store, uint64_t correlation,
                                    uint64_t *start, uint64_t *end)
{
    uint32_t at = store->time_count ? mp_map_get(&store->index, correlation) : MP_MAP_ABSENT;

    if (at == MP_MAP_ABSENT)
        return PROFILED_NOT;
    struct profiled_time *time = &store->times[at];
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
