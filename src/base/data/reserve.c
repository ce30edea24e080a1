/* Makes room for one more item in an array. The size grows by half, through checked
 * multiplication, because counts come from files.
 */
#include "base/data/reserve.h"

#include <stdlib.h>

#include "base/data/overflow.h"

#include "base/poison.h"

enum mp_status mp_reserve(void **items, size_t count, size_t *capacity, size_t item_bytes)
{
    size_t wanted = *capacity + *capacity / 2 + 64;
    size_t bytes;
    void *grown;

    if (count < *capacity)
        return MP_OK;
    if (!mp_size_mul(wanted, item_bytes, &bytes))
        return MP_ERR_MEMORY;
    grown = realloc(*items, bytes);
    if (!grown)
        return MP_ERR_MEMORY;
    *items = grown;
    *capacity = wanted;
    return MP_OK;
}
