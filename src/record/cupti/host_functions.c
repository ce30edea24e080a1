/* Connects the recorder with the preloaded library, and takes what that tells of host functions.
 */
#include "record/cupti/host_functions.h"

#include <dlfcn.h>

#include "base/preload.h"
#include "record/core/clock.h"
#include "record/cupti/gpu.h"
#include "record/cupti/layout.h"

#include "base/poison.h"

void host_functions_open(struct gpu *gpu)
{
    struct mp_preload *preload = dlsym(RTLD_DEFAULT, MP_PRELOAD_SYMBOL);

    if (preload && preload->version == MP_PRELOAD_VERSION && preload->launching &&
        gpu->core.config.gpu == MP_SWITCH_ON)
        gpu->host_functions.preload = preload;
}

uint64_t host_functions_lost(const struct gpu *gpu)
{
    struct mp_preload *preload = gpu ? gpu->host_functions.preload : NULL;

    return preload ? atomic_load(&preload->host_functions_lost) : 0;
}

bool host_functions_by_cupti(const struct gpu *gpu)
{
    return !gpu->host_functions.preload && gpu->core.config.gpu == MP_SWITCH_ON &&
           gpu->cupti.version >= MP_CUPTI_SINCE_HOST_FUNCTIONS;
}

/* Of `take`, which gets no argument of ours. Written before the library may call it. */
static struct gpu *functions_of;

/* On the driver's thread that ran the function. What was launched while nothing was recorded has no
 * ids. */
static void take(const struct mp_preload_host_function *function)
{
    struct gpu *gpu = functions_of;
    struct call_log *log;
    struct call_entry entry = {
        .kind = CALL_ENTRY_HOST_FUNCTION,
        .start = function->begin,
        .end = function->end,
        .event = function->function,
        .correlation = function->correlation,
        .context = function->context,
        .stream = function->stream,
    };

    if (!core_is_recording(&gpu->core) || (!function->node && !function->correlation))
        return;
    if (function->node) {
        entry.kind = CALL_ENTRY_HOST_NODE;
        entry.correlation = 0;
        entry.context = (uint32_t)(function->node >> 32);
        entry.stream = (uint32_t)function->node;
    }
    log = call_log_mine(&gpu->core.logs);
    if (log && call_log_put(log, &entry))
        work_wake(&gpu->core.work);
}

void host_functions_go(struct gpu *gpu)
{
    struct mp_preload *preload = gpu->host_functions.preload;

    if (!preload)
        return;
    functions_of = gpu;
    if (mp_clock_is_virtual())
        atomic_store(&preload->clock, mp_clock_now);
    atomic_store(&preload->host_function, take);
}
