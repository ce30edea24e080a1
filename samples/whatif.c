/*
 * whatif.c: a program whose kernel times are set from the command line.
 *
 * It is there to put predictions to the test: profile it, ask `miniprof deps --what-if` what an
 * iteration would take with kernel alpha at half its time, then run it with --alpha halved
 * (tests/gpu/gains.sh). An iteration is one of four cases, each with another bottleneck:
 *
 *   launch-bound   40 times alpha, beta, of a few us; the host works between launches and is late
 *   gpu-bound      10 times alpha, beta, launched ahead
 *   copy-bound     copy in, alpha, copy out; the copies take longer than alpha
 *   two-stream     blocks in which alpha on one stream and beta on another wait for both of the
 *                  block before; alpha is the longer one, at half its time beta is:
 *
 *                      main stream  -- alpha ------.-- alpha ------.-- ...
 *                                                   X               X
 *                      side stream  -- beta ----...'-- beta ----...'-- ...
 *
 * Kernels spin for a number of SM clock cycles that is calibrated at the start: a spin on
 * %globaltimer would be as coarse as that timer, 1 us on some devices. The profiler counts time
 * before the first and after the last instruction to the kernel too; --overhead takes it off, so
 * that half of --alpha is half of what a trace shows. On the software GPU a kernel takes its `us`
 * parameter, whatever the others say.
 *
 * Every kernel maps x to 1664525 x + salt on a few elements, and the host checks the outcome.
 */
#include "common.h"

#include <cudaProfiler.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

/* Spins until p_us microseconds after its first instruction, less p_overhead cycles. */
#define PTX_LAYER(name)                                                                            \
    ".visible .entry " name "(.param .u64 p_in, .param .u64 p_out, .param .u32 p_n,"               \
    " .param .u32 p_salt, .param .u32 p_us, .param .u32 p_cycles_per_us,"                          \
    " .param .u32 p_overhead)\n"                                                                   \
    "{\n"                                                                                          \
    "    .reg .pred %p<3>;\n"                                                                      \
    "    .reg .b32 %r<12>;\n"                                                                      \
    "    .reg .b64 %rd<12>;\n"                                                                     \
    "    mov.u64 %rd1, %clock64;\n"                                                                \
    "    mov.u32 %r1, %ctaid.x;\n"                                                                 \
    "    mov.u32 %r2, %ntid.x;\n"                                                                  \
    "    mov.u32 %r3, %tid.x;\n"                                                                   \
    "    mad.lo.u32 %r4, %r1, %r2, %r3;\n"                                                         \
    "    ld.param.u32 %r5, [p_n];\n"                                                               \
    "    setp.ge.u32 %p1, %r4, %r5;\n"                                                             \
    "    @%p1 bra SPIN;\n"                                                                         \
    "    ld.param.u64 %rd2, [p_in];\n"                                                             \
    "    ld.param.u64 %rd3, [p_out];\n"                                                            \
    "    ld.param.u32 %r6, [p_salt];\n"                                                            \
    "    mul.wide.u32 %rd4, %r4, 4;\n"                                                             \
    "    add.u64 %rd5, %rd2, %rd4;\n"                                                              \
    "    add.u64 %rd6, %rd3, %rd4;\n"                                                              \
    "    ld.global.u32 %r7, [%rd5];\n"                                                             \
    "    mad.lo.u32 %r8, %r7, 1664525, %r6;\n"                                                     \
    "    st.global.u32 [%rd6], %r8;\n"                                                             \
    "SPIN:\n"                                                                                      \
    "    ld.param.u32 %r9, [p_us];\n"                                                              \
    "    ld.param.u32 %r10, [p_cycles_per_us];\n"                                                  \
    "    ld.param.u32 %r11, [p_overhead];\n"                                                       \
    "    mul.wide.u32 %rd7, %r9, %r10;\n"                                                          \
    "    cvt.u64.u32 %rd8, %r11;\n"                                                                \
    "    sub.s64 %rd9, %rd7, %rd8;\n"                                                              \
    "AGAIN:\n"                                                                                     \
    "    mov.u64 %rd10, %clock64;\n"                                                               \
    "    sub.s64 %rd11, %rd10, %rd1;\n"                                                            \
    "    setp.lt.s64 %p2, %rd11, %rd9;\n"                                                          \
    "    @%p2 bra AGAIN;\n"                                                                        \
    "    ret;\n"                                                                                   \
    "}\n"

