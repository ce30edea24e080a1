/* Finds CUPTI's host and range profiling functions at run time, in toolkits that have them. */
#include "record/counters/profiler_api.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

/* Results that older headers do not name, from cupti_result.h of CUDA 13.0. */
enum {
    RESULT_HARDWARE_BUSY = 26,
    RESULT_NOT_SUPPORTED = 27,
    RESULT_VIRTUALIZED = 33,
    RESULT_PRIVILEGES = 35,
    RESULT_OLD_API = 36,
    RESULT_VIRTUALIZED_PRIVILEGES = 40,
    RESULT_CONFIDENTIAL = 41,
    RESULT_CMP = 42,
    RESULT_MIG = 43,
    RESULT_SLI = 44,
    RESULT_WSL = 45
};

#define WAY_OUT_PRIVILEGES                                                                         \
    "this user may not read the GPU's counters: run as root, or load the nvidia module with "      \
    "NVreg_RestrictProfilingToAdminUsers=0"
#define WAY_OUT_VGPU                                                                               \
    "counters are not enabled for this vGPU: have enable_profiling=1 set for it on the host, or "  \
    "use a whole GPU"
#define WAY_OUT_CONFIDENTIAL                                                                       \
    "confidential computing hides the GPU's counters: profile with it switched off"
#define WAY_OUT_MIG "counters cannot be read on this MIG slice: use a whole GPU"
#define WAY_OUT_SLI "counters cannot be read while SLI is on: switch it off"
#define WAY_OUT_CMP "this is a mining GPU (CMP), which has no readable counters"
#define WAY_OUT_WSL "WSL does not give access to the counters here: use Linux itself"
#define WAY_OUT_OLD                                                                                \
    "this CUPTI has no range profiler: use CUDA 12.6 or later (MINIPROF_CUPTI names a library)"
#define WAY_OUT_BUSY                                                                               \
    "another program holds the GPU's counters: end it (ncu, nsys with GPU metrics), or pause "     \
    "DCGM with `dcgmi profile --pause`"

static const struct {
    int result;
    const char *text;
} reasons[] = {
    {RESULT_HARDWARE_BUSY, WAY_OUT_BUSY},
    {RESULT_VIRTUALIZED, WAY_OUT_VGPU},
    {RESULT_PRIVILEGES, WAY_OUT_PRIVILEGES},
    {RESULT_OLD_API, "the program uses CUPTI's old event API, which excludes the profiler"},
    {RESULT_VIRTUALIZED_PRIVILEGES, WAY_OUT_VGPU},
    {RESULT_CONFIDENTIAL, WAY_OUT_CONFIDENTIAL},
    {RESULT_CMP, WAY_OUT_CMP},
    {RESULT_MIG, WAY_OUT_MIG},
    {RESULT_SLI, WAY_OUT_SLI},
    {RESULT_WSL, WAY_OUT_WSL},
};

enum mp_status profiler_check(const struct profiler_api *api, CUptiResult result, const char *what,
                              struct mp_error *error)
{
    if (result == CUPTI_SUCCESS)
        return MP_OK;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].result == (int)result)
            return mp_error_set(error, MP_ERR_UNSUPPORTED, "%s", reasons[i].text);
    return mp_error_set(error, MP_ERR_UNSUPPORTED, "%s: %s", what,
                        cupti_result_text(api->cupti, result));
}

enum mp_status profiler_api_open(struct profiler_api *api, const struct cupti_api *cupti,
                                 struct mp_error *error)
{
    struct profiler_initialize start = {.size =
                                            PROFILER_SIZE(struct profiler_initialize, reserved)};
    /* The reference is kept: CUPTI stays loaded for as long as the process lives. */
    void *library = dlopen(cupti->path, RTLD_NOLOAD | RTLD_LAZY);
    CUptiResult result;

