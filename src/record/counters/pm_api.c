/* Finds CUPTI's PM sampling functions at run time, in toolkits that have them. */
#include "record/counters/pm_api.h"

#include <dlfcn.h>

#include "base/poison.h"

/* Results as cupti_result.h of CUDA 13.0 numbers them. */
enum { RESULT_INVALID_OPERATION = 7 };

#define WAY_OUT_OLD                                                                                \
    "this CUPTI has no PM sampling: use CUDA 12.6 or later (MINIPROF_CUPTI names a library)"
#define WAY_OUT_SAMPLED                                                                            \
    "this process samples the GPU's counters already: end the other sampler (torch.profiler's "    \
    "CUPTI metrics, for one)"

enum mp_status pm_api_open(struct pm_api *api, const struct cupti_api *cupti,
                           struct mp_error *error)
{
    /* The reference is kept: CUPTI stays loaded for as long as the process lives. */
    void *library = dlopen(cupti->path, RTLD_NOLOAD | RTLD_LAZY);

#define PM_RESOLVE(field, symbol, parameters)                                                      \
    *(void **)&api->field = library ? dlsym(library, #symbol) : NULL;                              \
    if (!api->field)                                                                               \
        return mp_error_set(error, MP_ERR_UNSUPPORTED, WAY_OUT_OLD);
    PM_FUNCTIONS(PM_RESOLVE)
#undef PM_RESOLVE
    return profiler_api_open(&api->profiler, cupti, error);
}

enum mp_status pm_check(const struct pm_api *api, CUptiResult result, const char *what,
                        struct mp_error *error)
{
    if ((int)result == RESULT_INVALID_OPERATION)
        return mp_error_set(error, MP_ERR_UNSUPPORTED, WAY_OUT_SAMPLED);
    return profiler_check(&api->profiler, result, what, error);
}
