/* Where memory goes: peaks by device and pool, the largest allocations alive at a peak, and what
 * was not freed. The events are replayed, because a sum of sizes does not tell a peak.
 */
#include "reports/memory/memory.h"

#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/data/map.h"
#include "base/data/storage.h"

#include "base/poison.h"

/* ---- What was never freed, by place and size ---- */

/* Allocations that count as one row; compared as bytes. */
struct key {
    uint64_t size;
    uint64_t function;
    uint64_t domain;
    uint64_t range;
    uint64_t in_range;
};

static enum mp_status take_kept(struct memory *memory, const struct memory_event *event,
                                struct mp_intern *keys, size_t *capacity)
{
    const struct memory_site *site = &memory->events.sites[event->site];
    const struct key key = {event->bytes, site->function, site->domain, site->range,
                            site->in_range};
    uint32_t id = mp_intern_add(keys, &key, sizeof key);

    if (!id)
        return MP_ERR_MEMORY;
    if (id > memory->kept_groups) {
        MP_TRY(MP_RESERVE(memory->kept, memory->kept_groups, *capacity));
        memory->kept[memory->kept_groups++] =
            (struct memory_kept){.source = memory_source_of(memory, site), .size = event->bytes};
    }
    struct memory_kept *kept = &memory->kept[id - 1];
    kept->count++;
    kept->bytes += event->bytes;
    memory->kept_count++;
    memory->kept_bytes += event->bytes;
    return MP_OK;
}

/* Most bytes first, then the larger ones, then by name, so that the order is always the same. */
MP_COMPARE(compare_kept, struct memory_kept,
           MP_ORDER(b->bytes, a->bytes) ?: MP_ORDER(b->size, a->size) ?:
           memory_compare_sources(&a->source, &b->source));

/* What is alive at the end of a replay. */
static enum mp_status memory_add_kept(struct memory *memory, const struct memory_replay *replay,
                                      size_t top)
{
    const struct memory_events *events = &memory->events;
    struct mp_intern keys = {.count = 0};
    enum mp_status status = MP_OK;
    size_t capacity = 0;

    for (size_t i = 0; i < events->count && !status; i++) {
        const struct memory_event *event = &events->items[i];

        if (memory_replay_is_alive(replay, i) &&
            memory_can_be_freed(memory_place_of(events, event)->kind))
            status = take_kept(memory, event, &keys, &capacity);
    }
    mp_intern_free(&keys);
    if (memory->kept)
        qsort(memory->kept, memory->kept_groups, sizeof *memory->kept, compare_kept);
    memory->kept_shown = top < memory->kept_groups ? top : memory->kept_groups;
    return status;
}

/* ---- Devices and pools ---- */

static enum mp_status reach_device(struct memory *memory, uint64_t ordinal, size_t *capacity)
{
    for (size_t i = 0; i < memory->device_count; i++) {
        if (memory->devices[i].device == ordinal)
            return MP_OK;
    }
    MP_TRY(MP_RESERVE(memory->devices, memory->device_count, *capacity));
    struct memory_device *device = &memory->devices[memory->device_count++];
    *device = (struct memory_device){.device = ordinal,
                                     .name = definitions_device(&memory->definitions, ordinal),
                                     .peak_event = MEMORY_NONE};
    return MP_OK;
}

MP_COMPARE(compare_devices, struct memory_device, MP_ORDER(a->device, b->device));

/* The kinds' rows are by device, and there are few of them. */
static enum mp_status add_devices(struct memory *memory)
{
    size_t capacity = 0;

    for (size_t i = 0; i < memory->kind_count; i++)
        MP_TRY(reach_device(memory, memory->kinds[i].device, &capacity));
    if (memory->devices)
        qsort(memory->devices, memory->device_count, sizeof *memory->devices, compare_devices);
    memory->pools = calloc(memory->events.pool_count + 1, sizeof *memory->pools);
    if (!memory->pools)
        return MP_ERR_MEMORY;
    memory->pool_count = memory->events.pool_count;
    for (size_t i = 0; i < memory->pool_count; i++)
        memory->pools[i].pool = &memory->events.pools[i];
    return MP_OK;
}

/* The device of each place; places without a device row share the last one. */
static uint32_t *devices_of_places(const struct memory *memory)
{
    uint32_t *devices = calloc(memory->events.place_count + 1, sizeof *devices);

    for (size_t i = 0; devices && i < memory->events.place_count; i++) {
        uint32_t at = 0;

        while (at + 1 < memory->device_count &&
               memory->devices[at].device != memory->events.places[i].device)
            at++;
        devices[i] = at;
    }
    return devices;
}

