/* Which ranges of a file of nvprof's were pushed and popped, and which started and ended: its rows
 * do not say. A range that ends in the thread that began it, inside of what it began in, was
 * pushed. */
#ifndef MP_EXPORT_NVVP_PLAIN_MARKERS_H
#define MP_EXPORT_NVVP_PLAIN_MARKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"

struct nvvp_open_markers;

/* A zeroed struct is ready for use. Memory is that of the ranges open at a time, and of those that
 * were not pushed. */
struct nvvp_marker_kinds {
    struct mp_intern threads;
    struct nvvp_open_markers *open; /* of thread 1 at [0] */
    size_t capacity;
    struct mp_map thread_of; /* id of an open range -> its thread */
    struct mp_map started;   /* ids that were not pushed */
};

/* To be told of all begins and ends in the order of time. MP_ERR_MEMORY. */
enum mp_status nvvp_marker_began(struct nvvp_marker_kinds *kinds, uint64_t id, uint64_t thread);
enum mp_status nvvp_marker_ended(struct nvvp_marker_kinds *kinds, uint64_t id, uint64_t thread);

/* Then: whether it is a range of start and end. */
bool nvvp_marker_is_started(const struct nvvp_marker_kinds *kinds, uint64_t id);

void nvvp_marker_kinds_free(struct nvvp_marker_kinds *kinds);

#endif
