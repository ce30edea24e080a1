/*
 * metrics.c: kernels whose metrics are known by construction, to put a profiler to the test.
 *
 *     samples/metrics flops|occupancy|dram|gld [--launches N] [--help]
 *
 * launches each kernel of the case N times, checks what it has computed, and prints what a profiler
 * has to find, a line for each number (tests/gpu/metrics.sh compares):
 *
 *     launches=3                           for the whole program; a name without a dot is no metric
 *     flops_sp.flop_count_sp=1795200000    KERNEL.METRIC=VALUE, for each launch of the kernel
 *
 * Names and units are nvprof's: counts and bytes as they are, efficiencies in percent, occupancy as
 * a fraction of 1. Why the values hold is said with each case below. The software GPU executes no
 * PTX: there the results are not checked (`checked=0`), and dram has a buffer of 64 MiB.
 */
#include "common.h"
#include "metrics_ptx.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of neighbouring words in what dram_write writes. */
#define DRAM_FACTOR  UINT32_C(2654435761)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { WARP = 32, SECTOR = 32 };

static struct program {
    CUcontext context;
    CUmodule module;
    CUdevice device;
    unsigned sms, warps_per_sm;
    bool checks; /* not on the software GPU */
} program;

static struct settings {
    int launches, trips, ms, mib;
} settings = {.launches = 3, .trips = 1000, .ms = 5, .mib = 0};

/* ---- what all cases use ---------------------------------------------------------------------- */

static unsigned attribute(CUdevice_attribute which)
{
    int value = 0;

    CU_CHECK(cuDeviceGetAttribute(&value, which, program.device));
    return (unsigned)value;
}

static CUfunction kernel(const char *name)
{
    CUfunction function;

    CU_CHECK(cuModuleGetFunction(&function, program.module, name));
    return function;
}

static void launch(CUfunction function, unsigned blocks, unsigned threads, unsigned shared,
                   void **arguments)
{
    CU_CHECK(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, NULL, arguments, NULL));
}

static void truth(const char *name, const char *metric, double value)
{
    printf("%s.%s=%.17g\n", name, metric, value);
}

static CUdeviceptr device_buffer(size_t bytes)
{
    CUdeviceptr buffer;

    CU_CHECK(cuMemAlloc(&buffer, bytes));
    return buffer;
}

static void *host_buffer(size_t bytes)
{
    void *buffer = calloc(1, bytes);

    if (!buffer)
        fail("metrics: out of memory");
    return buffer;
}

/* The device's buffer in memory of the host, which the caller frees. */
static void *fetch(CUdeviceptr from, size_t bytes)
{
    void *buffer = host_buffer(bytes);

    CU_CHECK(cuMemcpyDtoH(buffer, from, bytes));
    return buffer;
}

/* ---- flops ----------------------------------------------------------------------------------- */

/*
 * Each thread executes a chain of operations in a loop (metrics_ptx.c): nothing can be fused,
 * folded or left out, and the results are exact only if nothing was. Blocks have 200 threads: who
 * counts whole warps instead of threads is off by 12 %.
 */
enum { FLOPS_BLOCK = 200, FLOPS_BLOCKS_PER_SM = 4 };

static void check_flops(const char *name, CUdeviceptr out, unsigned threads, bool dp)
{
    void *results = fetch(out, threads * (dp ? sizeof(double) : sizeof(float)));
    const double *doubles = results;
    const float *floats = results;

    for (unsigned i = 0; program.checks && i < threads; i++)
        if ((dp ? doubles[i] : (double)floats[i]) != 1 + i % 64 / 64.0 + settings.trips * TRIP_GAIN)
            fail("metrics: %s: wrong result of thread %u", name, i);
    free(results);
}

static void flops_truth(const char *name, const char *precision, double threads)
{
    static const char *const suffixes[] = {"", "_add", "_mul", "_fma"};
    static const int counts[] = {TRIP_ADDS + TRIP_MULS + 2 * TRIP_FMAS, TRIP_ADDS, TRIP_MULS,
                                 TRIP_FMAS}; /* in a trip */
    char metric[32];

    for (size_t i = 0; i < COUNT(counts); i++) {
        snprintf(metric, sizeof(metric), "flop_count_%s%s", precision, suffixes[i]);
        truth(name, metric, threads * settings.trips * counts[i]);
    }
}