/* ---- The replay ---- */

struct counting {
    struct memory *memory;
    uint32_t *device_of; /* by place */
};

static uint32_t place_of(const struct memory *memory, const struct memory_event *event)
{
    return memory->events.sites[event->site].place;
}

static struct memory_device *device_of(const struct counting *counting,
                                       const struct memory_event *event)
{
    return &counting->memory->devices[counting->device_of[place_of(counting->memory, event)]];
}

/* NULL: in none. */
static struct memory_totals *pool_of(const struct memory *memory, const struct memory_event *event)
{
    uint32_t pool = memory->events.places[place_of(memory, event)].pool;

    return pool == MEMORY_NO_POOL ? NULL : &memory->pools[pool].totals;
}

/* What a release gives back lay where it was allocated, whatever the release itself says. Returns
 * true if there is a new peak. */
static bool count_change(struct memory_totals *totals, const struct memory_change *change)
{
    const struct memory_event *event = change->event;

    if (event->release) {
        totals->frees++;
        totals->unknown += !change->ended;
        return false;
    }
    totals->allocations++;
    totals->bytes += event->bytes;
    totals->live += event->bytes;
    if (totals->live <= totals->peak && totals->peak_time)
        return false;
    totals->peak = totals->live;
    totals->peak_time = event->time;
    return true;
}

static void take_change(struct counting *counting, const struct memory_change *change)
{
    const struct memory_event *ended = change->ended;
    struct memory_device *device = device_of(counting, change->event);
    struct memory_totals *pool = pool_of(counting->memory, change->event);

    if (ended) {
        device_of(counting, ended)->totals.live -= ended->bytes;
        if (pool_of(counting->memory, ended))
            pool_of(counting->memory, ended)->live -= ended->bytes;
    }
    if (count_change(&device->totals, change))
        device->peak_event = change->index;
    if (pool)
        count_change(pool, change);
}

/* ---- What was alive at a peak ---- */

static bool is_larger(const struct memory_events *events, uint32_t a, uint32_t b)
{
    uint64_t bytes = events->items[a].bytes;
    uint64_t others = events->items[b].bytes;

    return bytes != others ? bytes > others : a < b;
}

/* The largest allocations as a heap: the smallest of them at [0]. */
struct largest {
    const struct memory_events *events;
    uint32_t *items; /* owned */
    size_t count, room;
};

static void sink(struct largest *largest, size_t at, size_t count)
{
    uint32_t *items = largest->items;

    for (;;) {
        size_t min = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
            if (is_larger(largest->events, items[min], items[child]))
                min = child;
        }
        if (min == at)
            return;
        uint32_t held = items[at];
        items[at] = items[min];
        items[min] = held;
        at = min;
    }
}

static void keep_largest(struct largest *largest, uint32_t event)
{
    uint32_t *items = largest->items;
    size_t at = largest->count;

    if (at < largest->room) {
        for (largest->count++; at && is_larger(largest->events, items[(at - 1) / 2], event);
             at = (at - 1) / 2)
            items[at] = items[(at - 1) / 2];
        items[at] = event;
    } else if (at && is_larger(largest->events, event, items[0])) {
        items[0] = event;
        sink(largest, 0, largest->count);
    }
}

/* Sorts the largest first; afterwards it is no heap. */
static void order_largest(struct largest *largest)
{
    for (size_t left = largest->count; left > 1; left--) {
        uint32_t smallest = largest->items[0];

        largest->items[0] = largest->items[left - 1];
        largest->items[left - 1] = smallest;
        sink(largest, 0, left - 1);
    }
}

static void describe(const struct memory *memory, const struct memory_event *event,
                     struct memory_alive *alive)
{
    const struct memory_site *site = &memory->events.sites[event->site];

    *alive = (struct memory_alive){
        .address = event->address,
        .bytes = event->bytes,
        .time = event->time,
        .correlation = event->correlation,
        .kind = memory_place_of(&memory->events, event)->kind,
        .thread = site->thread,
        .source = memory_source_of(memory, site),
    };
}

/* At the moment of the device's peak. */
static void find_largest(const struct counting *counting, const struct memory_replay *replay,
                         struct memory_device *device, struct largest *largest)
{
    const struct memory *memory = counting->memory;

    for (size_t i = 0; i < replay->next; i++) {
        if (!memory_replay_is_alive(replay, i) ||
            device_of(counting, &memory->events.items[i]) != device)
            continue;
        device->alive_count++;
        keep_largest(largest, (uint32_t)i);
    }
}

