/* A hash table from numbers to numbers, with open addressing. A removed entry leaves no tombstone:
 * later entries of its run move up, so that tables with much traffic do not get slow.
 */
#include "base/data/map.h"

#include <stdlib.h>

#include "base/data/hash.h"

#include "base/poison.h"

#define FIRST_CAPACITY    16u
#define GREATEST_CAPACITY (1u << 31)

struct mp_map_slot {
    uint64_t key;
    uint32_t value; /* MP_MAP_ABSENT: empty */
};

static uint32_t home_of(const struct mp_map *map, uint64_t key)
{
    return (uint32_t)mp_mix64(key) & (map->capacity - 1);
}

/* The slot that holds `key`, or the empty one where it would go. There is always an empty one. */
static uint32_t probe(const struct mp_map *map, uint64_t key)
{
    uint32_t at = home_of(map, key);

    while (map->slots[at].value != MP_MAP_ABSENT && map->slots[at].key != key)
        at = (at + 1) & (map->capacity - 1);
    return at;
}

uint32_t mp_map_get(const struct mp_map *map, uint64_t key)
{
    if (!map->count)
        return MP_MAP_ABSENT;
    return map->slots[probe(map, key)].value;
}

static enum mp_status grow(struct mp_map *map)
{
    struct mp_map larger = {.count = map->count};
    uint32_t i;

    if (map->capacity >= GREATEST_CAPACITY)
        return MP_ERR_LIMIT;
    larger.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;
    larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
    if (!larger.slots)
        return MP_ERR_MEMORY;
    mp_map_clear(&larger);
    larger.count = map->count;
    for (i = 0; i < map->capacity; i++) {
        if (map->slots[i].value != MP_MAP_ABSENT)
            larger.slots[probe(&larger, map->slots[i].key)] = map->slots[i];
    }
    free(map->slots);
    *map = larger;
    return MP_OK;
}

enum mp_status mp_map_put(struct mp_map *map, uint64_t key, uint32_t value)
{
    uint32_t at;

    if (value == MP_MAP_ABSENT)
        return MP_ERR_ARGUMENT;
    if (map->count + 1 > map->capacity / 4 * 3)
        MP_TRY(grow(map));
    at = probe(map, key);
    if (map->slots[at].value == MP_MAP_ABSENT)
        map->count++;
    map->slots[at] = (struct mp_map_slot){.key = key, .value = value};
    return MP_OK;
}

/* Instead of leaving a tombstone, pulls back every later entry of the run that the hole would hide
 * from its home (Knuth, TAOCP vol. 3, section 6.4, algorithm R). */
bool mp_map_remove(struct mp_map *map, uint64_t key)
{
    uint32_t mask = map->capacity - 1;
    uint32_t hole, at;

    if (!map->count)
        return false;
    hole = probe(map, key);
    if (map->slots[hole].value == MP_MAP_ABSENT)
        return false;
    for (at = (hole + 1) & mask; map->slots[at].value != MP_MAP_ABSENT; at = (at + 1) & mask) {
        uint32_t distance = (at - home_of(map, map->slots[at].key)) & mask;

        if (distance >= ((at - hole) & mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole].value = MP_MAP_ABSENT;
    map->count--;
    return true;
}

void mp_map_translate(struct mp_map *map, const uint32_t *values)
{
    uint32_t i;

    for (i = 0; i < map->capacity; i++) {
        if (map->slots[i].value != MP_MAP_ABSENT)
            map->slots[i].value = values[map->slots[i].value];
    }
}

void mp_map_clear(struct mp_map *map)
{
    uint32_t i;

    for (i = 0; i < map->capacity; i++)
        map->slots[i].value = MP_MAP_ABSENT;
    map->count = 0;
}

void mp_map_free(struct mp_map *map)
{
    free(map->slots);
    *map = (struct mp_map){0};
}
