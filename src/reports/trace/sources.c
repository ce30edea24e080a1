/* Where the columns of each table of records are, for opening a trace and for describing its rows.
 */
#include "reports/trace/rows.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

#define C(table, column) MP_COLUMN_##table##_##column

#define NONE TRACE_NO_COLUMN

const struct trace_source trace_sources[TRACE_KINDS] = {
    [TRACE_NVTX] = {MP_TABLE_nvtx, C(nvtx, time), NONE, NONE, NONE, NONE,
                    NVTX_EVENT_COLUMNS | MP_MASK(nvtx, time)},
    [TRACE_CALL] = {MP_TABLE_call, C(call, start), C(call, duration), NONE, NONE, NONE,
                    MP_MASK(call, thread, function, start, duration, correlation)},
    [TRACE_KERNEL] = {MP_TABLE_kernel, C(kernel, start), C(kernel, duration),
                      C(kernel, correlation), NONE, C(kernel, node),
                      MP_MASK(kernel, stream, shape, start, duration, correlation)},
    [TRACE_COPY] = {MP_TABLE_copy, C(copy, start), C(copy, duration), C(copy, correlation),
                    C(copy, bytes), C(copy, node),
                    MP_MASK(copy, stream, kind, source, target, bytes, start, duration, correlation,
                            source_device, source_context, target_device, target_context)},
    [TRACE_SET] = {MP_TABLE_set, C(set, start), C(set, duration), C(set, correlation),
                   C(set, bytes), C(set, node),
                   MP_MASK(set, stream, bytes, memory, start, duration, correlation)},
    [TRACE_GRAPH] = {MP_TABLE_graph, C(graph, start), C(graph, duration), C(graph, correlation),
                     NONE, NONE, MP_MASK(graph, stream, graph, start, duration, correlation)},
    [TRACE_UNIFIED] = {MP_TABLE_unified, C(unified, start), C(unified, duration), NONE, NONE, NONE,
                       MP_MASK(unified, kind, source, target, value, address, start, duration)},
};
