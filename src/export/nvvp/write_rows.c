/* Rows of a trace to rows of nvprof's tables, one function a table. Each fills the columns in the
 * order of tables.def; texts become ids of nvprof's string table.
 */
#include "export/nvvp/write.h"

#include <string.h>

#include "base/poison.h"

#define THREAD_OBJECT  2 /* CUPTI_ACTIVITY_OBJECT_THREAD */
#define PROCESS_OBJECT 1
#define NOT_APPLICABLE UINT32_MAX /* CUPTI_SYNCHRONIZATION_INVALID_VALUE */

/* nvvp_insert_RUNTIME(writer, id, &row) and so on; an `id` of 0 lets SQLite number the row. */
#define BIND_INT(name) sqlite3_bind_int64(statement, ++at, (sqlite3_int64)row->name);
#define BIND_BLOB(name)                                                                            \
    sqlite3_bind_blob(statement, ++at, row->name.bytes, row->name.size, SQLITE_STATIC);
#define BIND(table, name, type) BIND_##type(name)
/* clang-format off */
#define INSERT_FUNCTION(table)                                                                     \
    static enum mp_status insert_##table(struct nvvp_writer *writer, uint64_t id,                  \
                                         const struct nvvp_##table *row)                           \
    {                                                                                              \
        sqlite3_stmt *statement = writer->theirs[NVVP_##table];                                    \
        int at = 1;                                                                                \
        if (id)                                                                                    \
            sqlite3_bind_int64(statement, 1, (sqlite3_int64)id);                                   \
        NVVP_COLUMNS_##table(BIND)                                                                 \
        return export_db_put(&writer->db, statement, writer->error);                               \
    }
/* clang-format on */
NVVP_TABLES(INSERT_FUNCTION)

#define CELL(table, column) (batch->columns[MP_COLUMN_##table##_##column][row])
#define TIME(table, column) nvvp_time_out(CELL(table, column), writer->offset)
#define END(table)          (TIME(table, start) + CELL(table, duration))

static enum mp_status no_memory(struct nvvp_writer *writer)
{
    return mp_error_set(writer->error, MP_ERR_MEMORY, "no memory for '%.150s'", writer->db.path);
}

/* Keeps a definition by its id, unless the size of the trace does not justify such an id. */
static enum mp_status keep_definition_row(struct nvvp_writer *writer, struct dense *array,
                                          uint64_t id, const void *item)
{
    enum mp_status status = dense_reach(array, id);

    if (status == MP_ERR_MEMORY)
        return no_memory(writer);
    if (status == MP_OK)
        memcpy(dense_at(array, id), item, array->item_bytes);
    return MP_OK;
}

static struct mp_row_stream stream_of(const struct nvvp_writer *writer, uint64_t id)
{
    const struct mp_row_stream *stream = dense_at(&writer->streams, id);

    return stream ? *stream : (struct mp_row_stream){.id = 0};
}

static uint64_t tid_of(const struct nvvp_writer *writer, uint64_t id)
{
    const struct mp_row_thread *thread = dense_at(&writer->threads, id);

    return thread ? thread->tid : 0;
}

/* CUpti_ActivityObjectKindId of a thread: process and thread id, then four bytes unused. */
static struct nvvp_blob thread_object(const struct nvvp_writer *writer, uint64_t thread)
{
    const uint32_t ids[3] = {(uint32_t)writer->pid, (uint32_t)tid_of(writer, thread), 0};
    struct nvvp_blob blob = {.size = sizeof ids};

    memcpy(blob.bytes, ids, sizeof ids);
    return blob;
}

/* ---- Definitions ---- */

static enum mp_status put_thread(struct nvvp_writer *writer, const struct mp_batch *batch,
                                 uint32_t row)
{
    const struct mp_row_thread thread = {CELL(thread, id), CELL(thread, tid), CELL(thread, name)};
    struct nvvp_NAME name = {.objectKind = THREAD_OBJECT, .name = thread.name};

    MP_TRY(keep_definition_row(writer, &writer->threads, thread.id, &thread));
    if (!thread.name)
        return MP_OK;
    name.objectId = thread_object(writer, thread.id);
    return insert_NAME(writer, 0, &name);
}

static struct nvvp_blob uuid_blob(uint64_t high, uint64_t low)
{
    struct nvvp_blob blob = {.size = 16};

    for (unsigned i = 0; i < 8; i++) {
        blob.bytes[i] = (uint8_t)(high >> (56 - 8 * i));
        blob.bytes[8 + i] = (uint8_t)(low >> (56 - 8 * i));
    }
    return blob;
}

static enum mp_status put_device(struct nvvp_writer *writer, const struct mp_batch *batch,
                                 uint32_t row)
{
    const struct nvvp_DEVICE device = {
        .flags = 1, /* kernels can run concurrently */
        .globalMemoryBandwidth = CELL(device, memory_bandwidth),
        .globalMemorySize = CELL(device, memory),
        .l2CacheSize = CELL(device, l2_cache),
        .numThreadsPerWarp = CELL(device, warp_threads),
        .coreClockRate = CELL(device, core_clock),
        .numMultiprocessors = CELL(device, multiprocessors),
        .maxWarpsPerMultiprocessor = CELL(device, sm_warps),
        .maxBlocksPerMultiprocessor = CELL(device, sm_blocks),
        .maxSharedMemoryPerMultiprocessor = CELL(device, sm_shared_memory),
        .maxRegistersPerMultiprocessor = CELL(device, sm_registers),
        .maxRegistersPerBlock = CELL(device, block_registers),
        .maxSharedMemoryPerBlock = CELL(device, block_shared_memory),
        .maxThreadsPerBlock = CELL(device, block_threads),
        .computeCapabilityMajor = CELL(device, compute_major),
        .computeCapabilityMinor = CELL(device, compute_minor),
        .id = CELL(device, id),
        .uuid = uuid_blob(CELL(device, uuid_high), CELL(device, uuid_low)),
        .name = CELL(device, name),
    };

    return insert_DEVICE(writer, 0, &device);
}

static enum mp_status put_stream(struct nvvp_writer *writer, const struct mp_batch *batch,
                                 uint32_t row)
{
    const struct mp_row_stream stream = {CELL(stream, id), CELL(stream, stream),
                                         CELL(stream, context), CELL(stream, device)};

    return keep_definition_row(writer, &writer->streams, stream.id, &stream);
}

static enum mp_status put_function(struct nvvp_writer *writer, const struct mp_batch *batch,
                                   uint32_t row)
{
    const struct mp_row_function function = {CELL(function, id), CELL(function, api),
                                             CELL(function, cbid), CELL(function, name)};

    return keep_definition_row(writer, &writer->functions, function.id, &function);
}

static enum mp_status put_shape(struct nvvp_writer *writer, const struct mp_batch *batch,
                                uint32_t row)
{
    struct mp_row_shape shape;

/* clang-format off */
#define TAKE(table, id, name, type, unit, codec, doc) shape.name = CELL(table, name);
    MP_COLUMNS_shape(TAKE)
#undef TAKE
        /* clang-format on */
        return keep_definition_row(writer, &writer->shapes, shape.id, &shape);
}

static enum mp_status put_stream_info(struct nvvp_writer *writer, const struct mp_batch *batch,
                                      uint32_t row)
{
    const struct nvvp_STREAM stream = {
        .contextId = CELL(stream_info, context),
        .streamId = CELL(stream_info, stream),
        .priority = CELL(stream_info, priority),
        .flag = CELL(stream_info, flag),
        .correlationId = CELL(stream_info, correlation),
    };

    return insert_STREAM(writer, 0, &stream);
}

static enum mp_status put_context_info(struct nvvp_writer *writer, const struct mp_batch *batch,
                                       uint32_t row)
{
    const struct nvvp_CONTEXT context = {
        .contextId = CELL(context_info, context),
        .deviceId = CELL(context_info, device),
        .computeApiKind = 1, /* CUDA */
        .nullStreamId = CELL(context_info, null_stream),
    };

    return insert_CONTEXT(writer, 0, &context);
}

/* ---- Device activities ---- */

static enum mp_status put_kernel(struct nvvp_writer *writer, const struct mp_batch *batch,
                                 uint32_t row)
{
    static const struct mp_row_shape none;
    const struct mp_row_stream stream = stream_of(writer, CELL(kernel, stream));
    const struct mp_row_shape *shape = dense_at(&writer->shapes, CELL(kernel, shape));
    uint64_t id = writer->rows[MP_INDEX_kernel];

    if (!shape)
        shape = &none;
    const struct nvvp_CONCURRENT_KERNEL kernel = {
        .cacheConfig = {.size = 1},
        .registersPerThread = shape->registers,
        .start = TIME(kernel, start),
        .end = END(kernel),
        .completed = END(kernel),
        .deviceId = stream.device,
        .contextId = stream.context,
        .streamId = stream.stream,
        .gridX = shape->grid_x,
        .gridY = shape->grid_y,
        .gridZ = shape->grid_z,
        .blockX = shape->block_x,
        .blockY = shape->block_y,
        .blockZ = shape->block_z,
        .staticSharedMemory = shape->static_shared_memory,
        .dynamicSharedMemory = shape->dynamic_shared_memory,
        .localMemoryPerThread = shape->local_memory,
        .correlationId = CELL(kernel, correlation),
        .gridId = id,
        .name = shape->kernel,
        .launchType = shape->launch_type,
        .sharedMemoryExecuted = shape->shared_memory_executed,
    };
    return insert_CONCURRENT_KERNEL(writer, id, &kernel);
}

static enum mp_status put_peer_copy(struct nvvp_writer *writer, const struct mp_batch *batch,
                                    uint32_t row)
{
    const struct mp_row_stream stream = stream_of(writer, CELL(copy, stream));
    const struct nvvp_MEMCPY2 copy = {
        .copyKind = CELL(copy, kind),
        .srcKind = CELL(copy, source),
        .dstKind = CELL(copy, target),
        .flags = CELL(copy, flags),
        .bytes = CELL(copy, bytes),
        .start = TIME(copy, start),
        .end = END(copy),
        .deviceId = stream.device,
        .contextId = stream.context,
        .streamId = stream.stream,
        .srcDeviceId = CELL(copy, source_device),
        .srcContextId = CELL(copy, source_context),
        .dstDeviceId = CELL(copy, target_device),
        .dstContextId = CELL(copy, target_context),
        .correlationId = CELL(copy, correlation),
    };

    return insert_MEMCPY2(writer, writer->rows[MP_INDEX_copy], &copy);
}

static enum mp_status put_copy(struct nvvp_writer *writer, const struct mp_batch *batch,
                               uint32_t row)
{
    const struct mp_row_stream stream = stream_of(writer, CELL(copy, stream));

    if (CELL(copy, kind) == MP_copy_kind_PtoP)
        return put_peer_copy(writer, batch, row);
    const struct nvvp_MEMCPY copy = {
        .copyKind = CELL(copy, kind),
        .srcKind = CELL(copy, source),
        .dstKind = CELL(copy, target),
        .flags = CELL(copy, flags),
        .bytes = CELL(copy, bytes),
        .start = TIME(copy, start),
        .end = END(copy),
        .deviceId = stream.device,
        .contextId = stream.context,
        .streamId = stream.stream,
        .correlationId = CELL(copy, correlation),
        .runtimeCorrelationId = CELL(copy, correlation),
    };
    return insert_MEMCPY(writer, writer->rows[MP_INDEX_copy], &copy);
}

static enum mp_status put_set(struct nvvp_writer *writer, const struct mp_batch *batch,
                              uint32_t row)
{
    const struct mp_row_stream stream = stream_of(writer, CELL(set, stream));
    const struct nvvp_MEMSET set = {
        .value = CELL(set, value),
        .bytes = CELL(set, bytes),
        .start = TIME(set, start),
        .end = END(set),
        .deviceId = stream.device,
        .contextId = stream.context,
        .streamId = stream.stream,
        .correlationId = CELL(set, correlation),
        .flags = CELL(set, flags),
        .memoryKind = CELL(set, memory),
    };

    return insert_MEMSET(writer, writer->rows[MP_INDEX_set], &set);
}

/* CUPTI gives moments no end, and nvprof calls a page fault of the CPU that has one invalid. */
static uint64_t unified_end(const struct nvvp_writer *writer, const struct mp_batch *batch,
                            uint32_t row)
{
    switch (CELL(unified, kind)) {
    case MP_unified_kind_cpu_page_fault:
    case MP_unified_kind_thrashing:
    case MP_unified_kind_remote_map:
        return CELL(unified, duration) ? END(unified) : 0;
    default:
        return END(unified);
    }
}

static enum mp_status put_unified(struct nvvp_writer *writer, const struct mp_batch *batch,
                                  uint32_t row)
{
    const struct nvvp_UNIFIED_MEMORY_COUNTER counter = {
        .counterKind = CELL(unified, kind),
        .value = CELL(unified, value),
        .start = TIME(unified, start),
        .end = unified_end(writer, batch, row),
        .address = CELL(unified, address),
        .srcId = CELL(unified, source),
        .dstId = CELL(unified, target),
        .streamId = CELL(unified, stream),
        .processId = writer->pid,
        .flags = CELL(unified, flags),
    };

    return insert_UNIFIED_MEMORY_COUNTER(writer, writer->rows[MP_INDEX_unified], &counter);
}

/* ---- What the host did ---- */

static enum mp_status put_call(struct nvvp_writer *writer, const struct mp_batch *batch,
                               uint32_t row)
{
    const struct mp_row_function *function = dense_at(&writer->functions, CELL(call, function));
    uint64_t id = writer->rows[MP_INDEX_call];
    const struct nvvp_RUNTIME call = {
        .cbid = function ? function->cbid : 0,
        .start = TIME(call, start),
        .end = END(call),
        .processId = writer->pid,
        .threadId = tid_of(writer, CELL(call, thread)),
        .correlationId = CELL(call, correlation),
        .returnValue = CELL(call, result),
    };

    if (!function || function->api != MP_api_driver)
        return insert_RUNTIME(writer, id, &call);
    const struct nvvp_DRIVER driver = {call.cbid,       call.start,    call.end,
                                       call.processId,  call.threadId, call.correlationId,
                                       call.returnValue};
    return insert_DRIVER(writer, id, &driver);
}

/* nvprof knows of waits and of event records only. */
static enum mp_status put_sync(struct nvvp_writer *writer, const struct mp_batch *batch,
                               uint32_t row)
{
    uint64_t kind = CELL(sync, kind);
    const struct nvvp_SYNCHRONIZATION wait = {
        .type = kind,
        .start = TIME(sync, start),
        .end = END(sync),
        .correlationId = CELL(sync, correlation),
        .contextId = CELL(sync, context),
        .streamId = CELL(sync, stream),
        .cudaEventId = CELL(sync, event) ? CELL(sync, event) : NOT_APPLICABLE,
    };
    const struct nvvp_CUDA_EVENT record = {
        .correlationId = CELL(sync, correlation),
        .contextId = CELL(sync, context),
        .streamId = CELL(sync, stream),
        .eventId = CELL(sync, event),
    };

    if (kind >= MP_sync_kind_event_synchronize && kind <= MP_sync_kind_context_synchronize)
        return insert_SYNCHRONIZATION(writer, 0, &wait);
    if (kind == MP_sync_kind_event_record)
        return insert_CUDA_EVENT(writer, 0, &record);
    return MP_OK;
}

static enum mp_status put_overhead(struct nvvp_writer *writer, const struct mp_batch *batch,
                                   uint32_t row)
{
    const struct nvvp_OVERHEAD overhead = {
        .overheadKind = CELL(overhead, kind),
        .objectKind = CELL(overhead, thread) ? THREAD_OBJECT : PROCESS_OBJECT,
        .objectId = thread_object(writer, CELL(overhead, thread)),
        .start = TIME(overhead, start),
        .end = END(overhead),
    };

    return insert_OVERHEAD(writer, writer->rows[MP_INDEX_overhead], &overhead);
}

/* ---- NVTX ---- */

/* The payload as a CUpti_MetricValue, and its CUpti_MetricValueKind. */
static uint64_t payload_value(uint64_t type, uint64_t payload, uint64_t *kind)
{
    uint32_t word = (uint32_t)payload;
    float single;
    double wide;

    *kind = type == MP_payload_type_int64 || type == MP_payload_type_int32 ? 4 : 1;
    if (type == MP_payload_type_double || type == MP_payload_type_float)
        *kind = 0;
    if (type == MP_payload_type_int32)
        return (uint64_t)(int64_t)(int32_t)word;
    if (type != MP_payload_type_float)
        return payload;
    memcpy(&single, &word, sizeof single);
    wide = (double)single;
    memcpy(&payload, &wide, sizeof payload);
    return payload;
}

static enum mp_status put_marker_data(struct nvvp_writer *writer, const struct mp_batch *batch,
                                      uint32_t row, uint32_t id)
{
    struct nvvp_MARKER_DATA data = {
        .flags = CELL(nvtx, color) ? 2 : 1, /* a color as ARGB, or none */
        .id = id,
        .payload = {.size = sizeof(uint64_t)},
        .color = CELL(nvtx, color),
        .category = CELL(nvtx, category),
    };
    uint64_t value =
        payload_value(CELL(nvtx, payload_type), CELL(nvtx, payload), &data.payloadKind);

    memcpy(data.payload.bytes, &value, sizeof value);
    return insert_MARKER_DATA(writer, 0, &data);
}

/* nvprof's readers pair the two rows of an NVTX range by a number that both have. Rows that end a
 * range get the number of the row that began it, and all others the next one: also a pop or end
 * whose begin is missing. MP_ERR_MEMORY. */
static enum mp_status number_marker(struct nvvp_markers *markers, const struct nvtx_event *event,
                                    uint64_t *number)
{
    if (nvtx_match_end(&markers->match, event, number))
        return MP_OK;
    *number = ++markers->last;
    return nvtx_match_begin(&markers->match, event, *number);
}

static enum mp_status put_nvtx(struct nvvp_writer *writer, const struct mp_batch *batch,
                               uint32_t row)
{
    const struct nvtx_event event = nvtx_event_at(batch->columns, row, CELL(nvtx, time));
    bool ends = event.kind == MP_nvtx_kind_pop || event.kind == MP_nvtx_kind_end;
    struct nvvp_MARKER marker = {
        .flags = event.kind == MP_nvtx_kind_mark ? 1
                 : ends                          ? 4
                                                 : 2,
        .timestamp = TIME(nvtx, time),
        .objectKind = THREAD_OBJECT,
        .objectId = thread_object(writer, event.thread),
        .name = ends ? 0 : event.name, /* readers know ends by it */
        .domain = event.domain,
    };
    uint64_t id;

    if (number_marker(&writer->markers, &event, &id) != MP_OK)
        return no_memory(writer);
    marker.id = (uint32_t)id;
    MP_TRY(insert_MARKER(writer, writer->rows[MP_INDEX_nvtx], &marker));
    return ends ? MP_OK : put_marker_data(writer, batch, row, id);
}

/* ---- Memory: one row of nvprof's for an allocation and its release ---- */

static enum mp_status put_release(struct nvvp_writer *writer, const struct mp_batch *batch,
                                  uint32_t row, uint32_t allocation)
{
    sqlite3_bind_int64(writer->release, 1, (sqlite3_int64)TIME(memory, time));
    sqlite3_bind_int64(writer->release, 2, (sqlite3_int64)CELL(memory, pc));
    sqlite3_bind_int64(writer->release, 3, allocation);
    return export_db_put(&writer->db, writer->release, writer->error);
}

static enum mp_status put_memory(struct nvvp_writer *writer, const struct mp_batch *batch,
                                 uint32_t row)
{
    uint64_t address = CELL(memory, address);
    uint32_t live = mp_map_get(&writer->live, address);
    bool releases = CELL(memory, operation) == MP_memory_operation_release;
    struct nvvp_MEMORY memory = {
        .memoryKind = CELL(memory, kind),
        .address = address,
        .bytes = CELL(memory, bytes),
        .processId = writer->pid,
        .deviceId = CELL(memory, device),
        .contextId = CELL(memory, context),
    };

    if (releases && mp_map_remove(&writer->live, address))
        return put_release(writer, batch, row, live);
    if (releases) { /* allocated before recording began */
        memory.end = TIME(memory, time);
        memory.freePC = CELL(memory, pc);
    } else {
        memory.start = TIME(memory, time);
        memory.allocPC = CELL(memory, pc);
        if (mp_map_put(&writer->live, address, writer->memory_rows + 1) != MP_OK)
            return no_memory(writer);
    }
    return insert_MEMORY(writer, ++writer->memory_rows, &memory);
}

/* ---- All of them ---- */

enum mp_status nvvp_write_row(struct nvvp_writer *writer, const struct mp_batch *batch,
                              uint32_t row)
{
    static enum mp_status (*const put[MP_TABLE_COUNT])(struct nvvp_writer *,
                                                       const struct mp_batch *, uint32_t) = {
        [MP_INDEX_thread] = put_thread,
        [MP_INDEX_device] = put_device,
        [MP_INDEX_stream] = put_stream,
        [MP_INDEX_function] = put_function,
        [MP_INDEX_shape] = put_shape,
        [MP_INDEX_stream_info] = put_stream_info,
        [MP_INDEX_context_info] = put_context_info,
        [MP_INDEX_kernel] = put_kernel,
        [MP_INDEX_copy] = put_copy,
        [MP_INDEX_set] = put_set,
        [MP_INDEX_call] = put_call,
        [MP_INDEX_sync] = put_sync,
        [MP_INDEX_nvtx] = put_nvtx,
        [MP_INDEX_memory] = put_memory,
        [MP_INDEX_overhead] = put_overhead,
        [MP_INDEX_unified] = put_unified,
    };
    size_t count;
    size_t index = (size_t)(batch->table - mp_tables(&count));

    return put[index] ? put[index](writer, batch, row) : MP_OK;
}
