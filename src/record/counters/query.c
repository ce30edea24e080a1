/* MINIPROF_QUERY=metrics: asks each device which metrics it has, and writes the answers as rows of
 * a trace.
 */
#include "record/counters/query.h"

#include <string.h>

#include "base/log.h"
#include "record/counters/plan.h"
#include "record/counters/profiling.h"
#include "record/cupti/gpu.h"

#include "base/poison.h"

#define EVERYTHING "all,events"

static enum mp_status ask_device(struct profiling *profiling, struct gpu *gpu, CUdevice device,
                                 CUcontext context, struct mp_error *error)
{
    struct profiled_launch *definition;
    struct metric_plan *plan;

    if (!profiling->api_open)
        MP_TRY(profiler_api_open(&profiling->api, &gpu->cupti, error));
    profiling->api_open = true;
    MP_TRY(metric_plan_build(&plan, &profiling->api, EVERYTHING, device, context, true, error));
    if (gpu->driver.get_name)
        gpu->driver.get_name(plan->device_name, sizeof(plan->device_name), device);
    plan->device_name[sizeof(plan->device_name) - 1] = '\0';
    if (strstr(gpu->core.config.metrics, "raw"))
        metric_plan_add_base(plan);
    definition = profiled_new(plan, "");
    if (definition)
        profiled_put(&profiling->profiled, definition);
    return MP_OK;
}

void metric_query_ask(struct profiling *profiling, struct gpu *gpu, CUcontext context)
{
    struct call_log *log = call_log_mine(&gpu->core.logs);
    struct mp_error error;
    CUdevice device = 0;

    if (!log || !gpu->driver.get_device)
        return;
    log->busy = true; /* calls made by CUPTI are not recorded */
    if (gpu->driver.get_device(&device) == CUDA_SUCCESS &&
        ask_device(profiling, gpu, device, context, &error) != MP_OK)
        mp_log_error("device %d: %s", (int)device, error.text);
    log->busy = false;
}
