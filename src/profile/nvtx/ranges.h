/* The NVTX ranges of one name: from push to pop, or from start to end. */
#ifndef MP_PROFILE_NVTX_RANGES_H
#define MP_PROFILE_NVTX_RANGES_H

#include <miniprof/trace.h>

#include "base/status.h"
#include "profile/definitions.h"

#define NVTX_OTHERS_BYTES 160
#define NVTX_OTHERS_MAX   5

struct nvtx_range {
    uint64_t begin; /* ns of the recorder's clock */
    uint64_t end;
    uint64_t thread; /* the trace's number of the thread that began it */
    uint64_t domain; /* string id; 0: the default one */
    bool cut;        /* never, of those in the list */
    bool across;     /* another thread ended it */
};

struct nvtx_ranges {
    struct nvtx_range *items; /* in order of begin; owned */
    size_t count;
    size_t capacity;
    size_t unfinished;              /* without begin or end in the trace */
    char others[NVTX_OTHERS_BYTES]; /* a few other names that the trace has, each complete; if one
                                       was probably meant, this one alone */
};

/* Reads the table `nvtx` in a pass of its own. Names match in any domain. If pushes of the name are
 * nested in one thread and domain, the outermost counts. MP_ERR_IO, MP_ERR_MEMORY. */
enum mp_status nvtx_ranges_load(struct nvtx_ranges *ranges, struct mp_trace *trace,
                                const struct definitions *definitions, const char *name,
                                struct mp_error *error);

void nvtx_ranges_free(struct nvtx_ranges *ranges);

#endif
