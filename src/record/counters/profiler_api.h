/* CUPTI's host and range profiling API: counters of the GPU, by name.
 *
 * Declared here because CUPTI's own header for the host half is C++ (it includes <string>) and
 * because toolkits before CUDA 12.6 have neither; the recorder builds with any toolkit and looks
 * the functions up at run time. Each struct begins with its size as CUPTI counts it: up to the end
 * of its last field. Facts from cupti_profiler_host.h, cupti_range_profiler.h,
 * cupti_profiler_target.h and cupti_target.h of CUDA 13.0; the software GPU is built with those
 * headers and refuses other sizes.
 */
#ifndef MP_RECORD_COUNTERS_PROFILER_API_H
#define MP_RECORD_COUNTERS_PROFILER_API_H

#include <cuda.h>
#include <cupti_result.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "record/cupti/cupti_api.h"

#define PROFILER_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* Values of CUPTI's enumerations. */
enum {
    PROFILER_RANGE_PROFILING = 0, /* CUpti_Profiler_API, CUpti_ProfilerType */
    PROFILER_UNSUPPORTED = 1,     /* CUpti_Profiler_Support_Level */
    PROFILER_DISABLED = 2,
    PROFILER_SUPPORTED = 3,
    PROFILER_AUTO_RANGE = 1,    /* CUpti_ProfilerRange */
    PROFILER_KERNEL_REPLAY = 2, /* CUpti_ProfilerReplayMode */
    PROFILER_METRIC_TYPES = 3   /* CUpti_MetricType: counter, ratio, throughput */
};

struct profiler_initialize {
    size_t size;
    void *reserved;
};

struct profiler_support {
    size_t size;
    void *reserved;
    CUdevice device;
    int supported; /* levels, from here to wsl */
    int architecture;
    int sli;
    int vgpu;
    int confidential;
    int cmp;
    int wsl;
    int api;
};

struct profiler_chip {
    size_t size;
    void *reserved;
    size_t device;
    const char *name;
};

struct profiler_availability {
    size_t size;
    void *reserved;
    CUcontext context;
    size_t image_bytes;
    uint8_t *image;
};

struct profiler_host_open {
    size_t size;
    void *reserved;
    int type;
    const char *chip;
    const uint8_t *availability;
    void *host;
};

struct profiler_host_close {
    size_t size;
    void *reserved;
    void *host;
};

struct profiler_base_metrics {
    size_t size;
    void *reserved;
    void *host;
    int type;
    const char **names;
    size_t count;
};

struct profiler_properties {
    size_t size;
    void *reserved;
    void *host;
    const char *name;
    const char *description;
    const char *hardware_unit;
    const char *dimension;
    int type;
};

struct profiler_add {
    size_t size;
    void *reserved;
    void *host;
    const char **names;
    size_t count;
};

struct profiler_config_size {
    size_t size;
    void *reserved;
    void *host;
    size_t bytes;
};

struct profiler_config {
    size_t size;
    void *reserved;
    void *host;
    size_t bytes;
    uint8_t *image;
};

struct profiler_passes {
    size_t size;
    void *reserved;
    size_t bytes;
    uint8_t *image;
    size_t passes;
};

struct profiler_evaluate {
    size_t size;
    void *reserved;
    void *host;
    const uint8_t *counters;
    size_t bytes;
    size_t range;
    const char **names;
    size_t count;
    double *values;
};

struct profiler_enable {
    size_t size;
    void *reserved;
    CUcontext context;
    void *object;
};

/* Disable, Start and DecodeData (which fills in `dropped`) take no more than the object. */
struct profiler_object {
    size_t size;
    void *reserved;
    void *object;
    size_t dropped;
};

struct profiler_stop {
    size_t size;
    void *reserved;
    void *object;
    size_t pass;
    size_t nesting;
    uint8_t complete;
};

struct profiler_counters_size {
    size_t size;
    void *reserved;
    void *object;
    const char **names;
    size_t count;
    size_t ranges;
    uint32_t nodes;
    size_t bytes;
};

struct profiler_counters {
    size_t size;
    void *reserved;
    void *object;
    size_t bytes;
    uint8_t *counters;
};

struct profiler_set_config {
    size_t size;
    void *reserved;
    void *object;
    size_t config_bytes;
    const uint8_t *config;
    size_t counters_bytes;
    uint8_t *counters;
    int range;
    int replay;
    size_t ranges;
    uint16_t nesting_levels;
    uint16_t min_nesting;
    size_t pass;
    uint16_t nesting;
};

struct profiler_counters_info {
    size_t size;
    void *reserved;
    const uint8_t *counters;
    size_t bytes;
    size_t ranges;
};