/* Spins for p_cycles and stores how many ns and how many cycles that was. */
#define PTX_MEASURE                                                                                \
    ".visible .entry measure_clock(.param .u64 p_out, .param .u32 p_cycles)\n"                     \
    "{\n"                                                                                          \
    "    .reg .pred %p;\n"                                                                         \
    "    .reg .b32 %r;\n"                                                                          \
    "    .reg .b64 %rd<9>;\n"                                                                      \
    "    ld.param.u64 %rd1, [p_out];\n"                                                            \
    "    ld.param.u32 %r, [p_cycles];\n"                                                           \
    "    cvt.u64.u32 %rd2, %r;\n"                                                                  \
    "    mov.u64 %rd3, %globaltimer;\n"                                                            \
    "    mov.u64 %rd4, %clock64;\n"                                                                \
    "AGAIN:\n"                                                                                     \
    "    mov.u64 %rd5, %clock64;\n"                                                                \
    "    sub.u64 %rd6, %rd5, %rd4;\n"                                                              \
    "    setp.lt.u64 %p, %rd6, %rd2;\n"                                                            \
    "    @%p bra AGAIN;\n"                                                                         \
    "    mov.u64 %rd7, %globaltimer;\n"                                                            \
    "    sub.u64 %rd8, %rd7, %rd3;\n"                                                              \
    "    st.global.u64 [%rd1], %rd8;\n"                                                            \
    "    st.global.u64 [%rd1+8], %rd6;\n"                                                          \
    "    ret;\n"                                                                                   \
    "}\n"

