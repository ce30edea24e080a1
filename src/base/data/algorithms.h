/* Algorithms on numbers: a stable sort of indexes, the period of a sequence, percentiles of a
 * stream of numbers, proportions.
 */
#ifndef MP_BASE_DATA_ALGORITHMS_H
#define MP_BASE_DATA_ALGORITHMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

static inline uint64_t mp_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t mp_distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* ---- Sorting ----
 *
 * A stable sort of 32-bit indexes, in linear time if they are in order already.
 *
 * Records come in long ordered stretches (one thread or stream after another). So the sort finds
 * such runs and merges them (a natural merge sort, as in Tim Peters's listsort): n log r
 * comparisons for r runs.
 */

/* -1, 0 or 1, as qsort wants it: how two numbers compare. `MP_ORDER(a, b) ?: MP_ORDER(c, d)`
 * compares by a second key where the first ones are equal. Evaluates its arguments twice. */
#define MP_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Defines a function for qsort: `order`, an MP_ORDER say, compares *a with *b. */
#define MP_COMPARE(name, type, order)                                                              \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *a = left, *b = right;                                                          \
                                                                                                   \
        return order;                                                                              \
    }                                                                                              \
    _Static_assert(sizeof(type), "ends with a semicolon")

/* For qsort: compares items by the number that they begin with. */
int mp_compare_u64(const void *a, const void *b);
int mp_compare_real(const void *a, const void *b);

/* Sorts numbers in place. qsort with mp_compare_u64 takes 1.4 to 1.8 times as long (150,000
 * numbers, x86-64). */
void mp_sort_u64(uint64_t *values, size_t count);

/* Whether item `a` must stand before item `b`; equal items keep their order. */
typedef bool mp_sort_before(const void *context, uint32_t a, uint32_t b);

/* Sorts `items`; `scratch` has room for `count` items. */
void mp_sort(uint32_t *items, size_t count, uint32_t *scratch, mp_sort_before *before,
             const void *context);

/* Binary search: the first index `at` from `low` up to `high` for which `before`, an expression in
 * it, is false; `high` if there is none. It must be true of those in front, and of no others. */
#define MP_SEARCH(low, high, at, before)                                                           \
    __extension__({                                                                                \
        size_t search_low = (low), search_high = (high);                                           \
                                                                                                   \
        while (search_low < search_high) {                                                         \
            size_t at = search_low + (search_high - search_low) / 2;                               \
                                                                                                   \
            if (before)                                                                            \
                search_low = at + 1;                                                               \
            else                                                                                   \
                search_high = at;                                                                  \
        }                                                                                          \
        search_low;                                                                                \
    })

/* ---- Periods ----
 *
 * The period of a sequence: what repeats in it, again and again.
 *
 *     w w x a b c a b c a b c a b y     a stretch of 11 items with period 3, from item 3 on
 *
 * A stretch that covers over half of the sequence holds its middle item. So it is enough to look at
 * stretches through the middle (as Main and Lorentz do, An O(n log n) algorithm for finding all
 * repetitions in a string, 1984). From the middle to either side, we need to know how far the
 * sequence agrees with itself when it is shifted. The Z function of the two halves tells this for
 * all shifts in linear time.
 */

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

/* ---- Percentiles ----
 *
 * Counts numbers in buckets whose width grows with the number. A percentile then takes the same
 * time, however many numbers were counted.
 *
 * Each power of two is cut into 16 buckets of equal width; each number below 16 has its own bucket.
 * A percentile is answered with the largest number of its bucket: never less than the true one,
 * and at most 1/16 more.
 *
 * Any thread, also several at once and in a signal handler: counters are atomic, nothing is
 * allocated. A zeroed struct is empty.
 */

#define MP_HISTOGRAM_BUCKETS (16u + 60u * 16u)

struct mp_histogram {
    _Atomic uint64_t total;
    _Atomic uint64_t counts[MP_HISTOGRAM_BUCKETS];
};

/* Counts a number in. */
void mp_histogram_add(struct mp_histogram *histogram, uint64_t number);

/* How many numbers were counted. */
uint64_t mp_histogram_count(const struct mp_histogram *histogram);

/* The number that `percent` (1 to 100) of all numbers do not exceed; 0 when there was none. */
uint64_t mp_histogram_percentile(const struct mp_histogram *histogram, unsigned percent);

/* ---- Proportions ---- */

/* value * part / whole, rounded down; 0 if `whole` is 0. The result must fit in 64 bits. */
static inline uint64_t mp_proportion(uint64_t value, uint64_t part, uint64_t whole)
{
    __extension__ typedef unsigned __int128 wide;

    return whole ? (uint64_t)((wide)value * part / whole) : 0;
}

#endif
