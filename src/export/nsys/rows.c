/* Rows of the GPU's work, of unified memory, of calls and what they synchronised; of NVTX, waits
 * and memory.
 */
#include "export/nsys/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/poison.h"

/* ---- Stacks of calls ---- */

/* A row for each frame of each stack, the innermost with depth 0. */

static enum mp_status put_frame(struct nsys *nsys, uint32_t id, uint32_t depth, uint32_t stack)
{
    const struct call_stacks *stacks = &nsys->stacks;
    const struct stack_frame *frame = call_stacks_frame(stacks, stack);
    const char *file = call_stacks_code(stacks, frame)->file;
    struct tables_cell cells[NSYS_CALLCHAINS_COLUMNS] = {{.kind = 0}};
    uint32_t symbol, module;

    mp_buffer_clear(&nsys->text);
    call_stacks_put_frame(&nsys->text, stacks, frame, false);
    MP_TRY(nsys->text.status);
    MP_TRY(nsys_string(nsys, (const char *)nsys->text.data, nsys->text.size, &symbol));
    MP_TRY(nsys_string(nsys, file ? file : "", file ? strlen(file) : 0, &module));
    cells[NSYS_CALLCHAINS_id] = TABLES_NUMBER(id);
    cells[NSYS_CALLCHAINS_symbol] = TABLES_NUMBER(symbol);
    cells[NSYS_CALLCHAINS_module] = TABLES_NUMBER(module);
    cells[NSYS_CALLCHAINS_stackDepth] = TABLES_NUMBER(depth);
    return tables_put(nsys->tables, NSYS_CALLCHAINS, cells);
}

static enum mp_status put_callchain(struct nsys *nsys, uint64_t correlation,
                                    struct tables_cell *cell)
{
    uint32_t stack = call_stacks_of_call(&nsys->stacks, correlation);
    uint32_t id = stack ? mp_map_get(&nsys->callchains, stack) : 0;

    if (id == MP_MAP_ABSENT) {
        id = ++nsys->callchain;
        MP_TRY(mp_map_put(&nsys->callchains, stack, id));
        for (uint32_t depth = 0; stack && depth < CALL_STACKS_DEPTH;
             stack = call_stacks_caller(&nsys->stacks, stack))
            MP_TRY(put_frame(nsys, id, depth++, stack));
    }
    *cell = tables_some(id);
    return MP_OK;
}

void nsys_end_callchains(struct nsys *nsys)
{
    if (nsys->stacks_loaded)
        call_stacks_free(&nsys->stacks);
    nsys->stacks_loaded = false;
    mp_map_clear(&nsys->callchains);
}

enum mp_status nsys_begin_callchains(struct nsys *nsys, struct mp_error *error)
{
    nsys_end_callchains(nsys);
    nsys->stacks_loaded = true;
    return call_stacks_load(&nsys->stacks, nsys->process->trace, error);
}

/* ---- Work, calls ---- */

#define NO_ID UINT32_MAX /* of a device or stream */

/* Columns that tables of work share have these places in all of them. */
enum work {
    WORK_start,
    WORK_end,
    WORK_device,
    WORK_context,
    WORK_green_context,
    WORK_stream,
    WORK_correlation,
    WORK_process
};
_Static_assert((int)NSYS_KERNEL_globalPid == WORK_process, "the order of KERNEL");
_Static_assert((int)NSYS_MEMCPY_globalPid == WORK_process, "the order of MEMCPY");
_Static_assert((int)NSYS_MEMSET_globalPid == WORK_process, "the order of MEMSET");
_Static_assert((int)NSYS_SYNCHRONIZATION_globalPid == WORK_process, "the order of SYNCHRONIZATION");
_Static_assert((int)NSYS_GRAPH_TRACE_globalPid == WORK_process, "the order of GRAPH_TRACE");

static void fill_work(const struct nsys *nsys, const struct export_row *row,
                      struct tables_cell *cells)
{
    cells[WORK_start] = TABLES_NUMBER(nsys_time(nsys, row->start));
    cells[WORK_end] = TABLES_NUMBER(nsys_time(nsys, row->start + row->duration));
    cells[WORK_correlation] = tables_some(row->correlation);
    cells[WORK_process] = TABLES_NUMBER(nsys->global_pid);
    if (!row->place)
        return;
    cells[WORK_device] = TABLES_NUMBER(row->place->device);
    cells[WORK_context] = TABLES_NUMBER(row->place->context);
    cells[WORK_stream] = TABLES_NUMBER(row->place->stream);
}

