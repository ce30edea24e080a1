/* Count, sum, min and max of durations, one for each id: the inner loop of every summary.
 *
 *     ids        3  1  3  3  2 ...        shape, function or kind of each row
 *     durations  8  5  9  8  7 ...
 *     items[3]   calls 3, total 25, min 8, max 9
 */
#ifndef MP_PROFILE_COMMON_TALLY_H
#define MP_PROFILE_COMMON_TALLY_H

#include <math.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/dense.h"
#include "profile/ranges.h"

struct tally {
    uint64_t calls;
    uint64_t total;      /* ns */
    uint64_t min;        /* ns; meaningless without calls */
    uint64_t max;        /* ns */
    uint64_t squares[2]; /* ns squared, added up modulo 2^128, the lower half first */
};

struct tally_rows {
    const uint64_t *ids;
    const uint64_t *starts;
    const uint64_t *durations;
    const uint64_t *correlations; /* NULL for API calls, which belong to a range by time */
    uint32_t count;
    const uint64_t *batches; /* how many calls a row stands for, which took the same time each;
                                0 and NULL: one */
};

struct tallies {
    struct dense items; /* of struct tally, by id */
    uint64_t unknown_times;
    uint64_t reversed_times;
    uint64_t
        beyond; /* rows with ids that the size of the file does not justify: counted under id 0 */
};

/* Ids stay below `limit`. */
void tallies_init(struct tallies *tallies, size_t limit);

void tallies_free(struct tallies *tallies);

/* Adds rows; with a `range`, those that belong to it. Rows without a begin, and rows that end
 * before their begin, are left out and counted separately. MP_OK or MP_ERR_MEMORY. */
enum mp_status tallies_add(struct tallies *tallies, const struct tally_rows *rows,
                           const struct capture_range *range);

static inline void tally_add_squares(struct tally *tally, __uint128_t squares)
{
    squares += (__uint128_t)tally->squares[1] << 64 | tally->squares[0];
    tally->squares[0] = (uint64_t)squares;
    tally->squares[1] = (uint64_t)(squares >> 64);
}

/* The tally of `calls` calls, at least one, that took `duration` together. Of a batch only the
 * whole is measured: the min and the max of its calls are its mean. */
static inline struct tally tally_of(uint64_t duration, uint64_t calls)
{
    uint64_t each = duration / calls, longer = duration % calls;
    struct tally tally = {
        .calls = calls, .total = duration, .min = each, .max = each + (longer != 0)};

    tally_add_squares(&tally, (__uint128_t)each * each * (calls - longer));
    tally_add_squares(&tally, (__uint128_t)(each + 1) * (each + 1) * longer);
    return tally;
}

/* Adds a call. */
static inline void tally_add(struct tally *tally, uint64_t duration)
{
    tally->min = duration < tally->min || !tally->calls ? duration : tally->min;
    tally->max = duration > tally->max ? duration : tally->max;
    tally->total += duration;
    tally->calls++;
    tally_add_squares(tally, (__uint128_t)duration * duration);
}

/* Adds what one tally counted to another. */
static inline void tally_merge(struct tally *into, const struct tally *from)
{
    if (!from->calls)
        return;
    if (!into->calls || from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    into->calls += from->calls;
    into->total += from->total;
    tally_add_squares(into, (__uint128_t)from->squares[1] << 64 | from->squares[0]);
}

/* The standard deviation of a sample (divided by calls - 1), ns; 0 of a single call. The squares of
 * the distances from the mean's whole part are added up as integers, so nothing cancels: what the
 * modulus took away comes back as long as their sum is below 2^128. */
static inline double tally_deviation(const struct tally *tally)
{
    __uint128_t squares = (__uint128_t)tally->squares[1] << 64 | tally->squares[0];
    uint64_t mean, rest;

    if (tally->calls < 2)
        return 0;
    mean = tally->total / tally->calls;
    rest = tally->total % tally->calls;
    squares -= 2 * (__uint128_t)mean * tally->total;
    squares += (__uint128_t)mean * mean * tally->calls;
    return sqrt(((double)squares - (double)rest * (double)rest / (double)tally->calls) /
                (double)(tally->calls - 1));
}

/* ---- By device and id ----
 *
 * Sums for each device. Each pair of a device and an id of a source's row gets a number, so that a
 * tally can still count by a single number.
 *
 *     device    0   0   1   0          pair 1 = device 0, id 7
 *     id        7   3   7   7          pair 2 = device 0, id 3
 *     pair      1   2   3   1          pair 3 = device 1, id 7
 */

#define SUMMARY_MAX_DEVICES 1024 /* a trace that names more is forged: they count as unknown */

struct summary_pair {
    uint64_t id;
    uint32_t slot; /* of summary_devices */
};

/* The devices in order of appearance; the first slot is for unknown devices. */
struct summary_slots {
    uint64_t devices[SUMMARY_MAX_DEVICES]; /* ordinals; UINT64_MAX: unknown */
    uint32_t count;
};

struct summary_pairs {
    struct mp_map by_key;
    struct summary_pair *items; /* owned; the first is of an unknown device, id 0 */
    size_t count;
    size_t capacity;
    uint64_t beyond; /* rows with ids over the limit: counted under id 0 */
};

/* The slot of a device; a new device gets a new slot. */
uint32_t summary_slot(struct summary_slots *slots, uint64_t device);

/* Sets *pair to the number of the pair; `id` must stay below `limit`. MP_OK or MP_ERR_MEMORY. */
enum mp_status summary_pair(struct summary_pairs *pairs, uint32_t slot, uint64_t id, uint64_t limit,
                            uint64_t *pair);

void summary_pairs_free(struct summary_pairs *pairs);

#endif
