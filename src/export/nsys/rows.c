/* Rows of the GPU's work, of unified memory, of calls, and of what calls synchronised. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/nsys/build.h"

#include "base/poison.h"

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
    cells[WORK_correlation] = nsys_some(row->correlation);
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
        cells[NSYS_KERNEL_clusterX + i] = nsys_some(shape->cluster[i]);
    }
    cells[NSYS_KERNEL_registersPerThread] = TABLES_NUMBER(shape->registers);
    cells[NSYS_KERNEL_staticSharedMemory] = TABLES_NUMBER(shape->static_shared);
    cells[NSYS_KERNEL_dynamicSharedMemory] = TABLES_NUMBER(shape->dynamic_shared);
    cells[NSYS_KERNEL_localMemoryPerThread] = TABLES_NUMBER(shape->local_memory);
    cells[NSYS_KERNEL_sharedMemoryExecuted] = nsys_some(shape->configured_shared);
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
    cells[NSYS_KERNEL_graphNodeId] = nsys_some(row->graph_node);
    cells[NSYS_KERNEL_graphId] = nsys_some(row->graph);
    return tables_put(nsys->tables, NSYS_KERNEL, cells);
}

enum mp_status nsys_put_copy(struct nsys *nsys, const struct export_row *row)
{
    struct tables_cell cells[NSYS_MEMCPY_COLUMNS] = {{.kind = 0}};

    fill_work(nsys, row, cells);
    cells[NSYS_MEMCPY_bytes] = TABLES_NUMBER(NSYS_CELL(row, copy, bytes));
    cells[NSYS_MEMCPY_copyKind] = TABLES_NUMBER(NSYS_CELL(row, copy, kind));
    cells[NSYS_MEMCPY_srcKind] = nsys_memory_kind(NSYS_CELL(row, copy, source));
    cells[NSYS_MEMCPY_dstKind] = nsys_memory_kind(NSYS_CELL(row, copy, target));
    if (NSYS_CELL(row, copy, kind) == MP_copy_kind_PtoP) {
        cells[NSYS_MEMCPY_srcDeviceId] = TABLES_NUMBER(NSYS_CELL(row, copy, source_device));
        cells[NSYS_MEMCPY_srcContextId] = TABLES_NUMBER(NSYS_CELL(row, copy, source_context));
        cells[NSYS_MEMCPY_dstDeviceId] = TABLES_NUMBER(NSYS_CELL(row, copy, target_device));
        cells[NSYS_MEMCPY_dstContextId] = TABLES_NUMBER(NSYS_CELL(row, copy, target_context));
    }
    cells[NSYS_MEMCPY_graphNodeId] = nsys_some(row->graph_node);
    cells[NSYS_MEMCPY_copyCount] = nsys_some(NSYS_CELL(row, copy, count));
    return tables_put(nsys->tables, NSYS_MEMCPY, cells);
}

/* ---- Unified memory ---- */

static enum mp_status put_migration(struct nsys *nsys, const struct export_row *row, unsigned copy)
{
    struct tables_cell cells[NSYS_MEMCPY_COLUMNS] = {{.kind = 0}};
    uint64_t source = NSYS_CELL(row, unified, source);
    uint64_t target = NSYS_CELL(row, unified, target);

    fill_work(nsys, row, cells);
    if (target != NO_ID || source != NO_ID)
        cells[WORK_device] = TABLES_NUMBER(target != NO_ID ? target : source);
    cells[WORK_stream] = TABLES_NUMBER(NSYS_CELL(row, unified, stream));
    cells[NSYS_MEMCPY_bytes] = TABLES_NUMBER(NSYS_CELL(row, unified, value));
    cells[NSYS_MEMCPY_copyKind] = TABLES_NUMBER(copy);
    cells[NSYS_MEMCPY_srcKind] = cells[NSYS_MEMCPY_dstKind] =
        nsys_memory_kind(MP_memory_kind_managed);
    cells[NSYS_MEMCPY_virtualAddress] = nsys_some(NSYS_CELL(row, unified, address));
    return tables_put(nsys->tables, NSYS_MEMCPY, cells);
}

/* A trace has the address of the instruction, not its function: the text is what nsys has for one
 * that it could not resolve. */
static enum mp_status put_cpu_fault(struct nsys *nsys, const struct export_row *row)
{
    static const char unknown[] = "[Unknown]";
    struct tables_cell cells[NSYS_CPU_FAULT_COLUMNS] = {{.kind = 0}};
    uint64_t instruction = NSYS_CELL(row, unified, value);
    uint32_t text, module;
    char hex[24];

    snprintf(hex, sizeof hex, "0x%" PRIx64, instruction);
    MP_TRY(nsys_string(nsys, hex, strlen(hex), &text));
    MP_TRY(nsys_string(nsys, unknown, strlen(unknown), &module));
    cells[NSYS_CPU_FAULT_start] = TABLES_NUMBER(nsys_time(nsys, row->start));
    cells[NSYS_CPU_FAULT_globalPid] = TABLES_NUMBER(nsys->global_pid);
    cells[NSYS_CPU_FAULT_address] = TABLES_NUMBER(NSYS_CELL(row, unified, address));
    cells[NSYS_CPU_FAULT_originalFaultPc] = TABLES_NUMBER(instruction);
    cells[NSYS_CPU_FAULT_CpuInstruction] = TABLES_NUMBER(text);
    cells[NSYS_CPU_FAULT_module] = TABLES_NUMBER(module);
    cells[NSYS_CPU_FAULT_unresolvedFaultPc] = TABLES_NUMBER(1);
    return tables_put(nsys->tables, NSYS_CPU_FAULT, cells);
}

