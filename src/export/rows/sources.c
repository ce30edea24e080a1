/* Which tables have rows to export, as data: their kind, their columns, and what names them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/rows/build.h"
#include "profile/names/names.h"

#include "base/poison.h"

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

static enum mp_status describe_kernel(struct export_rows *rows, struct export_row *row)
{
    const struct mp_row_kernel kernel = export_row_kernel(row);

    row->shape = shapes_find(&rows->shapes, kernel.shape);
    return export_text_name(rows, EXPORT_MEMO_SHAPE, kernel.shape, row);
}

static enum mp_status describe_copy(struct export_rows *rows, struct export_row *row)
{
    char name[NAMES_BYTES];

    return use(rows, row, names_copy(export_row_copy(row).kind, name, sizeof name));
}

static enum mp_status describe_set(struct export_rows *rows, struct export_row *row)
{
    return use(rows, row, "[CUDA memset]");
}

static enum mp_status describe_graph(struct export_rows *rows, struct export_row *row)
{
    char name[NAMES_BYTES];

    row->graph = export_row_graph(row).graph;
    return use(rows, row, names_graph(row->graph, name, sizeof name));
}

static enum mp_status describe_host_function(struct export_rows *rows, struct export_row *row)
{
    MP_TRY(export_rows_string(rows, export_row_host_function(row).name, &row->name));
    row->raw_name = row->name;
    return row->name.text ? MP_OK : use(rows, row, "[host function]");
}

static enum mp_status describe_call(struct export_rows *rows, struct export_row *row)
{
    return export_text_name(rows, EXPORT_MEMO_FUNCTION, export_row_call(row).function, row);
}

static enum mp_status describe_sync(struct export_rows *rows, struct export_row *row)
{
    return use_value(rows, row, "sync_kind", export_row_sync(row).kind);
}

static enum mp_status describe_wait(struct export_rows *rows, struct export_row *row)
{
    return use(rows, row, names_wait(export_row_wait(row).kind));
}

static enum mp_status describe_memory(struct export_rows *rows, struct export_row *row)
{
    return use_value(rows, row, "memory_operation", export_row_memory(row).operation);
}

static enum mp_status describe_pool(struct export_rows *rows, struct export_row *row)
{
    return use_value(rows, row, "pool_operation", export_row_pool(row).operation);
}

/* The names are nvprof's. */
static enum mp_status describe_unified(struct export_rows *rows, struct export_row *row)
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
    uint64_t kind = export_row_unified(row).kind;

    return use(rows, row, names[kind < sizeof names / sizeof *names ? kind : 0]);
}

static enum mp_status describe_overhead(struct export_rows *rows, struct export_row *row)
{
    return use_value(rows, row, "overhead_kind", export_row_overhead(row).kind);
}

static enum mp_status describe_metric(struct export_rows *rows, struct export_row *row)
{
    return export_text_name(rows, EXPORT_MEMO_METRIC, export_row_metric_value(row).metric, row);
}

static enum mp_status describe_collective(struct export_rows *rows, struct export_row *row)
{
    MP_TRY(export_rows_string(rows, export_row_collective(row).function, &row->name));
    row->raw_name = row->name;
    return row->name.text ? MP_OK : use(rows, row, "[unnamed call]");
}

/* ---- The tables ---- */

#define C(table, column) MP_COLUMN_##table##_##column
#define NO               EXPORT_NO_COLUMN

static const struct export_source sources[] = {
    {MP_TABLE_kernel, EXPORT_KERNEL, C(kernel, start), C(kernel, duration), C(kernel, correlation),
     C(kernel, stream), NO, C(kernel, node), true, DEPS_KERNEL, describe_kernel},
    {MP_TABLE_copy, EXPORT_COPY, C(copy, start), C(copy, duration), C(copy, correlation),
     C(copy, stream), NO, C(copy, node), true, DEPS_COPY, describe_copy},
    {MP_TABLE_set, EXPORT_SET, C(set, start), C(set, duration), C(set, correlation), C(set, stream),
     NO, C(set, node), true, DEPS_SET, describe_set},
    {MP_TABLE_graph, EXPORT_GRAPH, C(graph, start), C(graph, duration), C(graph, correlation),
     C(graph, stream), NO, NO, true, DEPS_GRAPH, describe_graph},
    {MP_TABLE_host_function, EXPORT_HOST_FUNCTION, C(host_function, start),
     C(host_function, duration), C(host_function, correlation), C(host_function, stream),
     C(host_function, thread), C(host_function, node), true, DEPS_HOST_FUNCTION,
     describe_host_function},
    {MP_TABLE_call, EXPORT_CALL, C(call, start), C(call, duration), C(call, correlation), NO,
     C(call, thread), NO, false, DEPS_CALL, describe_call},
    {MP_TABLE_sync, EXPORT_SYNC, C(sync, start), C(sync, duration), C(sync, correlation), NO,
     C(sync, thread), NO, false, DEPS_KINDS, describe_sync},
    {MP_TABLE_wait, EXPORT_WAIT, C(wait, start), C(wait, duration), NO, NO, C(wait, thread), NO,
     false, DEPS_WAIT, describe_wait},
    {MP_TABLE_nvtx, EXPORT_RANGE, C(nvtx, time), NO, NO, NO, C(nvtx, thread), NO, false, DEPS_KINDS,
     export_nvtx_describe},
    {MP_TABLE_memory, EXPORT_MEMORY, C(memory, time), NO, C(memory, correlation), NO,
     C(memory, thread), NO, false, DEPS_KINDS, describe_memory},
    {MP_TABLE_pool, EXPORT_POOL, C(pool, time), NO, C(pool, correlation), NO, NO, NO, false,
     DEPS_KINDS, describe_pool},
    {MP_TABLE_unified, EXPORT_UNIFIED, C(unified, start), C(unified, duration), NO, NO, NO, NO,
     false, DEPS_KINDS, describe_unified},
    {MP_TABLE_overhead, EXPORT_OVERHEAD, C(overhead, start), C(overhead, duration),
     C(overhead, correlation), NO, C(overhead, thread), NO, false, DEPS_KINDS, describe_overhead},
    {MP_TABLE_collective, EXPORT_COLLECTIVE, C(collective, start), C(collective, duration),
     C(collective, correlation), NO, C(collective, thread), NO, false, DEPS_KINDS,
     describe_collective},
    {MP_TABLE_metric_value, EXPORT_METRIC, C(metric_value, time), NO, C(metric_value, correlation),
     C(metric_value, stream), NO, NO, false, DEPS_KINDS, describe_metric},
};

const struct export_source *export_sources(size_t *count)
{
    *count = sizeof sources / sizeof *sources;
    return sources;
}
