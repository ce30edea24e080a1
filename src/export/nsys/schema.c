/* nsys's tables as data, from tables.def; and the values of its enumerations. */
#include "export/nsys/schema.h"

#include <string.h>

#include "export/nsys/build.h"

#include "base/poison.h"

#define NULL_NULLED                        0
#define NULL_FULL                          TABLES_REQUIRED
#define NULL_KEY                           (TABLES_REQUIRED | TABLES_KEY)
#define COLUMN_OF(table, name, type, null) {#name, TABLES_##type, NULL_##null},
#define COLUMN_ARRAY(table, name)                                                                  \
    static const struct tables_column columns_##table[] = {NSYS_COLUMNS_##table(COLUMN_OF)};
NSYS_TABLES(COLUMN_ARRAY)

#define TABLE_OF(table, name) {#name, columns_##table, NSYS_##table##_COLUMNS},
const struct tables_table nsys_tables[NSYS_TABLE_COUNT] = {NSYS_TABLES(TABLE_OF)};

#define COPY(value, name, label)                                                                   \
    {                                                                                              \
        NSYS_ENUM_CUDA_MEMCPY_OPER, value, "CUDA_MEMCPY_KIND_" name, label                         \
    }
#define MEMORY(value, name, label)                                                                 \
    {                                                                                              \
        NSYS_ENUM_CUDA_MEM_KIND, value, "CUDA_MEMOPR_MEMORY_KIND_" name, label                     \
    }
#define OPERATION(value, name, label)                                                              \
    {                                                                                              \
        NSYS_ENUM_CUDA_DEV_MEM_EVENT_OPER, value, "CUDA_DEV_MEM_EVENT_OPR_" name, label            \
    }
#define SYNC(value, name, label)                                                                   \
    {                                                                                              \
        NSYS_ENUM_CUPTI_SYNC_TYPE, value, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_" name, label       \
    }
#define ACCESS(value, name, label)                                                                 \
    {                                                                                              \
        NSYS_ENUM_CUDA_UNIF_MEM_ACCESS_TYPE, value,                                                \
            "CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_" name, label                               \
    }
#define EVENT(value, name)                                                                         \
    {                                                                                              \
        NSYS_ENUM_NSYS_EVENT_TYPE, value, name, name                                               \
    }
#define CLASS(value, name, label)                                                                  \
    {                                                                                              \
        NSYS_ENUM_NSYS_EVENT_CLASS, value, "TRACE_PROCESS_EVENT_" name, label                      \
    }

static const struct {
    uint16_t table;
    uint16_t value;
    const char *name, *label;
} values[] = {
    COPY(0, "UNKNOWN", "Unknown"),
    COPY(1, "HTOD", "Host-to-Device"),
    COPY(2, "DTOH", "Device-to-Host"),
    COPY(3, "HTOA", "Host-to-Array"),
    COPY(4, "ATOH", "Array-to-Host"),
    COPY(5, "ATOA", "Array-to-Array"),
    COPY(6, "ATOD", "Array-to-Device"),
    COPY(7, "DTOA", "Device-to-Array"),
    COPY(8, "DTOD", "Device-to-Device"),
    COPY(9, "HTOH", "Host-to-Host"),
    COPY(10, "PTOP", "Peer-to-Peer"),
    COPY(11, "UVM_HTOD", "Unified Host-to-Device"),
    COPY(12, "UVM_DTOH", "Unified Device-to-Host"),
    COPY(13, "UVM_DTOD", "Unified Device-to-Device"),
    MEMORY(0, "PAGEABLE", "Pageable"),
    MEMORY(1, "PINNED", "Pinned"),
    MEMORY(2, "DEVICE", "Device"),
    MEMORY(3, "ARRAY", "Array"),
    MEMORY(4, "MANAGED", "Managed"),
    MEMORY(5, "DEVICE_STATIC", "Device Static"),
    MEMORY(6, "MANAGED_STATIC", "Managed Static"),
    MEMORY(7, "UNKNOWN", "Unknown"),
    OPERATION(0, "ALLOCATION", "Allocation"),
    OPERATION(1, "DEALLOCATION", "Deallocation"),
    SYNC(0, "UNKNOWN", "Unknown"),
    SYNC(1, "EVENT_SYNCHRONIZE", "Event sync"),
    SYNC(2, "STREAM_WAIT_EVENT", "Stream wait sync"),
    SYNC(3, "STREAM_SYNCHRONIZE", "Stream sync"),
    SYNC(4, "CONTEXT_SYNCHRONIZE", "Context sync"),
    ACCESS(0, "UNKNOWN", "Unknown"),
    ACCESS(1, "READ", "Read"),
    ACCESS(2, "WRITE", "Write"),
    ACCESS(3, "ATOMIC", "Atomic"),
    ACCESS(4, "PREFETCH", "Prefetch"),
    EVENT(33, "NvtxCategory"),
    EVENT(34, "NvtxMark"),
    EVENT(39, "NvtxThread"),
    EVENT(59, "NvtxPushPopRange"),
    EVENT(60, "NvtxStartEndRange"),
    EVENT(75, "NvtxDomainCreate"),
    EVENT(76, "NvtxDomainDestroy"),
    CLASS(0, "CUDA_RUNTIME", "CUDA runtime"),
    CLASS(1, "CUDA_DRIVER", "CUDA driver"),
    CLASS(27, "OS_RUNTIME", "OS runtime"),
};

enum mp_status nsys_put_enums(struct tables *tables)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const struct tables_cell cells[] = {
            TABLES_NUMBER(values[i].value),
            TABLES_WORDS(values[i].name, strlen(values[i].name)),
            TABLES_WORDS(values[i].label, strlen(values[i].label)),
        };

        MP_TRY(tables_put(tables, values[i].table, cells));
    }
    return MP_OK;
}
