/* Reads allocations and releases in order of time, each with its call and its NVTX range. Of each
 * thread the last calls are kept, because a record arrives after its call has ended.
 */
#include "reports/memory/events.h"

#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/dense.h"
#include "profile/merge.h"
#include "profile/nvtx/open.h"
#include "profile/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

#define MAX_CALL_NS ((UINT64_C(1) << MEMORY_CALL_BITS) - 1)
#define MAX_SITES   (1u << MEMORY_SITE_BITS)
#define LAST_SITES  65536u /* of them: of places alone, whoever allocated */

/* A call, and the range it was made in. */
struct call {
    uint64_t correlation; /* 0: none */
    uint64_t duration;    /* ns; 0 once an event has it */
    uint64_t function;
    uint64_t domain;
    uint64_t range;
    uint32_t in_range;
};

/* The last calls of a thread: when a call ends, the next one may already have begun. */
struct caller {
    struct call calls[2];
};

enum { NVTX, CALL, MEMORY, POOL, TABLES }; /* rows with the same time are taken in this order */

struct sweep {
    struct memory_events *events;
    const struct memory_events_options *options;
    struct merge *merge;
    struct dense callers; /* of struct caller, by thread */
    struct mp_map
        callings; /* correlation id of a call in callers -> the thread that made it last */
    struct nvtx_open open;
    bool nothing; /* neither rows of memory nor of pools */
    unsigned tables[TABLES];
};

/* ---- Definitions ---- */

static enum mp_status take_capture(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_capture_columns capture = mp_capture_columns(batch->columns);
    struct memory_events *events = context;

    events->reached_end = capture.kind[row] == MP_capture_kind_end &&
                          capture.reason[row] == MP_capture_reason_end_of_process;
    return MP_OK;
}

static const struct reading_table head_tables[] = {
    {MP_TABLE_capture, MP_MASK(capture, kind, reason), .take_row = take_capture},
};

static enum mp_status load_head(struct memory_events *events, struct mp_trace *trace,
                                struct definitions *definitions, struct quality *quality,
                                struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the allocations",
        .context = events,
        READING_TABLES(head_tables),
        .quality = quality,
        .definitions = definitions,
    };

    return reading_run(&reading, error);
}

/* ---- Calls and ranges ---- */

static enum mp_status take_nvtx(struct sweep *sweep, const struct merge_row *from)
{
    const struct nvtx_event event = nvtx_event_at(from->columns, from->row, from->time);

    return nvtx_open_take(&sweep->open, &event, NULL);
}

/* Makes the call the last one of its thread; the one before the last is forgotten. */
static enum mp_status keep_call(struct sweep *sweep, uint64_t thread, const struct call *call)
{
    struct caller *caller = dense_at(&sweep->callers, thread);
    uint64_t forgotten = caller->calls[1].correlation;

    if (forgotten && mp_map_get(&sweep->callings, forgotten) == thread)
        mp_map_remove(&sweep->callings, forgotten);
    caller->calls[1] = caller->calls[0];
    caller->calls[0] = *call;
    return mp_map_put(&sweep->callings, call->correlation, (uint32_t)thread);
}

static enum mp_status events_take_call(struct sweep *sweep, const struct merge_row *from)
{
    const struct mp_call_columns calls = mp_call_columns(from->columns);
    uint64_t thread = calls.thread[from->row];
    struct call call = {.correlation = calls.correlation[from->row],
                        .duration = calls.duration[from->row],
                        .function = calls.function[from->row]};
    const struct nvtx_open_range *range = nvtx_open_innermost(&sweep->open, thread);
    enum mp_status status = dense_reach(&sweep->callers, thread);

    if (status == MP_ERR_LIMIT || !call.correlation || thread >= MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(status);
    struct caller *caller = dense_at(&sweep->callers, thread);
    if (caller->calls[0].correlation == call.correlation)
        return MP_OK; /* a driver call inside the runtime call that the program made */
    if ((int64_t)call.duration < 0)
        call.duration = 0;
    if (range) {
        call.domain = range->domain;
        call.range = range->name;
        call.in_range = 1;
    }
    return keep_call(sweep, thread, &call);
}

/* The call with this correlation id, and its thread; NULL: it is not among any thread's last calls.
 */
static struct call *find_call(const struct sweep *sweep, uint64_t correlation, uint64_t *thread)
{
    uint32_t number = correlation ? mp_map_get(&sweep->callings, correlation) : MP_MAP_ABSENT;
    struct caller *caller = number == MP_MAP_ABSENT ? NULL : dense_at(&sweep->callers, number);

