/* Turns rows of a trace into rows of nvprof's tables, one function a table. Each fills the columns
 * in the order of tables.def; texts become ids of nvprof's string table.
 */
#include "export/nvvp/write.h"

#include <string.h>

#include "base/poison.h"

#define THREAD_OBJECT  2 /* CUPTI_ACTIVITY_OBJECT_THREAD */
#define PROCESS_OBJECT 1
#define NOT_APPLICABLE UINT32_MAX /* CUPTI_SYNCHRONIZATION_INVALID_VALUE */

/* insert_RUNTIME(writer, id, &row) and so on; an `id` of 0 lets SQLite number the row. */
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

static uint64_t time_of(const struct nvvp_writer *writer, uint64_t time)
{
    return nvvp_time_out(time, writer->offset);
}

static uint64_t end_of(const struct nvvp_writer *writer, uint64_t start, uint64_t duration)
{
    return time_of(writer, start) + duration;
}

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

static enum mp_status put_thread(struct nvvp_writer *writer, const struct mp_row_thread *row)
{
    struct nvvp_NAME name = {.objectKind = THREAD_OBJECT, .name = row->name};

    MP_TRY(keep_definition_row(writer, &writer->threads, row->id, row));
    if (!row->name)
        return MP_OK;
    name.objectId = thread_object(writer, row->id);
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

static enum mp_status put_device(struct nvvp_writer *writer, const struct mp_row_device *row)
{
    const struct nvvp_DEVICE device = {
        .flags = 1, /* kernels can run concurrently */
        .globalMemoryBandwidth = row->memory_bandwidth,
        .globalMemorySize = row->memory,
        .l2CacheSize = row->l2_cache,
        .numThreadsPerWarp = row->warp_threads,
        .coreClockRate = row->core_clock,
        .numMultiprocessors = row->multiprocessors,
        .maxWarpsPerMultiprocessor = row->sm_warps,
        .maxBlocksPerMultiprocessor = row->sm_blocks,
        .maxSharedMemoryPerMultiprocessor = row->sm_shared_memory,
        .maxRegistersPerMultiprocessor = row->sm_registers,
        .maxRegistersPerBlock = row->block_registers,
        .maxSharedMemoryPerBlock = row->block_shared_memory,
        .maxThreadsPerBlock = row->block_threads,
        .computeCapabilityMajor = row->compute_major,
        .computeCapabilityMinor = row->compute_minor,
        .id = row->id,
        .uuid = uuid_blob(row->uuid_high, row->uuid_low),
        .name = row->name,
    };

    return insert_DEVICE(writer, 0, &device);
}

static enum mp_status put_stream(struct nvvp_writer *writer, const struct mp_row_stream *row)
{
    return keep_definition_row(writer, &writer->streams, row->id, row);
}

static enum mp_status put_function(struct nvvp_writer *writer, const struct mp_row_function *row)
{
    return keep_definition_row(writer, &writer->functions, row->id, row);
}

static enum mp_status put_shape(struct nvvp_writer *writer, const struct mp_row_shape *row)
{
    return keep_definition_row(writer, &writer->shapes, row->id, row);
}

static enum mp_status put_stream_info(struct nvvp_writer *writer,
                                      const struct mp_row_stream_info *row)
{
    const struct nvvp_STREAM stream = {
        .contextId = row->context,
        .streamId = row->stream,
        .priority = row->priority,
        .flag = row->flag,
        .correlationId = row->correlation,
    };

    return insert_STREAM(writer, 0, &stream);
}

static enum mp_status put_context_info(struct nvvp_writer *writer,
                                       const struct mp_row_context_info *row)
{
    const struct nvvp_CONTEXT context = {
        .contextId = row->context,
        .deviceId = row->device,
        .computeApiKind = 1, /* CUDA */
        .nullStreamId = row->null_stream,
    };

    return insert_CONTEXT(writer, 0, &context);
}

/* ---- Device activities ---- */

static enum mp_status put_kernel(struct nvvp_writer *writer, const struct mp_row_kernel *row)
{
    static const struct mp_row_shape none;
    const struct mp_row_stream stream = stream_of(writer, row->stream);
    const struct mp_row_shape *shape = dense_at(&writer->shapes, row->shape);
    uint64_t id = writer->rows[MP_INDEX_kernel];

