/* Which NVTX range a thread is in. Pushes and starts stand in one list a thread; what ends in the
 * middle is marked, and leaves the list when it gets to the top.
 */
#include "model/nvtx/open.h"

#include <stdlib.h>

#include "base/data/hash.h"
#include "base/data/overflow.h"
#include "base/data/reserve.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

#define FIRST_RANGES                                                                               \
    4u /* of a thread: there may be very many threads, most ranges are not deep                    \
        */

void nvtx_open_free(struct nvtx_open *open)
{
    for (size_t i = 0; i < open->thread_count; i++)
        free(open->threads[i].items);
    free(open->threads);
    free(open->started);
    mp_map_free(&open->by_thread);
    mp_map_free(&open->tops);
    mp_map_free(&open->by_range);
    *open = (struct nvtx_open){.threads = NULL};
}

static enum mp_status reach_thread(struct nvtx_open *open, uint64_t number, uint32_t *index)
{
    *index = mp_map_get(&open->by_thread, number);
    if (*index != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(mp_reserve((void **)&open->threads, open->thread_count, &open->thread_capacity,
                      sizeof *open->threads));
    *index = (uint32_t)open->thread_count;
    MP_TRY(mp_map_put(&open->by_thread, number, *index));
    open->threads[open->thread_count++] = (struct nvtx_open_thread){.items = NULL};
    return MP_OK;
}

static uint64_t key_of(const struct nvtx_event *event)
{
    return mp_mix64(event->thread) ^ event->domain;
}

static enum mp_status reach_room(struct nvtx_open_thread *thread)
{
    size_t wanted = thread->capacity ? 2 * thread->capacity : FIRST_RANGES;
    struct nvtx_open_range *grown;
    size_t bytes;

    if (thread->count < thread->capacity)
        return MP_OK;
    if (!mp_size_mul(wanted, sizeof *grown, &bytes))
        return MP_ERR_MEMORY;
    grown = realloc(thread->items, bytes);
    if (!grown)
        return MP_ERR_MEMORY;
    thread->items = grown;
    thread->capacity = wanted;
    return MP_OK;
}

static enum mp_status append(struct nvtx_open_thread *thread, const struct nvtx_open_range *range)
{
    if (thread->count >= MP_MAP_ABSENT - 1)
        return MP_ERR_LIMIT;
    MP_TRY(reach_room(thread));
    thread->items[thread->count++] = *range;
    return MP_OK;
}

static enum mp_status nvtx_open_push(struct nvtx_open *open, const struct nvtx_event *event,
                                     uint64_t time)
{
    struct nvtx_open_range range = {.begin = time, .domain = event->domain, .name = event->name};
    uint64_t key = key_of(event);
    uint32_t index;
    uint32_t top = mp_map_get(&open->tops, key);

    MP_TRY(reach_thread(open, event->thread, &index));
    range.below = top == MP_MAP_ABSENT ? 0 : top;
    MP_TRY(append(&open->threads[index], &range));
    return mp_map_put(&open->tops, key, (uint32_t)open->threads[index].count);
}

/* A place in `started`: one whose range has ended, or a new one. */
static enum mp_status take_place(struct nvtx_open *open, uint32_t *place)
{
    *place = open->free_place - 1;
    if (open->free_place) {
        open->free_place = open->started[*place].item;
        return MP_OK;
    }
    if (open->started_count >= MP_MAP_ABSENT - 1)
        return MP_ERR_LIMIT;
    MP_TRY(mp_reserve((void **)&open->started, open->started_count, &open->started_capacity,
                      sizeof *open->started));
    *place = (uint32_t)open->started_count++;
    return MP_OK;
}

static enum mp_status start(struct nvtx_open *open, const struct nvtx_event *event, uint64_t time)
{
    struct nvtx_open_range range = {
        .begin = time, .domain = event->domain, .name = event->name, .started = true};
    uint32_t index, place;

    MP_TRY(reach_thread(open, event->thread, &index));
    MP_TRY(take_place(open, &place));
    MP_TRY(append(&open->threads[index], &range));
    open->started[place] =
        (struct nvtx_open_place){index, (uint32_t)open->threads[index].count - 1};
    return mp_map_put(&open->by_range, event->range, place);
}

/* Marks a range and takes off what is over from the top. */
static void nvtx_open_finish(struct nvtx_open_thread *thread, uint32_t item,
                             struct nvtx_open_range *ended)
{
    thread->items[item].over = true;
    *ended = thread->items[item];
    while (thread->count && thread->items[thread->count - 1].over)
        thread->count--;
}

static enum mp_status nvtx_open_pop(struct nvtx_open *open, const struct nvtx_event *event,
                                    struct nvtx_open_range *ended)
{
    uint64_t key = key_of(event);
    uint32_t top = mp_map_get(&open->tops, key);
    uint32_t index = mp_map_get(&open->by_thread, event->thread);

    if (top == MP_MAP_ABSENT || index == MP_MAP_ABSENT || top > open->threads[index].count)
        return MP_OK; /* pushed before the recording began */
    nvtx_open_finish(&open->threads[index], top - 1, ended);
    if (ended->below)
        return mp_map_put(&open->tops, key, ended->below);
    mp_map_remove(&open->tops, key);
    return MP_OK;
}

static void nvtx_open_end(struct nvtx_open *open, const struct nvtx_event *event,
                          struct nvtx_open_range *ended)
{
    uint32_t found = mp_map_get(&open->by_range, event->range);
    struct nvtx_open_place place;

    if (found == MP_MAP_ABSENT)
        return;
    mp_map_remove(&open->by_range, event->range);
    place = open->started[found];
    open->started[found].item = open->free_place;
    open->free_place = found + 1;
    if (place.item < open->threads[place.thread].count)
        nvtx_open_finish(&open->threads[place.thread], place.item, ended);
}

enum mp_status nvtx_open_take(struct nvtx_open *open, const struct nvtx_event *event, uint64_t time,
                              struct nvtx_open_range *ended)
{
    struct nvtx_open_range none;

    if (!ended)
        ended = &none;
    *ended = (struct nvtx_open_range){.over = false};
    switch (event->kind) {
    case MP_nvtx_kind_push:
        return nvtx_open_push(open, event, time);
    case MP_nvtx_kind_pop:
        return nvtx_open_pop(open, event, ended);
    case MP_nvtx_kind_start:
        return start(open, event, time);
    case MP_nvtx_kind_end:
        nvtx_open_end(open, event, ended);
        return MP_OK;
    default:
        return MP_OK;
    }
}

static const struct nvtx_open_thread *find_thread(const struct nvtx_open *open, uint64_t number)
{
    uint32_t index = mp_map_get(&open->by_thread, number);

    return index == MP_MAP_ABSENT ? NULL : &open->threads[index];
}

const struct nvtx_open_range *nvtx_open_innermost(const struct nvtx_open *open, uint64_t thread)
{
    const struct nvtx_open_thread *found = find_thread(open, thread);

    return found && found->count ? &found->items[found->count - 1] : NULL;
}

bool nvtx_open_knows(const struct nvtx_open *open, uint64_t thread)
{
    return find_thread(open, thread) != NULL;
}

size_t nvtx_open_depth(const struct nvtx_open *open, uint64_t thread)
{
    const struct nvtx_open_thread *found = find_thread(open, thread);

    return found ? found->count : 0;
}