    *thread = number;
    for (int i = 0; caller && i < 2; i++) {
        if (caller->calls[i].correlation == correlation)
            return &caller->calls[i];
    }
    return NULL;
}

/* ---- Places, sites ---- */

static enum mp_status reach_place(struct memory_events *events, const struct memory_place *place,
                                  uint32_t *index)
{
    uint32_t id = mp_intern_add(&events->place_pool, place, sizeof *place);

    if (!id)
        return MP_ERR_MEMORY;
    *index = id - 1;
    if (*index < events->place_count)
        return MP_OK;
    MP_TRY(MP_RESERVE(events->places, events->place_count, events->place_capacity));
    events->places[events->place_count++] = *place;
    return MP_OK;
}

static enum mp_status reach_site(struct memory_events *events, const struct memory_site *site,
                                 uint32_t *index)
{
    const struct memory_site unknown = {.place = site->place};
    uint32_t id = mp_intern_find(&events->site_pool, site, sizeof *site);

    if (!id && events->site_count >= MAX_SITES - LAST_SITES)
        site = &unknown;
    if (!id)
        id = mp_intern_add(&events->site_pool, site, sizeof *site);
    if (!id || id > MAX_SITES)
        return id ? MP_ERR_LIMIT : MP_ERR_MEMORY;
    *index = id - 1;
    if (*index < events->site_count)
        return MP_OK;
    MP_TRY(MP_RESERVE(events->sites, events->site_count, events->site_capacity));
    events->sites[events->site_count++] = *site;
    return MP_OK;
}

/* ---- Pools ---- */

/* The pool at an address; a new one if there was none, or if the last one was destroyed. */
static enum mp_status reach_pool(struct memory_events *events, uint64_t address, bool created,
                                 uint32_t *index)
{
    *index = mp_map_get(&events->pool_index, address);
    if (*index != MP_MAP_ABSENT && !(created && events->pools[*index].destroyed))
        return MP_OK;
    if (events->pool_count >= MEMORY_NO_POOL)
        return MP_ERR_LIMIT;
    MP_TRY(MP_RESERVE(events->pools, events->pool_count, events->pool_capacity));
    *index = (uint32_t)events->pool_count;
    MP_TRY(mp_map_put(&events->pool_index, address, *index));
    events->pools[events->pool_count++] = (struct memory_pool){.address = address};
    return MP_OK;
}

static void note_reserved(struct memory_pool *pool, uint64_t size)
{
    pool->reserved = size;
    pool->max_reserved = mp_max(pool->max_reserved, size);
    pool->has_sizes = true;
}

static enum mp_status take_pool(struct sweep *sweep, const struct merge_row *from)
{
    const struct mp_pool_columns pools = mp_pool_columns(from->columns);
    uint64_t operation = pools.operation[from->row];
    uint32_t index;