    if (!shape)
        shape = &none;
    const struct nvvp_CONCURRENT_KERNEL kernel = {
        .cacheConfig = {.size = 1},
        .registersPerThread = shape->registers,
        .start = time_of(writer, row->start),
        .end = end_of(writer, row->start, row->duration),
        .completed = end_of(writer, row->start, row->duration),
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
        .correlationId = row->correlation,
        .gridId = id,
        .name = shape->kernel,
        .launchType = shape->launch_type,
        .sharedMemoryExecuted = shape->shared_memory_executed,
    };
    return insert_CONCURRENT_KERNEL(writer, id, &kernel);
}

static enum mp_status put_peer_copy(struct nvvp_writer *writer, const struct mp_row_copy *row)
{
    const struct mp_row_stream stream = stream_of(writer, row->stream);
    const struct nvvp_MEMCPY2 copy = {
        .copyKind = row->kind,
        .srcKind = row->source,
        .dstKind = row->target,
        .flags = row->flags,
        .bytes = row->bytes,
        .start = time_of(writer, row->start),
        .end = end_of(writer, row->start, row->duration),
        .deviceId = stream.device,
        .contextId = stream.context,
        .streamId = stream.stream,
        .srcDeviceId = row->source_device,
        .srcContextId = row->source_context,
        .dstDeviceId = row->target_device,
        .dstContextId = row->target_context,
        .correlationId = row->correlation,
    };

    return insert_MEMCPY2(writer, writer->rows[MP_INDEX_copy], &copy);
}

static enum mp_status put_copy(struct nvvp_writer *writer, const struct mp_row_copy *row)
{
    const struct mp_row_stream stream = stream_of(writer, row->stream);

    if (row->kind == MP_copy_kind_PtoP)
        return put_peer_copy(writer, row);
    const struct nvvp_MEMCPY copy = {
        .copyKind = row->kind,
        .srcKind = row->source,
        .dstKind = row->target,
        .flags = row->flags,
        .bytes = row->bytes,
        .start = time_of(writer, row->start),
        .end = end_of(writer, row->start, row->duration),
        .deviceId = stream.device,
        .contextId = stream.context,
        .streamId = stream.stream,
        .correlationId = row->correlation,
        .runtimeCorrelationId = row->correlation,
    };
    return insert_MEMCPY(writer, writer->rows[MP_INDEX_copy], &copy);
}

static enum mp_status put_set(struct nvvp_writer *writer, const struct mp_row_set *row)
{
    const struct mp_row_stream stream = stream_of(writer, row->stream);
    const struct nvvp_MEMSET set = {
        .value = row->value,
        .bytes = row->bytes,
        .start = time_of(writer, row->start),
        .end = end_of(writer, row->start, row->duration),
        .deviceId = stream.device,
        .contextId = stream.context,
        .streamId = stream.stream,
        .correlationId = row->correlation,
        .flags = row->flags,
        .memoryKind = row->memory,
    };

    return insert_MEMSET(writer, writer->rows[MP_INDEX_set], &set);
}

/* CUPTI gives moments no end, and nvprof calls a page fault of the CPU that has one invalid. */
static uint64_t unified_end(const struct nvvp_writer *writer, const struct mp_row_unified *row)
{
    switch (row->kind) {
    case MP_unified_kind_cpu_page_fault:
    case MP_unified_kind_thrashing:
    case MP_unified_kind_remote_map:
        return row->duration ? end_of(writer, row->start, row->duration) : 0;
    default:
        return end_of(writer, row->start, row->duration);
    }
}

static enum mp_status put_unified(struct nvvp_writer *writer, const struct mp_row_unified *row)
{
    const struct nvvp_UNIFIED_MEMORY_COUNTER counter = {
        .counterKind = row->kind,
        .value = row->value,
        .start = time_of(writer, row->start),
        .end = unified_end(writer, row),
        .address = row->address,
        .srcId = row->source,
        .dstId = row->target,
        .streamId = row->stream,
        .processId = writer->pid,
        .flags = row->flags,
    };

