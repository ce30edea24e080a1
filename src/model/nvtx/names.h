/* What the NVTX ranges that end are called: rows of `nvtx` that end a range do not say.
 *
 * For rows that are read in order of time. Memory goes with the ranges that are open.
 */
#ifndef MP_MODEL_NVTX_NAMES_H
#define MP_MODEL_NVTX_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"

struct nvtx_stack;

/* A zeroed struct is empty. */
struct nvtx_names {
    struct nvtx_stack *stacks; /* of open pushes */
    size_t count, capacity;
    struct mp_map by_thread; /* thread and domain -> stack */
    struct mp_map by_range;  /* id of an open nvtxRangeStart -> name */
};

/* A row of `nvtx`. */
struct nvtx_event {
    uint64_t kind; /* enum mp_nvtx_kind */
    uint64_t thread;
    uint64_t domain;
    uint64_t name;
    uint64_t range;
};

/* The name, a string id, of what the row marks, begins or ends; 0 when it has none, or when it ends
 * what began before the recording. MP_ERR_MEMORY. */
enum mp_status nvtx_names_take(struct nvtx_names *names, const struct nvtx_event *event,
                               uint64_t *name);

void nvtx_names_free(struct nvtx_names *names);

#endif
