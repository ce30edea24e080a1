/* The period of a sequence: what repeats in it, again and again.
 *
 *     w w x a b c a b c a b c a b y     a stretch of 11 items with period 3, from item 3 on
 *
 * A stretch that covers over half of the sequence holds its middle item. So it is enough to look at
 * stretches through the middle (as Main and Lorentz do, An O(n log n) algorithm for finding all
 * repetitions in a string, 1984). From the middle to either side, we need to know how far the
 * sequence agrees with itself when it is shifted. The Z function of the two halves tells this for
 * all shifts in linear time.
 */
#ifndef MP_BASE_DATA_PERIOD_H
#define MP_BASE_DATA_PERIOD_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct mp_period {
    uint32_t period; /* 0: nothing repeats */
    uint32_t first;  /* of the stretch in which items[i] == items[i + period] */
    uint32_t count;  /* items in it */
};

/* Finds the smallest period with a stretch that has at least `repeats` periods and at least half of
 * the items. Of the stretches of that period, the one through the middle is given. O(count) time,
 * at most 12 bytes of memory an item. MP_ERR_MEMORY, MP_ERR_LIMIT (2^31 items). */
enum mp_status mp_period_find(const uint32_t *items, size_t count, unsigned repeats,
                              struct mp_period *period);

#endif
