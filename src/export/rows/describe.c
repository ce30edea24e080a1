/* What a row of each kind is called. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/rows/build.h"
#include "export/rows/describe.h"
#include "profile/names/names.h"

#include "base/poison.h"

#define CELL(table, column) (row->columns[MP_COLUMN_##table##_##column][row->index])

const char *export_kind_key(enum export_kind kind)
{
    static const char *const keys[EXPORT_KINDS] = {
        [EXPORT_KERNEL] = "kernel",
        [EXPORT_COPY] = "copy",
        [EXPORT_SET] = "set",
        [EXPORT_GRAPH] = "graph",
        [EXPORT_HOST_FUNCTION] = "host_function",
        [EXPORT_CALL] = "call",
        [EXPORT_SYNC] = "sync",
        [EXPORT_WAIT] = "wait",
        [EXPORT_RANGE] = "range",
        [EXPORT_MARK] = "mark",
        [EXPORT_MEMORY] = "memory",
        [EXPORT_POOL] = "pool",
        [EXPORT_UNIFIED] = "unified",
        [EXPORT_OVERHEAD] = "overhead",
        [EXPORT_COLLECTIVE] = "collective",
        [EXPORT_METRIC] = "metric",
    };

    return keys[kind];
}

static enum mp_status use(struct export_rows *rows, struct export_row *row, const char *name)
{
    MP_TRY(export_text_put(rows, name, strlen(name), &row->name));
    row->raw_name = row->name;
    return MP_OK;
}

/* The name of a value of an enumeration, else its number. */
static enum mp_status use_value(struct export_rows *rows, struct export_row *row,
                                const char *enumeration, uint64_t value)
{
    const char *name = mp_enum_name(enumeration, value);
    char number[NAMES_BYTES];

    if (!name)
        snprintf(number, sizeof number, "%s %" PRIu64, enumeration, value);
    return use(rows, row, name ? name : number);
}

enum mp_status export_describe_kernel(struct export_rows *rows, struct export_row *row)
{
    row->shape = shapes_find(&rows->shapes, CELL(kernel, shape));
    return export_text_name(rows, EXPORT_MEMO_SHAPE, CELL(kernel, shape), row);
}

enum mp_status export_describe_copy(struct export_rows *rows, struct export_row *row)
{
    char name[NAMES_BYTES];

    return use(rows, row, names_copy(CELL(copy, kind), name, sizeof name));
}

enum mp_status export_describe_set(struct export_rows *rows, struct export_row *row)
{
    return use(rows, row, "[CUDA memset]");
}

enum mp_status export_describe_graph(struct export_rows *rows, struct export_row *row)
{
    char name[NAMES_BYTES];

    row->graph = CELL(graph, graph);
    return use(rows, row, names_graph(row->graph, name, sizeof name));
}

enum mp_status export_describe_host_function(struct export_rows *rows, struct export_row *row)
{
    MP_TRY(export_text_string(rows, CELL(host_function, name), &row->name));
    row->raw_name = row->name;
    return row->name.text ? MP_OK : use(rows, row, "[host function]");
}

enum mp_status export_describe_call(struct export_rows *rows, struct export_row *row)
{
    return export_text_name(rows, EXPORT_MEMO_FUNCTION, CELL(call, function), row);
}

enum mp_status export_describe_sync(struct export_rows *rows, struct export_row *row)
{
    return use_value(rows, row, "sync_kind", CELL(sync, kind));
}

enum mp_status export_describe_wait(struct export_rows *rows, struct export_row *row)
{
    return use(rows, row, names_wait(CELL(wait, kind)));
}

enum mp_status export_describe_memory(struct export_rows *rows, struct export_row *row)
{
    return use_value(rows, row, "memory_operation", CELL(memory, operation));
}

enum mp_status export_describe_pool(struct export_rows *rows, struct export_row *row)
{
    return use_value(rows, row, "pool_operation", CELL(pool, operation));
}

/* nvprof's names. */
enum mp_status export_describe_unified(struct export_rows *rows, struct export_row *row)
{
    static const char *const names[] = {
        [MP_unified_kind_unknown] = "[Unified Memory]",
        [MP_unified_kind_bytes_HtoD] = "[Unified Memory Memcpy HtoD]",
        [MP_unified_kind_bytes_DtoH] = "[Unified Memory Memcpy DtoH]",
        [MP_unified_kind_cpu_page_fault] = "[Unified Memory CPU page faults]",
        [MP_unified_kind_gpu_page_fault] = "[Unified Memory GPU page faults]",
        [MP_unified_kind_thrashing] = "[Unified Memory thrashing]",
        [MP_unified_kind_throttling] = "[Unified Memory throttling]",
        [MP_unified_kind_remote_map] = "[Unified Memory remote map]",
        [MP_unified_kind_bytes_DtoD] = "[Unified Memory Memcpy DtoD]",
    };
    uint64_t kind = CELL(unified, kind);

    return use(rows, row, names[kind < sizeof names / sizeof *names ? kind : 0]);
}

enum mp_status export_describe_overhead(struct export_rows *rows, struct export_row *row)
{
    return use_value(rows, row, "overhead_kind", CELL(overhead, kind));
}

enum mp_status export_describe_metric(struct export_rows *rows, struct export_row *row)
{
    return export_text_name(rows, EXPORT_MEMO_METRIC, CELL(metric_value, metric), row);
}

enum mp_status export_describe_collective(struct export_rows *rows, struct export_row *row)
{
    MP_TRY(export_text_string(rows, CELL(collective, function), &row->name));
    row->raw_name = row->name;
    return row->name.text ? MP_OK : use(rows, row, "[unnamed call]");
}
