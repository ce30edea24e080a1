/* Connects the recorder with the preloaded library, and takes what that tells of host functions.
 */
#include "record/cupti/host_functions.h"

#include <dlfcn.h>

#include "base/preload.h"
#include "record/core/clock.h"
#include "record/core/state.h"

#include "base/poison.h"

void host_functions_open(struct recorder *recorder)
{
    struct mp_preload *preload = dlsym(RTLD_DEFAULT, MP_PRELOAD_SYMBOL);

    if (preload && preload->version == MP_PRELOAD_VERSION && preload->launching &&
        recorder->config.gpu == MP_SWITCH_ON)
        recorder->host_functions.preload = preload;
}

uint64_t host_functions_lost(const struct recorder *recorder)
{
    struct mp_preload *preload = recorder ? recorder->host_functions.preload : NULL;

    return preload ? atomic_load(&preload->host_functions_lost) : 0;
}

bool host_functions_by_cupti(const struct recorder *recorder)
{
    return !recorder->host_functions.preload && recorder->config.gpu == MP_SWITCH_ON &&
           recorder->cupti.version >= MP_CUPTI_SINCE_HOST_FUNCTIONS;
}

/* On the driver's thread that ran the function. What was launched while nothing was recorded has no
 * ids. */
static void take(const struct mp_preload_host_function *function)
{
    struct recorder *recorder = mp_recorder;
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

    if (!recorder_is_recording(recorder) || (!function->node && !function->correlation))
        return;
    if (function->node) {
        entry.kind = CALL_ENTRY_HOST_NODE;
        entry.correlation = 0;
        entry.context = (uint32_t)(function->node >> 32);
        entry.stream = (uint32_t)function->node;
    }
    log = call_log_mine(&recorder->logs);
    if (log && call_log_put(log, &entry))
        work_wake(&recorder->work);
}

void host_functions_go(struct recorder *recorder)
{
    struct mp_preload *preload = recorder->host_functions.preload;

    if (!preload)
        return;
    if (mp_clock_is_virtual())
        atomic_store(&preload->clock, mp_clock_now);
    atomic_store(&preload->host_function, take);
}