static void fill_shape(const struct launch_shape *shape, struct tables_cell *cells)
{
    for (int i = 0; i < 3; i++) {
        cells[NSYS_KERNEL_gridX + i] = TABLES_NUMBER(shape->grid[i]);
        cells[NSYS_KERNEL_blockX + i] = TABLES_NUMBER(shape->block[i]);
        cells[NSYS_KERNEL_clusterX + i] = tables_some(shape->cluster[i]);
    }
    cells[NSYS_KERNEL_registersPerThread] = TABLES_NUMBER(shape->registers);
    cells[NSYS_KERNEL_staticSharedMemory] = TABLES_NUMBER(shape->static_shared);
    cells[NSYS_KERNEL_dynamicSharedMemory] = TABLES_NUMBER(shape->dynamic_shared);
    cells[NSYS_KERNEL_localMemoryPerThread] = TABLES_NUMBER(shape->local_memory);
    cells[NSYS_KERNEL_sharedMemoryExecuted] = tables_some(shape->configured_shared);
}

enum mp_status nsys_put_kernel(struct nsys *nsys, const struct export_row *row)
{
    struct tables_cell cells[NSYS_KERNEL_COLUMNS] = {{.kind = 0}};
    uint32_t name, mangled, shorter;

    MP_TRY(nsys_text_id(nsys, &row->name, &name));
    MP_TRY(nsys_text_id(nsys, &row->raw_name, &mangled));
    MP_TRY(nsys_short_id(nsys, &row->name, &shorter));
    fill_work(nsys, row, cells);
    if (row->shape)
        fill_shape(row->shape, cells);
    cells[NSYS_KERNEL_demangledName] = TABLES_NUMBER(name);
    cells[NSYS_KERNEL_mangledName] = TABLES_NUMBER(mangled);
    cells[NSYS_KERNEL_shortName] = TABLES_NUMBER(shorter);
    cells[NSYS_KERNEL_graphNodeId] = tables_some(row->graph_node);
    cells[NSYS_KERNEL_graphId] = tables_some(row->graph);
    return tables_put(nsys->tables, NSYS_KERNEL, cells);
}

enum mp_status nsys_put_copy(struct nsys *nsys, const struct export_row *row)
{
    const struct mp_row_copy copy = export_row_copy(row);
    struct tables_cell cells[NSYS_MEMCPY_COLUMNS] = {{.kind = 0}};

    fill_work(nsys, row, cells);
    cells[NSYS_MEMCPY_bytes] = TABLES_NUMBER(copy.bytes);
    cells[NSYS_MEMCPY_copyKind] = TABLES_NUMBER(copy.kind);
    cells[NSYS_MEMCPY_srcKind] = nsys_memory_kind(copy.source);
    cells[NSYS_MEMCPY_dstKind] = nsys_memory_kind(copy.target);
    if (copy.kind == MP_copy_kind_PtoP) {
        cells[NSYS_MEMCPY_srcDeviceId] = TABLES_NUMBER(copy.source_device);
        cells[NSYS_MEMCPY_srcContextId] = TABLES_NUMBER(copy.source_context);
        cells[NSYS_MEMCPY_dstDeviceId] = TABLES_NUMBER(copy.target_device);
        cells[NSYS_MEMCPY_dstContextId] = TABLES_NUMBER(copy.target_context);
    }
    cells[NSYS_MEMCPY_graphNodeId] = tables_some(row->graph_node);
    cells[NSYS_MEMCPY_copyCount] = tables_some(copy.count);
    return tables_put(nsys->tables, NSYS_MEMCPY, cells);
}

/* ---- Unified memory ---- */

static enum mp_status put_migration(struct nsys *nsys, const struct export_row *row, unsigned copy)
{
    const struct mp_row_unified unified = export_row_unified(row);
    struct tables_cell cells[NSYS_MEMCPY_COLUMNS] = {{.kind = 0}};
    uint64_t source = unified.source;
    uint64_t target = unified.target;