static void run_flops(void)
{
    unsigned blocks = program.sms * FLOPS_BLOCKS_PER_SM, threads = blocks * FLOPS_BLOCK;
    unsigned trips = (unsigned)settings.trips;
    CUdeviceptr out = device_buffer(threads * sizeof(double));
    float two = 2, half = 0.5, one = 1;
    double two_dp = 2, half_dp = 0.5, one_dp = 1;
    void *sp[] = {&out, &trips, &two, &half, &one};
    void *dp[] = {&out, &trips, &two_dp, &half_dp, &one_dp};

    for (int i = 0; i < settings.launches; i++) {
        launch(kernel("flops_sp"), blocks, FLOPS_BLOCK, 0, sp);
        check_flops("flops_sp", out, threads, false);
        launch(kernel("flops_dp"), blocks, FLOPS_BLOCK, 0, dp);
        check_flops("flops_dp", out, threads, true);
    }
    flops_truth("flops_sp", "sp", threads);
    flops_truth("flops_dp", "dp", threads);
    CU_CHECK(cuMemFree(out));
}

/* ---- occupancy ------------------------------------------------------------------------------- */

/*
 * All blocks of the grid run at once, k on each SM: each asks for so much shared memory, or has so
 * many warps, that k fit and k + 1 do not, and there are k blocks for each SM. They spin for the
 * same time, long against the time that it takes to start them all. Each block tells its SM and its
 * times, and the host checks both. In one kernel the odd warps end after half of the time and count
 * half: achieved occupancy is not the theoretical one.
 */
/* What a block leaves, as the kernel writes it. */
struct block_record {
    uint64_t sm, first_ns, last_ns;
};

/* Warps of 0: half of what the SM holds, and no shared memory: warps are the limit. */
static const struct occupancy_case {
    const char *kernel;
    unsigned blocks_per_sm, warps;
    bool odd_warps_leave;
} occupancy_cases[] = {
    {"occupancy_4_warps", 1, 4, false},        {"occupancy_8_warps", 1, 8, false},
    {"occupancy_16_warps", 2, 8, false},       {"occupancy_24_warps", 3, 8, false},
    {"occupancy_32_warps", 4, 8, false},       {"occupancy_all_warps", 2, 0, false},
    {"occupancy_odd_warps_leave", 2, 8, true},
};

/* Shared memory of a block so that `blocks` fit into an SM and one more does not. The driver may
 * round up to 1 KiB and keeps some for itself. 0 where sizes are not known. */
static unsigned shared_bytes(unsigned blocks)
{
    unsigned sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    unsigned max = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    unsigned reserved = attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    unsigned bytes = sm / blocks / 1024 * 1024;

    bytes = bytes > reserved ? bytes - reserved : 0;
    return bytes < max ? bytes : max;
}

/* All blocks ran at once, the same number of them on each SM. */
static void check_blocks(const struct occupancy_case *row, const struct block_record *blocks)
{
    unsigned on_sm[1024] = {0};
    uint64_t last_begin = 0, first_end = UINT64_MAX;

    for (unsigned i = 0; program.checks && i < program.sms * row->blocks_per_sm; i++) {
        const struct block_record *block = &blocks[i];

        if (block->sm >= COUNT(on_sm))
            fail("metrics: %s: block %u ran on no SM", row->kernel, i);
        if (++on_sm[block->sm] > row->blocks_per_sm)
            fail("metrics: %s: too many blocks on SM %u", row->kernel, (unsigned)block->sm);
        last_begin = block->first_ns > last_begin ? block->first_ns : last_begin;
        first_end = block->last_ns < first_end ? block->last_ns : first_end;
    }
    if (program.checks && last_begin >= first_end)
        fail("metrics: %s: not all blocks ran at once", row->kernel);
}

