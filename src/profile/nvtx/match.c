/* Pairs the rows of `nvtx` that begin a range with those that end it. One array of places holds the
 * open ranges. The open pushes of a thread and domain form a list, whose first place always holds
 * the last push. So the map that finds this place changes only at outermost pushes and pops. The
 * place that became free last is used next, so that the few in use stay in the cache.
 */
#include "profile/nvtx/match.h"

#include <stdlib.h>

#include "base/data/hash.h"
#include "base/data/storage.h"
#include "trace/schema.h"

#include "base/poison.h"

struct nvtx_match_place {
    uint64_t item;
    uint32_t next; /* of the push below, or the next free one; + 1; 0: none */
};

struct nvtx_event nvtx_event_at(const uint64_t *const *columns, uint32_t row, uint64_t time)
{
    const struct mp_nvtx_columns nvtx = mp_nvtx_columns(columns);

    return (struct nvtx_event){
        .kind = nvtx.kind[row],
        .thread = nvtx.thread[row],
        .domain = nvtx.domain[row],
        .name = nvtx.name[row],
        .range = nvtx.range[row],
        .time = time,
        .cut = nvtx.cut[row] != 0,
    };
}

bool nvtx_begins(const struct nvtx_event *event)
{
    return event->kind == MP_nvtx_kind_push || event->kind == MP_nvtx_kind_start;
}

static uint64_t key_of(uint64_t thread, uint64_t domain)
{
    return mp_mix64(thread) ^ domain;
}

/* A place that is free, or a new one. */
static enum mp_status take_place(struct nvtx_match *match, uint32_t *place)
{
    if (match->free_place) {
        *place = match->free_place - 1;
        match->free_place = match->places[*place].next;
        return MP_OK;
    }
    if (match->count >= MP_MAP_ABSENT - 1)
        return MP_ERR_LIMIT;
    MP_TRY(MP_RESERVE(match->places, match->count, match->capacity));
    *place = (uint32_t)match->count++;
    return MP_OK;
}

static void leave_place(struct nvtx_match *match, uint32_t place)
{
    match->places[place].next = match->free_place;
    match->free_place = place + 1;
}

static enum mp_status match_push(struct nvtx_match *match, const struct nvtx_event *event,
                                 uint64_t item)
{
    uint64_t key = key_of(event->thread, event->domain);
    uint32_t top = mp_map_get(&match->tops, key);
    uint32_t place;

    MP_TRY(take_place(match, &place));
    if (top == MP_MAP_ABSENT) {
        match->places[place] = (struct nvtx_match_place){.item = item};
        return mp_map_put(&match->tops, key, place);
    }
    match->places[place] = match->places[top];
    match->places[top] = (struct nvtx_match_place){item, place + 1};
    return MP_OK;
}

/* If an id is started again before it has ended, it belongs to the new range. */
static enum mp_status match_start(struct nvtx_match *match, const struct nvtx_event *event,
                                  uint64_t item)
{
    uint32_t place = mp_map_get(&match->started, event->range);

    if (place == MP_MAP_ABSENT) {
        MP_TRY(take_place(match, &place));
        MP_TRY(mp_map_put(&match->started, event->range, place));
    }
    match->places[place].item = item;
    return MP_OK;
}

enum mp_status nvtx_match_begin(struct nvtx_match *match, const struct nvtx_event *event,
                                uint64_t item)
{
    if (event->kind == MP_nvtx_kind_push)
        return match_push(match, event, item);
    return event->kind == MP_nvtx_kind_start ? match_start(match, event, item) : MP_OK;
}

static bool match_pop(struct nvtx_match *match, const struct nvtx_event *event, uint64_t *item)
{
    uint64_t key = key_of(event->thread, event->domain);
    uint32_t top = mp_map_get(&match->tops, key);

    if (top == MP_MAP_ABSENT)
        return false;
    *item = match->places[top].item;
    if (!match->places[top].next) {
        mp_map_remove(&match->tops, key);
        leave_place(match, top);
        return true;
    }
    uint32_t below = match->places[top].next - 1;
    match->places[top] = match->places[below];
    leave_place(match, below);
    return true;
}

bool nvtx_match_end(struct nvtx_match *match, const struct nvtx_event *event, uint64_t *item)
{
    if (event->kind == MP_nvtx_kind_pop)
        return match_pop(match, event, item);
    if (event->kind != MP_nvtx_kind_end)
        return false;
    uint32_t place = mp_map_get(&match->started, event->range);
    if (place == MP_MAP_ABSENT)
        return false;
    mp_map_remove(&match->started, event->range);
    *item = match->places[place].item;
    leave_place(match, place);
    return true;
}

enum mp_status nvtx_match_keep_end(struct nvtx_match *match, const struct nvtx_event *event)
{
    if (event->kind != MP_nvtx_kind_end)
        return MP_OK;
    if (match->early_count >= MP_MAP_ABSENT)
        return MP_ERR_LIMIT;
    MP_TRY(MP_RESERVE(match->early, match->early_count, match->early_capacity));
    match->early[match->early_count] = *event;
    return mp_map_put(&match->early_ids, event->range, (uint32_t)match->early_count++);
}

bool nvtx_match_take_end(struct nvtx_match *match, const struct nvtx_event *event,
                         struct nvtx_event *end)
{
    uint32_t early = event->kind == MP_nvtx_kind_start ? mp_map_get(&match->early_ids, event->range)
                                                       : MP_MAP_ABSENT;

    if (early == MP_MAP_ABSENT)
        return false;
    *end = match->early[early];
    mp_map_remove(&match->early_ids, event->range);
    return true;
}

bool nvtx_match_top(const struct nvtx_match *match, uint64_t thread, uint64_t domain,
                    uint64_t *item)
{
    uint32_t top = mp_map_get(&match->tops, key_of(thread, domain));

    if (top != MP_MAP_ABSENT)
        *item = match->places[top].item;
    return top != MP_MAP_ABSENT;
}

void nvtx_match_free(struct nvtx_match *match)
{
    free(match->places);
    mp_map_free(&match->tops);
    mp_map_free(&match->started);
    free(match->early);
    mp_map_free(&match->early_ids);
    *match = (struct nvtx_match){.places = NULL};
}
