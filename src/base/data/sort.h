/* A stable sort of 32-bit indexes, in linear time if they are in order already.
 *
 * Records come in long ordered stretches (one thread or stream after another). So the sort finds
 * such runs and merges them (a natural merge sort, as in Tim Peters's listsort): n log r
 * comparisons for r runs.
 */
#ifndef MP_BASE_DATA_SORT_H
#define MP_BASE_DATA_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether item `a` must stand before item `b`; equal items keep their order. */
typedef bool mp_sort_before(const void *context, uint32_t a, uint32_t b);

/* Sorts `items`; `scratch` has room for `count` items. */
void mp_sort(uint32_t *items, size_t count, uint32_t *scratch, mp_sort_before *before,
             const void *context);

/* -1, 0 or 1, as qsort wants it: how two numbers compare. `MP_ORDER(a, b) ?: MP_ORDER(c, d)`
 * compares by a second key where the first ones are equal. Evaluates its arguments twice. */
#define MP_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#endif
