/* Which ranges of one of nvprof's files were pushed and popped, and which were started and ended:
 * nvprof's rows do not say. A range was pushed if it ends in the thread that began it, and inside
 * the range in which it began. */
#ifndef MP_EXPORT_NVVP_PLAIN_MARKERS_H
#define MP_EXPORT_NVVP_PLAIN_MARKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"

struct nvvp_open_markers;

/* A zeroed struct is ready for use. Memory depends on the ranges that are open at the same time,
 * and on those that were not pushed. */
struct nvvp_marker_kinds {
    struct mp_intern threads;
    struct nvvp_open_markers *open; /* of thread 1 at [0] */
    size_t capacity;
    struct mp_map thread_of; /* id of an open range -> its thread */
    struct mp_map started;   /* ids that were not pushed */
};

/* Must be called for all begins and ends, in the order of time. MP_ERR_MEMORY. */
enum mp_status nvvp_marker_began(struct nvvp_marker_kinds *kinds, uint64_t id, uint64_t thread);
enum mp_status nvvp_marker_ended(struct nvvp_marker_kinds *kinds, uint64_t id, uint64_t thread);

/* After all of them: whether it is a start/end range. */
bool nvvp_marker_is_started(const struct nvvp_marker_kinds *kinds, uint64_t id);

void nvvp_marker_kinds_free(struct nvvp_marker_kinds *kinds);

#endif