    fill_work(nsys, row, cells);
    if (target != NO_ID || source != NO_ID)
        cells[WORK_device] = TABLES_NUMBER(target != NO_ID ? target : source);
    cells[WORK_stream] = TABLES_NUMBER(unified.stream);
    cells[NSYS_MEMCPY_bytes] = TABLES_NUMBER(unified.value);
    cells[NSYS_MEMCPY_copyKind] = TABLES_NUMBER(copy);
    cells[NSYS_MEMCPY_srcKind] = cells[NSYS_MEMCPY_dstKind] =
        nsys_memory_kind(MP_memory_kind_managed);
    cells[NSYS_MEMCPY_virtualAddress] = tables_some(unified.address);
    return tables_put(nsys->tables, NSYS_MEMCPY, cells);
}

/* A trace has the address of the instruction, not its function: the text is what nsys has for one
 * that it could not resolve. */
static enum mp_status put_cpu_fault(struct nsys *nsys, const struct export_row *row)
{
    const struct mp_row_unified unified = export_row_unified(row);
    static const char unknown[] = "[Unknown]";
    struct tables_cell cells[NSYS_CPU_FAULT_COLUMNS] = {{.kind = 0}};
    uint64_t instruction = unified.value;
    uint32_t text, module;
    char hex[24];

    snprintf(hex, sizeof hex, "0x%" PRIx64, instruction);
    MP_TRY(nsys_string(nsys, hex, strlen(hex), &text));
    MP_TRY(nsys_string(nsys, unknown, strlen(unknown), &module));
    cells[NSYS_CPU_FAULT_start] = TABLES_NUMBER(nsys_time(nsys, row->start));
    cells[NSYS_CPU_FAULT_globalPid] = TABLES_NUMBER(nsys->global_pid);
    cells[NSYS_CPU_FAULT_address] = TABLES_NUMBER(unified.address);
    cells[NSYS_CPU_FAULT_originalFaultPc] = TABLES_NUMBER(instruction);
    cells[NSYS_CPU_FAULT_CpuInstruction] = TABLES_NUMBER(text);
    cells[NSYS_CPU_FAULT_module] = TABLES_NUMBER(module);
    cells[NSYS_CPU_FAULT_unresolvedFaultPc] = TABLES_NUMBER(1);
    return tables_put(nsys->tables, NSYS_CPU_FAULT, cells);
}

static enum mp_status put_gpu_fault(struct nsys *nsys, const struct export_row *row)
{
    const struct mp_row_unified unified = export_row_unified(row);
    struct tables_cell cells[NSYS_GPU_FAULT_COLUMNS] = {{.kind = 0}};
    uint64_t device = unified.source;

    cells[NSYS_GPU_FAULT_start] = TABLES_NUMBER(nsys_time(nsys, row->start));
    cells[NSYS_GPU_FAULT_end] = TABLES_NUMBER(nsys_time(nsys, row->start + row->duration));
    cells[NSYS_GPU_FAULT_globalPid] = TABLES_NUMBER(nsys->global_pid);
    cells[NSYS_GPU_FAULT_deviceId] = TABLES_NUMBER(device == NO_ID ? 0 : device);
    cells[NSYS_GPU_FAULT_address] = TABLES_NUMBER(unified.address);
    cells[NSYS_GPU_FAULT_numberOfPageFaults] = TABLES_NUMBER(unified.value);
    cells[NSYS_GPU_FAULT_faultAccessType] = TABLES_NUMBER(unified.flags);
    return tables_put(nsys->tables, NSYS_GPU_FAULT, cells);
}

/* Migrations are copies to nsys. It has no tables for thrashing, throttling and remote maps. */
enum mp_status nsys_put_unified(struct nsys *nsys, const struct export_row *row)
{
    switch (export_row_unified(row).kind) {
    case MP_unified_kind_bytes_HtoD:
        return put_migration(nsys, row, 11);
    case MP_unified_kind_bytes_DtoH:
        return put_migration(nsys, row, 12);
    case MP_unified_kind_bytes_DtoD:
        return put_migration(nsys, row, 13);
    case MP_unified_kind_cpu_page_fault:
        return put_cpu_fault(nsys, row);
    case MP_unified_kind_gpu_page_fault:
        return put_gpu_fault(nsys, row);
    default:
        return MP_OK;
    }
}

enum mp_status nsys_put_set(struct nsys *nsys, const struct export_row *row)
{
    const struct mp_row_set set = export_row_set(row);
    struct tables_cell cells[NSYS_MEMSET_COLUMNS] = {{.kind = 0}};