/* F(field, symbol, parameters) */
#define PROFILER_FUNCTIONS(F)                                                                      \
    F(initialize, cuptiProfilerInitialize, struct profiler_initialize)                             \
    F(support, cuptiProfilerDeviceSupported, struct profiler_support)                              \
    F(chip, cuptiDeviceGetChipName, struct profiler_chip)                                          \
    F(availability, cuptiProfilerGetCounterAvailability, struct profiler_availability)             \
    F(host_open, cuptiProfilerHostInitialize, struct profiler_host_open)                           \
    F(host_close, cuptiProfilerHostDeinitialize, struct profiler_host_close)                       \
    F(base_metrics, cuptiProfilerHostGetBaseMetrics, struct profiler_base_metrics)                 \
    F(properties, cuptiProfilerHostGetMetricProperties, struct profiler_properties)                \
    F(add, cuptiProfilerHostConfigAddMetrics, struct profiler_add)                                 \
    F(config_size, cuptiProfilerHostGetConfigImageSize, struct profiler_config_size)               \
    F(config, cuptiProfilerHostGetConfigImage, struct profiler_config)                             \
    F(passes, cuptiProfilerHostGetNumOfPasses, struct profiler_passes)                             \
    F(evaluate, cuptiProfilerHostEvaluateToGpuValues, struct profiler_evaluate)                    \
    F(enable, cuptiRangeProfilerEnable, struct profiler_enable)                                    \
    F(disable, cuptiRangeProfilerDisable, struct profiler_object)                                  \
    F(start, cuptiRangeProfilerStart, struct profiler_object)                                      \
    F(stop, cuptiRangeProfilerStop, struct profiler_stop)                                          \
    F(decode, cuptiRangeProfilerDecodeData, struct profiler_object)                                \
    F(counters_size, cuptiRangeProfilerGetCounterDataSize, struct profiler_counters_size)          \
    F(counters_open, cuptiRangeProfilerCounterDataImageInitialize, struct profiler_counters)       \
    F(set_config, cuptiRangeProfilerSetConfig, struct profiler_set_config)                         \
    F(counters_info, cuptiRangeProfilerGetCounterDataInfo, struct profiler_counters_info)

struct profiler_api {
#define PROFILER_FIELD(field, symbol, parameters) CUptiResult (*field)(parameters *);
    PROFILER_FUNCTIONS(PROFILER_FIELD)
#undef PROFILER_FIELD
    const struct cupti_api *cupti;
};

/* Looks the functions up in the loaded CUPTI and starts its profiling half, which takes 60 ms on an
 * H100. Call it when cuInit has finished. MP_ERR_UNSUPPORTED with the reason. */
enum mp_status profiler_api_open(struct profiler_api *api, const struct cupti_api *cupti,
                                 struct mp_error *error);

/* MP_OK, or MP_ERR_UNSUPPORTED with one line that says why counters cannot be read and what to do.
 * `what` is the call that failed. */
enum mp_status profiler_check(const struct profiler_api *api, CUptiResult result, const char *what,
                              struct mp_error *error);

/* Whether counters of this device can be read in the way `how` (CUpti_Profiler_API); else the
 * reason in *error. */
enum mp_status profiler_device_check(const struct profiler_api *api, CUdevice device, int how,
                                     struct mp_error *error);

/* ---- Evaluation on the host ----
 *
 * Objects of CUPTI's host API: names of metrics on one chip, and what the GPU is to count.
 *
 * An object that refused a name is of no further use, and to free it is dangerous: quirk
 * `refused_name`.
 */

struct profiler_chip_info {
    const struct profiler_api *api;
    int type; /* PROFILER_RANGE_PROFILING, or that of PM sampling */
    const char *name;
    uint8_t *availability; /* what the GPU can count now, owned; or NULL */
};

/* A new object without metrics; NULL in *host unless it succeeds. */
CUptiResult profiler_host_open(const struct profiler_chip_info *chip, void **host);

/* Frees the object, if there is one, and forgets it. */
void profiler_host_close(const struct profiler_api *api, void **host);

/* Gives the object names. If it refuses one, it is forgotten (*host is NULL) and never freed. */
CUptiResult profiler_host_add(const struct profiler_api *api, void **host, const char **names,
                              size_t count);

/* What CUPTI knows about a metric; false when this chip has no metric of that name. */
bool profiler_host_look_up(const struct profiler_api *api, void *host, const char *name,
                           struct profiler_properties *about);

/* What the GPU is to count, owned by the caller, and in how many passes it counts that. */
enum mp_status profiler_host_config(const struct profiler_api *api, void *host, uint8_t **config,
                                    size_t *bytes, size_t *passes, struct mp_error *error);

#endif
