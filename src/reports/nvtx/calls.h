/* The calls inside NVTX ranges, found by their correlation id, and the sums for each node of
 * ranges. Used by result.c, which decides what is read when; implemented in calls.c.
 */
#ifndef MP_REPORTS_NVTX_CALLS_H
#define MP_REPORTS_NVTX_CALLS_H

#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/activity.h"
#include "profile/common/tally.h"
#include "reports/nvtx/spans.h"

/* A call inside a span; there is one for each lane that has a span around the call. */
struct nvtx_call {
    uint64_t correlation;
    uint64_t duration; /* ns */
    uint32_t node;
    uint32_t function : 30;
    bool launched : 1; /* work on the device has this correlation id */
    bool again : 1; /* the one before has the same id and node: a driver call in a runtime call */
};

struct nvtx_calls {
    struct nvtx_call *items;
    size_t count, capacity;
    uint32_t *order; /* by correlation; NULL: as they stand */
    size_t last_found;
    bool unordered;
};

/* Appends a call; the caller checks its duration and function. MP_OK, MP_ERR_MEMORY, MP_ERR_LIMIT.
 */
enum mp_status nvtx_calls_add(struct nvtx_calls *calls, const struct nvtx_call *call);

/* After the last call: sorts them, so that they can be found. */
enum mp_status nvtx_calls_sort(struct nvtx_calls *calls);

/* Position of the first call with this correlation id, or `count`; fast when ids come in order. */
size_t nvtx_calls_position(struct nvtx_calls *calls, uint64_t correlation);

/* The call at a position; the next positions follow in order of correlation. */
struct nvtx_call *nvtx_calls_at(const struct nvtx_calls *calls, size_t position);

void nvtx_calls_free(struct nvtx_calls *calls);

/* ---- Sums ---- */

/* Of one name in one node; in lists, one for each node. */
struct nvtx_sum {
    struct tally tally;
    uint32_t name; /* nvtx_sum_name */
    uint32_t next; /* NVTX_NONE */
};

struct nvtx_sums {
    struct nvtx_sum *items;
    size_t count, capacity;
    struct mp_map known; /* owner and name -> item */
    uint32_t *first;     /* by owner: a node or a kind; owned */
    size_t owners;
    uint64_t last_key;
    uint32_t last_item;
};

/* A name in a group: names of calls and of work are apart even if they read the same. */
static inline uint32_t nvtx_sum_name(uint32_t name, enum summary_group_index group)
{
    return name << 1 | (uint32_t)group;
}

/* Makes room for the lists of `owners` nodes or kinds. MP_OK or MP_ERR_MEMORY. */
enum mp_status nvtx_sums_init(struct nvtx_sums *sums, size_t owners);

/* Makes room for the lists of owners below `owners`, which may be more than before. MP_OK or
 * MP_ERR_MEMORY. */
enum mp_status nvtx_sums_reach(struct nvtx_sums *sums, size_t owners);

/* Adds to the sum of a name in an owner. MP_OK, MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status nvtx_sums_add(struct nvtx_sums *sums, uint32_t owner, uint32_t name,
                             const struct tally *tally);

void nvtx_sums_free(struct nvtx_sums *sums);

#endif