static enum mp_status list_alive(const struct counting *counting,
                                 const struct memory_replay *replay, struct memory_device *device,
                                 size_t top)
{
    const struct memory *memory = counting->memory;
    struct largest largest = {.events = &memory->events,
                              .room = top < replay->next ? top : replay->next};

    largest.items = calloc(largest.room + 1, sizeof *largest.items);
    if (!largest.items)
        return MP_ERR_MEMORY;
    find_largest(counting, replay, device, &largest);
    order_largest(&largest);
    device->alive = calloc(largest.count + 1, sizeof *device->alive);
    if (!device->alive) {
        free(largest.items);
        return MP_ERR_MEMORY;
    }
    for (size_t i = 0; i < largest.count; i++)
        describe(memory, &memory->events.items[largest.items[i]], &device->alive[i]);
    device->alive_shown = largest.count;
    free(largest.items);
    return MP_OK;
}

/* A second replay stops at each peak. */
static enum mp_status add_peaks(struct counting *counting, size_t top)
{
    struct memory *memory = counting->memory;
    struct memory_replay replay;
    struct memory_change change;
    enum mp_status status = memory_replay_begin(&replay, &memory->events);

    while (!status && (status = memory_replay_next(&replay, &change)) == MP_OK) {
        struct memory_device *device = device_of(counting, change.event);

        if (device->peak_event == change.index)
            status = list_alive(counting, &replay, device, top);
    }
    memory_replay_end(&replay);
    return status == MP_END ? MP_OK : status;
}

/* ---- The whole ---- */

static enum mp_status replay_all(struct memory *memory, struct counting *counting, size_t top)
{
    struct allocations_counting kinds;
    struct memory_replay replay;
    struct memory_change change;
    enum mp_status status =
        allocations_counting_begin(&kinds, &memory->events, &memory->definitions);
    memory->kinds = kinds.rows;
    memory->kind_count = kinds.row_count;
    if (!status)
        status = add_devices(memory);
    counting->device_of = devices_of_places(memory);
    if (!status && !counting->device_of)
        status = MP_ERR_MEMORY;
    if (memory_replay_begin(&replay, &memory->events) && !status)
        status = MP_ERR_MEMORY;
    while (!status && (status = memory_replay_next(&replay, &change)) == MP_OK) {
        allocations_count(&kinds, &change);
        take_change(counting, &change);
    }
    if (status == MP_END)
        status = memory_add_kept(memory, &replay, top);
    memory_replay_end(&replay);
    memory->kinds = allocations_counting_end(&kinds, &memory->kind_count);
    return status;
}

static enum mp_status analyse(struct memory *memory, struct mp_trace *trace,
                              const struct memory_options *options,
                              const struct capture_range *range, struct mp_error *error)
{
    struct counting counting = {.memory = memory};
    enum mp_status status = replay_all(memory, &counting, options->top);

    if (!status)
        status = add_peaks(&counting, options->top);
    free(counting.device_of);
    MP_TRY(mp_error_from(error, status, "cannot add up the allocations"));
    return memory_add_churn(memory, trace, options, range, error);
}

enum mp_status memory_build(struct mp_trace *trace, const struct memory_options *options,
                            struct memory *memory, struct mp_error *error)
{
    struct memory_events_options what = {.sites = true};
    struct capture_ranges ranges;

    *memory = (struct memory){.iteration = options->iteration, .by_way = options->ranges != NULL};
    definitions_init(&memory->definitions, trace);
    quality_init(&memory->quality, trace);
    memory->quality.only = options->range;
    enum mp_status status = ranges_open(&ranges, trace, options->range, &what.range, error);
    memory->capture_ranges = ranges_count(&ranges);
    if (!status)
        status = memory_events_load(&memory->events, trace, &what, &memory->definitions,
                                    &memory->quality, error);
    if (!status)
        status = analyse(memory, trace, options, what.range, error);
    ranges_free(&ranges);
    if (status)
        memory_free(memory);
    return status;
}

void memory_free(struct memory *memory)
{
    for (size_t i = 0; i < memory->device_count; i++)
        free(memory->devices[i].alive);
    free(memory->devices);
    free(memory->kinds);
    free(memory->pools);
    free(memory->kept);
    free(memory->sources);
    memory_events_free(&memory->events);
    quality_free(&memory->quality);
    definitions_free(&memory->definitions);
    *memory = (struct memory){.kind_count = 0};
}
