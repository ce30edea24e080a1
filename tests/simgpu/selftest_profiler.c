/*
 * selftest_profiler.c: kernels under the range profiler, through CUPTI's own structs. What is
 * expected here was seen with CUPTI 13.0 on an H100, but for the values and the passes: those are
 * the rules of README.md, worked out by hand.
 */
#include "selftest_profiler.h"

#if !__has_include(<cupti_range_profiler.h>)
const struct selftest profiler_tests[] = {
    {"kernels can be profiled", selftest_skip, NULL},
    {NULL, NULL, NULL},
};
#else

#include "hooks.h"

#include <math.h>
#include <string.h>

#define EXPECT_REAL(a, b) EXPECT(fabs((a) - (b)) < 1e-9)

static const CUpti_ActivityKind kernel_kind[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                                 CUPTI_ACTIVITY_KIND_INVALID};

struct profiler profiler;

/* ---- the sequence that every client has to go through ---- */

void profiler_initialize(void)
{
    PARAMS(params, Profiler_Initialize, .pPriv = NULL);

    OK(cuptiProfilerInitialize(&params));
}

void profiler_openHost(void)
{
    PARAMS(chip, Device_GetChipName, .deviceIndex = 0);
    PARAMS(available, Profiler_GetCounterAvailability, .ctx = gpu.context);
    PARAMS(host, Profiler_Host_Initialize, .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER);
    uint8_t *image;

    OK(cuptiDeviceGetChipName(&chip));
    EXPECT(strcmp(chip.pChipName, "GH100") == 0);
    OK(cuptiProfilerGetCounterAvailability(&available));
    image = calloc(1, available.counterAvailabilityImageSize);
    EXPECT(image != NULL);
    available.pCounterAvailabilityImage = image;
    OK(cuptiProfilerGetCounterAvailability(&available));
    host.pChipName = chip.pChipName;
    host.pCounterAvailabilityImage = image;
    OK(cuptiProfilerHostInitialize(&host));
    profiler.host = host.pHostObject;
    free(image);
}

CUptiResult profiler_addMetrics(const char **names, size_t count)
{
    PARAMS(params, Profiler_Host_ConfigAddMetrics, .pHostObject = profiler.host,
           .ppMetricNames = names, .numMetrics = count);

    return cuptiProfilerHostConfigAddMetrics(&params);
}

uint8_t *profiler_getConfig(size_t *size)
{
    PARAMS(sized, Profiler_Host_GetConfigImageSize, .pHostObject = profiler.host);
    PARAMS(filled, Profiler_Host_GetConfigImage, .pHostObject = profiler.host);
    PARAMS(passes, Profiler_Host_GetNumOfPasses, .numOfPasses = 0);

    OK(cuptiProfilerHostGetConfigImageSize(&sized));
    *size = filled.configImageSize = sized.configImageSize;
    filled.pConfigImage = malloc(sized.configImageSize);
    EXPECT(filled.pConfigImage != NULL);
    OK(cuptiProfilerHostGetConfigImage(&filled));
    passes.configImageSize = sized.configImageSize;
    passes.pConfigImage = filled.pConfigImage;
    OK(cuptiProfilerHostGetNumOfPasses(&passes));
    profiler.passes = passes.numOfPasses;
    return filled.pConfigImage;
}

CUptiResult profiler_enable(void)
{
    PARAMS(params, RangeProfiler_Enable, .ctx = gpu.context);
    CUptiResult result = cuptiRangeProfilerEnable(&params);

    profiler.object = params.pRangeProfilerObject;
    return result;
}

static void make_image(size_t ranges)
{
    PARAMS(sized, RangeProfiler_GetCounterDataSize, .pRangeProfilerObject = profiler.object,
           .pMetricNames = profiler.names, .numMetrics = profiler.name_count,
           .maxNumOfRanges = ranges, .maxNumRangeTreeNodes = (uint32_t)ranges);
    PARAMS(made, RangeProfiler_CounterDataImage_Initialize,
           .pRangeProfilerObject = profiler.object);

    OK(cuptiRangeProfilerGetCounterDataSize(&sized));
    profiler.image_size = made.counterDataSize = sized.counterDataSize;
    profiler.image = made.pCounterData = malloc(sized.counterDataSize);
    profiler.fresh = malloc(sized.counterDataSize);
    EXPECT(profiler.image && profiler.fresh);
    OK(cuptiRangeProfilerCounterDataImageInitialize(&made));
    memcpy(profiler.fresh, profiler.image, profiler.image_size);
}

