/* Which NVTX range a thread is in: of its open ranges, the one that began last.
 *
 * Rows of `nvtx` must come in order of time, at least within each thread. Pushes and starts of a
 * thread stand in one list, whatever their domain. A range that ends in the middle of the list is
 * marked, and is removed when it comes to the top:
 *
 *     thread 7   | push A | start R | push B(domain x) | push C |
 *
 * Each row takes constant time. Memory: a thread that ever began a range keeps 32 bytes for each
 * range of its deepest nesting, rounded up to a power of two and at least 4 (ranges that ended
 * below an open one count), and up to 100 bytes more. For each open range see nvtx/match.h. A range
 * that began before the recording is not known; its end is skipped.
 */
#ifndef MP_PROFILE_NVTX_OPEN_H
#define MP_PROFILE_NVTX_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/nvtx/match.h"

/* A range that is open. */
struct nvtx_open_range {
    uint64_t begin;  /* ns */
    uint64_t domain; /* string id; 0: the default one */
    uint64_t name;   /* string id; 0: none */
    bool started;    /* nvtxRangeStart */
    bool cut;        /* it goes on outside of the capture range */
    bool over;
};

/* The open ranges of a thread. */
struct nvtx_open_thread {
    struct nvtx_open_range *items; /* owned */
    size_t count, capacity;
};

/* A zeroed struct is empty. */
struct nvtx_open {
    struct nvtx_open_thread *threads;
    size_t thread_count, thread_capacity;
    struct mp_map by_thread; /* number -> threads */
    struct nvtx_match match; /* items: index of the thread, shifted by 32, and of its range */
};

/* Takes a row. *ended receives the range that the row ended; its `over` says whether there is one.
 * `ended` may be NULL. MP_OK, MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status nvtx_open_take(struct nvtx_open *open, const struct nvtx_event *event,
                              struct nvtx_open_range *ended);

/* The innermost range of a thread, by the trace's number of it; NULL: none is open. Valid until the
 * next call. */
const struct nvtx_open_range *nvtx_open_innermost(const struct nvtx_open *open, uint64_t thread);

/* Whether a thread has begun a range. */
bool nvtx_open_knows(const struct nvtx_open *open, uint64_t thread);

/* How many pushes and starts of a thread are open, or have ended but stand below an open one. */
size_t nvtx_open_depth(const struct nvtx_open *open, uint64_t thread);

void nvtx_open_free(struct nvtx_open *open);

#endif
