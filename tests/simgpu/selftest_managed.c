/*
 * selftest_managed.c: what unified memory's counters tell of managed memory on its way.
 */
#include "selftest.h"

#include <string.h>
#include <unistd.h>

#define COUNTER(name) CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_##name

enum { HOST = 0, BLOCK = 2 << 20, MEMORY_BYTES = BLOCK + 66048 };

/* 1024 ns and 1 ns for 32 bytes, on a grid of 32 ns. */
enum { BLOCK_NS = 1024 + BLOCK / 32, REST_NS = 1024 + 66048 / 32 + 16, FAULT_NS = 10240 };

static const CUpti_ActivityKind kernels[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                             CUPTI_ACTIVITY_KIND_INVALID};

static CUdeviceptr managed;

static CUptiResult configure(uint32_t first, uint32_t last, uint32_t enable)
{
    CUpti_ActivityUnifiedMemoryCounterConfig configs[COUNTER(COUNT)];
    uint32_t count = 0;

    for (uint32_t kind = first; kind <= last; kind++)
        configs[count++] = (CUpti_ActivityUnifiedMemoryCounterConfig){
            .scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES,
            .kind = (CUpti_ActivityUnifiedMemoryCounterKind)kind,
            .enable = enable};
    return cuptiActivityConfigureUnifiedMemoryCounter(configs, count);
}

static void start(void)
{
    client_start(kernels);
    OK(cuInit(0));
    OK(configure(COUNTER(BYTES_TRANSFER_HTOD), COUNTER(BYTES_TRANSFER_DTOD), 1));
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER));
    gpu_start(NULL);
    OK(cuMemAllocManaged(&managed, MEMORY_BYTES, CU_MEM_ATTACH_GLOBAL));
}

static void use(void)
{
    unsigned n = 1;
    void *arguments[] = {&managed, &n};

    OK(cuLaunchKernel(gpu.other, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
}

static void finish(size_t expected)
{
    client_flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER), expected);
}

/* The nth record, which must be of this counter and about the byte at `offset`. */
static const record_unified *counted(size_t nth, uint32_t counter, uint64_t value, uint64_t offset)
{
    const record_unified *u = client_find(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, nth);

    EXPECT_EQ(u->counterKind, counter);
    EXPECT_EQ(u->value, value);
    EXPECT_EQ(u->address, managed + offset);
    EXPECT_EQ(u->processId, (uint32_t)getpid());
    return u;
}

static void moved(const record_unified *u, uint64_t start, uint64_t duration, int source,
                  int target)
{
    EXPECT_EQ(u->start, start);
    EXPECT_EQ(u->end - u->start, duration);
    EXPECT_EQ((int)u->srcId, source);
    EXPECT_EQ((int)u->dstId, target);
    EXPECT_EQ(u->flags, CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE);
}

static void faulted(const record_unified *u, uint64_t start, uint64_t duration)
{
    EXPECT_EQ(u->start, start);
    EXPECT_EQ(u->end - u->start, duration);
    EXPECT_EQ(u->srcId, 0);
    EXPECT_EQ(u->flags, CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE);
}

static void a_kernel_brings_what_it_points_at(void)
{
    const record_kernel *first, *second;
    uint64_t at;

    start();
    use();
    use();
    OK(cuStreamSynchronize(NULL)); /* no use by the host */
    finish(4);
    EXPECT(client_size(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) >= sizeof(record_unified));
    first = client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    second = client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1);
    at = first->start;
    moved(counted(0, COUNTER(BYTES_TRANSFER_HTOD), BLOCK, 0), at + FAULT_NS, BLOCK_NS, HOST, 0);
    faulted(counted(1, COUNTER(GPU_PAGE_FAULT), 1, 0), at, FAULT_NS + BLOCK_NS);
    at += FAULT_NS + BLOCK_NS;
    moved(counted(2, COUNTER(BYTES_TRANSFER_HTOD), 66048, BLOCK), at + FAULT_NS, REST_NS, HOST, 0);
    faulted(counted(3, COUNTER(GPU_PAGE_FAULT), 1, BLOCK), at, FAULT_NS + REST_NS);
    EXPECT_EQ(second->end - second->start, 2048);
    EXPECT_EQ(first->end, at + FAULT_NS + REST_NS + 2048);
}

