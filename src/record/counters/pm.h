/* PM sampling of one device: the counters that fit into one pass, set up, started, emptied.
 *
 * The sampling thread's. Times of samples come from CUPTI, whose clock need not be ours although
 * ours is registered: pm_drain finds out which clock it is, and moves the times to the trace's.
 */
#ifndef MP_RECORD_COUNTERS_PM_H
#define MP_RECORD_COUNTERS_PM_H

#include "record/counters/profiler_api.h"
#include "record/counters/samples.h"

/* ---- Functions ----
 *
 * CUPTI's PM sampling: counters of a device at a fixed rate, without running kernels again.
 *
 * Declared here for the reasons that counters/profiler_api.h gives. The structs follow
 * cupti_pmsampling.h of CUDA 13.0 (the API came with 12.6); the software GPU is built with that
 * header and refuses other sizes. Each struct begins with its size up to its last field.
 *
 *     enable -> set_config -> counters_size -> blank -> start
 *        { decode -> info -> sample, evaluate for each -> blank } ... -> stop, decode -> disable
 */

/* Values of CUPTI's enumerations. */
enum {
    PM_PROFILER_TYPE = 1,  /* CUpti_ProfilerType: PM_SAMPLING */
    PM_SAMPLING_API = 3,   /* CUpti_Profiler_API: PM_SAMPLING */
    PM_TRIGGER_CYCLES = 0, /* CUpti_PmSampling_TriggerMode: GPU_SYSCLK_INTERVAL */
    PM_TRIGGER_TIME = 1,   /* GPU_TIME_INTERVAL, in ns; not on Turing and GA100 */
    PM_KEEP_OLDEST = 0,    /* CUpti_PmSampling_HardwareBuffer_AppendMode */
    PM_KEEP_LATEST = 1,    /* not on Turing */
    PM_STOPPED_FULL = 1    /* CUpti_PmSampling_DecodeStopReason: COUNTER_DATA_FULL */
};

/* Enable, Disable, Start and Stop. Disable, Start and Stop lack the device. */
struct pm_enable {
    size_t size;
    void *reserved;
    size_t device;
    void *object;
};

struct pm_object {
    size_t size;
    void *reserved;
    void *object;
};

struct pm_set_config {
    size_t size;
    void *reserved;
    void *object;
    size_t config_bytes;
    const uint8_t *config;
    size_t hardware_bytes;
    uint64_t interval;
    int trigger;
    int keep;
};

struct pm_counters_size {
    size_t size;
    void *reserved;
    void *object;
    const char **names;
    size_t count;
    uint32_t samples;
    size_t bytes;
};

struct pm_blank {
    size_t size;
    void *reserved;
    void *object;
    size_t bytes;
    uint8_t *counters;
};

struct pm_decode {
    size_t size;
    void *reserved;
    void *object;
    uint8_t *counters;
    size_t bytes;
    int stopped;
    uint8_t overflow;
};

struct pm_availability {
    size_t size;
    void *reserved;
    size_t device;
    size_t image_bytes;
    uint8_t *image;
};

struct pm_info {
    size_t size;
    void *reserved;
    const uint8_t *counters;
    size_t bytes;
    size_t total;
    size_t populated;
    size_t completed;
};

struct pm_sample {
    size_t size;
    void *reserved;
    void *object;
    const uint8_t *counters;
    size_t bytes;
    size_t index;
    uint64_t start;
    uint64_t end;
};

/* F(field, symbol, parameters) */
#define PM_FUNCTIONS(F)                                                                            \
    F(availability, cuptiPmSamplingGetCounterAvailability, struct pm_availability)                 \
    F(enable, cuptiPmSamplingEnable, struct pm_enable)                                             \
    F(disable, cuptiPmSamplingDisable, struct pm_object)                                           \
    F(set_config, cuptiPmSamplingSetConfig, struct pm_set_config)                                  \
    F(counters_size, cuptiPmSamplingGetCounterDataSize, struct pm_counters_size)                   \
    F(blank, cuptiPmSamplingCounterDataImageInitialize, struct pm_blank)                           \
    F(start, cuptiPmSamplingStart, struct pm_object)                                               \
    F(stop, cuptiPmSamplingStop, struct pm_object)                                                 \
    F(decode, cuptiPmSamplingDecodeData, struct pm_decode)                                         \
    F(info, cuptiPmSamplingGetCounterDataInfo, struct pm_info)                                     \
    F(sample, cuptiPmSamplingCounterDataGetSampleInfo, struct pm_sample)

struct pm_api {
#define PM_FIELD(field, symbol, parameters) CUptiResult (*field)(parameters *);
    PM_FUNCTIONS(PM_FIELD)
#undef PM_FIELD
    struct profiler_api profiler; /* the half that names metrics and works values out */
};

/* MP_ERR_UNSUPPORTED with the reason: an older CUPTI has no PM sampling. */
enum mp_status pm_api_open(struct pm_api *api, const struct cupti_api *cupti,
                           struct mp_error *error);

/* ---- The sampler ---- */

struct pm_sampler;

/* Chooses what CUPTI can count together of the requests that nobody measures yet, in their order,
 * and enters it into `plan`. MP_ERR_UNSUPPORTED with the reason; *made is then NULL. It is also
 * NULL when CUPTI has none of them. With `only_listed` nothing is set up: the set tells what there
 * is. Takes up to hundreds of ms. */
enum mp_status pm_open(struct pm_sampler **made, const struct pm_api *api, unsigned device,
                       uint64_t interval, struct sample_plan *plan, bool only_listed,
                       struct mp_error *error);

/* Of the sampler; the caller publishes it. */
struct sample_set *pm_set(struct pm_sampler *sampler);

enum mp_status pm_start(struct pm_sampler *sampler, struct mp_error *error);

/* Hands over the samples that there are. */
void pm_drain(struct pm_sampler *sampler, struct sample_store *store);

/* Stops, and hands over the last samples. */
void pm_stop(struct pm_sampler *sampler, struct sample_store *store);

bool pm_is_running(const struct pm_sampler *sampler);

#endif
