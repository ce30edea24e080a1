/* Turns rows of nvprof's tables into rows of a trace, one function a table. nvprof's values are
 * mapped to CUPTI's enums here, and a value that no trace can hold is an error that names the
 * table.
 */
#include "export/nvvp/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"

#include "base/poison.h"

/* ---- Which ranges were pushed ---- */

/* nvprof's rows do not say which ranges were pushed and popped, and which were started and ended. A
 * range was pushed if it ends in the thread that began it, and inside the range in which it began.
 */

struct nvvp_open_markers {
    uint64_t *ids;
    size_t count;
    size_t capacity;
};

/* The number of a thread; a new thread gets a new one. 0 when memory is out. */
static uint32_t thread_number(struct nvvp_marker_kinds *kinds, uint64_t thread)
{
    uint32_t known = kinds->threads.count;

    if (MP_RESERVE(kinds->open, known, kinds->capacity))
        return 0;
    uint32_t number = mp_intern_add(&kinds->threads, &thread, sizeof thread);
    if (number > known)
        kinds->open[number - 1] = (struct nvvp_open_markers){.ids = NULL};
    return number;
}

static enum mp_status marker_began(struct nvvp_marker_kinds *kinds, uint64_t id, uint64_t thread)
{
    uint32_t number = thread_number(kinds, thread);

    if (!number)
        return MP_ERR_MEMORY;
    struct nvvp_open_markers *open = &kinds->open[number - 1];
    MP_TRY(MP_RESERVE(open->ids, open->count, open->capacity));
    MP_TRY(mp_map_put(&kinds->thread_of, id, number));
    open->ids[open->count++] = id;
    return MP_OK;
}

/* Removes a range from the open ones of its thread; returns whether it was the innermost. */
static bool take_out(struct nvvp_open_markers *open, uint64_t id)
{
    size_t at = open->count;

    while (at && open->ids[at - 1] != id)
        at--;
    if (!at)
        return false;
    memmove(&open->ids[at - 1], &open->ids[at], (open->count - at) * sizeof *open->ids);
    return at == open->count--;
}

/* Must be called for all begins and ends, in the order of time. MP_ERR_MEMORY. */
static enum mp_status marker_ended(struct nvvp_marker_kinds *kinds, uint64_t id, uint64_t thread)
{
    uint32_t number = thread_number(kinds, thread);
    uint32_t began = mp_map_get(&kinds->thread_of, id);
    bool innermost = false;

    if (!number)
        return MP_ERR_MEMORY;
    if (began != MP_MAP_ABSENT) {
        innermost = take_out(&kinds->open[began - 1], id);
        mp_map_remove(&kinds->thread_of, id);
    }
    if (innermost && began == number)
        return MP_OK;
    return mp_map_put(&kinds->started, id, 1);
}

/* Says, after all of them, whether a range was started and ended. */
static bool marker_is_started(const struct nvvp_marker_kinds *kinds, uint64_t id)
{
    return mp_map_get(&kinds->started, id) != MP_MAP_ABSENT;
}

void nvvp_marker_kinds_free(struct nvvp_marker_kinds *kinds)
{
    for (uint32_t i = 0; i < kinds->threads.count; i++)
        free(kinds->open[i].ids);
    free(kinds->open);
    mp_intern_free(&kinds->threads);
    mp_map_free(&kinds->thread_of);
    mp_map_free(&kinds->started);
}

/* ---- Values ---- */

#define THREAD_OBJECT  2 /* CUPTI_ACTIVITY_OBJECT_THREAD */
#define NOT_APPLICABLE UINT32_MAX

/* ---- Definitions, made when a row first needs them ---- */

uint32_t nvvp_define_string(struct nvvp_plain *plain, const char *text, size_t bytes)
{
    const struct mp_row_string string = {plain->string_count + 1, {text, (uint32_t)bytes}};

    mp_append_string(plain->reader->writer, &string);
    return ++plain->string_count;
}

static uint64_t plain_rows_name_of(struct nvvp_plain *plain, uint64_t id)
{
    uint32_t string = id ? mp_map_get(&plain->strings, id) : 0;

    if (string != MP_MAP_ABSENT)
        return string;
    plain->names_missing++;
    return 0;
}

