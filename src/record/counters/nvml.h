/* Readings of NVML, and GPM's metrics where the GPU has them, of one device, every 100 ms.
 *
 * Any user may read them. They are what is left where PM sampling cannot be had, and the only
 * source of power, temperatures and the reasons of low clocks. The sampling thread's.
 */
#ifndef MP_RECORD_COUNTERS_NVML_H
#define MP_RECORD_COUNTERS_NVML_H

#include <stdint.h>

#include "base/status.h"
#include "record/counters/samples.h"

/* ---- Functions ----
 *
 * NVIDIA's management library, found at run time: what any user may read of a GPU.
 *
 * The program need not have loaded it, and the recorder must not link it. Declared here because
 * toolkits do not always come with nvml.h; numbers and layouts are those of nvml.h of CUDA 13.0.
 * GPM (GPU performance monitoring) came with CUDA 12.0 and Hopper.
 */

enum {
    NVML_SUCCESS = 0,
    NVML_CLOCK_SM = 1, /* nvmlClockType_t */
    NVML_CLOCK_MEM = 2,
    NVML_TEMPERATURE_GPU = 0, /* nvmlTemperatureSensors_t */
    NVML_GPM_VERSION = 1,     /* of nvmlGpmSupport_t and nvmlGpmMetricsGet_t */
    /* nvmlClocksEventReason...: */
    NVML_REASONS_POWER = 0x4 | 0x80, /* SwPowerCap, HwPowerBrakeSlowdown */
    NVML_REASONS_HEAT = 0x20 | 0x40, /* SwThermalSlowdown, HwThermalSlowdown */
    NVML_MAX_GPM = 32                /* metrics that we ask for at a time */
};

typedef void *nvml_device;
typedef void *nvml_gpm_sample;

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_gpm_support {
    unsigned version;
    unsigned supported;
};

struct nvml_gpm_metric {
    unsigned id;
    int result;
    double value;
    const char *names[3]; /* short name, long name, unit */
};

/* The library reads as many metrics as `count` says. */
struct nvml_gpm_metrics {
    unsigned version;
    unsigned count;
    nvml_gpm_sample before, after;
    struct nvml_gpm_metric items[NVML_MAX_GPM];
};

/* F(field, symbol, parameters) */
#define NVML_FUNCTIONS(F)                                                                          \
    F(init, nvmlInit_v2, (void))                                                                   \
    F(find, nvmlDeviceGetHandleByPciBusId_v2, (const char *, nvml_device *))                       \
    F(power, nvmlDeviceGetPowerUsage, (nvml_device, unsigned *))                                   \
    F(clock, nvmlDeviceGetClockInfo, (nvml_device, int, unsigned *))                               \
    F(temperature, nvmlDeviceGetTemperature, (nvml_device, int, unsigned *))                       \
    F(memory, nvmlDeviceGetMemoryInfo, (nvml_device, struct nvml_memory *))                        \
    F(reasons, nvmlDeviceGetCurrentClocksEventReasons, (nvml_device, unsigned long long *))        \
    F(old_reasons, nvmlDeviceGetCurrentClocksThrottleReasons, (nvml_device, unsigned long long *)) \
    F(gpm_support, nvmlGpmQueryDeviceSupport, (nvml_device, struct nvml_gpm_support *))            \
    F(gpm_alloc, nvmlGpmSampleAlloc, (nvml_gpm_sample *))                                          \
    F(gpm_sample, nvmlGpmSampleGet, (nvml_device, nvml_gpm_sample))                                \
    F(gpm_metrics, nvmlGpmMetricsGet, (struct nvml_gpm_metrics *))

/* Functions that this library lacks are NULL. */
struct nvml_api {
#define NVML_FIELD(field, symbol, parameters) int(*field) parameters;
    NVML_FUNCTIONS(NVML_FIELD)
#undef NVML_FIELD
    const char *(*error_text)(int result);
};

/* MP_ERR_UNSUPPORTED, with what to do, when there is no library, or it does not start. */
enum mp_status nvml_api_open(struct nvml_api *api, struct mp_error *error);

/* ---- The sampler ---- */

struct nvml_sampler;

/* Takes what nobody measures yet, and enters it into `plan`; `reason` (static, or of a set) is why
 * nobody better measures what GPM does. NULL when NVML has none of it, or no memory is left.
 * `bus_id` is the device's. *error says in any case why NVML has no more. Whether GPM works shows
 * with its first sample only. */
struct nvml_sampler *nvml_open(const struct nvml_api *api, unsigned device, const char *bus_id,
                               struct sample_plan *plan, const char *reason,
                               struct mp_error *error);

/* Its sets, NULL for none; the caller publishes them. */
struct sample_set *nvml_readings(struct nvml_sampler *sampler);
struct sample_set *nvml_gpm(struct nvml_sampler *sampler);

/* From here on time is covered. */
void nvml_start(struct nvml_sampler *sampler);

/* Reads if 100 ms have passed; `last`: the time ends here, so readings cover it to now. */
void nvml_tick(struct nvml_sampler *sampler, struct sample_store *store, bool last);

#endif