static void set_config(size_t ranges)
{
    PARAMS(params, RangeProfiler_SetConfig, .pRangeProfilerObject = profiler.object,
           .pCounterDataImage = profiler.image, .counterDataImageSize = profiler.image_size,
           .range = CUPTI_AutoRange, .replayMode = CUPTI_KernelReplay, .maxRangesPerPass = ranges,
           .numNestingLevels = 1, .minNestingLevel = 1, .targetNestingLevel = 1);
    uint8_t *config = profiler_getConfig(&params.configSize);

    params.pConfig = config;
    OK(cuptiRangeProfilerSetConfig(&params));
    free(config);
}

void profiler_open(const char **names, size_t count, size_t ranges)
{
    profiler.names = names;
    profiler.name_count = count;
    gpu_start(kernel_kind);
    profiler_initialize();
    profiler_openHost();
    OK(profiler_addMetrics(names, count));
    OK(profiler_enable());
    make_image(ranges);
    set_config(ranges);
}

CUptiResult profiler_start(void)
{
    PARAMS(params, RangeProfiler_Start, .pRangeProfilerObject = profiler.object);

    return cuptiRangeProfilerStart(&params);
}

static CUptiResult stop(void)
{
    PARAMS(params, RangeProfiler_Stop, .pRangeProfilerObject = profiler.object);
    CUptiResult result = cuptiRangeProfilerStop(&params);

    EXPECT(result || params.isAllPassSubmitted == 1);
    return result;
}

static size_t decode(void)
{
    PARAMS(decoded, RangeProfiler_DecodeData, .pRangeProfilerObject = profiler.object);
    PARAMS(info, RangeProfiler_GetCounterDataInfo, .pCounterDataImage = profiler.image,
           .counterDataImageSize = profiler.image_size);

    OK(cuptiRangeProfilerDecodeData(&decoded));
    EXPECT_EQ(decoded.numOfRangeDropped, 0);
    OK(cuptiRangeProfilerGetCounterDataInfo(&info));
    return info.numTotalRanges;
}

static double value(size_t range, const char *name)
{
    double result = -1;
    PARAMS(params, Profiler_Host_EvaluateToGpuValues, .pHostObject = profiler.host,
           .pCounterDataImage = profiler.image, .counterDataImageSize = profiler.image_size,
           .rangeIndex = range, .ppMetricNames = &name, .numMetrics = 1, .pMetricValues = &result);

    OK(cuptiProfilerHostEvaluateToGpuValues(&params));
    return result;
}

static const char *range_name(size_t range)
{
    PARAMS(params, RangeProfiler_CounterData_GetRangeInfo, .pCounterDataImage = profiler.image,
           .counterDataImageSize = profiler.image_size, .rangeIndex = range, .rangeDelimiter = "/");

    OK(cuptiRangeProfilerCounterDataGetRangeInfo(&params));
    return params.rangeName;
}

const record_kernel *profiler_kernel(size_t nth)
{
    return client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, nth);
}

/* ---- ranges ---- */

static void launch_shape(unsigned grid, unsigned block)
{
    unsigned us = 20;
    void *arguments[] = {&us};

    OK(cuLaunchKernel(gpu.spin, grid, 1, 1, block, 1, 1, 0, NULL, arguments, NULL));
}

