/* Memory over time: every change, or the greatest value of each of a number of steps. */
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "reports/memory/memory.h"

#include "base/poison.h"

/* Bytes of a device or pool during a step. */
struct level {
    uint64_t live;
    uint64_t min;
    uint64_t max;
};

struct walk {
    const struct memory *memory;
    struct level *devices; /* by their order in memory->devices, then one for each pool; owned */
    struct level *pools;   /* of the same array */
    memory_take_point *take;
    void *context;
};

static enum mp_status begin_walk(struct walk *walk)
{
    const struct memory *memory = walk->memory;

    walk->devices = calloc(memory->device_count + memory->pool_count + 1, sizeof *walk->devices);
    if (!walk->devices)
        return MP_ERR_MEMORY;
    walk->pools = walk->devices + memory->device_count;
    return MP_OK;
}

/* There are few devices. */
static struct level *device_of(const struct walk *walk, uint64_t ordinal)
{
    size_t i = 0;

    while (i + 1 < walk->memory->device_count && walk->memory->devices[i].device != ordinal)
        i++;
    return &walk->devices[i];
}

static void timeline_add(struct level *level, uint64_t bytes, bool more)
{
    level->live = more ? level->live + bytes : level->live - bytes;
    level->max = mp_max(level->max, level->live);
    if (level->live < level->min)
        level->min = level->live;
}

/* Adds or subtracts the bytes of an allocation, and says where it was. */
static void apply(const struct walk *walk, const struct memory_event *allocation, bool more,
                  struct memory_point *point)
{
    const struct memory_place *place = memory_place_of(&walk->memory->events, allocation);
    struct level *device = device_of(walk, place->device);

    timeline_add(device, allocation->bytes, more);
    *point = (struct memory_point){
        .device = place->device,
        .kind = place->kind,
        .change = (int64_t)(more ? allocation->bytes : -allocation->bytes),
        .live = device->live,
    };
    if (place->pool == MEMORY_NO_POOL)
        return;
    timeline_add(&walk->pools[place->pool], allocation->bytes, more);
    point->pool = walk->memory->pools[place->pool].pool;
    point->pool_live = walk->pools[place->pool].live;
}

/* ---- Each change ---- */

static void hand_over(const struct walk *walk, const struct memory_event *allocation, bool more,
                      uint64_t time)
{
    struct memory_point point;

    apply(walk, allocation, more, &point);
    point.time = time;
    if (walk->take)
        walk->take(walk->context, &point);
}

enum mp_status memory_each_change(const struct memory *memory, memory_take_point *take,
                                  void *context)
{
    struct walk walk = {.memory = memory, .take = take, .context = context};
    struct memory_replay replay;
    struct memory_change change;
    enum mp_status status = memory_replay_begin(&replay, &memory->events);

    if (!status)
        status = begin_walk(&walk);
    while (!status && (status = memory_replay_next(&replay, &change)) == MP_OK) {
        if (change.ended)
            hand_over(&walk, change.ended, false, change.event->time);
        if (!change.event->release)
            hand_over(&walk, change.event, true, change.event->time);
    }
    memory_replay_end(&replay);
    free(walk.devices);
    return status == MP_END ? MP_OK : status;
}

/* ---- Steps ---- */

struct steps {
    struct walk walk;
    uint64_t first; /* ns */
    uint64_t span;
    uint64_t count;
    uint64_t next; /* to be handed over */
};

/* Begin of a step; for the step after the last one, the end. No product exceeds 64 bits. */
static uint64_t step_begin(const struct steps *steps, uint64_t step)
{
    return steps->first + steps->span / steps->count * step +
           steps->span % steps->count * step / steps->count;
}

static void begin_step(const struct steps *steps)
{
    size_t count = steps->walk.memory->device_count + steps->walk.memory->pool_count;

    for (size_t i = 0; i < count; i++)
        steps->walk.devices[i].min = steps->walk.devices[i].max = steps->walk.devices[i].live;
}

static void hand_over_step(const struct steps *steps, const struct level *level,
                           const struct memory_pool *pool, uint64_t device)
{
    const struct memory_point point = {
        .time = step_begin(steps, steps->next),
        .device = device,
        .pool = pool,
        .live = level->live,
        .min = level->min,
        .max = level->max,
    };

    steps->walk.take(steps->walk.context, &point);
}

static void end_step(struct steps *steps)
{
    const struct memory *memory = steps->walk.memory;

    for (size_t i = 0; i < memory->device_count; i++)
        hand_over_step(steps, &steps->walk.devices[i], NULL, memory->devices[i].device);
    for (size_t i = 0; i < memory->pool_count; i++)
        hand_over_step(steps, &steps->walk.pools[i], &memory->events.pools[i],
                       memory->events.pools[i].device);
    steps->next++;
    begin_step(steps);
}

static void take_change(struct steps *steps, const struct memory_change *change)
{
    struct memory_point point;

    while (steps->next + 1 < steps->count &&
           change->event->time >= step_begin(steps, steps->next + 1))
        end_step(steps);
    if (change->ended)
        apply(&steps->walk, change->ended, false, &point);
    if (!change->event->release)
        apply(&steps->walk, change->event, true, &point);
}

enum mp_status memory_each_step(const struct memory *memory, uint64_t count,
                                memory_take_point *take, void *context)
{
    const struct memory_events *events = &memory->events;
    struct steps steps = {.walk = {.memory = memory, .take = take, .context = context},
                          .count = count};
    struct memory_replay replay;
    struct memory_change change;

    if (!events->count || !count)
        return MP_OK;
    steps.first = events->items[0].time;
    steps.span = events->items[events->count - 1].time - steps.first;
    MP_TRY(begin_walk(&steps.walk));
    enum mp_status status = memory_replay_begin(&replay, events);
    while (!status && (status = memory_replay_next(&replay, &change)) == MP_OK)
        take_change(&steps, &change);
    while (status == MP_END && steps.next < count)
        end_step(&steps);
    memory_replay_end(&replay);
    free(steps.walk.devices);
    return status == MP_END ? MP_OK : status;
}
