/* Numbers for NVTX ranges: nvprof's rows for begin and end of a range share one. */
#ifndef MP_EXPORT_NVVP_MARKERS_H
#define MP_EXPORT_NVVP_MARKERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"

struct nvvp_marker_stack;

/* A zeroed struct is ready for use. */
struct nvvp_markers {
    struct mp_intern lanes;           /* thread and domain */
    struct nvvp_marker_stack *stacks; /* of lane 1 at [0]: pushed and not popped */
    size_t capacity;
    struct mp_map started; /* range -> number: started and not ended */
    uint32_t last;         /* number given */
};

/* The number of a row of `nvtx` with these values; a pop or end whose begin is not there gets one
 * of its own. MP_ERR_MEMORY. */
enum mp_status nvvp_markers_number(struct nvvp_markers *markers, uint64_t kind, uint64_t thread,
                                   uint64_t domain, uint64_t range, uint32_t *number);

void nvvp_markers_free(struct nvvp_markers *markers);

#endif
