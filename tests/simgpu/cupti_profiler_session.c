/*
 * cupti_profiler_session.c: kernels under a started range profiler.
 *
 * The driver asks how often a kernel has to run and lets the launch wait for it (profile.c); the
 * kernel's record, on its way to the client, becomes a range here. A graph's launch is one range
 * with nothing measured and leaves one kernel record: so does CUPTI 13.0 on an H100.
 */
#include "cupti_profiler.h"

#include <stdlib.h>

struct CUpti_RangeProfiler_Object *ct_profilers;

static struct CUpti_RangeProfiler_Object *find_started(uint32_t context)
{
    struct CUpti_RangeProfiler_Object *object = ct_profilers;

    while (object && (object->context != context || !object->started))
        object = object->next;
    return object;
}

uint32_t ct_profiledPasses(uint32_t context)
{
    const struct CUpti_RangeProfiler_Object *object;
    uint32_t passes;

    pthread_mutex_lock(&ct_lock);
    object = find_started(context);
    passes = object ? object->passes : 0;
    pthread_mutex_unlock(&ct_lock);
    return passes;
}

static struct ct_range measure(const struct simgpu_activity *activity)
{
    const struct simgpu_kernel *kernel = &activity->kernel;
    uint64_t blocks = (uint64_t)kernel->grid[0] * kernel->grid[1] * kernel->grid[2];
    uint64_t block = (uint64_t)kernel->block[0] * kernel->block[1] * kernel->block[2];

    return (struct ct_range){.duration = activity->end - activity->start,
                             .threads = blocks * block,
                             .warps = blocks * ((block + 31) / 32),
                             .is_graph = activity->graph != 0};
}

/* Launches beyond the most ranges of a pass have none, and nobody is told. */
static void add_range(struct CUpti_RangeProfiler_Object *object, struct ct_range range)
{
    if (object->count == object->capacity)
        return;
    range.name = object->next_name++;
    object->ranges[object->count++] = range;
}

enum ct_profiled ct_profile(struct simgpu_activity *activity)
{
    struct CUpti_RangeProfiler_Object *object;
    bool known_graph;

    if (activity->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
        return CT_NOT_PROFILED;
    object = find_started(activity->context);
    if (!object)
        return CT_NOT_PROFILED;
    known_graph = activity->graph && activity->graph == object->graph &&
                  activity->correlation == object->graph_correlation;
    if (known_graph)
        return CT_PROFILED_BEFORE;
    object->graph = activity->graph;
    object->graph_correlation = activity->correlation;
    add_range(object, measure(activity));
    activity->start = activity->end = 0;
    return CT_PROFILED;
}

void ct_profilerFree(struct CUpti_RangeProfiler_Object *object)
{
    struct CUpti_RangeProfiler_Object **link = &ct_profilers;

    while (*link != object)
        link = &(*link)->next;
    *link = object->next;
    free(object->ranges);
    free(object);
}

void ct_profilerReset(void)
{
    pthread_mutex_lock(&ct_lock);
    while (ct_profilers)
        ct_profilerFree(ct_profilers);
    pthread_mutex_unlock(&ct_lock);
}
