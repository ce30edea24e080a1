/* Which kernel an API call launched, for calls that are read in order of time.
 *
 * A kernel begins after its launch; how long after depends on the depth of the device's queues. So
 * its row is searched ahead of the calls, in a window over the table `kernel`: the chunks that may
 * hold kernels of later calls. If a call's kernel is not in the window, the window grows, to at
 * most LAUNCHES_AHEAD kernels that begin after the call. Kernels that ended before the call leave
 * it. A channel of the device holds 1024 launches, so the window has room for some 250 full
 * channels.
 *
 * Memory: 48 bytes a chunk, and 24 to 50 bytes for each kernel in the window (a map and a list).
 * This is at most 13 MB, apart from kernels that overlap the call itself, whatever the size of the
 * trace. Kernels of CUDA graphs are not in the window, because one graph launch starts many.
 */
#ifndef MP_PROFILE_NAMES_LAUNCHES_H
#define MP_PROFILE_NAMES_LAUNCHES_H

#include <miniprof/trace.h>

#include "base/status.h"

#define LAUNCHES_AHEAD (1u << 18)

struct launches;

/* Reads the chunk headers. *launches is the caller's to close, before the trace. MP_ERR_IO,
 * MP_ERR_MEMORY. */
enum mp_status launches_open(struct mp_trace *trace, struct launches **launches,
                             struct mp_error *error);

/* NULL is allowed. */
void launches_close(struct launches *launches);

/* The launch shape of the kernel with this correlation id, launched by a call that began at `time`;
 * 0 when there is none. Times must not go back from call to call. Damaged chunks are passed over.
 * MP_ERR_IO, MP_ERR_MEMORY. */
enum mp_status launches_find(struct launches *launches, uint64_t correlation, uint64_t time,
                             uint64_t *shape);

/* Greatest number of kernels that were in the window at the same time. */
size_t launches_max(const struct launches *launches);

#endif