static enum mp_status put_gpu_fault(struct nsys *nsys, const struct export_row *row)
{
    struct tables_cell cells[NSYS_GPU_FAULT_COLUMNS] = {{.kind = 0}};
    uint64_t device = NSYS_CELL(row, unified, source);

    cells[NSYS_GPU_FAULT_start] = TABLES_NUMBER(nsys_time(nsys, row->start));
    cells[NSYS_GPU_FAULT_end] = TABLES_NUMBER(nsys_time(nsys, row->start + row->duration));
    cells[NSYS_GPU_FAULT_globalPid] = TABLES_NUMBER(nsys->global_pid);
    cells[NSYS_GPU_FAULT_deviceId] = TABLES_NUMBER(device == NO_ID ? 0 : device);
    cells[NSYS_GPU_FAULT_address] = TABLES_NUMBER(NSYS_CELL(row, unified, address));
    cells[NSYS_GPU_FAULT_numberOfPageFaults] = TABLES_NUMBER(NSYS_CELL(row, unified, value));
    cells[NSYS_GPU_FAULT_faultAccessType] = TABLES_NUMBER(NSYS_CELL(row, unified, flags));
    return tables_put(nsys->tables, NSYS_GPU_FAULT, cells);
}

/* Migrations are copies to nsys. It has no tables for thrashing, throttling and remote maps. */
enum mp_status nsys_put_unified(struct nsys *nsys, const struct export_row *row)
{
    switch (NSYS_CELL(row, unified, kind)) {
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
    struct tables_cell cells[NSYS_MEMSET_COLUMNS] = {{.kind = 0}};

    fill_work(nsys, row, cells);
    cells[NSYS_MEMSET_value] = TABLES_NUMBER(NSYS_CELL(row, set, value));
    cells[NSYS_MEMSET_bytes] = TABLES_NUMBER(NSYS_CELL(row, set, bytes));
    cells[NSYS_MEMSET_memKind] = nsys_memory_kind(NSYS_CELL(row, set, memory));
    cells[NSYS_MEMSET_graphNodeId] = nsys_some(row->graph_node);
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
    cells[NSYS_RUNTIME_correlationId] = nsys_some(row->correlation);
    cells[NSYS_RUNTIME_nameId] = TABLES_NUMBER(name);
    cells[NSYS_RUNTIME_returnValue] = TABLES_NUMBER(NSYS_CELL(row, call, result));
    MP_TRY(nsys_callchain(nsys, row->correlation, &cells[NSYS_RUNTIME_callchainId]));
    return tables_put(nsys->tables, NSYS_RUNTIME, cells);
}

static struct tables_cell device_of(const struct nsys *nsys, uint64_t context)
{
    uint32_t device = mp_map_get(&nsys->contexts, context);

    return TABLES_NUMBER(device == MP_MAP_ABSENT ? 0 : device);
}

static enum mp_status put_event(struct nsys *nsys, const struct export_row *row)
{
    struct tables_cell cells[NSYS_CUDA_EVENT_COLUMNS] = {{.kind = 0}};
    uint64_t context = NSYS_CELL(row, sync, context);

    cells[NSYS_CUDA_EVENT_timestamp] = TABLES_NUMBER(nsys_time(nsys, row->start));
    cells[NSYS_CUDA_EVENT_deviceId] = device_of(nsys, context);
    cells[NSYS_CUDA_EVENT_contextId] = TABLES_NUMBER(context);
    cells[NSYS_CUDA_EVENT_streamId] = TABLES_NUMBER(NSYS_CELL(row, sync, stream));
    cells[NSYS_CUDA_EVENT_correlationId] = nsys_some(row->correlation);
    cells[NSYS_CUDA_EVENT_globalPid] = TABLES_NUMBER(nsys->global_pid);
    cells[NSYS_CUDA_EVENT_eventId] = TABLES_NUMBER(NSYS_CELL(row, sync, event));
    return tables_put(nsys->tables, NSYS_CUDA_EVENT, cells);
}

/* What CUPTI has records of; queries, creations and the like are calls only. */
enum mp_status nsys_put_sync(struct nsys *nsys, const struct export_row *row)
{
    struct tables_cell cells[NSYS_SYNCHRONIZATION_COLUMNS] = {{.kind = 0}};
    uint64_t kind = NSYS_CELL(row, sync, kind);

    if (kind == MP_sync_kind_event_record)
        return put_event(nsys, row);
    if (kind > MP_sync_kind_context_synchronize)
        return MP_OK;
    fill_work(nsys, row, cells);
    cells[WORK_context] = TABLES_NUMBER(NSYS_CELL(row, sync, context));
    cells[WORK_device] = device_of(nsys, NSYS_CELL(row, sync, context));
    cells[WORK_stream] = TABLES_NUMBER(NSYS_CELL(row, sync, stream));
    cells[NSYS_SYNCHRONIZATION_syncType] = TABLES_NUMBER(kind);
    cells[NSYS_SYNCHRONIZATION_eventId] = TABLES_NUMBER(NSYS_CELL(row, sync, event));
    return tables_put(nsys->tables, NSYS_SYNCHRONIZATION, cells);
}
