/* Kernel launches that may begin before their predecessor ends: programmatic dependent launch.
 *
 * CUPTI's records do not say it (CUDA 13.0), only the attributes of cuLaunchKernelEx do. So that
 * function has a callback, which notes the correlation ids of such launches; the writer looks them
 * up as their records come. A callback makes each call slower. It is switched off for good when
 * many calls have come and none had the attribute: most programs that call cuLaunchKernelEx (Triton
 * does for every kernel) have none.
 *
 * The ids lie in a table by their low bits. Neither side waits: a newer launch takes the place of
 * one that is OVERLAPS_SLOTS ids older. Then the older one counts as a usual launch.
 */
#ifndef MP_RECORD_GRAPHS_OVERLAPS_H
#define MP_RECORD_GRAPHS_OVERLAPS_H

#include <cupti.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define OVERLAPS_SLOTS    65536u /* a power of two; 256 KiB, touched as it fills */
#define OVERLAPS_PATIENCE 10000u /* launches without the attribute, until the callback goes */

struct overlaps {
    _Atomic uint32_t ids[OVERLAPS_SLOTS];
    _Atomic uint32_t seen; /* launches, up to OVERLAPS_PATIENCE */
    _Atomic bool any;      /* some launch had the attribute */
    _Atomic bool kept;     /* NCCL's plugin needs the callback too */
};

/* ENTER of cuLaunchKernelEx. Application threads. */
void overlaps_launch(struct overlaps *overlaps, const CUpti_CallbackData *data);

/* EXIT of it. Whether the callback is of no use (subscriber_overlap_leaves). */
bool overlaps_leave(struct overlaps *overlaps);

/* From now on the callback is kept. Whether it was of no use until now (subscriber_keep_overlaps).
 * Any thread. */
bool overlaps_stay(struct overlaps *overlaps);

/* Whether the callback is of no use. */
static inline bool overlaps_given_up(const struct overlaps *overlaps)
{
    return !atomic_load(&overlaps->any) && !atomic_load(&overlaps->kept) &&
           atomic_load(&overlaps->seen) > OVERLAPS_PATIENCE;
}

/* Whether the launch with this correlation id had the attribute. Any thread. */
static inline bool overlaps_has(const struct overlaps *overlaps, uint32_t correlation)
{
    return overlaps && correlation &&
           atomic_load_explicit(&overlaps->ids[correlation % OVERLAPS_SLOTS],
                                memory_order_relaxed) == correlation;
}

#endif