    return insert_UNIFIED_MEMORY_COUNTER(writer, writer->rows[MP_INDEX_unified], &counter);
}

/* ---- What the host did ---- */

static enum mp_status put_call(struct nvvp_writer *writer, const struct mp_row_call *row)
{
    const struct mp_row_function *function = dense_at(&writer->functions, row->function);
    uint64_t id = writer->rows[MP_INDEX_call];
    const struct nvvp_RUNTIME call = {
        .cbid = function ? function->cbid : 0,
        .start = time_of(writer, row->start),
        .end = end_of(writer, row->start, row->duration),
        .processId = writer->pid,
        .threadId = tid_of(writer, row->thread),
        .correlationId = row->correlation,
        .returnValue = row->result,
    };

    if (!function || function->api != MP_api_driver)
        return insert_RUNTIME(writer, id, &call);
    const struct nvvp_DRIVER driver = {call.cbid,       call.start,    call.end,
                                       call.processId,  call.threadId, call.correlationId,
                                       call.returnValue};
    return insert_DRIVER(writer, id, &driver);
}

/* nvprof has tables for waits and event records only. */
static enum mp_status put_sync(struct nvvp_writer *writer, const struct mp_row_sync *row)
{
    uint64_t kind = row->kind;
    const struct nvvp_SYNCHRONIZATION wait = {
        .type = kind,
        .start = time_of(writer, row->start),
        .end = end_of(writer, row->start, row->duration),
        .correlationId = row->correlation,
        .contextId = row->context,
        .streamId = row->stream,
        .cudaEventId = row->event ? row->event : NOT_APPLICABLE,
    };
    const struct nvvp_CUDA_EVENT record = {
        .correlationId = row->correlation,
        .contextId = row->context,
        .streamId = row->stream,
        .eventId = row->event,
    };

    if (kind >= MP_sync_kind_event_synchronize && kind <= MP_sync_kind_context_synchronize)
        return insert_SYNCHRONIZATION(writer, 0, &wait);
    if (kind == MP_sync_kind_event_record)
        return insert_CUDA_EVENT(writer, 0, &record);
    return MP_OK;
}

static enum mp_status put_overhead(struct nvvp_writer *writer, const struct mp_row_overhead *row)
{
    const struct nvvp_OVERHEAD overhead = {
        .overheadKind = row->kind,
        .objectKind = row->thread ? THREAD_OBJECT : PROCESS_OBJECT,
        .objectId = thread_object(writer, row->thread),
        .start = time_of(writer, row->start),
        .end = end_of(writer, row->start, row->duration),
    };