static void run_occupancy_case(const struct occupancy_case *row, unsigned warps)
{
    unsigned blocks = program.sms * row->blocks_per_sm;
    unsigned shared = row->warps ? shared_bytes(row->blocks_per_sm) : 0;
    uint64_t cycles = (uint64_t)attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) * (uint64_t)settings.ms;
    uint64_t odd_cycles = row->odd_warps_leave ? cycles / 2 : cycles;
    size_t bytes = blocks * sizeof(struct block_record);
    CUdeviceptr out = device_buffer(bytes);
    CUfunction function = kernel(row->kernel);
    void *arguments[] = {&out, &cycles, &odd_cycles};
    struct block_record *records;

    CU_CHECK(
        cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared));
    CU_CHECK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                CU_SHAREDMEM_CARVEOUT_MAX_SHARED));
    for (int i = 0; i < settings.launches; i++) {
        launch(function, blocks, warps * WARP, shared, arguments);
        records = fetch(out, bytes);
        check_blocks(row, records);
        free(records);
    }
    CU_CHECK(cuMemFree(out));
}

static void run_occupancy(void)
{
    for (size_t i = 0; i < COUNT(occupancy_cases); i++) {
        const struct occupancy_case *row = &occupancy_cases[i];
        unsigned warps = row->warps ? row->warps : program.warps_per_sm / row->blocks_per_sm;
        double resident = row->blocks_per_sm * warps;

        if (resident > program.warps_per_sm)
            continue;
        run_occupancy_case(row, warps);
        truth(row->kernel, "achieved_occupancy",
              (row->odd_warps_leave ? 0.75 : 1) * resident / program.warps_per_sm);
    }
}

/* ---- dram ------------------------------------------------------------------------------------ */

/*
 * A buffer of a hundred times the L2 cache is written, then read, each 32-byte sector once and as a
 * whole. What a launch finds of the buffer in the cache, one L2 at most, it need not read. When a
 * launch ends, one L2 at most waits to be written back; as much may be left over from the launch
 * before. So values are 1 % off at most, flushed caches or not. Reading writes 4 bytes a thread.
 * HBM keeps its ECC bits aside; with ECC on GDDR memory they are more traffic (`ecc=1`).
 */
enum { DRAM_BLOCK = 256, DRAM_BLOCKS_PER_SM = 8, DRAM_SIZE_IN_L2 = 100, SIMGPU_MIB = 64 };

/* A hundred times the L2 cache, but half of the free memory at most, or what the user wants. */
static size_t wanted_bytes(void)
{
    size_t l2 = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE), bytes = DRAM_SIZE_IN_L2 * l2;
    size_t unused, total;

    CU_CHECK(cuMemGetInfo(&unused, &total));
    if (settings.mib)
        bytes = (size_t)settings.mib << 20;
    else if (!program.checks)
        bytes = (size_t)SIMGPU_MIB << 20;
    else if (bytes > unused / 2)
        bytes = unused / 2;
    printf("l2_bytes=%zu\necc=%u\n", l2, attribute(CU_DEVICE_ATTRIBUTE_ECC_ENABLED));
    if (program.checks && bytes < l2 * DRAM_SIZE_IN_L2)
        fprintf(stderr, "metrics: a buffer of only %.0f times the L2 cache: up to %.1f %% off\n",
                (double)bytes / (double)l2, 100 * (double)l2 / (double)bytes);
    return bytes;
}

/* Words are an arithmetic series modulo 2^32. */
static uint32_t sum_of_words(uint64_t words, uint32_t salt)
{
    uint64_t pairs = words % 2 ? (words - 1) / 2 * words : words / 2 * (words - 1);

    return (uint32_t)(pairs * DRAM_FACTOR + words * salt);
}

static void check_sum(CUdeviceptr sums, unsigned threads, uint64_t bytes, uint32_t salt)
{
    uint32_t *partial = fetch(sums, threads * sizeof(uint32_t));
    uint32_t sum = 0;

    for (unsigned i = 0; i < threads; i++)
        sum += partial[i];
    free(partial);
    if (program.checks && sum != sum_of_words(bytes / sizeof(uint32_t), salt))
        fail("metrics: dram: the sum of what was read is wrong");
}

