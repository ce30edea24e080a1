/* Replays allocations and releases: a release belongs to the last allocation at its address that
 * is still alive.
 */
#include "reports/memory/replay.h"

#include <stdlib.h>

#include "base/poison.h"

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
    const struct memory_event *event;
    uint32_t before;

    if (replay->next == events->count)
        return MP_END;
    event = &events->items[replay->next];
    before = mp_map_get(&replay->known, event->address);
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