    return insert_OVERHEAD(writer, writer->rows[MP_INDEX_overhead], &overhead);
}

/* ---- NVTX ---- */

/* Returns the payload as a CUpti_MetricValue, and its CUpti_MetricValueKind. */
static uint64_t payload_value(uint64_t type, uint64_t payload, uint64_t *kind)
{
    uint32_t word = (uint32_t)payload;
    float single;

    *kind = type == MP_payload_type_int64 || type == MP_payload_type_int32 ? 4 : 1;
    if (type == MP_payload_type_double || type == MP_payload_type_float)
        *kind = 0;
    if (type == MP_payload_type_int32)
        return (uint64_t)(int64_t)(int32_t)word;
    if (type != MP_payload_type_float)
        return payload;
    memcpy(&single, &word, sizeof single);
    double wide = (double)single;
    memcpy(&payload, &wide, sizeof payload);
    return payload;
}

static enum mp_status put_marker_data(struct nvvp_writer *writer, const struct mp_row_nvtx *row,
                                      uint32_t id)
{
    struct nvvp_MARKER_DATA data = {
        .flags = row->color ? 2 : 1, /* a color as ARGB, or none */
        .id = id,
        .payload = {.size = sizeof(uint64_t)},
        .color = row->color,
        .category = row->category,
    };
    uint64_t value = payload_value(row->payload_type, row->payload, &data.payloadKind);

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

static enum mp_status put_nvtx(struct nvvp_writer *writer, const struct mp_row_nvtx *row)
{
    const struct nvtx_event event = {.kind = row->kind,
                                     .thread = row->thread,
                                     .domain = row->domain,
                                     .name = row->name,
                                     .range = row->range,
                                     .time = row->time,
                                     .cut = row->cut};
    bool ends = event.kind == MP_nvtx_kind_pop || event.kind == MP_nvtx_kind_end;
    struct nvvp_MARKER marker = {
        .flags = event.kind == MP_nvtx_kind_mark ? 1
                 : ends                          ? 4
                                                 : 2,
        .timestamp = time_of(writer, row->time),
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
    return ends ? MP_OK : put_marker_data(writer, row, id);
}

/* ---- Memory: one row of nvprof's for an allocation and its release ---- */

static enum mp_status put_release(struct nvvp_writer *writer, const struct mp_row_memory *row,
                                  uint32_t allocation)
{
    sqlite3_bind_int64(writer->release, 1, (sqlite3_int64)time_of(writer, row->time));
    sqlite3_bind_int64(writer->release, 2, (sqlite3_int64)row->pc);
    sqlite3_bind_int64(writer->release, 3, allocation);
    return export_db_put(&writer->db, writer->release, writer->error);
}

static enum mp_status put_memory(struct nvvp_writer *writer, const struct mp_row_memory *row)
{
    uint64_t address = row->address;
    uint32_t live = mp_map_get(&writer->live, address);
    bool releases = row->operation == MP_memory_operation_release;
    struct nvvp_MEMORY memory = {
        .memoryKind = row->kind,
        .address = address,
        .bytes = row->bytes,
        .processId = writer->pid,
        .deviceId = row->device,
        .contextId = row->context,
    };

    if (releases && mp_map_remove(&writer->live, address))
        return put_release(writer, row, live);
    if (releases) { /* allocated before recording began */
        memory.end = time_of(writer, row->time);
        memory.freePC = row->pc;
    } else {
        memory.start = time_of(writer, row->time);
        memory.allocPC = row->pc;
        if (mp_map_put(&writer->live, address, writer->memory_rows + 1) != MP_OK)
            return no_memory(writer);
    }
    return insert_MEMORY(writer, ++writer->memory_rows, &memory);
}

/* ---- All of them ---- */

/* put_row_kernel(writer, batch, row) and so on: hand a row of the batch to put_kernel. */
#define TABLES(TABLE)                                                                              \
    TABLE(thread)                                                                                  \
    TABLE(device)                                                                                  \
    TABLE(stream)                                                                                  \
    TABLE(function)                                                                                \
    TABLE(shape)                                                                                   \
    TABLE(stream_info)                                                                             \
    TABLE(context_info)                                                                            \
    TABLE(kernel)                                                                                  \
    TABLE(copy)                                                                                    \
    TABLE(set)                                                                                     \
    TABLE(call)                                                                                    \
    TABLE(sync)                                                                                    \
    TABLE(nvtx)                                                                                    \
    TABLE(memory)                                                                                  \
    TABLE(overhead)                                                                                \
    TABLE(unified)
#define TAKE(table, id, name, type, unit, codec, doc)                                              \
    .name = batch->columns[MP_COLUMN_##table##_##name][row],
#define PUT_ROW(table)                                                                             \
    static enum mp_status put_row_##table(struct nvvp_writer *writer,                              \
                                          const struct mp_batch *batch, uint32_t row)              \
    {                                                                                              \
        return put_##table(writer, &(const struct mp_row_##table){MP_COLUMNS_##table(TAKE)});      \
    }
TABLES(PUT_ROW)

enum mp_status nvvp_write_row(struct nvvp_writer *writer, const struct mp_batch *batch,
                              uint32_t row)
{
#define ENTRY(table) [MP_INDEX_##table] = put_row_##table,
    static enum mp_status (*const put[MP_TABLE_COUNT])(
        struct nvvp_writer *, const struct mp_batch *, uint32_t) = {TABLES(ENTRY)};
    size_t count;
    size_t index = (size_t)(batch->table - mp_tables(&count));

    return put[index] ? put[index](writer, batch, row) : MP_OK;
}