static void run_dram(void)
{
    unsigned blocks = program.sms * DRAM_BLOCKS_PER_SM, threads = blocks * DRAM_BLOCK;
    size_t round_bytes = (size_t)threads * 16; /* a vector load or store of each thread */
    unsigned rounds = (unsigned)(wanted_bytes() / round_bytes);
    size_t bytes;
    unsigned factor = DRAM_FACTOR, salt;
    CUdeviceptr buffer, sums;
    void *write[] = {&buffer, &rounds, &factor, &salt}, *read[] = {&buffer, &rounds, &sums};

    rounds = rounds ? rounds : 1;
    bytes = rounds * round_bytes;
    buffer = device_buffer(bytes);
    sums = device_buffer(threads * sizeof(uint32_t));
    for (int i = 0; i < settings.launches; i++) {
        salt = (unsigned)i + 1;
        launch(kernel("dram_write"), blocks, DRAM_BLOCK, 0, write);
        launch(kernel("dram_read"), blocks, DRAM_BLOCK, 0, read);
        check_sum(sums, threads, bytes, salt);
    }
    truth("dram_write", "dram_write_bytes", (double)bytes);
    truth("dram_write", "dram_write_transactions", (double)bytes / SECTOR);
    truth("dram_read", "dram_read_bytes", (double)bytes);
    truth("dram_read", "dram_read_transactions", (double)bytes / SECTOR);
    CU_CHECK(cuMemFree(sums));
    CU_CHECK(cuMemFree(buffer));
}

/* ---- gld ------------------------------------------------------------------------------------- */

/*
 * One load or store of 4 bytes a thread, s elements apart: a warp's request touches 4 s sectors of
 * 32 bytes, 32 at most. Buffers begin at a multiple of 256 bytes. All warps are full.
 */
/* A multiple of the number of SMs, so that each does the same. */
enum { GLD_BLOCK = 256, GLD_BLOCKS_PER_SM = 8, GLD_LARGEST_STRIDE = 32 };

static const unsigned gld_strides[] = {1, 2, 4, 8, 32};

struct gld_buffers {
    CUdeviceptr near, far; /* an element for each thread, and GLD_LARGEST_STRIDE times as many */
    unsigned blocks, threads;
    size_t far_bytes;
};

/* Element i of `far` is 3 i. */
static void gld_init(struct gld_buffers *b)
{
    uint32_t *values;

    b->blocks = program.sms * GLD_BLOCKS_PER_SM;
    b->threads = b->blocks * GLD_BLOCK;
    b->far_bytes = (size_t)b->threads * GLD_LARGEST_STRIDE * sizeof(uint32_t);
    b->near = device_buffer(b->threads * sizeof(uint32_t));
    b->far = device_buffer(b->far_bytes);
    values = host_buffer(b->far_bytes);
    for (uint32_t i = 0; i < b->far_bytes / sizeof(uint32_t); i++)
        values[i] = 3 * i;
    CU_CHECK(cuMemcpyHtoD(b->far, values, b->far_bytes));
    free(values);
}

static void check_load(const struct gld_buffers *b, const char *name, unsigned stride)
{
    uint32_t *values = fetch(b->near, b->threads * sizeof(uint32_t));

    for (uint32_t i = 0; program.checks && i < b->threads; i++)
        if (values[i] != 3 * i * stride + 1)
            fail("metrics: %s: wrong result of thread %u", name, i);
    free(values);
}

/* What lies between the elements is what was there before. */
static void check_store(const struct gld_buffers *b, const char *name, unsigned stride)
{
    uint32_t *values = fetch(b->far, b->far_bytes);

    for (uint32_t i = 0; program.checks && i < b->threads * stride; i++)
        if (values[i] != (i % stride ? UINT32_MAX : i / stride + 1))
            fail("metrics: %s: wrong element %u", name, i);
    free(values);
}

enum access { LOAD, STORE };

static void access_truth(const char *name, enum access access, unsigned stride, unsigned warps)
{
    static const char *const metrics[][2] = {
        {"gld_efficiency", "gst_efficiency"},
        {"gld_transactions", "gst_transactions"},
        {"gld_transactions_per_request", "gst_transactions_per_request"},
        {"global_load_requests", "global_store_requests"},
        {"inst_executed_global_loads", "inst_executed_global_stores"}};
    double sectors = stride < 8 ? 4 * stride : WARP; /* of a warp's request */
    double values[] = {100.0 * WARP * sizeof(uint32_t) / (sectors * SECTOR), warps * sectors,
                       sectors, warps, warps};

    for (size_t i = 0; i < COUNT(values); i++)
        truth(name, metrics[i][access], values[i]);
}