    if (sweep->options->range && !range_has_call(sweep->options->range, from->time))
        return MP_OK;
    MP_TRY(reach_pool(sweep->events, pools.pool[from->row], operation == MP_pool_operation_created,
                      &index));
    struct memory_pool *pool = &sweep->events->pools[index];
    pool->device = pools.device[from->row];
    pool->type = pools.type[from->row];
    if (pool->type == 1 && operation != MP_pool_operation_destroyed) {
        note_reserved(pool, pools.size[from->row]);
        pool->threshold = pools.release_threshold[from->row];
        pool->has_threshold = true;
    }
    if (operation == MP_pool_operation_created)
        pool->created = from->time;
    else if (operation == MP_pool_operation_destroyed)
        pool->destroyed = from->time;
    else if (operation == MP_pool_operation_trimmed)
        pool->trims++;
    return MP_OK;
}

/* What a row of `memory` says of its pool; *index is MEMORY_NO_POOL if it has none. */
static enum mp_status take_pool_of(struct sweep *sweep, const struct merge_row *from,
                                   uint32_t *index)
{
    const struct mp_memory_columns memory = mp_memory_columns(from->columns);

    *index = MEMORY_NO_POOL;
    if (!sweep->options->sites || !memory.pool_type[from->row])
        return MP_OK;
    MP_TRY(reach_pool(sweep->events, memory.pool[from->row], false, index));
    struct memory_pool *pool = &sweep->events->pools[*index];
    pool->device = memory.device[from->row];
    pool->type = memory.pool_type[from->row];
    if (pool->type != 1)
        return MP_OK;
    note_reserved(pool, memory.pool_size[from->row]);
    pool->used = memory.pool_used[from->row];
    pool->max_used = mp_max(pool->max_used, pool->used);
    return MP_OK;
}

/* ---- Rows of memory ---- */

static enum mp_status find_site(struct sweep *sweep, const struct merge_row *from,
                                struct memory_event *event)
{
    const struct mp_memory_columns memory = mp_memory_columns(from->columns);
    struct memory_place place = {.kind = memory.kind[from->row],
                                 .device = memory.device[from->row]};
    struct memory_site site = {.thread = 0};
    uint64_t thread = 0;
    struct call *call =
        sweep->options->sites ? find_call(sweep, event->correlation, &thread) : NULL;
    uint32_t index;

    if (place.kind == MP_memory_kind_pageable || place.kind == MP_memory_kind_pinned)
        place.device = MEMORY_HOST;
    MP_TRY(take_pool_of(sweep, from, &place.pool));
    MP_TRY(reach_place(sweep->events, &place, &site.place));
    if (call) {
        site.thread = thread;
        site.function = call->function;
        site.domain = call->domain;
        site.range = call->range;
        site.in_range = call->in_range;
        event->call_ns = call->duration < MAX_CALL_NS ? call->duration : MAX_CALL_NS;
        call->duration = 0;
    }
    MP_TRY(reach_site(sweep->events, &site, &index));
    event->site = index & (MAX_SITES - 1);
    return MP_OK;
}

static enum mp_status take_memory(struct sweep *sweep, const struct merge_row *from)
{
    const struct mp_memory_columns memory = mp_memory_columns(from->columns);
    struct memory_events *events = sweep->events;
    uint64_t operation = memory.operation[from->row];
    struct memory_event event = {
        .time = from->time,
        .address = memory.address[from->row],
        .bytes = memory.bytes[from->row],
        .correlation = sweep->options->sites ? memory.correlation[from->row] : 0,
        .release = operation == MP_memory_operation_release,
    };

