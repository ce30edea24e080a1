/*
 * selftest_records.c: every field of every record, read through CUPTI's own structs.
 */
#include "selftest.h"

#include <string.h>
#include <unistd.h>

static const CUpti_ActivityKind all_kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_MEMCPY,
                                               CUPTI_ACTIVITY_KIND_MEMCPY2,
                                               CUPTI_ACTIVITY_KIND_MEMSET,
                                               CUPTI_ACTIVITY_KIND_DRIVER,
                                               CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                               CUPTI_ACTIVITY_KIND_CUDA_EVENT,
                                               CUPTI_ACTIVITY_KIND_MEMORY2,
                                               CUPTI_ACTIVITY_KIND_MEMORY_POOL,
                                               CUPTI_ACTIVITY_KIND_OVERHEAD,
                                               CUPTI_ACTIVITY_KIND_CONTEXT,
                                               CUPTI_ACTIVITY_KIND_DEVICE,
                                               CUPTI_ACTIVITY_KIND_STREAM,
                                               CUPTI_ACTIVITY_KIND_INVALID};

/* CUPTI releases that are newer than the struct append to it. */
#define EXPECT_SIZE(kind, record) EXPECT(client_size(CUPTI_ACTIVITY_KIND_##kind) >= sizeof(record))

static const CUpti_ActivityKind kernel_only[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                                 CUPTI_ACTIVITY_KIND_INVALID};

/* The API record of the nth call with this cbid. */
static const CUpti_ActivityAPI *find_api(uint32_t cbid, size_t nth)
{
    for (size_t i = 0; i < client_count(CUPTI_ACTIVITY_KIND_DRIVER); i++) {
        const CUpti_ActivityAPI *api = client_find(CUPTI_ACTIVITY_KIND_DRIVER, i);

        if (api->cbid == cbid && nth-- == 0)
            return api;
    }
    EXPECT(!"no such API record");
    abort();
}

static void finish(void)
{
    OK(cuCtxSynchronize());
    client_flush(0);
    EXPECT_EQ(client.buffers_out, 0);
}

static void kernel_has_every_field(void)
{
    const record_kernel *k;
    const CUpti_ActivityAPI *api;
    CUdeviceptr memory;
    unsigned n = 4;
    void *arguments[] = {&memory, &n};
    CUstream stream;

    gpu_start(all_kinds);
    OK(cuMemAlloc(&memory, 64));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchKernel(gpu.other, 3, 4, 5, 6, 7, 8, 1024, stream, arguments, NULL));
    finish();
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
    k = client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    api = find_api(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 0);
    EXPECT_SIZE(CONCURRENT_KERNEL, *k);
    EXPECT_EQ(k->registersPerThread, 32);
    EXPECT(k->start > api->start && k->end > k->start);
    EXPECT_EQ(k->start % 32, 0);
    EXPECT_EQ(k->end % 32, 0);
    EXPECT_EQ(k->completed, 0);
    EXPECT_EQ(k->deviceId, 0);
    EXPECT_EQ(k->contextId, 1);
    EXPECT_EQ(k->streamId, 13);
    EXPECT(k->gridX == 3 && k->gridY == 4 && k->gridZ == 5);
    EXPECT(k->blockX == 6 && k->blockY == 7 && k->blockZ == 8);
    EXPECT_EQ(k->staticSharedMemory, 0);
    EXPECT_EQ(k->dynamicSharedMemory, 1024);
    EXPECT_EQ(k->correlationId, api->correlationId);
    EXPECT_EQ(k->gridId, 1);
    EXPECT(strcmp(k->name, "other") == 0);
    EXPECT(k->queued == CUPTI_TIMESTAMP_UNKNOWN && k->submitted == CUPTI_TIMESTAMP_UNKNOWN);
    EXPECT_EQ(k->launchType, CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR);
    EXPECT_EQ(k->sharedMemoryExecuted, 32768);
    EXPECT(k->graphNodeId == 0 && k->graphId == 0);
    EXPECT(!k->pAccessPolicyWindow);
    EXPECT_EQ(k->channelID, 1);
    EXPECT_EQ(k->channelType, CUPTI_CHANNEL_TYPE_COMPUTE);
    EXPECT(k->clusterX == 0 && k->clusterY == 0 && k->clusterZ == 0);
    EXPECT_EQ(k->localMemoryTotal_v2, 0);
