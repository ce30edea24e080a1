/* Two hash tables: numbers to numbers, and bytes to dense ids (interning).
 *
 * Both use open addressing with linear probing at a load of at most 3/4, and start without memory:
 * a zeroed struct is an empty table. One thread at a time. If memory is out, an insertion says so
 * and leaves the table unchanged.
 */
#ifndef MP_BASE_DATA_MAP_H
#define MP_BASE_DATA_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/storage.h"
#include "base/status.h"

/* ---- Numbers to numbers ---- */

/* What mp_map_get answers for a key that is not there. It cannot be stored as a value. */
#define MP_MAP_ABSENT UINT32_MAX

struct mp_map_slot;

struct mp_map {
    struct mp_map_slot *slots;
    uint32_t capacity; /* slots, a power of two, or 0 */
    uint32_t count;    /* keys held */
};

/* The value of `key`, or MP_MAP_ABSENT. */
uint32_t mp_map_get(const struct mp_map *map, uint64_t key);

/* Sets the value of `key`, new or not. MP_ERR_ARGUMENT for MP_MAP_ABSENT, MP_ERR_MEMORY. */
enum mp_status mp_map_put(struct mp_map *map, uint64_t key, uint32_t value);

/* Takes `key` out; false when it was not there. */
bool mp_map_remove(struct mp_map *map, uint64_t key);

/* Every value v becomes values[v]. */
void mp_map_translate(struct mp_map *map, const uint32_t *values);

/* Takes all keys out and keeps the memory. */
void mp_map_clear(struct mp_map *map);

void mp_map_free(struct mp_map *map);

/* ---- Bytes to ids ---- */

struct mp_intern_entry;

/* Distinct byte strings, numbered 1, 2, 3, ... in the order of their first appearance. */
struct mp_intern {
    struct mp_arena bytes;
    struct mp_intern_entry *entries; /* of id 1 at [0] */
    uint32_t *slots;                 /* ids; 0 is empty */
    uint32_t count;                  /* ids given, and the largest of them */
    uint32_t entry_capacity;
    uint32_t slot_capacity;
};

/* The id of these bytes, a new one if they are new; the pool keeps a copy. Returns 0 if memory is
 * out or `bytes` is over 4 GiB. `data` may be NULL if `bytes` is 0. To see whether the string is
 * new, compare the pool's count before and after the call. */
uint32_t mp_intern_add(struct mp_intern *pool, const void *data, size_t bytes);

/* The id of these bytes, or 0 when they were never added. */
uint32_t mp_intern_find(const struct mp_intern *pool, const void *data, size_t bytes);

/* The bytes of an id with a NUL after them, and their number in *bytes (which may be NULL). NULL
 * for an id that was not given. Owned by the pool, valid until reset or free. */
const char *mp_intern_get(const struct mp_intern *pool, uint32_t id, size_t *bytes);

/* Forgets all strings; ids start at 1 again. */
void mp_intern_reset(struct mp_intern *pool);

void mp_intern_free(struct mp_intern *pool);

/* Bytes of memory that the present strings take. Memory left over from earlier strings does not
 * count. */
size_t mp_intern_bytes(const struct mp_intern *pool);

#endif
