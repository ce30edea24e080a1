/* Count, sum, min and max of durations, one for each id: the inner loop of every summary.
 *
 *     ids        3  1  3  3  2 ...        shape, function or kind of each row
 *     durations  8  5  9  8  7 ...
 *     items[3]   calls 3, total 25, min 8, max 9
 */
#ifndef MP_PROFILE_COMMON_TALLY_H
#define MP_PROFILE_COMMON_TALLY_H

#include <stdint.h>

#include "base/status.h"
#include "profile/dense.h"
#include "profile/ranges.h"

struct tally {
    uint64_t calls;
    uint64_t total; /* ns */
    uint64_t min;   /* ns; meaningless without calls */
    uint64_t max;   /* ns */
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

/* The tally of `calls` calls, at least one, that took `duration` together. Of a batch only the
 * whole is measured: the min and the max of its calls are its mean. */
static inline struct tally tally_of(uint64_t duration, uint64_t calls)
{
    return (struct tally){.calls = calls,
                          .total = duration,
                          .min = duration / calls,
                          .max = duration / calls + (duration % calls != 0)};
}

/* Adds a call. */
static inline void tally_add(struct tally *tally, uint64_t duration)
{
    tally->min = duration < tally->min || !tally->calls ? duration : tally->min;
    tally->max = duration > tally->max ? duration : tally->max;
    tally->total += duration;
    tally->calls++;
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
}

#endif