    fill_work(nsys, row, cells);
    cells[NSYS_MEMSET_value] = TABLES_NUMBER(set.value);
    cells[NSYS_MEMSET_bytes] = TABLES_NUMBER(set.bytes);
    cells[NSYS_MEMSET_memKind] = nsys_memory_kind(set.memory);
    cells[NSYS_MEMSET_graphNodeId] = tables_some(row->graph_node);
    return tables_put(nsys->tables, NSYS_MEMSET, cells);
}

enum mp_status nsys_put_graph(struct nsys *nsys, const struct export_row *row)
{
    struct tables_cell cells[NSYS_GRAPH_TRACE_COLUMNS] = {{.kind = 0}};

    fill_work(nsys, row, cells);
    cells[NSYS_GRAPH_TRACE_graphId] = TABLES_NUMBER(row->graph);
    cells[NSYS_GRAPH_TRACE_graphExecId] = TABLES_NUMBER(row->graph);
    return tables_put(nsys->tables, NSYS_GRAPH_TRACE, cells);
}

enum mp_status nsys_put_call(struct nsys *nsys, const struct export_row *row)
{
    struct tables_cell cells[NSYS_RUNTIME_COLUMNS] = {{.kind = 0}};
    const char *text = row->raw_name.text;
    uint32_t name;

    MP_TRY(nsys_text_id(nsys, &row->raw_name, &name));
    MP_TRY(nsys_thread(nsys, row, &cells[NSYS_RUNTIME_globalTid]));
    cells[NSYS_RUNTIME_start] = TABLES_NUMBER(nsys_time(nsys, row->start));
    cells[NSYS_RUNTIME_end] = TABLES_NUMBER(nsys_time(nsys, row->start + row->duration));
    /* 1 is the driver's. */
    cells[NSYS_RUNTIME_eventClass] =
        TABLES_NUMBER(!strncmp(text, "cu", 2) && strncmp(text, "cuda", 4) != 0);
    cells[NSYS_RUNTIME_correlationId] = tables_some(row->correlation);
    cells[NSYS_RUNTIME_nameId] = TABLES_NUMBER(name);
    cells[NSYS_RUNTIME_returnValue] = TABLES_NUMBER(export_row_call(row).result);
    MP_TRY(put_callchain(nsys, row->correlation, &cells[NSYS_RUNTIME_callchainId]));
    return tables_put(nsys->tables, NSYS_RUNTIME, cells);
}

static struct tables_cell device_of(const struct nsys *nsys, uint64_t context)
{
    return TABLES_NUMBER(export_rows_device_of(nsys->process->rows, context) & 0xffff);
}

static enum mp_status put_event(struct nsys *nsys, const struct export_row *row)
{
    const struct mp_row_sync sync = export_rows_sync(nsys->process->rows, row);
    struct tables_cell cells[NSYS_CUDA_EVENT_COLUMNS] = {{.kind = 0}};
    uint64_t context = sync.context;

    cells[NSYS_CUDA_EVENT_timestamp] = TABLES_NUMBER(nsys_time(nsys, row->start));
    cells[NSYS_CUDA_EVENT_deviceId] = device_of(nsys, context);
    cells[NSYS_CUDA_EVENT_contextId] = TABLES_NUMBER(context);
    cells[NSYS_CUDA_EVENT_streamId] = TABLES_NUMBER(sync.stream);
    cells[NSYS_CUDA_EVENT_correlationId] = tables_some(row->correlation);
    cells[NSYS_CUDA_EVENT_globalPid] = TABLES_NUMBER(nsys->global_pid);
    cells[NSYS_CUDA_EVENT_eventId] = TABLES_NUMBER(sync.event);
    return tables_put(nsys->tables, NSYS_CUDA_EVENT, cells);
}

/* What CUPTI has records of; queries, creations and the like are calls only. */
enum mp_status nsys_put_sync(struct nsys *nsys, const struct export_row *row)
{
    const struct mp_row_sync sync = export_rows_sync(nsys->process->rows, row);
    struct tables_cell cells[NSYS_SYNCHRONIZATION_COLUMNS] = {{.kind = 0}};
    uint64_t kind = sync.kind;