static void kernels_have_values(void)
{
    const char *names[] = {"gpu__time_duration.sum",
                           "smsp__warps_launched.sum",
                           "smsp__inst_executed.sum",
                           "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
                           "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
                           "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
                           "sm__warps_active.avg.pct_of_peak_sustained_active",
                           "dram__bytes_read.sum",
                           "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
                           "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
                           "dram__bytes_write.sum"};

    profiler_open(names, COUNT(names), 4);
    OK(profiler_start());
    launch_shape(3, 33); /* 99 threads in 6 warps */
    launch_shape(7, 64); /* 448 threads in 14 warps */
    OK(stop());
    EXPECT_EQ(decode(), 2);
    EXPECT_REAL(value(0, names[0]), 20000);
    EXPECT_REAL(value(0, names[1]), 6);
    EXPECT_REAL(value(0, names[2]), 60);
    EXPECT_REAL(value(0, names[3]), 198);
    EXPECT_REAL(value(0, names[4]), 297);
    EXPECT_REAL(value(0, names[5]), 495);
    EXPECT_REAL(value(0, names[6]), 12.5);
    EXPECT_REAL(value(0, names[7]), 3168);
    EXPECT_REAL(value(0, names[8]), 25);
    EXPECT_REAL(value(0, names[9]), 6);
    EXPECT_REAL(value(1, names[9]), 14);
    EXPECT_REAL(value(1, names[3]), 896);
    EXPECT_REAL(value(0, "dram__bytes_read.sum.per_second"), 3168 / 20e-6);
    EXPECT_REAL(value(0, "smsp__inst_executed.avg.per_cycle_active"), 60 / 20e3);
    EXPECT_REAL(value(0, names[10]), value(1, names[10])); /* its position, whatever runs */
    EXPECT(isnan(value(0, "dram__sectors_read.sum")));
}

static void ranges_count_on_after_a_restart(void)
{
    const char *names[] = {"gpu__time_duration.sum"};

    profiler_open(names, 1, 3);
    for (unsigned round = 0; round < 2; round++) {
        memcpy(profiler.image, profiler.fresh, profiler.image_size);
        OK(profiler_start());
        for (unsigned i = 0; i < 5; i++) /* two of which find no room */
            gpu_spin(NULL, 10 + i);
        OK(stop());
        EXPECT_EQ(decode(), 3);
        EXPECT(strcmp(range_name(0), round ? "3" : "0") == 0);
        EXPECT(strcmp(range_name(2), round ? "5" : "2") == 0);
        EXPECT_REAL(value(2, names[0]), 12000);
    }
}

static void launches_wait_and_records_lose_their_times(void)
{
    const char *names[] = {"gpu__time_duration.sum"};
    uint64_t before;

    profiler_open(names, 1, 4);
    gpu_spin(NULL, 50); /* enabled only: as usual */
    OK(cuCtxSynchronize());
    OK(profiler_start());
    before = simgpu_clock_ns();
    gpu_spin(NULL, 1000);
    EXPECT(simgpu_clock_ns() - before > 1000000);
    OK(stop());
    before = simgpu_clock_ns();
    gpu_spin(NULL, 1000);
    EXPECT(simgpu_clock_ns() - before < 10000);
    OK(cuCtxSynchronize());
    client_flush(0);
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 3);
    EXPECT_EQ(profiler_kernel(0)->end - profiler_kernel(0)->start,
              50016); /* on the grid of 32 ns */
    EXPECT_EQ(profiler_kernel(1)->start, 0);
    EXPECT_EQ(profiler_kernel(1)->end, 0);
    EXPECT_EQ(profiler_kernel(2)->end - profiler_kernel(2)->start, 1000000);
    EXPECT_EQ(decode(), 1);
}

static void passes_run_the_kernel_again(void)
{
    const char *names[] = {"lts__t_sector_hit_rate.pct", "gpu__time_duration.sum"};
    uint64_t before, taken;

    profiler_open(names, 2, 4);
    EXPECT_EQ(profiler.passes, 2);
    OK(profiler_start());
    before = simgpu_clock_ns();
    gpu_spin(NULL, 1000);
    taken = simgpu_clock_ns() - before;
    EXPECT(taken > 2000000 && taken < 2100000);
    OK(stop());
    EXPECT_EQ(decode(), 1);
    EXPECT_REAL(value(0, names[1]), 1000000);
}