static const char whatif_ptx[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n" PTX_LAYER("alpha_layer")
        PTX_LAYER("beta_layer") PTX_MEASURE;

/* A few blocks only: kernels of two streams must run side by side on any GPU. */
enum { ELEMENTS = 1024, BLOCK = 256, BUFFERS = 4, KERNELS = 2, STREAMS = 2 };

enum kernel { ALPHA, BETA };

/* The element i of a buffer is factor * i + term. */
struct content {
    uint32_t factor, term;
};

struct buffer {
    CUdeviceptr device;
    struct content expected;
};

static struct program {
    CUcontext context;
    CUmodule module;
    CUfunction kernels[KERNELS];
    CUstream streams[STREAMS];
    CUevent done[STREAMS]; /* the stream's part of the block before, in two-stream */
    struct buffer buffers[BUFFERS];
    uint32_t *host_in, *host_out; /* pinned, of copy_bytes */
    size_t copy_bytes;
    unsigned cycles_per_us;
} program;

static struct settings {
    int which, alpha, beta, iterations, warmup, copy_kib, host_ns, overhead;
} settings = {
    .alpha = -1, .beta = -1, .iterations = 200, .warmup = 20, .copy_kib = 16384, .host_ns = 5000};

/* ---- work of an iteration -------------------------------------------------------------------- */

static void launch(enum kernel kernel, CUstream stream, struct buffer *in, struct buffer *out)
{
    static const unsigned salts[KERNELS] = {1013904223, 12345};
    unsigned n = ELEMENTS, salt = salts[kernel];
    unsigned us = (unsigned)(kernel == ALPHA ? settings.alpha : settings.beta);
    unsigned overhead = (unsigned)((uint64_t)settings.overhead * program.cycles_per_us / 1000);
    void *arguments[] = {&in->device, &out->device,           &n,       &salt,
                         &us,         &program.cycles_per_us, &overhead};

    CU_CHECK(cuLaunchKernel(program.kernels[kernel], ELEMENTS / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream,
                            arguments, NULL));
    out->expected = (struct content){in->expected.factor * UINT32_C(1664525),
                                     in->expected.term * UINT32_C(1664525) + salt};
}

static void work_on_host(void)
{
    uint64_t end = clock_now() + (uint64_t)settings.host_ns;

    while (clock_now() < end)
        ;
}

static void run_launch_bound(void)
{
    struct buffer *x = &program.buffers[0];

    for (int i = 0; i < 40 * KERNELS; i++) {
        work_on_host();
        launch(i % KERNELS ? BETA : ALPHA, program.streams[0], x, x);
    }
}

static void run_gpu_bound(void)
{
    struct buffer *x = &program.buffers[0];

    for (int i = 0; i < 10 * KERNELS; i++)
        launch(i % KERNELS ? BETA : ALPHA, program.streams[0], x, x);
}

static void run_copy_bound(void)
{
    struct buffer *x = &program.buffers[0];
    CUstream stream = program.streams[0];

    CU_CHECK(cuMemcpyHtoDAsync(x->device, program.host_in, program.copy_bytes, stream));
    x->expected = (struct content){1, 0};
    launch(ALPHA, stream, x, x);
    CU_CHECK(cuMemcpyDtoHAsync(program.host_out, x->device, program.copy_bytes, stream));
}

/* Either kernel reads what the other one wrote in the block before. */
static void run_two_stream(void)
{
    CUstream main_stream = program.streams[0], side = program.streams[1];

    for (size_t i = 0; i < 6; i++) {
        struct buffer *before = &program.buffers[i % 2 * 2];
        struct buffer *after = &program.buffers[(i + 1) % 2 * 2];

        CU_CHECK(cuEventRecord(program.done[0], main_stream));
        CU_CHECK(cuEventRecord(program.done[1], side));
        CU_CHECK(cuStreamWaitEvent(side, program.done[0], 0));
        CU_CHECK(cuStreamWaitEvent(main_stream, program.done[1], 0));
        launch(ALPHA, main_stream, &before[1], &after[0]);
        launch(BETA, side, &before[0], &after[1]);
    }
    CU_CHECK(cuEventRecord(program.done[1], side));
    CU_CHECK(cuStreamWaitEvent(main_stream, program.done[1], 0));
}

static const char *const case_names[] = {"launch-bound", "gpu-bound", "copy-bound", "two-stream",
                                         NULL};

/* In the order of the names. Beta's time in two-stream lies between alpha's and half of it. */
static const struct {
    void (*run)(void);
    int alpha, beta; /* us, unless they are given */
} cases[] = {{run_launch_bound, 4, 4},
             {run_gpu_bound, 100, 60},
             {run_copy_bound, 200, 0},
             {run_two_stream, 200, 140}};

/* ---- program --------------------------------------------------------------------------------- */

#define MANY 1000000
static const struct option_row option_rows[] = {
    {"case", OPTION_CHOICE, &settings.which, 0, 0, case_names,
     "launch-bound (default), gpu-bound, copy-bound or two-stream"},
    {"alpha", OPTION_INT, &settings.alpha, 0, MANY, NULL, "time of alpha, us (4, 100, 200, 200)"},
    {"beta", OPTION_INT, &settings.beta, 0, MANY, NULL, "time of beta, us (4, 60, -, 140)"},
    {"iterations", OPTION_INT, &settings.iterations, 1, MANY, NULL, "in the profile (200)"},
    {"warmup", OPTION_INT, &settings.warmup, 0, MANY, NULL, "iterations before that (20)"},
    {"copy-kib", OPTION_INT, &settings.copy_kib, 4, MANY, NULL, "copy-bound: each copy (16384)"},
    {"host-ns", OPTION_INT, &settings.host_ns, 0, MANY, NULL,
     "launch-bound: host work before a launch (5000)"},
    {"overhead", OPTION_INT, &settings.overhead, 0, MANY, NULL,
     "ns that a kernel takes beyond its spinning (0)"},
    {0}};

/* The first runs wake the device from its resting clock, the last one counts. The software GPU
 * leaves zeros. */
static unsigned measure_clock(void)
{
    uint64_t measured[2] = {0}; /* ns, cycles */
    CUfunction measure;
    CUdeviceptr out;
    unsigned cycles = 40 * 1000 * 1000;
    void *arguments[] = {&out, &cycles};

    CU_CHECK(cuModuleGetFunction(&measure, program.module, "measure_clock"));
    CU_CHECK(cuMemAlloc(&out, sizeof(measured)));
    CU_CHECK(cuMemsetD8(out, 0, sizeof(measured)));
    for (int i = 0; i < 3; i++)
        CU_CHECK(cuLaunchKernel(measure, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    CU_CHECK(cuMemcpyDtoH(measured, out, sizeof(measured)));
    CU_CHECK(cuMemFree(out));
    return measured[0] ? (unsigned)((measured[1] * 1000 + measured[0] / 2) / measured[0]) : 1000;
}

static void set_up(CUdevice *device)
{
    CU_CHECK(cuInit(0));
    CU_CHECK(cuDeviceGet(device, 0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&program.context, *device));
    CU_CHECK(cuCtxSetCurrent(program.context));
    CU_CHECK(cuModuleLoadData(&program.module, whatif_ptx));
    CU_CHECK(cuModuleGetFunction(&program.kernels[ALPHA], program.module, "alpha_layer"));
    CU_CHECK(cuModuleGetFunction(&program.kernels[BETA], program.module, "beta_layer"));
    for (int i = 0; i < STREAMS; i++) {
        CU_CHECK(cuStreamCreate(&program.streams[i], CU_STREAM_NON_BLOCKING));
        CU_CHECK(cuEventCreate(&program.done[i], CU_EVENT_DISABLE_TIMING));
    }
    program.cycles_per_us = measure_clock();
}

/* Element i of every buffer is i. */
static void fill_buffers(void)
{
    void *in, *out;
    size_t bytes = (size_t)settings.copy_kib * 1024;

    CU_CHECK(cuMemHostAlloc(&in, bytes, 0));
    CU_CHECK(cuMemHostAlloc(&out, bytes, 0));
    program.host_in = in;
    program.host_out = out;
    program.copy_bytes = bytes;
    for (size_t i = 0; i < bytes / sizeof(uint32_t); i++)
        program.host_in[i] = (uint32_t)i;
    for (int i = 0; i < BUFFERS; i++) {
        struct buffer *buffer = &program.buffers[i];

        CU_CHECK(cuMemAlloc(&buffer->device, bytes));
        CU_CHECK(cuMemcpyHtoD(buffer->device, program.host_in, bytes));
        buffer->expected = (struct content){1, 0};
    }
}

/* Kernels change the first elements, copies take all. */
static bool is_expected(struct content expected)
{
    for (uint32_t i = 0; i < program.copy_bytes / sizeof(uint32_t); i++) {
        uint32_t value = i < ELEMENTS ? expected.factor * i + expected.term : i;

        if (program.host_out[i] != value)
            return false;
    }
    return true;
}

static bool check_results(void)
{
    bool right =
        cases[settings.which].run != run_copy_bound || is_expected(program.buffers[0].expected);

    for (int i = 0; i < BUFFERS; i++) {
        const struct buffer *buffer = &program.buffers[i];

        CU_CHECK(cuMemcpyDtoH(program.host_out, buffer->device, program.copy_bytes));
        right = right && is_expected(buffer->expected);
    }
    return right;
}

static void tear_down(CUdevice device)
{
    for (int i = 0; i < BUFFERS; i++)
        CU_CHECK(cuMemFree(program.buffers[i].device));
    CU_CHECK(cuMemFreeHost(program.host_in));
    CU_CHECK(cuMemFreeHost(program.host_out));
    for (int i = 0; i < STREAMS; i++) {
        CU_CHECK(cuEventDestroy(program.done[i]));
        CU_CHECK(cuStreamDestroy(program.streams[i]));
    }
    CU_CHECK(cuModuleUnload(program.module));
    CU_CHECK(cuDevicePrimaryCtxRelease(device));
}

/* Returns its nanoseconds. */
static uint64_t iterate(void)
{
    uint64_t start = clock_now();

    nvtxRangePushA("iteration");
    cases[settings.which].run();
    CU_CHECK(cuStreamSynchronize(program.streams[0]));
    nvtxRangePop();
    return clock_now() - start;
}

static int compare_times(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* Sorts them. */
static void print_times(uint64_t *times, size_t count)
{
    size_t low = (count - 1) / 2, high = count / 2;
    double sum = 0, median;

    qsort(times, count, sizeof(*times), compare_times);
    for (size_t i = 0; i < count; i++)
        sum += (double)times[i];
    median = ((double)times[low] + (double)times[high]) / 2;
    printf("whatif: case %s alpha_us %d beta_us %d cycles_per_us %u iterations %zu median_us %.3f "
           "mean_us %.3f\n",
           case_names[settings.which], settings.alpha, settings.beta, program.cycles_per_us, count,
           median / 1e3, sum / (double)count / 1e3);
}

int main(int argc, char **argv)
{
    CUdevice device;
    uint64_t *times;
    bool right;

    parse_options(argc, argv, option_rows);
    if (settings.alpha < 0)
        settings.alpha = cases[settings.which].alpha;
    if (settings.beta < 0)
        settings.beta = cases[settings.which].beta;
    times = calloc((size_t)settings.iterations, sizeof(*times));
    if (!times)
        fail("whatif: out of memory");
    set_up(&device);
    fill_buffers();
    for (int i = 0; i < settings.warmup; i++)
        iterate();
    CU_CHECK(cuProfilerStart());
    for (int i = 0; i < settings.iterations; i++)
        times[i] = iterate();
    CU_CHECK(cuProfilerStop());
    right = check_results();
    tear_down(device);
    print_times(times, (size_t)settings.iterations);
    free(times);
    if (!right)
        fail("whatif: wrong results");
    return 0;
}