    if (kind == MP_sync_kind_event_record)
        return put_event(nsys, row);
    if (kind > MP_sync_kind_context_synchronize)
        return MP_OK;
    fill_work(nsys, row, cells);
    cells[WORK_context] = TABLES_NUMBER(sync.context);
    cells[WORK_device] = device_of(nsys, sync.context);
    cells[WORK_stream] = TABLES_NUMBER(sync.stream);
    cells[NSYS_SYNCHRONIZATION_syncType] = TABLES_NUMBER(kind);
    cells[NSYS_SYNCHRONIZATION_eventId] = TABLES_NUMBER(sync.event);
    return tables_put(nsys->tables, NSYS_SYNCHRONIZATION, cells);
}

/* ---- NVTX, waits, memory ---- */

#define NO_ID UINT32_MAX /* of a device or stream */

enum event_type { EVENT_MARK = 34, EVENT_PUSH_POP = 59, EVENT_START_END = 60, EVENT_DOMAIN = 75 };

#define CLASS_OS_RUNTIME 27

static enum mp_status put_nvtx_event(struct nsys *nsys, struct tables_cell *cells)
{
    cells[NSYS_NVTX_eventId] = TABLES_NUMBER(++nsys->event);
    return tables_put(nsys->tables, NSYS_NVTX, cells);
}

/* The number of the row's domain, 0 the default one. A new one gets a row. */
static enum mp_status find_domain(struct nsys *nsys, const struct export_row *row,
                                  struct tables_cell *number)
{
    struct tables_cell cells[NSYS_NVTX_COLUMNS] = {{.kind = 0}};
    uint32_t before = nsys->domains.count;
    uint32_t domain = 0;

    if (row->domain.text) {
        domain = mp_intern_add(&nsys->domains, row->domain.text, row->domain.bytes);
        if (!domain)
            return MP_ERR_MEMORY;
    }
    *number = TABLES_NUMBER(domain);
    if (domain <= before)
        return MP_OK;
    MP_TRY(nsys_thread(nsys, row, &cells[NSYS_NVTX_globalTid]));
    cells[NSYS_NVTX_start] = TABLES_NUMBER(nsys_time(nsys, row->start));
    cells[NSYS_NVTX_eventType] = TABLES_NUMBER(EVENT_DOMAIN);
    cells[NSYS_NVTX_text] = TABLES_WORDS(row->domain.text, row->domain.bytes);
    cells[NSYS_NVTX_domainId] = *number;
    return put_nvtx_event(nsys, cells);
}

static void fill_payload(const struct export_row *row, struct tables_cell *cells)
{
    const struct mp_row_nvtx nvtx = export_row_nvtx(row);
    uint64_t bits = nvtx.payload;
    uint32_t low = (uint32_t)bits;
    struct tables_cell real = {.kind = TABLES_CELL_REAL};
    float value;

    switch (nvtx.payload_type) {
    case MP_payload_type_uint64:
        cells[NSYS_NVTX_uint64Value] = TABLES_NUMBER(bits);
        break;
    case MP_payload_type_int64:
        cells[NSYS_NVTX_int64Value] = TABLES_NUMBER(bits);
        break;
    case MP_payload_type_uint32:
        cells[NSYS_NVTX_uint32Value] = TABLES_NUMBER(low);
        break;
    case MP_payload_type_int32:
        cells[NSYS_NVTX_int32Value] = TABLES_NUMBER((int32_t)low);
        break;
    case MP_payload_type_double:
        memcpy(&real.real, &bits, sizeof bits);
        cells[NSYS_NVTX_doubleValue] = real;
        break;
    case MP_payload_type_float:
        memcpy(&value, &low, sizeof low);
        real.real = value;
        cells[NSYS_NVTX_floatValue] = real;
        break;
    default:
        break;
    }
}

/* A trace does not say which messages were registered strings, so all are in `text`. */
enum mp_status nsys_put_nvtx(struct nsys *nsys, const struct export_row *row)
{
    const struct mp_row_nvtx nvtx = export_row_nvtx(row);
    struct tables_cell cells[NSYS_NVTX_COLUMNS] = {{.kind = 0}};
    bool mark = row->kind == EXPORT_MARK;
    uint64_t message = nvtx.name;