    memset(api, 0, sizeof(*api));
    api->cupti = cupti;
    if (!library)
        return mp_error_set(error, MP_ERR_UNSUPPORTED, "'%.120s' cannot be opened again",
                            cupti->path);
#define PROFILER_RESOLVE(field, symbol, parameters)                                                \
    *(void **)&api->field = dlsym(library, #symbol);                                               \
    if (!api->field)                                                                               \
        return mp_error_set(error, MP_ERR_UNSUPPORTED, WAY_OUT_OLD);
    PROFILER_FUNCTIONS(PROFILER_RESOLVE)
#undef PROFILER_RESOLVE
    result = api->initialize(&start);
    if ((int)result == RESULT_NOT_SUPPORTED)
        return mp_error_set(error, MP_ERR_UNSUPPORTED, WAY_OUT_OLD);
    return profiler_check(api, result, "CUPTI's profiler does not start", error);
}

enum mp_status profiler_device_check(const struct profiler_api *api, CUdevice device, int how,
                                     struct mp_error *error)
{
    struct profiler_support support = {
        .size = PROFILER_SIZE(struct profiler_support, api),
        .device = device,
        .api = how,
    };
    const struct {
        const int *level;
        const char *text;
    } causes[] = {
        {&support.architecture, "this GPU is older than compute capability 7.0: nvprof serves it"},
        {&support.vgpu, WAY_OUT_VGPU},
        {&support.confidential, WAY_OUT_CONFIDENTIAL},
        {&support.sli, WAY_OUT_SLI},
        {&support.cmp, WAY_OUT_CMP},
        {&support.wsl, WAY_OUT_WSL},
    };

    MP_TRY(profiler_check(api, api->support(&support), "CUPTI does not know this GPU", error));
    if (support.supported != PROFILER_UNSUPPORTED && support.supported != PROFILER_DISABLED)
        return MP_OK;
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
        if (*causes[i].level == PROFILER_UNSUPPORTED || *causes[i].level == PROFILER_DISABLED)
            return mp_error_set(error, MP_ERR_UNSUPPORTED, "%s", causes[i].text);
    return mp_error_set(error, MP_ERR_UNSUPPORTED, "CUPTI cannot profile this GPU");
}

/* ---- CUPTI's host objects, which evaluate ---- */

CUptiResult profiler_host_open(const struct profiler_chip_info *chip, void **host)
{
    struct profiler_host_open open = {
        .size = PROFILER_SIZE(struct profiler_host_open, host),
        .type = chip->type,
        .chip = chip->name,
        .availability = chip->availability,
    };
    CUptiResult result = chip->api->host_open(&open);

    *host = result == CUPTI_SUCCESS ? open.host : NULL;
    return result;
}

void profiler_host_close(const struct profiler_api *api, void **host)
{
    struct profiler_host_close close = {
        .size = PROFILER_SIZE(struct profiler_host_close, host),
        .host = *host,
    };

    if (*host)
        api->host_close(&close);
    *host = NULL;
}

CUptiResult profiler_host_add(const struct profiler_api *api, void **host, const char **names,
                              size_t count)
{
    struct profiler_add add = {
        .size = PROFILER_SIZE(struct profiler_add, count),
        .host = *host,
        .names = names,
        .count = count,
    };
    CUptiResult result = api->add(&add);

    if (result != CUPTI_SUCCESS)
        *host = NULL;
    return result;
}

bool profiler_host_look_up(const struct profiler_api *api, void *host, const char *name,
                           struct profiler_properties *about)
{
    *about = (struct profiler_properties){
        .size = PROFILER_SIZE(struct profiler_properties, type),
        .host = host,
        .name = name,
    };
    return host && api->properties(about) == CUPTI_SUCCESS;
}

enum mp_status profiler_host_config(const struct profiler_api *api, void *host, uint8_t **config,
                                    size_t *bytes, size_t *passes, struct mp_error *error)
{
    struct profiler_config_size size = {.size = PROFILER_SIZE(struct profiler_config_size, bytes),
                                        .host = host};
    struct profiler_config image = {.size = PROFILER_SIZE(struct profiler_config, image),
                                    .host = host};
    struct profiler_passes count = {.size = PROFILER_SIZE(struct profiler_passes, passes)};
    const char *what = "CUPTI cannot count these metrics";

    MP_TRY(profiler_check(api, api->config_size(&size), what, error));
    *config = malloc(size.bytes + 1);
    if (!*config)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for the metrics");
    *bytes = image.bytes = count.bytes = size.bytes;
    image.image = count.image = *config;
    MP_TRY(profiler_check(api, api->config(&image), what, error));
    MP_TRY(profiler_check(api, api->passes(&count), what, error));
    *passes = count.passes;
    return MP_OK;
}