/* The number in the trace of a thing with these identifying bytes; *is_new if nothing has been
 * written about it yet. MP_ERR_MEMORY. */
static enum mp_status number_of(const struct nvvp_plain *plain, struct mp_intern *pool,
                                const void *key, size_t bytes, uint64_t *number, bool *is_new)
{
    uint32_t known = pool->count;

    *number = mp_intern_add(pool, key, bytes);
    *is_new = *number > known;
    return *number ? MP_OK : nvvp_no_memory(plain->reader);
}

static enum mp_status stream_of(struct nvvp_plain *plain, uint64_t device, uint64_t context,
                                uint64_t stream, uint64_t *number)
{
    const uint64_t key[3] = {device, context, stream};
    bool is_new;

    MP_TRY(number_of(plain, &plain->streams, key, sizeof key, number, &is_new));
    if (is_new)
        mp_append_stream(plain->reader->writer,
                         &(struct mp_row_stream){*number, stream, context, device});
    return MP_OK;
}

static enum mp_status plain_rows_thread_of(struct nvvp_plain *plain, uint64_t tid, uint64_t *number)
{
    bool is_new;

    MP_TRY(number_of(plain, &plain->threads, &tid, sizeof tid, number, &is_new));
    if (!is_new)
        return MP_OK;
    uint32_t name = mp_map_get(&plain->thread_names, tid);
    mp_append_thread(plain->reader->writer,
                     &(struct mp_row_thread){*number, tid, name == MP_MAP_ABSENT ? 0 : name});
    return MP_OK;
}

static enum mp_status function_of(struct nvvp_plain *plain, bool driver, uint64_t cbid,
                                  uint64_t *number)
{
    const uint64_t key[2] = {driver, cbid};
    char made[64];
    size_t bytes;
    bool is_new;

    MP_TRY(number_of(plain, &plain->functions, key, sizeof key, number, &is_new));
    if (!is_new)
        return MP_OK;
    const char *name = cbid_name(driver, cbid, &bytes);
    if (!name) {
        snprintf(made, sizeof made, "[%s call %llu]", driver ? "driver" : "runtime",
                 (unsigned long long)cbid);
        name = made;
        bytes = strlen(made);
    }
    const struct mp_row_function function = {*number, driver ? MP_api_driver : MP_api_runtime, cbid,
                                             nvvp_define_string(plain, name, bytes)};
    mp_append_function(plain->reader->writer, &function);
    return MP_OK;
}

/* The thread id in the CUpti_ActivityObjectKindId of a thread; 0 if the object is something else.
 */
static uint64_t object_tid(uint64_t kind, const struct nvvp_blob *id)
{
    uint32_t tid;

    if (kind != THREAD_OBJECT || id->size < 8)
        return 0;
    memcpy(&tid, id->bytes + 4, sizeof tid);
    return tid;
}

static uint64_t big_endian(const uint8_t *bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < 8; i++)
        value = value << 8 | bytes[i];
    return value;
}

enum mp_status nvvp_take_device(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    const struct nvvp_DEVICE *from = &source->row.device;
    const struct mp_row_device device = {
        .id = from->id,
        .name = plain_rows_name_of(plain, from->name),
        .uuid_high = big_endian(from->uuid.bytes),
        .uuid_low = big_endian(from->uuid.bytes + 8),
        .compute_major = from->computeCapabilityMajor,
        .compute_minor = from->computeCapabilityMinor,
        .multiprocessors = from->numMultiprocessors,
        .core_clock = from->coreClockRate,
        .memory = from->globalMemorySize,
        .memory_bandwidth = from->globalMemoryBandwidth,
        .l2_cache = from->l2CacheSize,
        .warp_threads = from->numThreadsPerWarp,
        .sm_warps = from->maxWarpsPerMultiprocessor,
        .sm_blocks = from->maxBlocksPerMultiprocessor,
        .sm_shared_memory = from->maxSharedMemoryPerMultiprocessor,
        .sm_registers = from->maxRegistersPerMultiprocessor,
        .block_shared_memory = from->maxSharedMemoryPerBlock,
        .block_registers = from->maxRegistersPerBlock,
        .block_threads = from->maxThreadsPerBlock,
    };

    mp_append_device(plain->reader->writer, &device);
    return MP_OK;
}

