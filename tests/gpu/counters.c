/* Kernels and copies whose counters are known, for tests/gpu/counters.sh:
 *
 *     counters spin|write|mma|copy|turns|short [--ms N] [--blocks N]
 *
 * repeats the case for N ms (1000) and prints what a sampler has to find while it ran, a line each:
 * GROUP COUNTER VALUE, in percent or bytes a second. GROUP is a kernel's name, or that of copies.
 *
 *     spin   --blocks blocks (half of the SMs) wait side by side: sm_active is their share of SMs
 *     write  a kernel fills 2 GiB, far more than the L2 cache: dram__bytes_write.sum.per_second
 *     mma    tensor cores at work: their share is for the range profiler to say
 *     copy   pinned memory to the device and back at the same time: pcie_rx, pcie_tx
 *     turns  the same, one after the other
 *     short  kernels of 20 us in turn: one waits in a quarter of the SMs, the other in all of them
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES ((size_t)2 << 30)
#define COPY_BYTES   ((size_t)256 << 20)

static const char ptx[] =
    ".version 7.0\n"
    ".target sm_80\n"
    ".address_size 64\n"
    /* Waits for so many ns. */
    ".visible .entry wait(.param .u64 ns)\n{\n"
    "    .reg .u64 %rd<4>;\n    .reg .pred %p;\n"
    "    ld.param.u64 %rd1, [ns];\n    mov.u64 %rd2, %globaltimer;\n"
    "again:\n    mov.u64 %rd3, %globaltimer;\n    sub.u64 %rd3, %rd3, %rd2;\n"
    "    setp.lt.u64 %p, %rd3, %rd1;\n    @%p bra again;\n    ret;\n}\n"
    ".visible .entry wait_all(.param .u64 ns)\n{\n"
    "    .reg .u64 %rd<4>;\n    .reg .pred %p;\n"
    "    ld.param.u64 %rd1, [ns];\n    mov.u64 %rd2, %globaltimer;\n"
    "again:\n    mov.u64 %rd3, %globaltimer;\n    sub.u64 %rd3, %rd3, %rd2;\n"
    "    setp.lt.u64 %p, %rd3, %rd1;\n    @%p bra again;\n    ret;\n}\n"
    /* Fills [to, to + bytes) in steps of all threads, 16 bytes each. */
    ".visible .entry fill(.param .u64 to, .param .u64 bytes)\n{\n"
    "    .reg .u64 %rd<8>;\n    .reg .u32 %r<6>;\n    .reg .pred %p;\n"
    "    ld.param.u64 %rd1, [to];\n    ld.param.u64 %rd2, [bytes];\n"
    "    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ntid.x;\n    mov.u32 %r3, %tid.x;\n"
    "    mov.u32 %r4, %nctaid.x;\n    mad.lo.u32 %r5, %r1, %r2, %r3;\n"
    "    mul.wide.u32 %rd3, %r5, 16;\n    mul.lo.u32 %r4, %r4, %r2;\n"
    "    mul.wide.u32 %rd4, %r4, 16;\n"
    "again:\n    setp.ge.u64 %p, %rd3, %rd2;\n    @%p bra done;\n    add.u64 %rd5, %rd1, %rd3;\n"
    "    st.global.v4.u32 [%rd5], {%r5, %r5, %r5, %r5};\n    add.u64 %rd3, %rd3, %rd4;\n"
    "    bra again;\ndone:\n    ret;\n}\n"
    /* Four products of 16 x 8 x 16 a round. */
    ".visible .entry multiply(.param .u64 to, .param .u64 rounds)\n{\n"
    "    .reg .u64 %rd<4>;\n    .reg .b32 %a<4>;\n    .reg .b32 %b<2>;\n    .reg .f32 %c<16>;\n"
    "    .reg .pred %p;\n    .reg .f32 %s;\n"
    "    ld.param.u64 %rd1, [to];\n    ld.param.u64 %rd2, [rounds];\n"
    "    mov.b32 %a0, 0;\n    mov.b32 %a1, 0;\n    mov.b32 %a2, 0;\n    mov.b32 %a3, 0;\n"
    "    mov.b32 %b0, 0;\n    mov.b32 %b1, 0;\n"
#define ZERO(i) "    mov.f32 %c" #i ", 0f3F800000;\n"
    ZERO(0) ZERO(1) ZERO(2) ZERO(3) ZERO(4) ZERO(5) ZERO(6) ZERO(7) ZERO(8) ZERO(9) ZERO(10)
        ZERO(11) ZERO(12) ZERO(13) ZERO(14) ZERO(15)
#undef ZERO
            "again:\n"
#define PRODUCT(a, b, c, d)                                                                        \
    "    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%c" #a ", %c" #b ", %c" #c ", %c" #d   \
    "}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c" #a ", %c" #b ", %c" #c ", %c" #d "};\n"
    PRODUCT(0, 1, 2, 3) PRODUCT(4, 5, 6, 7) PRODUCT(8, 9, 10, 11) PRODUCT(12, 13, 14, 15)
#undef PRODUCT
        "    sub.u64 %rd2, %rd2, 1;\n    setp.ne.u64 %p, %rd2, 0;\n    @%p bra again;\n"
        "    add.f32 %s, %c0, %c4;\n    add.f32 %s, %s, %c8;\n    add.f32 %s, %s, %c12;\n"
        "    setp.eq.f32 %p, %s, 0f00000000;\n    @!%p bra done;\n"
        "    st.global.f32 [%rd1], %s;\ndone:\n    ret;\n}\n";

