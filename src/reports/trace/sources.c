/* Where the columns of each table of records are, for opening a trace and for describing its rows.
 */
#include "reports/trace/rows.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

#define M(table, column) MP_COLUMN_MASK(table, column)
#define C(table, column) MP_COLUMN_##table##_##column

#define NONE TRACE_NO_COLUMN

const struct trace_source trace_sources[TRACE_KINDS] = {
    [TRACE_NVTX] = {MP_TABLE_nvtx, C(nvtx, time), NONE, NONE, NONE, NONE,
                    NVTX_EVENT_COLUMNS | M(nvtx, time)},
    [TRACE_CALL] = {MP_TABLE_call, C(call, start), C(call, duration), NONE, NONE, NONE,
                    M(call, thread) | M(call, function) | M(call, start) | M(call, duration) |
                        M(call, correlation)},
    [TRACE_KERNEL] = {MP_TABLE_kernel, C(kernel, start), C(kernel, duration),
                      C(kernel, correlation), NONE, C(kernel, node),
                      M(kernel, stream) | M(kernel, shape) | M(kernel, start) |
                          M(kernel, duration) | M(kernel, correlation)},
    [TRACE_COPY] = {MP_TABLE_copy, C(copy, start), C(copy, duration), C(copy, correlation),
                    C(copy, bytes), C(copy, node),
                    M(copy, stream) | M(copy, kind) | M(copy, source) | M(copy, target) |
                        M(copy, bytes) | M(copy, start) | M(copy, duration) | M(copy, correlation) |
                        M(copy, source_device) | M(copy, source_context) | M(copy, target_device) |
                        M(copy, target_context)},
    [TRACE_SET] = {MP_TABLE_set, C(set, start), C(set, duration), C(set, correlation),
                   C(set, bytes), C(set, node),
                   M(set, stream) | M(set, bytes) | M(set, memory) | M(set, start) |
                       M(set, duration) | M(set, correlation)},
    [TRACE_GRAPH] = {MP_TABLE_graph, C(graph, start), C(graph, duration), C(graph, correlation),
                     NONE, NONE,
                     M(graph, stream) | M(graph, graph) | M(graph, start) | M(graph, duration) |
                         M(graph, correlation)},
    [TRACE_UNIFIED] = {MP_TABLE_unified, C(unified, start), C(unified, duration), NONE, NONE, NONE,
                       M(unified, kind) | M(unified, source) | M(unified, target) |
                           M(unified, value) | M(unified, address) | M(unified, start) |
                           M(unified, duration)},
};
