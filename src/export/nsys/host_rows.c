/* Rows of NVTX, of waits and of memory. */
#include <string.h>

#include "export/nsys/build.h"

#include "base/poison.h"

#define NO_ID UINT32_MAX /* of a device or stream */

enum event_type { EVENT_MARK = 34, EVENT_PUSH_POP = 59, EVENT_START_END = 60, EVENT_DOMAIN = 75 };

#define CLASS_OS_RUNTIME 27

static enum mp_status put_event(struct nsys *nsys, struct tables_cell *cells)
{
    cells[NSYS_NVTX_eventId] = TABLES_NUMBER(++nsys->event);
    return tables_put(nsys->tables, NSYS_NVTX, cells);
}

/* The number of the row's domain, 0 the default one. A new one has a row of its own. */
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
    return put_event(nsys, cells);
}

static void fill_payload(const struct export_row *row, struct tables_cell *cells)
{
    uint64_t bits = NSYS_CELL(row, nvtx, payload);
    uint32_t low = (uint32_t)bits;
    struct tables_cell real = {.kind = TABLES_CELL_REAL};
    float value;

    switch (NSYS_CELL(row, nvtx, payload_type)) {
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
    struct tables_cell cells[NSYS_NVTX_COLUMNS] = {{.kind = 0}};
    bool mark = row->kind == EXPORT_MARK;
    uint64_t message = NSYS_CELL(row, nvtx, name);

    MP_TRY(find_domain(nsys, row, &cells[NSYS_NVTX_domainId]));
    MP_TRY(nsys_thread(nsys, row, &cells[NSYS_NVTX_globalTid]));
    cells[NSYS_NVTX_start] = TABLES_NUMBER(nsys_time(nsys, row->start));
    if (!mark)
        cells[NSYS_NVTX_end] = TABLES_NUMBER(nsys_time(nsys, row->start + row->duration));
    cells[NSYS_NVTX_eventType] = TABLES_NUMBER(mark          ? EVENT_MARK
                                               : row->pushed ? EVENT_PUSH_POP
                                                             : EVENT_START_END);
    if (!mark && !row->pushed)
        cells[NSYS_NVTX_rangeId] = TABLES_NUMBER(NSYS_CELL(row, nvtx, range));
    cells[NSYS_NVTX_category] = nsys_some(NSYS_CELL(row, nvtx, category));
    cells[NSYS_NVTX_color] = nsys_some(NSYS_CELL(row, nvtx, color));
    if (message)
        cells[NSYS_NVTX_text] = TABLES_WORDS(row->name.text, row->name.bytes);
    fill_payload(row, cells);
    MP_TRY(nsys_put_payload(nsys, row, &cells[NSYS_NVTX_jsonText]));
    return put_event(nsys, cells);
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
    struct tables_cell cells[NSYS_MEMORY_COLUMNS] = {{.kind = 0}};
    uint64_t device = NSYS_CELL(row, memory, device);
    uint64_t kind = NSYS_CELL(row, memory, kind);
    uint64_t operation = NSYS_CELL(row, memory, operation);

    if (operation != MP_memory_operation_allocate && operation != MP_memory_operation_release)
        return MP_OK;
    cells[NSYS_MEMORY_start] = TABLES_NUMBER(nsys_time(nsys, row->start));
    cells[NSYS_MEMORY_globalPid] = TABLES_NUMBER(nsys->global_pid);
    cells[NSYS_MEMORY_deviceId] = TABLES_NUMBER(device == NO_ID ? 0 : device);
    cells[NSYS_MEMORY_contextId] = TABLES_NUMBER(NSYS_CELL(row, memory, context));
    cells[NSYS_MEMORY_address] = TABLES_NUMBER(NSYS_CELL(row, memory, address));
    cells[NSYS_MEMORY_pc] = TABLES_NUMBER(NSYS_CELL(row, memory, pc));
    cells[NSYS_MEMORY_bytes] = TABLES_NUMBER(NSYS_CELL(row, memory, bytes));
    cells[NSYS_MEMORY_memKind] = nsys_memory_kind(kind);
    cells[NSYS_MEMORY_memoryOperationType] =
        TABLES_NUMBER(operation == MP_memory_operation_release);
    cells[NSYS_MEMORY_correlationId] = nsys_some(row->correlation);
    if (NSYS_CELL(row, memory, asynchronous))
        cells[NSYS_MEMORY_streamId] = TABLES_NUMBER(NSYS_CELL(row, memory, stream));
    if (NSYS_CELL(row, memory, pool_type) == 1) {
        cells[NSYS_MEMORY_localMemoryPoolAddress] = nsys_some(NSYS_CELL(row, memory, pool));
        cells[NSYS_MEMORY_localMemoryPoolSize] = TABLES_NUMBER(NSYS_CELL(row, memory, pool_size));
        cells[NSYS_MEMORY_localMemoryPoolUtilizedSize] =
            TABLES_NUMBER(NSYS_CELL(row, memory, pool_used));
    } else if (NSYS_CELL(row, memory, pool_type) == 2) {
        cells[NSYS_MEMORY_importedMemoryPoolAddress] = nsys_some(NSYS_CELL(row, memory, pool));
    }
    return tables_put(nsys->tables, NSYS_MEMORY, cells);
}
