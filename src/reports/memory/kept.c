/* What was never freed, grouped by place and size. */
#include <stdlib.h>

#include "base/data/map.h"
#include "base/data/storage.h"
#include "reports/memory/memory.h"

#include "base/poison.h"

/* Allocations that count as one row; compared as bytes. */
struct key {
    uint64_t size;
    uint64_t function;
    uint64_t domain;
    uint64_t range;
    uint64_t in_range;
};

static enum mp_status kept_take(struct memory *memory, const struct memory_event *event,
                                struct mp_intern *keys, size_t *capacity)
{
    const struct memory_site *site = &memory->events.sites[event->site];
    const struct key key = {event->bytes, site->function, site->domain, site->range,
                            site->in_range};
    uint32_t id = mp_intern_add(keys, &key, sizeof key);
    struct memory_kept *kept;

    if (!id)
        return MP_ERR_MEMORY;
    if (id > memory->kept_groups) {
        MP_TRY(mp_reserve((void **)&memory->kept, memory->kept_groups, capacity, sizeof *kept));
        memory->kept[memory->kept_groups++] =
            (struct memory_kept){.source = memory_source_of(memory, site), .size = event->bytes};
    }
    kept = &memory->kept[id - 1];
    kept->count++;
    kept->bytes += event->bytes;
    memory->kept_count++;
    memory->kept_bytes += event->bytes;
    return MP_OK;
}

/* Most bytes first, then the larger ones, then by name, so that the order is always the same. */
static int kept_compare(const void *left, const void *right)
{
    const struct memory_kept *a = left;
    const struct memory_kept *b = right;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return memory_compare_sources(&a->source, &b->source);
}

enum mp_status memory_add_kept(struct memory *memory, const struct memory_replay *replay,
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
            status = kept_take(memory, event, &keys, &capacity);
    }
    mp_intern_free(&keys);
    if (memory->kept)
        qsort(memory->kept, memory->kept_groups, sizeof *memory->kept, kept_compare);
    memory->kept_shown = top < memory->kept_groups ? top : memory->kept_groups;
    return status;
}
