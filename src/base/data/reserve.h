/* Arrays that grow: each time by half of their size, for at least one more item. */
#ifndef MP_BASE_DATA_RESERVE_H
#define MP_BASE_DATA_RESERVE_H

#include <stddef.h>

#include "base/status.h"

/* Makes `*items`, an array of `*capacity` items from malloc or NULL, large enough for more than
 * `count` of them; the array may move. MP_ERR_MEMORY leaves it unchanged. */
enum mp_status mp_reserve(void **items, size_t count, size_t *capacity, size_t item_bytes);

#endif