static void run_load(struct gld_buffers *b, unsigned stride)
{
    void *arguments[] = {&b->far, &b->near, &stride};
    char name[32];

    snprintf(name, sizeof(name), "gld_stride_%u", stride);
    for (int i = 0; i < settings.launches; i++)
        launch(kernel(name), b->blocks, GLD_BLOCK, 0, arguments);
    check_load(b, name, stride);
    access_truth(name, LOAD, stride, b->threads / WARP);
    access_truth(name, STORE, 1, b->threads / WARP);
}

static void run_store(struct gld_buffers *b, unsigned stride)
{
    void *arguments[] = {&b->far, &stride};
    char name[32];

    snprintf(name, sizeof(name), "gst_stride_%u", stride);
    CU_CHECK(cuMemsetD8(b->far, 0xff, b->far_bytes));
    for (int i = 0; i < settings.launches; i++)
        launch(kernel(name), b->blocks, GLD_BLOCK, 0, arguments);
    check_store(b, name, stride);
    access_truth(name, STORE, stride, b->threads / WARP);
}

static void run_gld(void)
{
    struct gld_buffers buffers;

    gld_init(&buffers);
    for (size_t i = 0; i < COUNT(gld_strides); i++)
        run_load(&buffers, gld_strides[i]);
    for (size_t i = 0; i < COUNT(gld_strides); i++)
        run_store(&buffers, gld_strides[i]);
    CU_CHECK(cuMemFree(buffers.near));
    CU_CHECK(cuMemFree(buffers.far));
}

/* ---- program --------------------------------------------------------------------------------- */

static const struct metrics_case {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"flops", run_flops}, {"occupancy", run_occupancy}, {"dram", run_dram}, {"gld", run_gld}};

/* More trips would make the sums of flops_sp round. */
static const struct option_row option_rows[] = {
    {"launches", OPTION_INT, &settings.launches, 1, 1000000, NULL, "of each kernel (3)"},
    {"trips", OPTION_INT, &settings.trips, 1, 10000, NULL, "flops: of a thread's loop (1000)"},
    {"ms", OPTION_INT, &settings.ms, 1, 1000, NULL, "occupancy: time of a kernel (5)"},
    {"mib", OPTION_INT, &settings.mib, 1, 1 << 16, NULL, "dram: the buffer (100 times the L2)"},
    {0}};

/* The case stands first; what follows are options. */
static const struct metrics_case *parse_case(int argc, char **argv)
{
    static char usage[4096];
    const struct metrics_case *found = NULL;

    for (size_t i = 0; argc > 1 && i < COUNT(cases); i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            found = &cases[i];
    if (!found && (argc < 2 || strcmp(argv[1], "--help") != 0)) {
        fprintf(stderr, "metrics: which case: flops, occupancy, dram or gld? Try --help\n");
        exit(2);
    }
    snprintf(usage, sizeof(usage), "%s %s", argv[0],
             found ? found->name : "flops|occupancy|dram|gld");
    argv[found != NULL] = usage;
    parse_options(argc - (found != NULL), argv + (found != NULL), option_rows);
    return found ? found : cases; /* there is no way back from --help */
}

static void set_up(void)
{
    CU_CHECK(cuInit(0));
    CU_CHECK(cuDeviceGet(&program.device, 0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&program.context, program.device));
    CU_CHECK(cuCtxSetCurrent(program.context));
    CU_CHECK(cuModuleLoadData(&program.module, metrics_ptx));
    program.checks = dlsym(RTLD_DEFAULT, "simgpu_clock_ns") == NULL;
    program.sms = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    program.warps_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / WARP;
}

int main(int argc, char **argv)
{
    const struct metrics_case *chosen = parse_case(argc, argv);

    set_up();
    printf("launches=%d\nchecked=%d\nsms=%u\n", settings.launches, program.checks, program.sms);
    chosen->run();
    CU_CHECK(cuModuleUnload(program.module));
    CU_CHECK(cuDevicePrimaryCtxRelease(program.device));
    return 0;
}
