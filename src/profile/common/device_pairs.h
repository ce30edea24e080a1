/* Sums for each device. Each pair of a device and an id of a source's row gets a number, so that a
 * tally can still count by a single number.
 *
 *     device    0   0   1   0          pair 1 = device 0, id 7
 *     id        7   3   7   7          pair 2 = device 0, id 3
 *     pair      1   2   3   1          pair 3 = device 1, id 7
 */
#ifndef MP_PROFILE_COMMON_DEVICE_PAIRS_H
#define MP_PROFILE_COMMON_DEVICE_PAIRS_H

#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"

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