enum mp_status nvvp_take_context(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    const struct nvvp_CONTEXT *from = &source->row.context;

    mp_append_context_info(plain->reader->writer,
                           &(struct mp_row_context_info){.context = from->contextId,
                                                         .device = from->deviceId,
                                                         .null_stream = from->nullStreamId});
    return MP_OK;
}

enum mp_status nvvp_take_stream(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    const struct nvvp_STREAM *from = &source->row.stream;
    /* CUPTI has it as unsigned. */
    const uint64_t priority = (uint64_t)(int64_t)(int32_t)(uint32_t)from->priority;

    mp_append_stream_info(plain->reader->writer,
                          &(struct mp_row_stream_info){from->streamId, from->contextId, priority,
                                                       from->flag, from->correlationId});
    return MP_OK;
}

enum mp_status nvvp_take_name(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    const struct nvvp_NAME *from = &source->row.name;

    if (from->objectKind != THREAD_OBJECT)
        return MP_OK;
    if (mp_map_put(&plain->thread_names, object_tid(from->objectKind, &from->objectId),
                   (uint32_t)plain_rows_name_of(plain, from->name)) != MP_OK)
        return nvvp_no_memory(plain->reader);
    return MP_OK;
}

/* ---- Device activities ---- */

static enum mp_status shape_of(struct nvvp_plain *plain, const struct nvvp_CONCURRENT_KERNEL *from,
                               uint64_t *number)
{
    struct mp_row_shape shape = {
        .kernel = plain_rows_name_of(plain, from->name),
        .grid_x = from->gridX,
        .grid_y = from->gridY,
        .grid_z = from->gridZ,
        .block_x = from->blockX,
        .block_y = from->blockY,
        .block_z = from->blockZ,
        .registers = from->registersPerThread,
        .static_shared_memory = from->staticSharedMemory,
        .dynamic_shared_memory = from->dynamicSharedMemory,
        .shared_memory_executed = from->sharedMemoryExecuted,
        .local_memory = from->localMemoryPerThread,
        .launch_type = from->launchType,
    };
    bool is_new;

    MP_TRY(number_of(plain, &plain->shapes, &shape, sizeof shape, number, &is_new));
    if (is_new) {
        shape.id = *number;
        mp_append_shape(plain->reader->writer, &shape);
    }
    return MP_OK;
}

enum mp_status nvvp_take_kernel(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    const struct nvvp_CONCURRENT_KERNEL *from = &source->row.kernel;
    struct mp_row_kernel kernel = {
        .start = from->start,
        .duration = from->end - from->start,
        .correlation = from->correlationId,
    };

    MP_TRY(stream_of(plain, from->deviceId, from->contextId, from->streamId, &kernel.stream));
    MP_TRY(shape_of(plain, from, &kernel.shape));
    mp_append_kernel(plain->reader->writer, &kernel);
    return MP_OK;
}

enum mp_status nvvp_take_copy(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    const struct nvvp_MEMCPY *from = &source->row.copy;
    struct mp_row_copy copy = {
        .kind = from->copyKind,
        .source = from->srcKind,
        .target = from->dstKind,
        .flags = from->flags,
        .bytes = from->bytes,
        .start = from->start,
        .duration = from->end - from->start,
        .correlation = from->correlationId,
        .count = 1,
    };

    MP_TRY(stream_of(plain, from->deviceId, from->contextId, from->streamId, &copy.stream));
    mp_append_copy(plain->reader->writer, &copy);
    return MP_OK;
}

enum mp_status nvvp_take_peer_copy(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    const struct nvvp_MEMCPY2 *from = &source->row.peer_copy;
    struct mp_row_copy copy = {
        .kind = from->copyKind,
        .source = from->srcKind,
        .target = from->dstKind,
        .flags = from->flags,
        .bytes = from->bytes,
        .start = from->start,
        .duration = from->end - from->start,
        .correlation = from->correlationId,
        .source_device = from->srcDeviceId,
        .source_context = from->srcContextId,
        .target_device = from->dstDeviceId,
        .target_context = from->dstContextId,
        .count = 1,
    };

    MP_TRY(stream_of(plain, from->deviceId, from->contextId, from->streamId, &copy.stream));
    mp_append_copy(plain->reader->writer, &copy);
    return MP_OK;
}

