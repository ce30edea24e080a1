/* The interning half of map.h: strings live in an arena, ids index an array, a table of ids finds
 * them by hash. */
#include <stdlib.h>
#include <string.h>

#include "base/data/hash.h"
#include "base/data/map.h"
#include "base/data/overflow.h"

#include "base/poison.h"

#define FIRST_ENTRIES  16u
#define FIRST_SLOTS    32u
#define GREATEST_COUNT (1u << 30)

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
    uint32_t id;

    if (!slots)
        return MP_ERR_MEMORY;
    for (id = 1; id <= pool->count; id++) {
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
    if (pool->count >= GREATEST_COUNT)
        return MP_ERR_LIMIT;
    if (pool->count == pool->entry_capacity)
        MP_TRY(grow_entries(pool));
    if (pool->count + 1 > pool->slot_capacity / 4 * 3)
        MP_TRY(grow_slots(pool));
    return MP_OK;
}

uint32_t mp_intern_add(struct mp_intern *pool, const void *data, size_t bytes)
{
    uint32_t hash, at;
    char *copy;

    if (bytes > UINT32_MAX || reserve(pool) != MP_OK)
        return 0;
    hash = hash_of(data, bytes);
    at = find_slot(pool, data, bytes, hash);
    if (pool->slots[at])
        return pool->slots[at];
    copy = mp_arena_copy(&pool->bytes, data, bytes);
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