static void the_host_takes_it_back(void)
{
    const record_unified *fault;
    uint64_t before, after;

    start();
    use();
    OK(cuStreamSynchronize(NULL));
    OK(cuptiGetTimestamp(&before));
    OK(cuCtxSynchronize());
    OK(cuptiGetTimestamp(&after));
    OK(cuCtxSynchronize()); /* all is there */
    finish(8);
    fault = counted(4, COUNTER(CPU_PAGE_FAULT_COUNT), 0x401000, 0);
    EXPECT(fault->start >= before && fault->start < before + 2000);
    moved(counted(5, COUNTER(BYTES_TRANSFER_DTOH), BLOCK, 0), fault->start + 4096, BLOCK_NS, 0,
          HOST);
    fault = counted(6, COUNTER(CPU_PAGE_FAULT_COUNT), 0x401000, BLOCK);
    moved(counted(7, COUNTER(BYTES_TRANSFER_DTOH), 66048, BLOCK), fault->start + 4096, REST_NS, 0,
          HOST);
    EXPECT(after > before + UINT64_C(8192) + BLOCK_NS + REST_NS);
}

static void another_device_takes_it_over(void)
{
    const record_kernel *k;
    CUcontext context;
    CUfunction other;
    CUmodule module;
    unsigned n = 1;
    void *arguments[] = {&managed, &n};

    start();
    use();
    OK(cuStreamSynchronize(NULL));
    OK(cuDevicePrimaryCtxRetain(&context, 1));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, ".version 6.0\n.target sm_50\n.address_size 64\n"
                                 ".visible .entry other(.param .u64 p, .param .u32 n) { ret; }\n"));
    OK(cuModuleGetFunction(&other, module, "other"));
    OK(cuLaunchKernel(other, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    OK(cuStreamSynchronize(NULL));
    finish(8);
    k = client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1);
    moved(counted(4, COUNTER(BYTES_TRANSFER_DTOD), BLOCK, 0), k->start + FAULT_NS, BLOCK_NS, 0, 1);
}

static void only_configured_counters_count(void)
{
    start();
    OK(configure(COUNTER(GPU_PAGE_FAULT), COUNTER(GPU_PAGE_FAULT), 0));
    use();
    OK(cuStreamSynchronize(NULL));
    finish(2);
    EXPECT_EQ(configure(0, 0, 1), CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(configure(COUNTER(COUNT), COUNTER(COUNT), 1), CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(cuptiActivityConfigureUnifiedMemoryCounter(NULL, 1), CUPTI_ERROR_INVALID_PARAMETER);
}

static void counters_need_the_driver(void)
{
    EXPECT_EQ(configure(1, 1, 1), CUPTI_ERROR_NOT_INITIALIZED);
    OK(cuInit(0));
    OK(configure(1, 1, 1));
}

static void counters_are_refused_when_ordered(void)
{
    OK(cuInit(0));
    EXPECT_EQ(configure(1, 1, 1), CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED);
}

static void records_have_the_size_of_cuda_11(void)
{
    start();
    use();
    OK(cuStreamSynchronize(NULL));
    finish(4);
    EXPECT_EQ(client_size(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER),
              sizeof(CUpti_ActivityUnifiedMemoryCounter2));
}

static void managed_memory_is_freed_as_any_other(void)
{
    CUdeviceptr memory;
    unsigned type;

    gpu_start(NULL);
    EXPECT_EQ(cuMemAllocManaged(&memory, 64, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAllocManaged(&memory, 64, CU_MEM_ATTACH_HOST));
    memset((void *)(uintptr_t)memory, 1, 64); /* the host may use it */
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
    EXPECT_EQ(cuMemFreeHost((void *)(uintptr_t)memory), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(memory));
    EXPECT_EQ(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
}

const struct selftest managed_tests[] = {
    {"a kernel brings the managed memory that it points at", a_kernel_brings_what_it_points_at,
     "SIMGPU_NOISE=0"},
    {"the host takes managed memory back when it has synchronised", the_host_takes_it_back, NULL},
    {"another device takes managed memory over", another_device_takes_it_over, "SIMGPU_DEVICES=2"},
    {"only configured counters count", only_configured_counters_count, NULL},
    {"counters can be configured once the driver is initialised", counters_need_the_driver, NULL},
    {"counters are refused when ordered", counters_are_refused_when_ordered,
     "SIMGPU_UNIFIED_MEMORY_ERROR=28"},
    {"unified memory's records have the size of CUDA 11.8", records_have_the_size_of_cuda_11,
     "SIMGPU_CUPTI_VERSION=18"},
    {"managed memory is freed as any other", managed_memory_is_freed_as_any_other, NULL},
    {0}};
