/* Arrays that grow as ids appear. Ids come from a file, so every array has a limit that the size
 * of the file justifies.
 */
#include "profile/dense.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"

#include "base/poison.h"

#define MIN_CAPACITY 64

void dense_init(struct dense *array, size_t item_bytes, size_t limit)
{
    *array = (struct dense){.item_bytes = item_bytes, .limit = limit};
}

/* Twice as much as before, and enough for `count`, but never more than the limit. */
static size_t next_capacity(const struct dense *array, size_t count)
{
    size_t capacity = array->capacity ? array->capacity : MIN_CAPACITY;

    while (capacity < count)
        capacity = capacity > SIZE_MAX / 2 ? count : capacity * 2;
    return capacity < array->limit ? capacity : array->limit;
}

static enum mp_status grow(struct dense *array, size_t count)
{
    size_t capacity = next_capacity(array, count);
    size_t bytes;

    if (!mp_size_mul(capacity, array->item_bytes, &bytes))
        return MP_ERR_MEMORY;
    void *items = realloc(array->items, bytes);
    if (!items)
        return MP_ERR_MEMORY;
    memset((char *)items + array->capacity * array->item_bytes, 0,
           (capacity - array->capacity) * array->item_bytes);
    array->items = items;
    array->capacity = capacity;
    return MP_OK;
}

enum mp_status dense_reach(struct dense *array, uint64_t index)
{
    if (index < array->count)
        return MP_OK;
    if (index >= array->limit)
        return MP_ERR_LIMIT;
    if (index >= array->capacity)
        MP_TRY(grow(array, (size_t)index + 1));
    array->count = (size_t)index + 1;
    return MP_OK;
}

void *dense_at(const struct dense *array, uint64_t index)
{
    return index < array->count ? (char *)array->items + index * array->item_bytes : NULL;
}

void dense_free(struct dense *array)
{
    free(array->items);
    dense_init(array, array->item_bytes, array->limit);
}
