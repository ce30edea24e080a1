/* Turns ids into numbers of pairs of device and id. Tallies can then stay arrays with one index,
 * also where one shape runs on several devices.
 */
#include "profile/common/device_pairs.h"

#include <stdlib.h>

#include "base/data/storage.h"

#include "base/poison.h"

#define SLOT_SHIFT 48 /* ids stay far below: definitions_limit */

uint32_t summary_slot(struct summary_slots *slots, uint64_t device)
{
    if (!slots->count)
        slots->devices[slots->count++] = UINT64_MAX;
    for (uint32_t slot = 0; slot < slots->count; slot++) {
        if (slots->devices[slot] == device)
            return slot;
    }
    if (slots->count == SUMMARY_MAX_DEVICES)
        return 0;
    slots->devices[slots->count] = device;
    return slots->count++;
}

static enum mp_status add_device_pair(struct summary_pairs *pairs, uint32_t slot, uint64_t id)
{
    MP_TRY(
        mp_reserve((void **)&pairs->items, pairs->count, &pairs->capacity, sizeof *pairs->items));
    pairs->items[pairs->count++] = (struct summary_pair){id, slot};
    return MP_OK;
}

enum mp_status summary_pair(struct summary_pairs *pairs, uint32_t slot, uint64_t id, uint64_t limit,
                            uint64_t *pair)
{
    uint64_t key;
    uint32_t known;

    if (!pairs->count)
        MP_TRY(add_device_pair(pairs, 0, 0));
    if (id >= limit || id >> SLOT_SHIFT || pairs->count >= UINT32_MAX - 1) {
        pairs->beyond++;
        id = 0;
    }
    key = (uint64_t)slot << SLOT_SHIFT | id;
    known = mp_map_get(&pairs->by_key, key);
    if (known == MP_MAP_ABSENT) {
        known = (uint32_t)pairs->count;
        MP_TRY(mp_map_put(&pairs->by_key, key, known));
        MP_TRY(add_device_pair(pairs, slot, id));
    }
    *pair = known;
    return MP_OK;
}

void summary_pairs_free(struct summary_pairs *pairs)
{
    mp_map_free(&pairs->by_key);
    free(pairs->items);
    *pairs = (struct summary_pairs){.count = 0};
}
