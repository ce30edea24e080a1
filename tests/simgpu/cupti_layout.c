/*
 * cupti_layout.c: the bytes of CUPTI's records, version by version.
 *
 * The offsets below were written down from the CUPTI 13.0 headers and are deliberately not taken
 * from their structs: selftest.c compares the two. Every record struct that we emit grew only at
 * its end, so a version's layout is the newest one cut to that version's size.
 *
 * Sizes come from the headers (current and deprecated structs) up to 13.0. Those above 130001 are
 * CUDA.jl's; their added fields are zero except where noted. The version that introduced Device5,
 * Context3 and GraphTrace2 is not documented in the headers: 12.3, 12.8 and 12.3 are assumed.
 * The layouts of GRAPH_HOST_NODE and HOST_LAUNCH are the documented members, naturally aligned.
 */
#include "cupti_internal.h"

#include <string.h>

struct size_step {
    uint32_t kind;
    uint32_t since; /* CUPTI_API_VERSION */
    uint32_t bytes;
};

/* For one kind in ascending order of version. */
static const struct size_step size_steps[] = {
    {CUPTI_ACTIVITY_KIND_MEMCPY, 0, 80},
    {CUPTI_ACTIVITY_KIND_MEMCPY, 17, 88},
    {CUPTI_ACTIVITY_KIND_MEMCPY, 26, 96},
    {CUPTI_ACTIVITY_KIND_MEMCPY, 130400, 112},
    {CUPTI_ACTIVITY_KIND_MEMSET, 0, 80},
    {CUPTI_ACTIVITY_KIND_MEMSET, 17, 88},
    {CUPTI_ACTIVITY_KIND_MEMSET, 130400, 104},
    {CUPTI_ACTIVITY_KIND_DRIVER, 0, 40},
    {CUPTI_ACTIVITY_KIND_RUNTIME, 0, 40},
    {CUPTI_ACTIVITY_KIND_DEVICE, 0, 152},
    {CUPTI_ACTIVITY_KIND_DEVICE, 17, 176},
    {CUPTI_ACTIVITY_KIND_DEVICE, 21, 184},
    {CUPTI_ACTIVITY_KIND_DEVICE, 130100, 192},
    {CUPTI_ACTIVITY_KIND_CONTEXT, 0, 16},
    {CUPTI_ACTIVITY_KIND_CONTEXT, 22, 24},
    {CUPTI_ACTIVITY_KIND_CONTEXT, 26, 32},
    {CUPTI_ACTIVITY_KIND_CONTEXT, 130100, 40},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0, 160},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 15, 168},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 17, 176},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 18, 200},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 19, 208},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 130000, 216},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 130100, 224},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 130300, 232},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 130400, 248},
    {CUPTI_ACTIVITY_KIND_KERNEL, 0, 160},
    {CUPTI_ACTIVITY_KIND_KERNEL, 15, 168},
    {CUPTI_ACTIVITY_KIND_KERNEL, 17, 176},
    {CUPTI_ACTIVITY_KIND_KERNEL, 18, 200},
    {CUPTI_ACTIVITY_KIND_KERNEL, 19, 208},
    {CUPTI_ACTIVITY_KIND_KERNEL, 130000, 216},
    {CUPTI_ACTIVITY_KIND_KERNEL, 130100, 224},
    {CUPTI_ACTIVITY_KIND_KERNEL, 130300, 232},
    {CUPTI_ACTIVITY_KIND_KERNEL, 130400, 248},
    {CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, 0, 64},
    {CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, 26, 104},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, 0, 40},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, 20, 48},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, 22, 56},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, 0, 80},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, 14, 88},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, 17, 96},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, 0, 24},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, 26, 56},
    {CUPTI_ACTIVITY_KIND_STREAM, 0, 24},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 0, 40},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 26, 56},
    {CUPTI_ACTIVITY_KIND_MEMORY2, 0, 112},
    {CUPTI_ACTIVITY_KIND_MEMORY2, 17, 120},
    {CUPTI_ACTIVITY_KIND_MEMORY2, 24, 128},
    {CUPTI_ACTIVITY_KIND_MEMORY_POOL, 0, 64},
    {CUPTI_ACTIVITY_KIND_MEMORY_POOL, 17, 72},
    {CUPTI_ACTIVITY_KIND_MEMORY_POOL, 130000, 80},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 0, 48},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 21, 56},
    {SIMGPU_KIND_JIT, 26, 64},
    {SIMGPU_KIND_JIT, 130000, 72},
    {SIMGPU_KIND_DEVICE_GRAPH_TRACE, 26, 56},
    {SIMGPU_KIND_GRAPH_HOST_NODE, 130100, 56},
    {SIMGPU_KIND_HOST_LAUNCH, 130100, 48},
};

