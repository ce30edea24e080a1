/* The capture ranges of a trace, and which rows belong to each.
 *
 * A range begins and ends at two moments, known as times and as CUPTI's correlation ids. An API
 * call belongs to the range in which it begins. Work on the device runs later than its launch, so
 * it belongs to the range in which it was launched: by correlation id where both are known, else by
 * time.
 */
#ifndef MP_PROFILE_RANGES_H
#define MP_PROFILE_RANGES_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/dense.h"

struct capture_range {
    uint64_t id;
    uint64_t begin_time;        /* ns of the recorder's clock */
    uint64_t end_time;          /* UINT64_MAX: it was not ended */
    uint64_t begin_correlation; /* first id inside; 0 if unknown */
    uint64_t end_correlation;   /* first id behind it, UINT64_MAX if there can be none; 0 if unknown
                                   or not ended */
    bool goes_on; /* it continues the range before it, behind steps that were not recorded */
};

struct capture_ranges {
    struct dense items; /* of struct capture_range, in the order in which they began */
    struct mp_map by_id;
};

/* Sets up for a trace; allocates nothing. */
void ranges_init(struct capture_ranges *ranges, const struct mp_trace *trace);

void ranges_free(struct capture_ranges *ranges);

/* Adds the columns that ranges_take needs to the masks, which stand in the order of mp_tables(). */
void ranges_columns(uint32_t *masks);

/* Keeps the rows of a batch of the table `capture`; other tables are passed over. MP_OK or
 * MP_ERR_MEMORY. */
enum mp_status ranges_take(struct capture_ranges *ranges, const struct mp_batch *batch);

/* Reads the ranges of a trace in a pass of its own, which skips everything else. */
enum mp_status ranges_load(struct capture_ranges *ranges, struct mp_trace *trace,
                           struct mp_error *error);

size_t ranges_count(const struct capture_ranges *ranges);

/* Whether ranges are blocks between steps that were not recorded (MINIPROF_BASELINE). */
bool ranges_have_pauses(const struct capture_ranges *ranges);

/* How many ranges have begun by a moment; they stand in order. */
size_t ranges_begun(const struct capture_ranges *ranges, uint64_t time);

/* The range that a moment lies in, or NULL. */
const struct capture_range *ranges_at(const struct capture_ranges *ranges, uint64_t time);

/* The range with this id, or NULL. */
const struct capture_range *ranges_find(const struct capture_ranges *ranges, uint64_t id);

/* Sets *range to the range with this id, NULL for id 0; it is owned by `ranges`. MP_ERR_ARGUMENT
 * when there is none, with a message that says how many there are. */
enum mp_status ranges_choose(const struct capture_ranges *ranges, uint64_t id,
                             const struct capture_range **range, struct mp_error *error);

/* Sets up, reads and chooses: ranges_init, ranges_load and ranges_choose, with their errors. With
 * or without success ranges_free gives `ranges` back. */
enum mp_status ranges_open(struct capture_ranges *ranges, struct mp_trace *trace, uint64_t id,
                           const struct capture_range **range, struct mp_error *error);

/* Whether an API call that began at `start` belongs to the range. */
static inline bool range_has_call(const struct capture_range *range, uint64_t start)
{
    return start >= range->begin_time && start < range->end_time;
}

/* Whether device work belongs to the range. */
static inline bool range_has_work(const struct capture_range *range, uint64_t correlation,
                                  uint64_t start)
{
    bool after = correlation && range->begin_correlation ? correlation >= range->begin_correlation
                                                         : start >= range->begin_time;
    bool before = correlation && range->end_correlation ? correlation < range->end_correlation
                                                        : start < range->end_time;
    return after && before;
}

#endif