enum mp_status nvvp_take_set(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    const struct nvvp_MEMSET *from = &source->row.set;
    struct mp_row_set set = {
        .bytes = from->bytes,
        .value = from->value,
        .memory = from->memoryKind,
        .flags = from->flags,
        .start = from->start,
        .duration = from->end - from->start,
        .correlation = from->correlationId,
    };

    MP_TRY(stream_of(plain, from->deviceId, from->contextId, from->streamId, &set.stream));
    mp_append_set(plain->reader->writer, &set);
    return MP_OK;
}

enum mp_status nvvp_take_unified(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    const struct nvvp_UNIFIED_MEMORY_COUNTER *from = &source->row.unified;
    const struct mp_row_unified unified = {
        .kind = from->counterKind,
        .source = from->srcId,
        .target = from->dstId,
        .stream = from->streamId,
        .value = from->value,
        .address = from->address,
        .flags = from->flags,
        .start = from->start,
        .duration = from->end ? from->end - from->start : 0, /* a moment has no end */
    };

    mp_append_unified(plain->reader->writer, &unified);
    return MP_OK;
}

static struct mp_row_memory memory_of(const struct nvvp_MEMORY *from)
{
    return (struct mp_row_memory){
        .kind = from->memoryKind,
        .device = from->deviceId,
        .context = from->contextId,
        .bytes = from->bytes,
        .address = from->address,
    };
}

enum mp_status nvvp_take_allocation(struct nvvp_plain *plain,
                                    const struct nvvp_plain_source *source)
{
    struct mp_row_memory memory = memory_of(&source->row.memory);

    memory.operation = MP_memory_operation_allocate;
    memory.time = source->row.memory.start;
    memory.pc = source->row.memory.allocPC;
    mp_append_memory(plain->reader->writer, &memory);
    return MP_OK;
}

enum mp_status nvvp_take_release(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    struct mp_row_memory memory = memory_of(&source->row.memory);

    memory.operation = MP_memory_operation_release;
    memory.time = source->row.memory.end;
    memory.pc = source->row.memory.freePC;
    mp_append_memory(plain->reader->writer, &memory);
    return MP_OK;
}

/* ---- What the host did ---- */

static enum mp_status take_plain_call(struct nvvp_plain *plain, const struct nvvp_RUNTIME *from,
                                      bool driver)
{
    struct mp_row_call call = {
        .start = from->start,
        .duration = from->end - from->start,
        .correlation = from->correlationId,
        .result = (uint32_t)from->returnValue,
    };

    MP_TRY(plain_rows_thread_of(plain, from->threadId, &call.thread));
    MP_TRY(function_of(plain, driver, from->cbid, &call.function));
    mp_append_call(plain->reader->writer, &call);
    return MP_OK;
}

enum mp_status nvvp_take_runtime(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    return take_plain_call(plain, &source->row.call, false);
}

enum mp_status nvvp_take_driver(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    return take_plain_call(plain, &source->row.call, true);
}

/* Thread of the call that has the correlation id of a wait or event record; 0 if there is none. */
static enum mp_status caller_of(struct nvvp_plain *plain, const struct nvvp_plain_source *source,
                                uint64_t *thread)
{
    *thread = 0;
    return source->extra[0] ? plain_rows_thread_of(plain, source->extra[0], thread) : MP_OK;
}

enum mp_status nvvp_take_wait(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    const struct nvvp_SYNCHRONIZATION *from = &source->row.wait;
    struct mp_row_sync sync = {
        .kind = from->type,
        .context = from->contextId,
        .stream = from->streamId,
        .event = from->cudaEventId == NOT_APPLICABLE ? 0 : from->cudaEventId,
        .start = from->start,
        .duration = from->end - from->start,
        .correlation = from->correlationId,
    };

    if (sync.kind > MP_sync_kind_context_synchronize)
        sync.kind = MP_sync_kind_unknown; /* the kinds from there on are ours */
    MP_TRY(caller_of(plain, source, &sync.thread));
    mp_append_sync(plain->reader->writer, &sync);
    return MP_OK;
}