size_t ct_recordSize(uint32_t kind)
{
    uint32_t version = ct_version();
    size_t bytes = 0;

    for (size_t i = 0; i < CT_COUNT(size_steps); i++)
        if (size_steps[i].kind == kind && size_steps[i].since <= version)
            bytes = size_steps[i].bytes;
    return bytes;
}

static void put8(uint8_t *record, size_t offset, uint8_t value)
{
    record[offset] = value;
}

static void put16(uint8_t *record, size_t offset, uint16_t value)
{
    memcpy(record + offset, &value, sizeof(value));
}

static void put32(uint8_t *record, size_t offset, uint32_t value)
{
    memcpy(record + offset, &value, sizeof(value));
}

static void put64(uint8_t *record, size_t offset, uint64_t value)
{
    memcpy(record + offset, &value, sizeof(value));
}

static void put_pointer(uint8_t *record, size_t offset, const void *value)
{
    memcpy(record + offset, &value, sizeof(value));
}

static void encode_kernel(uint8_t *record, const struct simgpu_activity *a)
{
    const struct simgpu_kernel *k = &a->kernel;

    put16(record, 6, (uint16_t)k->registers);
    put64(record, 16, a->start);
    put64(record, 24, a->end);
    put32(record, 40, a->device);
    put32(record, 44, a->context);
    put32(record, 48, a->stream);
    for (size_t i = 0; i < 3; i++) {
        put32(record, 52 + 4 * i, k->grid[i]);
        put32(record, 64 + 4 * i, k->block[i]);
    }
    put32(record, 76, k->static_shared);
    put32(record, 80, k->dynamic_shared);
    put32(record, 92, a->correlation);
    put64(record, 96, k->grid_id);
    put_pointer(record, 104, k->name);
    if (ct_hasLatencyTimestamps()) {
        put64(record, 120, k->submitted);
        put64(record, 128, k->submitted);
    }
    put8(record, 136, k->launch_type);
    put32(record, 140, 32768);
    put64(record, 144, a->graph_node);
    put32(record, 156, a->graph);
    put32(record, 168, 1); /* one compute channel */
    put32(record, 172, CUPTI_CHANNEL_TYPE_COMPUTE);
}

static void put_channel(uint8_t *record, size_t offset, const struct simgpu_activity *a)
{
    put64(record, offset, a->graph_node);
    put32(record, offset + 8, a->graph);
    put32(record, offset + 12, 2); /* one copy channel */
    put32(record, offset + 16, CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY);
}

static void put_copy_head(uint8_t *record, const struct simgpu_activity *a)
{
    put8(record, 4, a->copy.copy_kind);
    put8(record, 5, a->copy.src_kind);
    put8(record, 6, a->copy.dst_kind);
    put8(record, 7, a->copy.async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0);
    put64(record, 8, a->copy.bytes);
    put64(record, 16, a->start);
    put64(record, 24, a->end);
    put32(record, 32, a->device);
    put32(record, 36, a->context);
    put32(record, 40, a->stream);
}

static void encode_memcpy(uint8_t *record, const struct simgpu_activity *a)
{
    put_copy_head(record, a);
    put32(record, 44, a->correlation);
    put_channel(record, 64, a);
    put64(record, 88, 1); /* copyCount */
}

static void encode_peer(uint8_t *record, const struct simgpu_activity *a)
{
    put_copy_head(record, a);
    put32(record, 44, a->copy.src_device);
    put32(record, 48, a->copy.src_context);
    put32(record, 52, a->copy.dst_device);
    put32(record, 56, a->copy.dst_context);
    put32(record, 60, a->correlation);
    put_channel(record, 72, a);
}

static void encode_memset(uint8_t *record, const struct simgpu_activity *a)
{
    put32(record, 4, a->set.value);
    put64(record, 8, a->set.bytes);
    put64(record, 16, a->start);
    put64(record, 24, a->end);
    put32(record, 32, a->device);
    put32(record, 36, a->context);
    put32(record, 40, a->stream);
    put32(record, 44, a->correlation);
    put16(record, 48, a->set.async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0);
    put16(record, 50, a->set.memory_kind);
    put64(record, 64, a->graph_node);
    put32(record, 72, a->graph);
    put32(record, 76, 1);
    put32(record, 80, CUPTI_CHANNEL_TYPE_COMPUTE);
}