    if (sweep->options->range && !range_has_call(sweep->options->range, from->time))
        return MP_OK;
    if (operation != MP_memory_operation_allocate && operation != MP_memory_operation_release)
        return MP_OK;
    if (events->count >= MEMORY_MAX)
        return MP_ERR_LIMIT;
    MP_TRY(find_site(sweep, from, &event));
    MP_TRY(MP_RESERVE(events->items, events->count, events->capacity));
    events->items[events->count++] = event;
    return MP_OK;
}

/* ---- The sweep ---- */

#define TABLE(table, time, mask)                                                                   \
    {                                                                                              \
        mp_table_by_id(MP_TABLE_##table), MP_COLUMN_##table##_##time, mask                         \
    }
static enum mp_status open_merge(struct sweep *sweep, struct mp_trace *trace,
                                 struct mp_error *error)
{
    const uint32_t plain = MP_MASK(memory, operation, kind, device, bytes, address);
    const uint32_t more = MP_MASK(memory, correlation, pool_type, pool, pool_used, pool_size);
    const bool sites = sweep->options->sites;
    const struct merge_table tables[TABLES] = {
        [NVTX] = TABLE(nvtx, time, NVTX_EVENT_COLUMNS),
        [CALL] = TABLE(call, start, MP_MASK(call, thread, function, duration, correlation)),
        [MEMORY] = TABLE(memory, time, plain | (sites ? more : 0)),
        [POOL] = TABLE(pool, time,
                       MP_MASK(pool, operation, type, device, pool, size, release_threshold)),
    };
    unsigned first = sites ? 0 : MEMORY;
    unsigned count = sites ? TABLES : 1;

    MP_TRY(merge_open(trace, tables + first, count, &sweep->merge, error));
    for (unsigned i = 0; i < count; i++)
        sweep->tables[i] = first + i;
    sweep->events->no_calls = sites && !merge_promised(sweep->merge, CALL);
    sweep->nothing =
        sites && !merge_promised(sweep->merge, MEMORY) && !merge_promised(sweep->merge, POOL);
    return MP_OK;
}

#undef TABLE

static enum mp_status events_take_row(struct sweep *sweep, const struct merge_row *row)
{
    switch (sweep->tables[row->table]) {
    case NVTX:
        return take_nvtx(sweep, row);
    case CALL:
        return events_take_call(sweep, row);
    case MEMORY:
        return take_memory(sweep, row);
    default:
        return take_pool(sweep, row);
    }
}

static enum mp_status run_sweep(struct sweep *sweep)
{
    struct memory_events *events = sweep->events;
    const struct capture_range *range = sweep->options->range;
    struct merge_row row;
    enum mp_status status;

    if (sweep->nothing)
        return MP_OK;
    while ((status = merge_next(sweep->merge, &row)) == MP_OK) {
        if (!events->first_time && (!range || range_has_call(range, row.time)))
            events->first_time = row.time;
        MP_TRY(events_take_row(sweep, &row));
    }
    return status == MP_END ? MP_OK : status;
}

enum mp_status memory_events_load(struct memory_events *events, struct mp_trace *trace,
                                  const struct memory_events_options *options,
                                  struct definitions *definitions, struct quality *quality,
                                  struct mp_error *error)
{
    struct sweep sweep = {.events = events, .options = options};

    *events = (struct memory_events){.count = 0};
    MP_TRY(load_head(events, trace, definitions, quality, error));
    dense_init(&sweep.callers, sizeof(struct caller), definitions_limit(trace));
    MP_TRY(open_merge(&sweep, trace, error));
    enum mp_status status = run_sweep(&sweep);
    quality->unknown_times += merge_unknown_times(sweep.merge);
    merge_add_damage(sweep.merge, &quality->damage);
    merge_close(sweep.merge);
    nvtx_open_free(&sweep.open);
    dense_free(&sweep.callers);
    mp_map_free(&sweep.callings);
    return mp_error_from(error, status, "cannot read the allocations");
}

void memory_events_free(struct memory_events *events)
{
    free(events->items);
    free(events->places);
    free(events->sites);
    free(events->pools);
    mp_intern_free(&events->place_pool);
    mp_intern_free(&events->site_pool);
    mp_map_free(&events->pool_index);
    *events = (struct memory_events){.count = 0};
}

/* ---- Replaying: a release belongs to the last allocation at its address that is alive ---- */

enum mp_status memory_replay_begin(struct memory_replay *replay, const struct memory_events *events)
{
    *replay = (struct memory_replay){.events = events};
    replay->alive = calloc(events->count / 8 + 1, 1);
    return replay->alive ? MP_OK : MP_ERR_MEMORY;
}

static void set_alive(struct memory_replay *replay, size_t event, bool alive)
{
    uint8_t bit = (uint8_t)(1u << event % 8);

    if (alive)
        replay->alive[event / 8] |= bit;
    else
        replay->alive[event / 8] &= (uint8_t)~bit;
}

enum mp_status memory_replay_next(struct memory_replay *replay, struct memory_change *change)
{
    const struct memory_events *events = replay->events;

    if (replay->next == events->count)
        return MP_END;
    const struct memory_event *event = &events->items[replay->next];
    uint32_t before = mp_map_get(&replay->known, event->address);
    *change = (struct memory_change){event, (uint32_t)replay->next++, NULL, MEMORY_NONE};
    if (before != MP_MAP_ABSENT) {
        change->ended = &events->items[before];
        change->ended_index = before;
        set_alive(replay, before, false);
    }
    if (event->release) {
        mp_map_remove(&replay->known, event->address);
        return MP_OK;
    }
    set_alive(replay, change->index, true);
    return mp_map_put(&replay->known, event->address, change->index);
}

void memory_replay_end(struct memory_replay *replay)
{
    mp_map_free(&replay->known);
    free(replay->alive);
    *replay = (struct memory_replay){.next = 0};
}
