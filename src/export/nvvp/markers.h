/* Numbers for NVTX ranges: nvprof's rows for begin and end of a range share one. */
#ifndef MP_EXPORT_NVVP_MARKERS_H
#define MP_EXPORT_NVVP_MARKERS_H

#include <stdint.h>

#include "base/status.h"
#include "profile/nvtx/match.h"

/* A zeroed struct is ready for use. */
struct nvvp_markers {
    struct nvtx_match match; /* items: numbers */
    uint32_t last;           /* number given */
};

/* The number of a row of `nvtx`. A pop or end whose begin is missing gets a number of its own.
 * MP_ERR_MEMORY. */
enum mp_status nvvp_markers_number(struct nvvp_markers *markers, const struct nvtx_event *event,
                                   uint64_t *number);

void nvvp_markers_free(struct nvvp_markers *markers);

#endif
