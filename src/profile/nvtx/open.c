/* The open ranges of each thread, in the order in which they began. The items that nvtx/match.h
 * pairs are positions in these lists. A list loses ranges only at its end, so positions stay valid.
 */
#include "profile/nvtx/open.h"

#include <stdlib.h>

#include "base/data/storage.h"
#include "trace/schema.h"

#include "base/poison.h"

/* For each thread: there may be very many threads, and most nestings are not deep. */
#define FIRST_RANGES 4u

void nvtx_open_free(struct nvtx_open *open)
{
    for (size_t i = 0; i < open->thread_count; i++)
        free(open->threads[i].items);
    free(open->threads);
    mp_map_free(&open->by_thread);
    nvtx_match_free(&open->match);
    *open = (struct nvtx_open){.threads = NULL};
}

static enum mp_status reach_thread(struct nvtx_open *open, uint64_t number, uint32_t *index)
{
    *index = mp_map_get(&open->by_thread, number);
    if (*index != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(MP_RESERVE(open->threads, open->thread_count, open->thread_capacity));
    *index = (uint32_t)open->thread_count;
    MP_TRY(mp_map_put(&open->by_thread, number, *index));
    open->threads[open->thread_count++] = (struct nvtx_open_thread){.items = NULL};
    return MP_OK;
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

static enum mp_status begin(struct nvtx_open *open, const struct nvtx_event *event)
{
    uint32_t index;

    MP_TRY(reach_thread(open, event->thread, &index));
    struct nvtx_open_thread *thread = &open->threads[index];
    if (thread->count >= MP_MAP_ABSENT - 1)
        return MP_ERR_LIMIT;
    MP_TRY(reach_room(thread));
    MP_TRY(nvtx_match_begin(&open->match, event, (uint64_t)index << 32 | thread->count));
    thread->items[thread->count++] = (struct nvtx_open_range){
        .begin = event->time,
        .domain = event->domain,
        .name = event->name,
        .started = event->kind == MP_nvtx_kind_start,
        .cut = event->cut,
    };
    return MP_OK;
}

/* Marks a range as ended, and removes ended ranges from the top. */
static void finish(struct nvtx_open *open, uint64_t item, struct nvtx_open_range *ended)
{
    struct nvtx_open_thread *thread = &open->threads[item >> 32];

    thread->items[(uint32_t)item].over = true;
    *ended = thread->items[(uint32_t)item];
    while (thread->count && thread->items[thread->count - 1].over)
        thread->count--;
}

enum mp_status nvtx_open_take(struct nvtx_open *open, const struct nvtx_event *event,
                              struct nvtx_open_range *ended)
{
    struct nvtx_open_range none;
    uint64_t item;

    if (!ended)
        ended = &none;
    *ended = (struct nvtx_open_range){.over = false};
    if (nvtx_begins(event))
        return begin(open, event);
    if (nvtx_match_end(&open->match, event, &item)) {
        finish(open, item, ended);
        ended->cut |= event->cut;
    }
    return MP_OK;
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