static void encode_api(uint8_t *record, const struct simgpu_activity *a)
{
    put32(record, 4, a->api.cbid);
    put64(record, 8, a->start);
    put64(record, 16, a->end);
    put32(record, 24, a->process);
    put32(record, 28, a->thread);
    put32(record, 32, a->correlation);
    put32(record, 36, a->api.result);
}

static void encode_sync(uint8_t *record, const struct simgpu_activity *a)
{
    put32(record, 4, a->sync.type);
    put64(record, 8, a->start);
    put64(record, 16, a->end);
    put32(record, 24, a->correlation);
    put32(record, 28, a->context);
    put32(record, 32, a->stream);
    put32(record, 36, a->sync.event_id);
    put64(record, 40, a->sync.event_sync_id);
    put32(record, 48, a->sync.result);
}

static void encode_event(uint8_t *record, const struct simgpu_activity *a)
{
    put32(record, 4, a->correlation);
    put32(record, 8, a->context);
    put32(record, 12, a->stream);
    put32(record, 16, a->event.event_id);
    put32(record, 24, a->device);
    put64(record, 40, ct_hasEventTimestamps() ? a->event.device_time : 0);
    put64(record, 48, a->event.event_sync_id);
}

static void encode_stream(uint8_t *record, const struct simgpu_activity *a)
{
    put32(record, 4, a->context);
    put32(record, 8, a->stream);
    put32(record, 12, a->stream_info.priority);
    put32(record, 16, a->stream_info.flag);
    put32(record, 20, a->correlation);
}

static void encode_context(uint8_t *record, const struct simgpu_activity *a)
{
    put32(record, 4, a->context);
    put32(record, 8, a->device);
    put16(record, 12, CUPTI_ACTIVITY_COMPUTE_API_CUDA);
    put16(record, 14, (uint16_t)a->stream);
    put32(record, 16, a->context_info.parent);
    record[20] = a->context_info.parent != 0;
    if (ct_version() >= 23)
        put16(record, 22, a->context_info.multiprocessors);
    put32(record, 24, CUPTI_CONTEXT_CIG_MODE_NONE);
    put32(record, 32, a->process); /* from 13.1 on */
}

static void encode_device(uint8_t *record, const struct simgpu_activity *a)
{
    static const uint32_t figures[] = {
        /* from offset 24: constant memory, L2, warp size, clock in kHz, copy engines, SMs */
        65536, 50 << 20, 32, 2000000, 3, 128,
        /* IPC, warps and blocks per SM, shared memory and registers per SM */
        4, 64, 32, 233472, 65536,
        /* registers, shared memory and threads per block; block and grid limits */
        65536, 49152, 1024, 1024, 1024, 64, 2147483647, 65535, 65535,
        /* compute capability */
        9, 0};

    put32(record, 4, CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS);
    put64(record, 8, UINT64_C(2560000000)); /* kB/s */
    put64(record, 16, UINT64_C(80) << 30);
    for (size_t i = 0; i < CT_COUNT(figures); i++)
        put32(record, 24 + 4 * i, figures[i]);
    put32(record, 112, a->device);
    memcpy(record + 120, a->device_info.uuid, 16);
    put_pointer(record, 136, a->device_info.name);
    put8(record, 144, 1); /* visible to CUDA */
}

/* PTX that is compiled, and kept nowhere. */
static void encode_jit(uint8_t *record, const struct simgpu_activity *a)
{
    put32(record, 4, 1);
    put32(record, 8, 3);
    put32(record, 12, a->device);
    put64(record, 16, a->start);
    put64(record, 24, a->end);
    put32(record, 32, a->correlation);
    put64(record, 40, a->correlation);
}

static void encode_overhead(uint8_t *record, const struct simgpu_activity *a)
{
    put32(record, 4, a->overhead.kind);
    put32(record, 8, CUPTI_ACTIVITY_OBJECT_THREAD);
    put32(record, 12, a->process);
    put32(record, 16, a->thread);
    put64(record, 24, a->start);
    put64(record, 32, a->end);
    put32(record, 40, a->correlation);
}