enum { CASE_SPIN, CASE_WRITE, CASE_MMA, CASE_COPY, CASE_TURNS, CASE_SHORT };

static const char *const cases[] = {"spin", "write", "mma", "copy", "turns", "short", NULL};
static int ms = 1000, blocks, sms;
static CUmodule module;

static CUfunction kernel(const char *name)
{
    CUfunction function;

    CU_CHECK(cuModuleGetFunction(&function, module, name));
    return function;
}

static void launch(CUfunction function, int grid, int block, void **arguments)
{
    CU_CHECK(cuLaunchKernel(function, (unsigned)grid, 1, 1, (unsigned)block, 1, 1, 0, NULL,
                            arguments, NULL));
}

static bool is_over(double since)
{
    CU_CHECK(cuCtxSynchronize());
    return (seconds_now() - since) * 1000 > ms;
}

static void run_spin(void)
{
    uint64_t ns = 20000000;
    void *arguments[] = {&ns};
    CUfunction function = kernel("wait");
    double since = seconds_now();

    while (!is_over(since))
        launch(function, blocks, 32, arguments);
    printf("wait sm_active %.6f\n", 100.0 * blocks / sms);
}

static void run_short(void)
{
    uint64_t ns = 20000;
    void *arguments[] = {&ns};
    int quarter = sms / 4;
    CUfunction few = kernel("wait"), all = kernel("wait_all");
    double since = seconds_now();

    while (!is_over(since))
        for (int i = 0; i < 1000; i++) {
            launch(few, quarter, 32, arguments);
            for (int j = 0; j <= i % 3; j++)
                launch(all, sms, 32, arguments);
        }
    printf("wait sm_active %.6f\nwait_all sm_active 100\n", 100.0 * quarter / sms);
}

static void run_write(void)
{
    uint64_t bytes = BUFFER_BYTES;
    CUdeviceptr to;
    void *arguments[] = {&to, &bytes};
    CUfunction function = kernel("fill");
    CUevent begin, end;
    float taken = 0;
    unsigned launches = 20;
    double since;

    CU_CHECK(cuMemAlloc(&to, BUFFER_BYTES));
    CU_CHECK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
    CU_CHECK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    since = seconds_now();
    while (!is_over(since)) {
        CU_CHECK(cuEventRecord(begin, NULL));
        for (unsigned i = 0; i < launches; i++)
            launch(function, 8 * sms, 256, arguments);
        CU_CHECK(cuEventRecord(end, NULL));
        CU_CHECK(cuEventSynchronize(end));
        CU_CHECK(cuEventElapsedTime(&taken, begin, end));
    }
    printf("fill dram__bytes_write.sum.per_second %.0f\n",
           (double)launches * (double)bytes / ((double)taken / 1e3));
}

static void run_mma(void)
{
    uint64_t rounds = 200000;
    CUdeviceptr to;
    void *arguments[] = {&to, &rounds};
    CUfunction function = kernel("multiply");
    double since = seconds_now();

    CU_CHECK(cuMemAlloc(&to, 4096));
    while (!is_over(since))
        launch(function, blocks, 256, arguments);
    printf("multiply sm_active %.6f\n", 100.0 * blocks / sms);
}

static void copy_both_ways(bool in_turns)
{
    CUdeviceptr device[2];
    void *host[2];
    CUstream streams[2];
    double since;

    for (int i = 0; i < 2; i++) {
        CU_CHECK(cuMemAlloc(&device[i], COPY_BYTES));
        CU_CHECK(cuMemHostAlloc(&host[i], COPY_BYTES, 0));
        CU_CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    }
    since = seconds_now();
    while (!is_over(since)) {
        CU_CHECK(cuMemcpyHtoDAsync(device[0], host[0], COPY_BYTES, streams[0]));
        if (in_turns)
            CU_CHECK(cuCtxSynchronize());
        CU_CHECK(cuMemcpyDtoHAsync(host[1], device[1], COPY_BYTES, streams[1]));
    }
    printf("copies %zu\n", COPY_BYTES);
}

static void run_copy(void)
{
    copy_both_ways(false);
}

static void run_turns(void)
{
    copy_both_ways(true);
}

int main(int argc, char **argv)
{
    static const struct option_row rows[] = {
        {"ms", OPTION_INT, &ms, 1, 60000, NULL, "how long (1000)"},
        {"blocks", OPTION_INT, &blocks, 1, 100000, NULL, "of spin and mma (half of the SMs)"},
        {NULL, OPTION_INT, NULL, 0, 0, NULL, NULL}};
    void (*const run[])(void) = {run_spin, run_write, run_mma, run_copy, run_turns, run_short};
    CUdevice device;
    CUcontext context;
    int which = 0;

    while (argc > 1 && cases[which] && strcmp(cases[which], argv[1]) != 0)
        which++;
    if (argc < 2 || !cases[which])
        fail("counters: spin, write, mma, copy, turns or short?");
    parse_options(argc - 1, argv + 1, rows);
    CU_CHECK(cuInit(0));
    CU_CHECK(cuDeviceGet(&device, 0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CU_CHECK(cuCtxSetCurrent(context));
    CU_CHECK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    CU_CHECK(cuModuleLoadData(&module, ptx));
    if (!blocks)
        blocks = sms / 2;
    run[which]();
    return 0;
}