static void a_profiled_launch_breaks_a_capture(void)
{
    const char *names[] = {"gpu__time_duration.sum"};
    unsigned us = 10;
    void *arguments[] = {&us};
    CUstream stream;
    CUgraph graph;

    profiler_open(names, 1, 4);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(profiler_start());
    EXPECT_EQ(cuLaunchKernel(gpu.spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL),
              CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(stop());
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(decode(), 0);
}

static void a_graph_launch_is_one_range_of_zeros(void)
{
    const char *names[] = {"gpu__time_duration.sum", "dram__bytes_write.sum"};
    CUgraphExec exec;
    CUstream stream;
    CUgraph graph;

    profiler_open(names, 2, 4);
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 3; i++)
        gpu_spin(stream, 10);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(profiler_start());
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(stop());
    EXPECT_EQ(decode(), 2);
    EXPECT_REAL(value(0, names[0]), 0);
    EXPECT_REAL(value(1, names[1]), 0);
    client_flush(0);
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 2);
    EXPECT_EQ(profiler_kernel(0)->start, 0);
    EXPECT_EQ(profiler_kernel(0)->end, 0);
}

static void CUPTIAPI profile_odd_launches(void *userdata, CUpti_CallbackDomain domain,
                                          CUpti_CallbackId cbid, const void *data)
{
    const CUpti_CallbackData *call = data;
    unsigned *launches = userdata;

    (void)domain;
    (void)cbid;
    if (call->callbackSite == CUPTI_API_ENTER && ++*launches % 2 == 0)
        OK(profiler_start());
    if (call->callbackSite == CUPTI_API_EXIT && *launches % 2 == 0)
        OK(stop());
}

static void callbacks_may_start_and_stop(void)
{
    const char *names[] = {"gpu__time_duration.sum"};
    CUpti_SubscriberHandle subscriber;
    unsigned launches = 0;

    profiler_open(names, 1, 4);
    OK(cuptiSubscribe(&subscriber, profile_odd_launches, &launches));
    OK(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                           CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
    for (unsigned i = 0; i < 4; i++)
        gpu_spin(NULL, 10 + i);
    EXPECT_EQ(decode(), 2);
    EXPECT_REAL(value(0, names[0]), 11008); /* on the grid of 32 ns */
    EXPECT_REAL(value(1, names[0]), 13024);
}

static void calls_out_of_order_are_errors(void)
{
    const char *names[] = {"gpu__time_duration.sum"};
    PARAMS(second, RangeProfiler_Enable, .pPriv = NULL);
    PARAMS(disable, RangeProfiler_Disable, .pPriv = NULL);

    profiler_open(names, 1, 1);
    second.ctx = gpu.context;
    EXPECT_EQ(cuptiRangeProfilerEnable(&second), CUPTI_ERROR_INVALID_OPERATION);
    EXPECT_EQ(stop(), CUPTI_ERROR_INVALID_OPERATION);
    OK(profiler_start());
    EXPECT_EQ(profiler_start(), CUPTI_ERROR_INVALID_OPERATION);
    OK(stop());
    disable.pRangeProfilerObject = profiler.object;
    OK(cuptiRangeProfilerDisable(&disable));
    EXPECT_EQ(profiler_start(), CUPTI_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuptiRangeProfilerDisable(&disable), CUPTI_ERROR_INVALID_CONTEXT);
    gpu_spin(NULL, 1);
    OK(cuCtxSynchronize());
    client_flush(0);
    EXPECT(profiler_kernel(0)->end != 0);
    OK(profiler_enable());
    EXPECT_EQ(profiler_start(), CUPTI_ERROR_INVALID_OPERATION); /* no configuration yet */
}

const struct selftest profiler_tests[] = {
    {"kernels have values", kernels_have_values, "SIMGPU_NOISE=0"},
    {"ranges count on after a restart", ranges_count_on_after_a_restart, "SIMGPU_NOISE=0"},
    {"profiled launches wait, and their records lose their times",
     launches_wait_and_records_lose_their_times, "SIMGPU_NOISE=0"},
    {"passes run the kernel again", passes_run_the_kernel_again, "SIMGPU_NOISE=0"},
    {"a profiled launch breaks a capture", a_profiled_launch_breaks_a_capture, NULL},
    {"a profiled graph launch is one range of zeros", a_graph_launch_is_one_range_of_zeros, NULL},
    {"callbacks may start and stop the profiler", callbacks_may_start_and_stop, "SIMGPU_NOISE=0"},
    {"profiler calls out of order are errors", calls_out_of_order_are_errors, NULL},
    {NULL, NULL, NULL},
};

#endif