static void encode_memory(uint8_t *record, const struct simgpu_activity *a)
{
    const struct simgpu_memory *m = &a->memory;

    put32(record, 4, m->operation);
    put32(record, 8, m->kind);
    put32(record, 12, a->correlation);
    put64(record, 16, m->address);
    put64(record, 24, m->bytes);
    put64(record, 32, a->start);
    put64(record, 40, m->program_counter);
    put32(record, 48, a->process);
    put32(record, 52, a->device);
    put32(record, 56, a->context);
    put32(record, 60, a->stream);
    put32(record, 72, m->async);
    if (!m->pool)
        return;
    put32(record, 80, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
    put64(record, 88, m->pool);
    put64(record, 104, m->pool_size);
    put64(record, 112, m->pool_used);
}

/* What CUPTI tells to ignore is not what it should be. */
static void encode_unified(uint8_t *record, const struct simgpu_activity *a)
{
    const struct simgpu_unified *u = &a->unified;
    bool moment = u->counter == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT;

    put32(record, 4, u->counter);
    put64(record, 8, u->value);
    put64(record, 16, a->start);
    put64(record, 24, moment ? 1 : a->end);
    put64(record, 32, u->address);
    put32(record, 40, u->source);
    put32(record, 44, u->target);
    put32(record, 52, a->process);
    put32(record, 56, u->flags);
}

static void encode_pool(uint8_t *record, const struct simgpu_activity *a)
{
    put32(record, 4, a->pool.operation);
    put32(record, 8, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
    put32(record, 12, a->correlation);
    put32(record, 16, a->process);
    put32(record, 20, a->device);
    put64(record, 24, a->pool.keep);
    put64(record, 32, a->pool.address);
    put64(record, 40, a->pool.size);
    put64(record, 48, a->pool.threshold);
    put64(record, 56, a->start);
    put64(record, 64, a->pool.used);
}

static void encode_graph(uint8_t *record, const struct simgpu_activity *a)
{
    put32(record, 4, a->correlation);
    put64(record, 8, a->start);
    put64(record, 16, a->end);
    put32(record, 24, a->device);
    put32(record, 28, a->graph);
    put32(record, 32, a->context);
    put32(record, 36, a->stream);
    put32(record, 48, a->device);
    put32(record, 52, a->context);
}

/* Launched by itself, when it ends (a tail launch). */
static void encode_device_graph(uint8_t *record, const struct simgpu_activity *a)
{
    put32(record, 4, a->device);
    put64(record, 8, a->start);
    put64(record, 16, a->end);
    put32(record, 24, a->graph);
    put32(record, 28, a->graph);
    put32(record, 32, 2);
    put32(record, 36, a->context);
    put64(record, 40, a->stream);
}

static void put_host_head(uint8_t *record, const struct simgpu_activity *a)
{
    put32(record, 4, a->stream);
    put32(record, 8, a->context);
    put32(record, 12, a->device);
    put32(record, 16, a->correlation);
}

static void encode_host_launch(uint8_t *record, const struct simgpu_activity *a)
{
    put_host_head(record, a);
    put32(record, 20, a->process);
    put32(record, 24, a->thread);
    put64(record, 32, a->start);
    put64(record, 40, a->end);
}

static void encode_host_node(uint8_t *record, const struct simgpu_activity *a)
{
    put_host_head(record, a);
    put32(record, 20, a->graph);
    put64(record, 24, a->graph_node);
    put32(record, 32, a->process);
    put32(record, 36, a->thread);
    put64(record, 40, a->start);
    put64(record, 48, a->end);
}

static const struct {
    uint32_t kind;
    void (*encode)(uint8_t *record, const struct simgpu_activity *a);
} encoders[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, encode_kernel},
    {CUPTI_ACTIVITY_KIND_KERNEL, encode_kernel},
    {CUPTI_ACTIVITY_KIND_MEMCPY, encode_memcpy},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, encode_peer},
    {CUPTI_ACTIVITY_KIND_MEMSET, encode_memset},
    {CUPTI_ACTIVITY_KIND_DRIVER, encode_api},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, encode_sync},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, encode_event},
    {CUPTI_ACTIVITY_KIND_STREAM, encode_stream},
    {CUPTI_ACTIVITY_KIND_CONTEXT, encode_context},
    {CUPTI_ACTIVITY_KIND_DEVICE, encode_device},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, encode_overhead},
    {CUPTI_ACTIVITY_KIND_MEMORY2, encode_memory},
    {CUPTI_ACTIVITY_KIND_MEMORY_POOL, encode_pool},
    {CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, encode_unified},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, encode_graph},
    {SIMGPU_KIND_JIT, encode_jit},
    {SIMGPU_KIND_DEVICE_GRAPH_TRACE, encode_device_graph},
    {SIMGPU_KIND_GRAPH_HOST_NODE, encode_host_node},
    {SIMGPU_KIND_HOST_LAUNCH, encode_host_launch},
};

void ct_encode(uint8_t record[CT_MAX_RECORD], const struct simgpu_activity *activity)
{
    memset(record, 0, CT_MAX_RECORD);
    put32(record, 0, activity->kind);
    for (size_t i = 0; i < CT_COUNT(encoders); i++)
        if (encoders[i].kind == activity->kind)
            encoders[i].encode(record, activity);
}
