/*
 * cupti_profiler.h: the inside of the range profiler.
 *
 *   cupti_profiler_target.c   start-up, what the device supports        exported API
 *   cupti_profiler_host.c     names, configuration, values              exported API
 *   cupti_profiler_range.c    range profiler objects, counter data      exported API
 *   cupti_pm.c                PM sampling: counters over time           exported API
 *   cupti_profiler_session.c  what the driver asks and tells            <- kernels
 *   cupti_profiler_metrics.c  the known metrics and their values        cupti_profiler_metrics.def
 *
 * The first three need headers of CUDA 12.6 or later and are left out otherwise (simgpu.mk).
 *
 * A launch under a started profiler becomes a struct ct_range, which DecodeData copies into the
 * client's counter data image; values are worked out when the client asks for them. All images are
 * plain bytes at any address, so that a client may copy them.
 */
#ifndef SIMGPU_CUPTI_PROFILER_H
#define SIMGPU_CUPTI_PROFILER_H

#include "cupti_internal.h"

#define CT_CHIP                      "GH100"
#define CT_METRIC_WORDS              4 /* of 64 metrics each */
#define CT_HARDWARE_METRICS_PER_PASS 4

/* ---- cupti_profiler_metrics.c ---- */

enum ct_metric_type { CT_COUNTER, CT_RATIO, CT_THROUGHPUT, CT_METRIC_TYPES }; /* CUpti_MetricType */

struct ct_metric {
    const char *name; /* base name */
    enum ct_metric_type type;
    uint32_t position;
    const char *dimension, *per_second, *per_cycle;
};

/* A set of metrics by their base names, and which of them need a pass of their own. */
struct ct_metric_set {
    uint64_t members[CT_METRIC_WORDS];
    uint64_t costly[CT_METRIC_WORDS];
};

/* What was measured of one launch; a graph's launch yields zeros. */
struct ct_range {
    uint64_t name;
    uint64_t duration; /* ns */
    uint64_t threads;
    uint64_t warps;
    uint64_t is_graph;
};

/* The metric that `name` is of, with or without suffix; NULL when there is none. `suffix` then
 * points at ".sum" and so on within `name`, or at its end. */
const struct ct_metric *ct_metricFind(const char *name, const char **suffix);
const char *ct_metricUnit(const struct ct_metric *metric);
const char *ct_metricDimension(const struct ct_metric *metric, const char *suffix);
double ct_metricValue(const struct ct_metric *metric, const char *suffix,
                      const struct ct_range *range);
/* All base names of a type; static. */
const char **ct_metricNames(enum ct_metric_type type, size_t *count);
/* All suffixes that the metrics of a type take; static. */
const char **ct_metricSuffixes(enum ct_metric_type type, size_t *count);

/* Adds names; false, with the set as it was, if one is unknown or has no suffix. */
bool ct_metricsAdd(struct ct_metric_set *set, const char *const *names, size_t count);
bool ct_metricsHave(const struct ct_metric_set *set, const struct ct_metric *metric);
bool ct_metricsContain(const struct ct_metric_set *set, const struct ct_metric_set *part);
uint32_t ct_metricsPasses(const struct ct_metric_set *set);
uint32_t ct_metricsCount(const struct ct_metric_set *set);

/* ---- cupti_pm.c ---- */

/* Passes that PM sampling needs for a set: one for each SIMGPU_PM_COUNTERS metrics. */
uint32_t ct_pmPasses(const struct ct_metric_set *set);
bool ct_pmIsImage(const uint8_t *image, size_t size);
/* The values of a sample; not a number for what was not measured. */
CUptiResult ct_pmEvaluate(const uint8_t *image, size_t index, const char *const *names,
                          size_t count, double *values);

/* ---- cupti_profiler_session.c: the objects that are enabled; all under ct_lock ---- */

struct CUpti_RangeProfiler_Object {
    struct CUpti_RangeProfiler_Object *next;
    uint32_t context;
    bool configured, started;
    struct ct_metric_set asked; /* by GetCounterDataSize */
    size_t asked_ranges;
    /* Of SetConfig. */
    uint32_t passes;
    uint8_t *image;
    size_t image_size;
    struct ct_range *ranges; /* not decoded yet */
    size_t count, capacity;
    uint64_t next_name;
    /* The graph launch that has its range already. */
    uint32_t graph, graph_correlation;
};

extern struct CUpti_RangeProfiler_Object *ct_profilers;

uint32_t ct_profiledPasses(uint32_t context);

enum ct_profiled {
    CT_NOT_PROFILED,
    CT_PROFILED,       /* `activity` has lost its times, as CUPTI's record has */
    CT_PROFILED_BEFORE /* part of a graph launch that has its record */
};

/* Makes a range of a kernel that runs under a started profiler. */
enum ct_profiled ct_profile(struct simgpu_activity *activity);
void ct_profilerFree(struct CUpti_RangeProfiler_Object *object);
void ct_profilerReset(void);

/* ---- images ---- */

struct ct_config_image {
    uint64_t magic;
    uint64_t passes;
    struct ct_metric_set metrics;
};

/* Followed by the ranges. */
struct ct_counter_image {
    uint64_t magic;
    uint64_t size; /* of all, in bytes */
    uint64_t capacity;
    uint64_t count;
    struct ct_metric_set metrics;
};

#define CT_AVAILABILITY_MAGIC UINT64_C(0x6c69617661) /* "avail" */
#define CT_CONFIG_MAGIC       UINT64_C(0x6769666e6f63)
#define CT_COUNTER_MAGIC      UINT64_C(0x7265746e756f63)
#define CT_PM_MAGIC           UINT64_C(0x73656c706d6173)

/* ---- the exported API's common part ---- */

/* SIMGPU_PROFILER=0 and CUPTI before CUDA 12.6: CUPTI_ERROR_NOT_SUPPORTED. Else 0, or
 * CUPTI_ERROR_INVALID_PARAMETER unless *params, which begins with its size, has just that one. */
CUptiResult ct_profilerCheck(const void *params, size_t size);
bool ct_profilerInitialized(void);
/* What SIMGPU_PROFILER_UNSUPPORTED makes of an attempt to profile. */
CUptiResult ct_profilerRefusal(void);
/* The image's head and one of its ranges; false when it is no counter data image or too short. */
bool ct_counterHead(const uint8_t *image, size_t size, struct ct_counter_image *head);
bool ct_counterRange(const uint8_t *image, size_t size, size_t index, struct ct_range *range);

#endif
