/*
 * profile.c: launches under CUPTI's range profiler, which makes each wait until its kernel has run
 * as often as the metrics need.
 */
#include "simgpu.h"

#include <unistd.h>

uint32_t sg_profiledPasses(const struct CUctx_st *context)
{
    const struct simgpu_hooks *hooks = __atomic_load_n(&simgpu_hooks, __ATOMIC_ACQUIRE);

    return hooks ? hooks->profiled_passes(context->id) : 0;
}

void sg_profileWait(CUstream stream, struct sg_span first, uint32_t passes)
{
    uint64_t end = first.start + (first.end - first.start) * passes;
    long sleeps = env_number("SIMGPU_PROFILER_SLEEP_MS", 0);

    if (stream->ready < end)
        stream->ready = end;
    sg_waitUntil(end);
    simgpu_profiled++;
    if (sleeps > 0) { /* without the lock, as a driver waits; the context may be gone then */
        pthread_mutex_unlock(&sg_lock);
        usleep((useconds_t)sleeps * 1000);
        pthread_mutex_lock(&sg_lock);
    }
}
