/* Which tables have rows to export, as data: their kind, their columns, what names them. */
#include "export/rows/build.h"
#include "export/rows/describe.h"

#include "base/poison.h"

#define C(table, column) MP_COLUMN_##table##_##column
#define NO               EXPORT_NO_COLUMN

static const struct export_source sources[] = {
    {MP_TABLE_kernel, EXPORT_KERNEL, C(kernel, start), C(kernel, duration), C(kernel, correlation),
     C(kernel, stream), NO, C(kernel, node), true, DEPS_KERNEL, export_describe_kernel},
    {MP_TABLE_copy, EXPORT_COPY, C(copy, start), C(copy, duration), C(copy, correlation),
     C(copy, stream), NO, C(copy, node), true, DEPS_COPY, export_describe_copy},
    {MP_TABLE_set, EXPORT_SET, C(set, start), C(set, duration), C(set, correlation), C(set, stream),
     NO, C(set, node), true, DEPS_SET, export_describe_set},
    {MP_TABLE_graph, EXPORT_GRAPH, C(graph, start), C(graph, duration), C(graph, correlation),
     C(graph, stream), NO, NO, true, DEPS_GRAPH, export_describe_graph},
    {MP_TABLE_host_function, EXPORT_HOST_FUNCTION, C(host_function, start),
     C(host_function, duration), C(host_function, correlation), C(host_function, stream),
     C(host_function, thread), C(host_function, node), true, DEPS_HOST_FUNCTION,
     export_describe_host_function},
    {MP_TABLE_call, EXPORT_CALL, C(call, start), C(call, duration), C(call, correlation), NO,
     C(call, thread), NO, false, DEPS_CALL, export_describe_call},
    {MP_TABLE_sync, EXPORT_SYNC, C(sync, start), C(sync, duration), C(sync, correlation), NO,
     C(sync, thread), NO, false, DEPS_KINDS, export_describe_sync},
    {MP_TABLE_wait, EXPORT_WAIT, C(wait, start), C(wait, duration), NO, NO, C(wait, thread), NO,
     false, DEPS_WAIT, export_describe_wait},
    {MP_TABLE_nvtx, EXPORT_RANGE, C(nvtx, time), NO, NO, NO, C(nvtx, thread), NO, false, DEPS_KINDS,
     export_nvtx_describe},
    {MP_TABLE_memory, EXPORT_MEMORY, C(memory, time), NO, C(memory, correlation), NO,
     C(memory, thread), NO, false, DEPS_KINDS, export_describe_memory},
    {MP_TABLE_pool, EXPORT_POOL, C(pool, time), NO, C(pool, correlation), NO, NO, NO, false,
     DEPS_KINDS, export_describe_pool},
    {MP_TABLE_unified, EXPORT_UNIFIED, C(unified, start), C(unified, duration), NO, NO, NO, NO,
     false, DEPS_KINDS, export_describe_unified},
    {MP_TABLE_overhead, EXPORT_OVERHEAD, C(overhead, start), C(overhead, duration),
     C(overhead, correlation), NO, C(overhead, thread), NO, false, DEPS_KINDS,
     export_describe_overhead},
    {MP_TABLE_collective, EXPORT_COLLECTIVE, C(collective, start), C(collective, duration),
     C(collective, correlation), NO, C(collective, thread), NO, false, DEPS_KINDS,
     export_describe_collective},
    {MP_TABLE_metric_value, EXPORT_METRIC, C(metric_value, time), NO, C(metric_value, correlation),
     C(metric_value, stream), NO, NO, false, DEPS_KINDS, export_describe_metric},
};

const struct export_source *export_sources(size_t *count)
{
    *count = sizeof sources / sizeof *sources;
    return sources;
}