#ifndef SIMGPU_LACKS_CUpti_ActivityKernel10
    EXPECT_EQ(k->isDeviceLaunched, 0);
#endif
}

static void copy_has_every_field(void)
{
    const record_copy *in, *out;
    const CUpti_ActivityAPI *api;
    char pageable[5000] = "text";
    void *pinned;
    CUdeviceptr memory;

    gpu_start(all_kinds);
    OK(cuMemAlloc(&memory, 5000));
    OK(cuMemHostAlloc(&pinned, 5000, 0));
    OK(cuMemcpyHtoD(memory, pageable, 5000));
    OK(cuMemcpyDtoHAsync(pinned, memory, 4999, NULL));
    finish();
    EXPECT(strcmp(pinned, "text") == 0);
    in = client_find(CUPTI_ACTIVITY_KIND_MEMCPY, 0);
    out = client_find(CUPTI_ACTIVITY_KIND_MEMCPY, 1);
    EXPECT_SIZE(MEMCPY, *in);
    EXPECT_EQ(in->copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
    EXPECT_EQ(in->srcKind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
    EXPECT_EQ(in->dstKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    EXPECT_EQ(in->flags, 0);
    EXPECT_EQ(in->bytes, 5000);
    EXPECT(in->end > in->start && out->start >= in->end);
    EXPECT(in->deviceId == 0 && in->contextId == 1 && in->streamId == 7);
    api = find_api(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2, 0);
    EXPECT(in->correlationId == api->correlationId);
    EXPECT(in->runtimeCorrelationId == 0 && in->graphNodeId == 0 && in->graphId == 0);
    EXPECT_EQ(in->channelID, 2);
    EXPECT_EQ(in->channelType, CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY);
#ifndef SIMGPU_LACKS_CUpti_ActivityMemcpy6
    EXPECT_EQ(in->copyCount, 1);
#endif
    EXPECT_EQ(out->copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
    EXPECT_EQ(out->dstKind, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
    EXPECT_EQ(out->flags, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
}

static void peer_copy_names_both_ends(void)
{
    const CUpti_ActivityMemcpyPtoP4 *p;
    CUdeviceptr here, there;
    CUcontext other;

    gpu_start(all_kinds);
    OK(cuMemAlloc(&here, 256));
    OK(cuDevicePrimaryCtxRetain(&other, 1));
    OK(cuCtxPushCurrent(other));
    OK(cuMemAlloc(&there, 256));
    OK(cuCtxPopCurrent(NULL));
    OK(cuMemcpyPeerAsync(there, other, here, gpu.context, 256, NULL));
    finish();
    p = client_find(CUPTI_ACTIVITY_KIND_MEMCPY2, 0);
    EXPECT_SIZE(MEMCPY2, *p);
    EXPECT_EQ(p->copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
    EXPECT(p->srcKind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE && p->dstKind == p->srcKind);
    EXPECT(p->bytes == 256 && p->flags == CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
    EXPECT(p->deviceId == 0 && p->contextId == 1 && p->streamId == 7);
    EXPECT(p->srcDeviceId == 0 && p->srcContextId == 1);
    EXPECT(p->dstDeviceId == 1 && p->dstContextId == 2);
    EXPECT(p->end > p->start && p->correlationId && p->graphId == 0);
    EXPECT_EQ(p->channelType, CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY);
}

static void memset_has_every_field(void)
{
    const CUpti_ActivityMemset4 *m;
    uint32_t back[16];
    CUdeviceptr memory;

    gpu_start(all_kinds);
    OK(cuMemAlloc(&memory, 64));
    OK(cuMemsetD32Async(memory, 0x01020304, 16, NULL));
    OK(cuMemcpyDtoH(back, memory, 64));
    EXPECT_EQ(back[15], 0x01020304);
    finish();
    m = client_find(CUPTI_ACTIVITY_KIND_MEMSET, 0);
    EXPECT_SIZE(MEMSET, *m);
    EXPECT(m->value == 0x01020304 && m->bytes == 64);
    EXPECT(m->end > m->start && m->streamId == 7 && m->contextId == 1 && m->deviceId == 0);
    EXPECT_EQ(m->flags, CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC);
    EXPECT_EQ(m->memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    EXPECT_EQ(m->channelType, CUPTI_CHANNEL_TYPE_COMPUTE);
#ifndef SIMGPU_LACKS_CUpti_ActivityKernel10 /* came into the padding with it or before */
    EXPECT_EQ(m->isDeviceLaunched, 0);
#endif
}

static void api_records_nest_nothing_and_carry_results(void)
{
    const CUpti_ActivityAPI *api;
    int unused;

    EXPECT_EQ(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), CUPTI_SUCCESS);
    gpu_start(all_kinds);
    EXPECT_EQ(cuDeviceGetAttribute(&unused, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99),
              CUDA_ERROR_INVALID_DEVICE);
    finish();
    api = find_api(CUPTI_DRIVER_TRACE_CBID_cuDeviceGetAttribute, 0);
    EXPECT(sizeof(*api) == 40);
    EXPECT_EQ(api->returnValue, CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(api->processId, getpid());
    EXPECT_EQ(api->threadId, getpid()); /* the main thread */
    EXPECT_EQ(api->end - api->start, 40);
    for (size_t i = 1; i < client_count(CUPTI_ACTIVITY_KIND_DRIVER); i++) {
        const CUpti_ActivityAPI *a = client_find(CUPTI_ACTIVITY_KIND_DRIVER, i - 1);
        const CUpti_ActivityAPI *b = client_find(CUPTI_ACTIVITY_KIND_DRIVER, i);

        EXPECT(b->start >= a->end);
        EXPECT_EQ(b->correlationId, a->correlationId + 1);
    }
}

static void synchronizations_have_types_and_spans(void)
{
    const record_sync *s;
    CUevent event;
    CUstream stream;

    gpu_start(all_kinds);
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
    gpu_spin(stream, 50);
    OK(cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(NULL, event, 0));
    OK(cuEventSynchronize(event));
    OK(cuStreamSynchronize(stream));
    finish();
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), 4);
    s = client_find(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 0);
    EXPECT_SIZE(SYNCHRONIZATION, *s);
    EXPECT_EQ(s->type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
    EXPECT(s->cudaEventId == 1 && s->streamId == 7);
#ifndef SIMGPU_LACKS_CUpti_ActivitySynchronization2
    EXPECT_EQ(s->cudaEventSyncId, 1);
#endif
    s = client_find(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 1);
    EXPECT_EQ(s->type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
    EXPECT(s->end - s->start > 40000 && s->cudaEventId == 1);
    EXPECT_EQ(s->streamId, (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE);
    s = client_find(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 2);
    EXPECT_EQ(s->type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
    EXPECT(s->streamId == 13 && s->contextId == 1);
#ifndef SIMGPU_LACKS_CUpti_ActivitySynchronization2
    EXPECT_EQ(s->returnValue, 0);
#endif
    EXPECT_EQ(s->cudaEventId, (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE);
    s = client_find(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 3);
    EXPECT_EQ(s->type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
}

static void small_records_have_every_field(void)
{
    const record_event *e;
    const CUpti_ActivityStream *s;
    const record_context *c;
    const record_device *d;
    const record_overhead *o;
    CUevent event;
    CUstream stream;

    gpu_start(all_kinds);
#if CUPTI_API_VERSION >= 130000 /* see cuptiActivityEnableCudaEventDeviceTimestamps */
    OK(cuptiActivityEnableCudaEventDeviceTimestamps(1));
#endif
    OK(cuEventCreate(&event, 0));
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -2));
    OK(cuEventRecord(event, stream));
    gpu_spin(stream, 1);
    gpu_spin(stream, 1);
    finish();
    e = client_find(CUPTI_ACTIVITY_KIND_CUDA_EVENT, 0);
    EXPECT_SIZE(CUDA_EVENT, *e);
    EXPECT(e->eventId == 1 && e->streamId == 13 && e->contextId == 1);
    EXPECT(e->correlationId);
#ifndef SIMGPU_LACKS_CUpti_ActivityCudaEvent2
    EXPECT_EQ(e->cudaEventSyncId, 1);
#endif
#if CUPTI_API_VERSION >= 130000 /* see cuptiActivityEnableCudaEventDeviceTimestamps */
    EXPECT(e->deviceTimestamp);
#endif
    s = client_find(CUPTI_ACTIVITY_KIND_STREAM, 0);
    EXPECT(sizeof(*s) == 24 && s->contextId == 1 && s->streamId == 13);
    EXPECT_EQ(s->priority, (uint32_t)-2);
    EXPECT_EQ(s->flag, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING);
    c = client_find(CUPTI_ACTIVITY_KIND_CONTEXT, 0);
    EXPECT_SIZE(CONTEXT, *c);
    EXPECT(c->contextId == 1 && c->deviceId == 0);
    EXPECT(c->computeApiKind == CUPTI_ACTIVITY_COMPUTE_API_CUDA && c->nullStreamId == 7);
#ifndef SIMGPU_LACKS_CUpti_ActivityContext2
    EXPECT(c->numMultiprocessors == 128 && !c->isGreenContext);
#endif
    d = client_find(CUPTI_ACTIVITY_KIND_DEVICE, 0);
    EXPECT_SIZE(DEVICE, *d);
    EXPECT(d->id == 0 && strcmp(d->name, "SimGPU") == 0);
    EXPECT(d->computeCapabilityMajor == 9 && d->numMultiprocessors == 128);
    EXPECT(d->numThreadsPerWarp == 32 && d->maxGridDimX == 2147483647 && d->isCudaVisible);
    EXPECT(d->maxThreadsPerBlock == 1024 && memcmp(d->uuid.bytes, "simgpu", 6) == 0);
    o = client_find(CUPTI_ACTIVITY_KIND_OVERHEAD, 0);
    EXPECT_SIZE(OVERHEAD, *o);
    EXPECT(o->end > o->start);
#ifndef SIMGPU_LACKS_CUpti_ActivityOverhead2
    EXPECT(o->correlationId);
#endif
    EXPECT_EQ(o->overheadKind, CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING);
    EXPECT_EQ(o->objectKind, CUPTI_ACTIVITY_OBJECT_THREAD);
    EXPECT_EQ(o->objectId.pt.processId, getpid());
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_OVERHEAD), 1);
}

/* One place in the program, however often it is called. */
static __attribute__((noinline)) void allocate_here(void)
{
    CUdeviceptr memory;

    OK(cuMemAlloc(&memory, 64));
}

static void memory_records_say_who_called(void)
{
    CUdeviceptr memory;
    uint64_t callers[3];

    gpu_start(all_kinds);
    allocate_here();
    OK(cuMemAlloc(&memory, 64));
    allocate_here();
    finish();
    for (size_t i = 0; i < 3; i++) {
        const record_memory *m = client_find(CUPTI_ACTIVITY_KIND_MEMORY2, i);

        callers[i] = m->PC;
    }
    EXPECT(callers[0] && callers[1] && callers[0] != callers[1]);
    EXPECT_EQ(callers[0], callers[2]);
}

static void memory_records_tell_pools_apart(void)
{
    const record_memory *m;
    const record_pool *p;
    CUdeviceptr plain, pooled;

    gpu_start(all_kinds);
    OK(cuMemAlloc(&plain, 1000));
    OK(cuMemAllocAsync(&pooled, 2000, NULL));
    OK(cuMemFreeAsync(pooled, NULL));
    OK(cuMemFree(plain));
    finish();
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_MEMORY2), 4);
    m = client_find(CUPTI_ACTIVITY_KIND_MEMORY2, 0);
    EXPECT_SIZE(MEMORY2, *m);
    EXPECT(m->bytes == 1000 && m->address == plain && !m->isAsync);
    EXPECT_EQ(m->memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
    EXPECT_EQ(m->memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    EXPECT(m->processId == (uint32_t)getpid() && m->contextId == 1 && m->timestamp);
    EXPECT_EQ(m->memoryPoolConfig.memoryPoolType, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID);
    m = client_find(CUPTI_ACTIVITY_KIND_MEMORY2, 1);
    p = client_find(CUPTI_ACTIVITY_KIND_MEMORY_POOL, 0);
    EXPECT_SIZE(MEMORY_POOL, *p);
    EXPECT(p->address && p->timestamp <= m->timestamp);
    EXPECT_EQ(p->memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED);
    EXPECT_EQ(p->memoryPoolType, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
    EXPECT(m->isAsync && m->streamId == 7 && m->memoryPoolConfig.address == p->address);
    EXPECT_EQ(m->memoryPoolConfig.pool.size, 2000);
    EXPECT_EQ(m->memoryPoolConfig.utilizedSize, 2000);
    m = client_find(CUPTI_ACTIVITY_KIND_MEMORY2, 2);
    EXPECT_EQ(m->memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
    EXPECT_EQ(m->memoryPoolConfig.utilizedSize, 0);
}

/* What the record structs of each CUDA release measure, up to that of the headers. */
static const struct {
    const char *environment;
    uint32_t version;
    size_t kernel, copy, sync, event, overhead, memory, pool;
} versions[] = {
    {"18", 18, sizeof(CUpti_ActivityKernel8), sizeof(CUpti_ActivityMemcpy5),
     sizeof(CUpti_ActivitySynchronization), sizeof(CUpti_ActivityCudaEvent),
     sizeof(CUpti_ActivityOverhead), sizeof(CUpti_ActivityMemory3),
     sizeof(CUpti_ActivityMemoryPool2)},
#if CUPTI_API_VERSION >= 24
    {"24", 24, sizeof(CUpti_ActivityKernel9), sizeof(CUpti_ActivityMemcpy5),
     sizeof(CUpti_ActivitySynchronization), sizeof(CUpti_ActivityCudaEvent),
     sizeof(CUpti_ActivityOverhead3), sizeof(CUpti_ActivityMemory4),
     sizeof(CUpti_ActivityMemoryPool2)},
#endif
#if CUPTI_API_VERSION >= 28
    {"28", 28, sizeof(CUpti_ActivityKernel9), sizeof(CUpti_ActivityMemcpy6),
     sizeof(CUpti_ActivitySynchronization2), sizeof(CUpti_ActivityCudaEvent2),
     sizeof(CUpti_ActivityOverhead3), sizeof(CUpti_ActivityMemory4),
     sizeof(CUpti_ActivityMemoryPool2)},
#endif
#if CUPTI_API_VERSION >= 130000
    {"130000", 130000, sizeof(CUpti_ActivityKernel10), sizeof(CUpti_ActivityMemcpy6),
     sizeof(CUpti_ActivitySynchronization2), sizeof(CUpti_ActivityCudaEvent2),
     sizeof(CUpti_ActivityOverhead3), sizeof(CUpti_ActivityMemory4),
     sizeof(CUpti_ActivityMemoryPool3)},
    {"130400", 130400, 248, 112, sizeof(CUpti_ActivitySynchronization2),
     sizeof(CUpti_ActivityCudaEvent2), sizeof(CUpti_ActivityOverhead3),
     sizeof(CUpti_ActivityMemory4), sizeof(CUpti_ActivityMemoryPool3)},
#endif
};

enum { VERSIONS = sizeof(versions) / sizeof(versions[0]) };

static void records_have_the_size_of_the_played_version(void)
{
    const char *played = getenv("SIMGPU_CUPTI_VERSION");
    const CUpti_ActivityKernel4 *k;
    CUdeviceptr memory;
    CUevent event;
    uint32_t version;
    size_t v = 0;

    EXPECT(played);
    while (v < VERSIONS && strcmp(versions[v].environment, played ? played : "18") != 0)
        v++;
    if (v == VERSIONS) {
        selftest_skip();
        return;
    }
    gpu_start(all_kinds);
    OK(cuptiGetVersion(&version));
    EXPECT_EQ(version, versions[v].version);
    OK(cuMemAllocAsync(&memory, 64, NULL));
    OK(cuEventCreate(&event, 0));
    OK(cuEventRecord(event, NULL));
    OK(cuMemcpyHtoD(memory, versions, 64));
    gpu_spin(NULL, 10);
    finish();
    EXPECT_EQ(client_size(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), versions[v].kernel);
    EXPECT_EQ(client_size(CUPTI_ACTIVITY_KIND_MEMCPY), versions[v].copy);
    EXPECT_EQ(client_size(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), versions[v].sync);
    EXPECT_EQ(client_size(CUPTI_ACTIVITY_KIND_CUDA_EVENT), versions[v].event);
    EXPECT_EQ(client_size(CUPTI_ACTIVITY_KIND_OVERHEAD), versions[v].overhead);
    EXPECT_EQ(client_size(CUPTI_ACTIVITY_KIND_MEMORY2), versions[v].memory);
    EXPECT_EQ(client_size(CUPTI_ACTIVITY_KIND_MEMORY_POOL), versions[v].pool);
    k = client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    EXPECT(k->gridX == 2 && k->blockX == 64 && strcmp(k->name, "spin") == 0);
#ifndef SIMGPU_LACKS_cuptiActivityEnableDriverApi
    EXPECT(cuptiActivityEnableDriverApi(1, 0) ==
           (version < 23 ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS));
#endif
}

static void every_second_kernel_has_no_times(void)
{
    const record_kernel *k;

    gpu_start(kernel_only);
    for (int i = 0; i < 4; i++)
        gpu_spin(NULL, 10);
    finish();
    for (size_t i = 0; i < 4; i++) {
        k = client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i);
        EXPECT_EQ(k->start == 0 && k->end == 0, i % 2 == 1);
    }
}

static void every_third_kernel_runs_backwards(void)
{
    const record_kernel *k;

    gpu_start(kernel_only);
    for (int i = 0; i < 6; i++)
        gpu_spin(NULL, 10);
    finish();
    for (size_t i = 0; i < 6; i++) {
        k = client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i);
        EXPECT_EQ(k->start > k->end, i % 3 == 2);
    }
}

const struct selftest record_tests[] = {
    {"a kernel record has every field in its place", kernel_has_every_field, NULL},
    {"a copy record has every field in its place", copy_has_every_field, NULL},
    {"a peer copy names both devices and contexts", peer_copy_names_both_ends, "SIMGPU_DEVICES=2"},
    {"a memset record has every field in its place", memset_has_every_field, NULL},
    {"API records are in order, one correlation id each",
     api_records_nest_nothing_and_carry_results, NULL},
    {"synchronisations have types, objects and spans", synchronizations_have_types_and_spans, NULL},
    {"event, stream, context, device and overhead records are whole",
     small_records_have_every_field, NULL},
    {"memory records tell pools from plain allocations", memory_records_tell_pools_apart, NULL},
    {"memory records say where they were called from", memory_records_say_who_called, NULL},
    {"records have the size of CUDA 11.8", records_have_the_size_of_the_played_version,
     "SIMGPU_CUPTI_VERSION=18"},
    {"records have the size of CUDA 12.6", records_have_the_size_of_the_played_version,
     "SIMGPU_CUPTI_VERSION=24"},
    {"records have the size of CUDA 12.9", records_have_the_size_of_the_played_version,
     "SIMGPU_CUPTI_VERSION=28"},
    {"records have the size of CUDA 13.0", records_have_the_size_of_the_played_version,
     "SIMGPU_CUPTI_VERSION=130000"},
    {"records have the size of CUDA 13.4", records_have_the_size_of_the_played_version,
     "SIMGPU_CUPTI_VERSION=130400"},
    {"zero timestamps come when ordered", every_second_kernel_has_no_times,
     "SIMGPU_TIMESTAMP_ZERO=2"},
    {"reversed timestamps come when ordered", every_third_kernel_runs_backwards,
     "SIMGPU_TIMESTAMP_REVERSED=3"},
    {0}};
