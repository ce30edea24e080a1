/* Two hash tables with open addressing and linear probing. */
#include "base/data/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/hash.h"
#include "base/data/storage.h"

#include "base/poison.h"

/* ---- Numbers to numbers ----
 *
 * A removed entry leaves no tombstone: later entries of its run move up, so that tables with much
 * traffic do not get slow.
 */

#define FIRST_CAPACITY 16u
#define MAX_CAPACITY   (1u << 31)

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

    if (map->capacity >= MAX_CAPACITY)
        return MP_ERR_LIMIT;
    larger.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;
    larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
    if (!larger.slots)
        return MP_ERR_MEMORY;
    mp_map_clear(&larger);
    larger.count = map->count;
    for (uint32_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].value != MP_MAP_ABSENT)
            larger.slots[probe(&larger, map->slots[i].key)] = map->slots[i];
    }
    free(map->slots);
    *map = larger;
    return MP_OK;
}

enum mp_status mp_map_put(struct mp_map *map, uint64_t key, uint32_t value)
{
    if (value == MP_MAP_ABSENT)
        return MP_ERR_ARGUMENT;
    if (map->count + 1 > map->capacity / 4 * 3)
        MP_TRY(grow(map));
    uint32_t at = probe(map, key);
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

    if (!map->count)
        return false;
    uint32_t hole = probe(map, key);
    if (map->slots[hole].value == MP_MAP_ABSENT)
        return false;
    for (uint32_t at = (hole + 1) & mask; map->slots[at].value != MP_MAP_ABSENT;
         at = (at + 1) & mask) {
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
    for (uint32_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].value != MP_MAP_ABSENT)
            map->slots[i].value = values[map->slots[i].value];
    }
}

void mp_map_clear(struct mp_map *map)
{
    for (uint32_t i = 0; i < map->capacity; i++)
        map->slots[i].value = MP_MAP_ABSENT;
    map->count = 0;
}

void mp_map_free(struct mp_map *map)
{
    free(map->slots);
    *map = (struct mp_map){0};
}

/* ---- Bytes to ids ----
 *
 * Strings live in an arena, ids index an array, and a table of ids finds them by hash.
 */

#define FIRST_ENTRIES 16u
#define FIRST_SLOTS   32u
#define MAX_COUNT     (1u << 30)

struct mp_intern_entry {
    const char *data;
    uint32_t bytes;
    uint32_t hash; /* of the bytes: saves comparisons, and hashing again when the table grows */
};

static uint32_t hash_of(const void *data, size_t bytes)
{
    return (uint32_t)mp_hash64(bytes ? data : "", bytes, 0);
}

static uint32_t find_slot(const struct mp_intern *pool, const void *data, size_t bytes,
                          uint32_t hash)
{
    uint32_t mask = pool->slot_capacity - 1;
    uint32_t at;

    for (at = hash & mask; pool->slots[at]; at = (at + 1) & mask) {
        const struct mp_intern_entry *entry = &pool->entries[pool->slots[at] - 1];

        if (entry->hash == hash && entry->bytes == bytes &&
            (!bytes || memcmp(entry->data, data, bytes) == 0))
            break;
    }
    return at;
}

static enum mp_status grow_entries(struct mp_intern *pool)
{
    uint32_t capacity = pool->entry_capacity ? pool->entry_capacity * 2 : FIRST_ENTRIES;
    struct mp_intern_entry *entries;

    entries = reallocarray(pool->entries, capacity, sizeof(*entries));
    if (!entries)
        return MP_ERR_MEMORY;
    pool->entries = entries;
    pool->entry_capacity = capacity;
    return MP_OK;
}

static enum mp_status grow_slots(struct mp_intern *pool)
{
    uint32_t capacity = pool->slot_capacity ? pool->slot_capacity * 2 : FIRST_SLOTS;
    uint32_t *slots = calloc(capacity, sizeof(*slots));

    if (!slots)
        return MP_ERR_MEMORY;
    for (uint32_t id = 1; id <= pool->count; id++) {
        uint32_t at = pool->entries[id - 1].hash & (capacity - 1);

        while (slots[at])
            at = (at + 1) & (capacity - 1);
        slots[at] = id;
    }
    free(pool->slots);
    pool->slots = slots;
    pool->slot_capacity = capacity;
    return MP_OK;
}

/* Makes room for one more string in both arrays. */
static enum mp_status reserve(struct mp_intern *pool)
{
    if (pool->count >= MAX_COUNT)
        return MP_ERR_LIMIT;
    if (pool->count == pool->entry_capacity)
        MP_TRY(grow_entries(pool));
    if (pool->count + 1 > pool->slot_capacity / 4 * 3)
        MP_TRY(grow_slots(pool));
    return MP_OK;
}

uint32_t mp_intern_add(struct mp_intern *pool, const void *data, size_t bytes)
{
    if (bytes > UINT32_MAX || reserve(pool) != MP_OK)
        return 0;
    uint32_t hash = hash_of(data, bytes);
    uint32_t at = find_slot(pool, data, bytes, hash);
    if (pool->slots[at])
        return pool->slots[at];
    char *copy = mp_arena_copy(&pool->bytes, data, bytes);
    if (!copy)
        return 0;
    pool->entries[pool->count++] =
        (struct mp_intern_entry){.data = copy, .bytes = (uint32_t)bytes, .hash = hash};
    pool->slots[at] = pool->count;
    return pool->count;
}

uint32_t mp_intern_find(const struct mp_intern *pool, const void *data, size_t bytes)
{
    if (!pool->count)
        return 0;
    return pool->slots[find_slot(pool, data, bytes, hash_of(data, bytes))];
}

const char *mp_intern_get(const struct mp_intern *pool, uint32_t id, size_t *bytes)
{
    if (id == 0 || id > pool->count)
        return NULL;
    if (bytes)
        *bytes = pool->entries[id - 1].bytes;
    return pool->entries[id - 1].data;
}

void mp_intern_reset(struct mp_intern *pool)
{
    mp_arena_reset(&pool->bytes);
    if (pool->slots)
        memset(pool->slots, 0, pool->slot_capacity * sizeof(*pool->slots));
    pool->count = 0;
}

void mp_intern_free(struct mp_intern *pool)
{
    mp_arena_free(&pool->bytes);
    free(pool->entries);
    free(pool->slots);
    *pool = (struct mp_intern){0};
}

size_t mp_intern_bytes(const struct mp_intern *pool)
{
    return pool->bytes.total_bytes + pool->count * (sizeof(*pool->entries) + 2 * sizeof(uint32_t));
}
