/*
 * selftest_profiler_host.c: starting the profiler, and the names of metrics.
 */
#include "selftest_profiler.h"

#if !__has_include(<cupti_range_profiler.h>)
const struct selftest profiler_host_tests[] = {
    {"metrics have names", selftest_skip, NULL},
    {NULL, NULL, NULL},
};
#else

#include <string.h>

/* ---- start-up ---- */

static CUpti_Profiler_DeviceSupported_Params ask_support(void)
{
    PARAMS(params, Profiler_DeviceSupported, .cuDevice = 0, .api = CUPTI_PROFILER_RANGE_PROFILING);

    profiler_initialize();
    OK(cuptiProfilerDeviceSupported(&params));
    return params;
}

static void profiling_needs_initialisation(void)
{
    PARAMS(chip, Device_GetChipName, .deviceIndex = 0);
    PARAMS(support, Profiler_DeviceSupported, .cuDevice = 0);

    gpu_start(NULL);
    EXPECT_EQ(cuptiProfilerDeviceSupported(&support), CUPTI_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuptiDeviceGetChipName(&chip), CUPTI_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(profiler_enable(), CUPTI_ERROR_NOT_INITIALIZED);
    profiler_initialize();
    OK(profiler_enable());
    chip.structSize++;
    EXPECT_EQ(cuptiDeviceGetChipName(&chip), CUPTI_ERROR_INVALID_PARAMETER);
    support.cuDevice = 1;
    EXPECT_EQ(cuptiProfilerDeviceSupported(&support), CUPTI_ERROR_INVALID_DEVICE);
}

static void devices_support_profiling(void)
{
    CUpti_Profiler_DeviceSupported_Params support = ask_support();

    EXPECT_EQ(support.isSupported, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
    EXPECT_EQ(support.architecture, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
    EXPECT_EQ(support.sli, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
    EXPECT_EQ(support.vGpu, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
    EXPECT_EQ(support.confidentialCompute, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
    EXPECT_EQ(support.cmp, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
    EXPECT_EQ(support.wsl, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
}

static void a_vgpu_may_forbid_profiling(void)
{
    CUpti_Profiler_DeviceSupported_Params support = ask_support();

    EXPECT_EQ(support.isSupported, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED);
    EXPECT_EQ(support.vGpu, CUPTI_PROFILER_CONFIGURATION_DISABLED);
    EXPECT_EQ(support.sli, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
    gpu_start(NULL);
    EXPECT_EQ(profiler_enable(), CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
}

static void confidential_computing_forbids_profiling(void)
{
    CUpti_Profiler_DeviceSupported_Params support = ask_support();

    EXPECT_EQ(support.isSupported, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED);
    EXPECT_EQ(support.confidentialCompute, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED);
    EXPECT_EQ(support.vGpu, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
    gpu_start(NULL);
    EXPECT_EQ(profiler_enable(), CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
}

static void enabling_fails_when_ordered(void)
{
    gpu_start(NULL);
    profiler_initialize();
    EXPECT_EQ(profiler_enable(), CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
}

static void starting_fails_when_ordered(void)
{
    const char *names[] = {"gpu__time_duration.sum"};

    profiler_open(names, 1, 1);
    EXPECT_EQ(profiler_start(), CUPTI_ERROR_HARDWARE_BUSY);
    gpu_spin(NULL, 1);
    OK(cuCtxSynchronize());
    client_flush(0);
    EXPECT(profiler_kernel(0)->end != 0);
}

static void unknown_chips_have_no_metrics(void)
{
    PARAMS(chip, Device_GetChipName, .deviceIndex = 0);
    PARAMS(host, Profiler_Host_Initialize, .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER);

    profiler_initialize();
    OK(cuptiDeviceGetChipName(&chip));
    EXPECT(strcmp(chip.pChipName, "GX999") == 0);
    host.pChipName = chip.pChipName;
    EXPECT_EQ(cuptiProfilerHostInitialize(&host), CUPTI_ERROR_INVALID_CHIP_NAME);
}

static void an_old_cupti_has_no_profiler(void)
{
    PARAMS(params, Profiler_Initialize, .pPriv = NULL);
    PARAMS(host, Profiler_Host_Initialize, .pChipName = "GH100");

    EXPECT_EQ(cuptiProfilerInitialize(&params), CUPTI_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(cuptiProfilerHostInitialize(&host), CUPTI_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(profiler_enable(), CUPTI_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(profiler_start(), CUPTI_ERROR_NOT_SUPPORTED);
}

/* ---- metrics ---- */

static CUptiResult get_properties(const char *name,
                                  CUpti_Profiler_Host_GetMetricProperties_Params *out)
{
    PARAMS(params, Profiler_Host_GetMetricProperties, .pHostObject = profiler.host,
           .pMetricName = name);
    CUptiResult result = cuptiProfilerHostGetMetricProperties(&params);

    *out = params;
    return result;
}

static void expect_properties(const char *name, const char *unit, const char *dimension,
                              CUpti_MetricType type)
{
    CUpti_Profiler_Host_GetMetricProperties_Params found;

    OK(get_properties(name, &found));
    EXPECT(strcmp(found.pHwUnit, unit) == 0);
    EXPECT(strcmp(found.pDimUnit, dimension) == 0);
    EXPECT(*found.pDescription);
    EXPECT_EQ(found.metricType, type);
}

static void names_have_properties(void)
{
    static const char *const unknown[] = {"sm__warps_active.nonsense",
                                          "no__such.sum",
                                          "sm__warps_active.avg.pct_of_bla",
                                          "sm__warps_activ",
                                          "sm__warps_active.ratio",
                                          "smsp__inst_executed_pipe_fp16.sum",
                                          "dram__throughput.avg",
                                          "l1tex__t_sector_hit_rate.sum",
                                          ""};
    CUpti_Profiler_Host_GetMetricProperties_Params found;

    gpu_start(NULL);
    profiler_initialize();
    profiler_openHost();
    expect_properties("smsp__inst_executed", "smsp", "instruction", CUPTI_METRIC_TYPE_COUNTER);
    expect_properties("dram__bytes_read.sum", "dram", "byte", CUPTI_METRIC_TYPE_COUNTER);
    expect_properties("dram__bytes_read.sum.per_second", "dram", "byte/second",
                      CUPTI_METRIC_TYPE_COUNTER);
    expect_properties("gpu__time_duration.max", "gpu", "nanosecond", CUPTI_METRIC_TYPE_COUNTER);
    expect_properties("sm__warps_active.avg.pct_of_peak_sustained_active", "sm", "percent",
                      CUPTI_METRIC_TYPE_COUNTER);
    expect_properties("l1tex__t_sector_hit_rate.pct", "l1tex", "percent", CUPTI_METRIC_TYPE_RATIO);
    expect_properties("dram__throughput.avg.pct_of_peak_sustained_elapsed", "dram", "percent",
                      CUPTI_METRIC_TYPE_THROUGHPUT);
    for (size_t i = 0; i < COUNT(unknown); i++)
        EXPECT_EQ(get_properties(unknown[i], &found), CUPTI_ERROR_INVALID_METRIC_NAME);
}

static void all_listed_names_are_known(void)
{
    CUpti_Profiler_Host_GetMetricProperties_Params found;

    gpu_start(NULL);
    profiler_initialize();
    profiler_openHost();
    for (int type = CUPTI_METRIC_TYPE_COUNTER; type < CUPTI_METRIC_TYPE__COUNT; type++) {
        PARAMS(list, Profiler_Host_GetBaseMetrics, .pHostObject = profiler.host,
               .metricType = (CUpti_MetricType)type);

        OK(cuptiProfilerHostGetBaseMetrics(&list));
        EXPECT(list.numMetrics > 0);
        for (size_t i = 0; i < list.numMetrics; i++) {
            PARAMS(suffixes, Profiler_Host_GetSubMetrics, .pHostObject = profiler.host,
                   .pMetricName = list.ppMetricNames[i]);
            char name[160];

            OK(cuptiProfilerHostGetSubMetrics(&suffixes));
            EXPECT_EQ(suffixes.numOfSubmetrics, ((const size_t[]){44, 3, 8})[type]);
            snprintf(name, sizeof(name), "%s%s", list.ppMetricNames[i], suffixes.ppSubMetrics[1]);
            OK(get_properties(name, &found));
            EXPECT_EQ(found.metricType, type);
            EXPECT(*found.pHwUnit);
        }
    }
}

static void a_wrong_name_spoils_the_host_object(void)
{
    PARAMS(image, Profiler_Host_GetConfigImage, .configImageSize = 4096);
    const char *good[] = {"dram__bytes_read.sum"}, *base[] = {"dram__bytes_read"};
    uint8_t bytes[4096];

    gpu_start(NULL);
    profiler_initialize();
    profiler_openHost();
    OK(profiler_addMetrics(good, 1));
    EXPECT_EQ(profiler_addMetrics(base, 1), CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(profiler_addMetrics(good, 1), CUPTI_ERROR_UNKNOWN);
    image.pHostObject = profiler.host;
    image.pConfigImage = bytes;
    EXPECT_EQ(cuptiProfilerHostGetConfigImage(&image), CUPTI_ERROR_UNKNOWN);
    profiler_openHost();
    OK(profiler_addMetrics(good, 1));
}

static size_t count_passes(const char **names, size_t count)
{
    size_t size;

    profiler_openHost();
    for (size_t i = 0; i < count; i++) /* one by one: they add up */
        OK(profiler_addMetrics(&names[i], 1));
    free(profiler_getConfig(&size));
    return profiler.passes;
}

static void metrics_need_passes(void)
{
    const char *names[] = {"sm__cycles_active.avg",
                           "dram__bytes_read.sum",
                           "dram__bytes_read.sum.per_second", /* the same counter */
                           "lts__t_sectors.sum",
                           "gpu__time_duration.sum",
                           "smsp__inst_executed.sum"};
    const char *sass[] = {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"};
    const char *costly[] = {"lts__t_sector_hit_rate.pct"};
    const char *peak[] = {"smsp__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on.avg."
                          "pct_of_peak_sustained_elapsed"};

    gpu_start(NULL);
    profiler_initialize();
    EXPECT_EQ(count_passes(names, 1), 1);
    EXPECT_EQ(count_passes(names, 5), 1);
    EXPECT_EQ(count_passes(names, 6), 2);
    EXPECT_EQ(count_passes(sass, 1), 1);
    EXPECT_EQ(count_passes(costly, 1), 2);
    EXPECT_EQ(count_passes(peak, 1), 2);
}

const struct selftest profiler_host_tests[] = {
    {"profiling needs initialisation", profiling_needs_initialisation, NULL},
    {"devices support profiling", devices_support_profiling, NULL},
    {"a virtual GPU may forbid profiling", a_vgpu_may_forbid_profiling,
     "SIMGPU_PROFILER_UNSUPPORTED=vgpu_disabled"},
    {"confidential computing forbids profiling", confidential_computing_forbids_profiling,
     "SIMGPU_PROFILER_UNSUPPORTED=confidential"},
    {"enabling the profiler fails when ordered", enabling_fails_when_ordered,
     "SIMGPU_PROFILER_ENABLE_ERROR=35"},
    {"starting the profiler fails when ordered", starting_fails_when_ordered,
     "SIMGPU_PROFILER_START_ERROR=26"},
    {"unknown chips have no metrics", unknown_chips_have_no_metrics, "SIMGPU_PROFILER_CHIP=GX999"},
    {"the profiler is off when ordered", an_old_cupti_has_no_profiler, "SIMGPU_PROFILER=0"},
    {"CUPTI before CUDA 12.6 has no profiler", an_old_cupti_has_no_profiler,
     "SIMGPU_CUPTI_VERSION=23"},
    {"names of metrics have properties", names_have_properties, NULL},
    {"all listed names of metrics are known", all_listed_names_are_known, NULL},
    {"a wrong name spoils the host object", a_wrong_name_spoils_the_host_object, NULL},
    {"metrics need passes", metrics_need_passes, NULL},
    {NULL, NULL, NULL},
};

#endif