/* The times are those of the call, which the source found. */
enum mp_status nvvp_take_event(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    const struct nvvp_CUDA_EVENT *from = &source->row.event;
    struct mp_row_sync sync = {
        .kind = MP_sync_kind_event_record,
        .context = from->contextId,
        .stream = from->streamId,
        .event = from->eventId,
        .start = source->extra[1],
        .duration = source->extra[2] - source->extra[1],
        .correlation = from->correlationId,
    };

    MP_TRY(caller_of(plain, source, &sync.thread));
    mp_append_sync(plain->reader->writer, &sync);
    return MP_OK;
}

enum mp_status nvvp_take_overhead(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    const struct nvvp_OVERHEAD *from = &source->row.overhead;
    uint64_t tid = object_tid(from->objectKind, &from->objectId);
    struct mp_row_overhead overhead = {
        .kind = from->overheadKind,
        .start = from->start,
        .duration = from->end - from->start,
    };

    if (tid)
        MP_TRY(plain_rows_thread_of(plain, tid, &overhead.thread));
    mp_append_overhead(plain->reader->writer, &overhead);
    return MP_OK;
}

/* ---- NVTX ---- */

enum mp_status nvvp_look_at_marker(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    const struct nvvp_MARKER *from = &source->row.marker;
    uint64_t tid = object_tid(from->objectKind, &from->objectId);
    enum mp_status status = MP_OK;

    if (from->flags & 2)
        status = marker_began(&plain->markers, from->id, tid);
    else if (from->flags & 4)
        status = marker_ended(&plain->markers, from->id, tid);
    return status == MP_OK ? MP_OK : nvvp_no_memory(plain->reader);
}

/* The attributes of a begin or mark: flags, kind and bits of the payload, color, category. A
 * payload of 0 looks like a missing one. */
static void take_marker_data(const uint64_t *data, struct mp_row_nvtx *nvtx)
{
    static const uint8_t types[] = {
        [0] = MP_payload_type_double, [1] = MP_payload_type_uint64, [4] = MP_payload_type_int64};

    nvtx->color = data[0] & 2 ? (uint32_t)data[3] : 0;
    nvtx->category = data[4];
    if (data[2] && data[1] < sizeof types) {
        nvtx->payload_type = types[data[1]];
        nvtx->payload = nvtx->payload_type ? data[2] : 0;
    }
}

/* The domain of a row. Where an end has none, it is that of the begin. */
static enum mp_status domain_of(struct nvvp_plain *plain, const struct nvvp_MARKER *from,
                                uint64_t *domain)
{
    uint32_t begun = mp_map_get(&plain->domains, from->id);

    if (from->flags & 4 && mp_map_remove(&plain->domains, from->id)) {
        *domain = begun;
        return MP_OK;
    }
    *domain = plain_rows_name_of(plain, from->domain);
    if (from->flags & 2 && mp_map_put(&plain->domains, from->id, (uint32_t)*domain) != MP_OK)
        return nvvp_no_memory(plain->reader);
    return MP_OK;
}

enum mp_status nvvp_take_marker(struct nvvp_plain *plain, const struct nvvp_plain_source *source)
{
    const struct nvvp_MARKER *from = &source->row.marker;
    uint64_t tid = object_tid(from->objectKind, &from->objectId);
    bool begins = from->flags & 2;
    bool ends = !begins && from->flags & 4;
    struct mp_row_nvtx nvtx = {.kind = MP_nvtx_kind_mark, .time = from->timestamp};

    if (!begins && !ends && !(from->flags & 1))
        return MP_OK;
    if ((begins || ends) && marker_is_started(&plain->markers, from->id)) {
        nvtx.kind = begins ? MP_nvtx_kind_start : MP_nvtx_kind_end;
        nvtx.range = from->id;
    } else if (begins || ends) {
        nvtx.kind = begins ? MP_nvtx_kind_push : MP_nvtx_kind_pop;
    }
    MP_TRY(plain_rows_thread_of(plain, tid, &nvtx.thread));
    MP_TRY(domain_of(plain, from, &nvtx.domain));
    if (!ends) {
        nvtx.name = plain_rows_name_of(plain, from->name);
        take_marker_data(source->extra, &nvtx);
    }
    mp_append_nvtx(plain->reader->writer, &nvtx);
    return MP_OK;
}
