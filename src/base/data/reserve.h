/* Arrays that grow: room for one more item, half as much again each time. */
#ifndef MP_BASE_DATA_RESERVE_H
#define MP_BASE_DATA_RESERVE_H

#include <stddef.h>

#include "base/status.h"

/* Makes `*items`, an array of `*capacity` items from malloc or NULL, large enough for more than
 * `count` of them; it may move. MP_ERR_MEMORY leaves it as it was. */
enum mp_status mp_reserve(void **items, size_t count, size_t *capacity, size_t item_bytes);

#endif