    MP_TRY(find_domain(nsys, row, &cells[NSYS_NVTX_domainId]));
    MP_TRY(nsys_thread(nsys, row, &cells[NSYS_NVTX_globalTid]));
    cells[NSYS_NVTX_start] = TABLES_NUMBER(nsys_time(nsys, row->start));
    if (!mark)
        cells[NSYS_NVTX_end] = TABLES_NUMBER(nsys_time(nsys, row->start + row->duration));
    cells[NSYS_NVTX_eventType] = TABLES_NUMBER(mark          ? EVENT_MARK
                                               : row->pushed ? EVENT_PUSH_POP
                                                             : EVENT_START_END);
    if (!mark && !row->pushed)
        cells[NSYS_NVTX_rangeId] = TABLES_NUMBER(nvtx.range);
    cells[NSYS_NVTX_category] = tables_some(nvtx.category);
    cells[NSYS_NVTX_color] = tables_some(nvtx.color);
    if (message)
        cells[NSYS_NVTX_text] = TABLES_WORDS(row->name.text, row->name.bytes);
    fill_payload(row, cells);
    MP_TRY(nsys_put_payload(nsys, row, &cells[NSYS_NVTX_jsonText]));
    return put_nvtx_event(nsys, cells);
}

enum mp_status nsys_put_wait(struct nsys *nsys, const struct export_row *row)
{
    struct tables_cell cells[NSYS_OSRT_COLUMNS] = {{.kind = 0}};
    uint32_t name;

    MP_TRY(nsys_text_id(nsys, &row->name, &name));
    MP_TRY(nsys_thread(nsys, row, &cells[NSYS_OSRT_globalTid]));
    cells[NSYS_OSRT_start] = TABLES_NUMBER(nsys_time(nsys, row->start));
    cells[NSYS_OSRT_end] = TABLES_NUMBER(nsys_time(nsys, row->start + row->duration));
    cells[NSYS_OSRT_eventClass] = TABLES_NUMBER(CLASS_OS_RUNTIME);
    cells[NSYS_OSRT_nameId] = TABLES_NUMBER(name);
    return tables_put(nsys->tables, NSYS_OSRT, cells);
}

enum mp_status nsys_put_memory(struct nsys *nsys, const struct export_row *row)
{
    const struct mp_row_memory memory = export_row_memory(row);
    struct tables_cell cells[NSYS_MEMORY_COLUMNS] = {{.kind = 0}};
    uint64_t device = memory.device;
    uint64_t kind = memory.kind;
    uint64_t operation = memory.operation;

    if (operation != MP_memory_operation_allocate && operation != MP_memory_operation_release)
        return MP_OK;
    cells[NSYS_MEMORY_start] = TABLES_NUMBER(nsys_time(nsys, row->start));
    cells[NSYS_MEMORY_globalPid] = TABLES_NUMBER(nsys->global_pid);
    cells[NSYS_MEMORY_deviceId] = TABLES_NUMBER(device == NO_ID ? 0 : device);
    cells[NSYS_MEMORY_contextId] = TABLES_NUMBER(memory.context);
    cells[NSYS_MEMORY_address] = TABLES_NUMBER(memory.address);
    cells[NSYS_MEMORY_pc] = TABLES_NUMBER(memory.pc);
    cells[NSYS_MEMORY_bytes] = TABLES_NUMBER(memory.bytes);
    cells[NSYS_MEMORY_memKind] = nsys_memory_kind(kind);
    cells[NSYS_MEMORY_memoryOperationType] =
        TABLES_NUMBER(operation == MP_memory_operation_release);
    cells[NSYS_MEMORY_correlationId] = tables_some(row->correlation);
    if (memory.asynchronous)
        cells[NSYS_MEMORY_streamId] = TABLES_NUMBER(memory.stream);
    if (memory.pool_type == 1) {
        cells[NSYS_MEMORY_localMemoryPoolAddress] = tables_some(memory.pool);
        cells[NSYS_MEMORY_localMemoryPoolSize] = TABLES_NUMBER(memory.pool_size);
        cells[NSYS_MEMORY_localMemoryPoolUtilizedSize] = TABLES_NUMBER(memory.pool_used);
    } else if (memory.pool_type == 2) {
        cells[NSYS_MEMORY_importedMemoryPoolAddress] = tables_some(memory.pool);
    }
    return tables_put(nsys->tables, NSYS_MEMORY, cells);
}
