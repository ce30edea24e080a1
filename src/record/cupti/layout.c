/* Proof that the views in layout.h lie where the CUPTI headers of this build put the fields.
 *
 * Only structs whose name is the same from CUDA 11.8 to 13.x are compared: CUPTI keeps every old
 * struct under its old name (in cupti_activity_deprecated.h since 12.4), so one list serves all.
 */
#include "record/cupti/layout.h"

#include <cupti.h>
#include <stddef.h>

#include "base/poison.h"

#define SAME(view, field, theirs, their_field)                                                     \
    _Static_assert(offsetof(struct view, field) == offsetof(theirs, their_field), #view "." #field)
#define SAME_END(view, theirs)                                                                     \
    _Static_assert(sizeof(struct view) <= sizeof(theirs), #view " is a prefix")

SAME(record_kernel, registers, CUpti_ActivityKernel8, registersPerThread);
SAME(record_kernel, start, CUpti_ActivityKernel8, start);
SAME(record_kernel, end, CUpti_ActivityKernel8, end);
SAME(record_kernel, device, CUpti_ActivityKernel8, deviceId);
SAME(record_kernel, context, CUpti_ActivityKernel8, contextId);
SAME(record_kernel, stream, CUpti_ActivityKernel8, streamId);
SAME(record_kernel, grid, CUpti_ActivityKernel8, gridX);
SAME(record_kernel, block, CUpti_ActivityKernel8, blockX);
SAME(record_kernel, static_shared_memory, CUpti_ActivityKernel8, staticSharedMemory);
SAME(record_kernel, dynamic_shared_memory, CUpti_ActivityKernel8, dynamicSharedMemory);
SAME(record_kernel, local_memory_per_thread, CUpti_ActivityKernel8, localMemoryPerThread);
SAME(record_kernel, correlation, CUpti_ActivityKernel8, correlationId);
SAME(record_kernel, name, CUpti_ActivityKernel8, name);
SAME(record_kernel, launch_type, CUpti_ActivityKernel8, launchType);
SAME(record_kernel, shared_memory_executed, CUpti_ActivityKernel8, sharedMemoryExecuted);
SAME(record_kernel, graph_node, CUpti_ActivityKernel8, graphNodeId);
SAME(record_kernel, graph, CUpti_ActivityKernel8, graphId);
SAME(record_kernel, cluster, CUpti_ActivityKernel8, clusterX);
SAME_END(record_kernel, CUpti_ActivityKernel8);

#if CUPTI_API_VERSION >= MP_CUPTI_SINCE_DEVICE_KERNELS
SAME(record_kernel_10, local_memory_total, CUpti_ActivityKernel10, localMemoryTotal_v2);
SAME(record_kernel_10, device_launched, CUpti_ActivityKernel10, isDeviceLaunched);
#endif

SAME(record_copy, copy_kind, CUpti_ActivityMemcpy5, copyKind);
SAME(record_copy, flags, CUpti_ActivityMemcpy5, flags);
SAME(record_copy, bytes, CUpti_ActivityMemcpy5, bytes);
SAME(record_copy, start, CUpti_ActivityMemcpy5, start);
SAME(record_copy, end, CUpti_ActivityMemcpy5, end);
SAME(record_copy, device, CUpti_ActivityMemcpy5, deviceId);
SAME(record_copy, correlation, CUpti_ActivityMemcpy5, correlationId);
SAME(record_copy, graph_node, CUpti_ActivityMemcpy5, graphNodeId);
SAME(record_copy, graph, CUpti_ActivityMemcpy5, graphId);
_Static_assert(offsetof(struct record_copy, count) == sizeof(CUpti_ActivityMemcpy5),
               "the count follows the struct of CUDA 11.8");
#if CUPTI_API_VERSION >= MP_CUPTI_SINCE_COPY_COUNT
SAME(record_copy, count, CUpti_ActivityMemcpy6, copyCount);
#endif

SAME(record_peer_copy, flags, CUpti_ActivityMemcpyPtoP4, flags);
SAME(record_peer_copy, source_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
SAME(record_peer_copy, target_context, CUpti_ActivityMemcpyPtoP4, dstContextId);
SAME(record_peer_copy, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME(record_peer_copy, graph_node, CUpti_ActivityMemcpyPtoP4, graphNodeId);
SAME(record_peer_copy, graph, CUpti_ActivityMemcpyPtoP4, graphId);
SAME_END(record_peer_copy, CUpti_ActivityMemcpyPtoP4);

SAME(record_set, value, CUpti_ActivityMemset4, value);
SAME(record_set, bytes, CUpti_ActivityMemset4, bytes);
SAME(record_set, device, CUpti_ActivityMemset4, deviceId);
SAME(record_set, correlation, CUpti_ActivityMemset4, correlationId);
SAME(record_set, flags, CUpti_ActivityMemset4, flags);
SAME(record_set, memory_kind, CUpti_ActivityMemset4, memoryKind);
SAME(record_set, graph_node, CUpti_ActivityMemset4, graphNodeId);
SAME(record_set, graph, CUpti_ActivityMemset4, graphId);
SAME_END(record_set, CUpti_ActivityMemset4);

SAME(record_call, cbid, CUpti_ActivityAPI, cbid);
SAME(record_call, start, CUpti_ActivityAPI, start);
SAME(record_call, thread, CUpti_ActivityAPI, threadId);
SAME(record_call, correlation, CUpti_ActivityAPI, correlationId);
SAME(record_call, result, CUpti_ActivityAPI, returnValue);
_Static_assert(sizeof(struct record_call) == sizeof(CUpti_ActivityAPI), "record_call");

SAME(record_graph, correlation, CUpti_ActivityGraphTrace, correlationId);
SAME(record_graph, start, CUpti_ActivityGraphTrace, start);
SAME(record_graph, device, CUpti_ActivityGraphTrace, deviceId);
SAME(record_graph, graph, CUpti_ActivityGraphTrace, graphId);
SAME(record_graph, stream, CUpti_ActivityGraphTrace, streamId);
SAME_END(record_graph, CUpti_ActivityGraphTrace);

#if CUPTI_API_VERSION >= MP_CUPTI_SINCE_DEVICE_GRAPHS
_Static_assert(MP_CUPTI_KIND_DEVICE_GRAPH_TRACE == CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE, "kind");
SAME(record_device_graph, device, CUpti_ActivityDeviceGraphTrace, deviceId);
SAME(record_device_graph, start, CUpti_ActivityDeviceGraphTrace, start);
SAME(record_device_graph, graph, CUpti_ActivityDeviceGraphTrace, graphId);
SAME(record_device_graph, context, CUpti_ActivityDeviceGraphTrace, contextId);
SAME(record_device_graph, stream, CUpti_ActivityDeviceGraphTrace, streamId);
SAME_END(record_device_graph, CUpti_ActivityDeviceGraphTrace);
#endif

#if CUPTI_API_VERSION >= MP_CUPTI_SINCE_HOST_FUNCTIONS
_Static_assert(MP_CUPTI_KIND_GRAPH_HOST_NODE == CUPTI_ACTIVITY_KIND_GRAPH_HOST_NODE, "kind");
_Static_assert(MP_CUPTI_KIND_HOST_LAUNCH == CUPTI_ACTIVITY_KIND_HOST_LAUNCH, "kind");
SAME(record_host_launch, stream, CUpti_ActivityHostLaunch, streamId);
SAME(record_host_launch, process, CUpti_ActivityHostLaunch, processId);
SAME(record_host_launch, thread, CUpti_ActivityHostLaunch, threadId);
SAME(record_host_launch, start, CUpti_ActivityHostLaunch, start);
SAME(record_host_launch, end, CUpti_ActivityHostLaunch, end);
SAME(record_host_node, graph, CUpti_ActivityGraphHostNode, graphId);
SAME(record_host_node, graph_node, CUpti_ActivityGraphHostNode, graphNodeId);
SAME(record_host_node, thread, CUpti_ActivityGraphHostNode, threadId);
SAME(record_host_node, start, CUpti_ActivityGraphHostNode, start);
SAME(record_host_node, end, CUpti_ActivityGraphHostNode, end);
#endif

SAME(record_memory, operation, CUpti_ActivityMemory3, memoryOperationType);
SAME(record_memory, address, CUpti_ActivityMemory3, address);
SAME(record_memory, bytes, CUpti_ActivityMemory3, bytes);
SAME(record_memory, time, CUpti_ActivityMemory3, timestamp);
SAME(record_memory, program_counter, CUpti_ActivityMemory3, PC);
SAME(record_memory, device, CUpti_ActivityMemory3, deviceId);
SAME(record_memory, stream, CUpti_ActivityMemory3, streamId);
SAME(record_memory, asynchronous, CUpti_ActivityMemory3, isAsync);
SAME(record_memory, pool_type, CUpti_ActivityMemory3, memoryPoolConfig.memoryPoolType);
SAME(record_memory, pool_address, CUpti_ActivityMemory3, memoryPoolConfig.address);
SAME(record_memory, pool_size, CUpti_ActivityMemory3, memoryPoolConfig.pool.size);
SAME(record_memory, pool_used, CUpti_ActivityMemory3, memoryPoolConfig.utilizedSize);
SAME_END(record_memory, CUpti_ActivityMemory3);

SAME(record_pool, operation, CUpti_ActivityMemoryPool2, memoryPoolOperationType);
SAME(record_pool, device, CUpti_ActivityMemoryPool2, deviceId);
SAME(record_pool, bytes_kept, CUpti_ActivityMemoryPool2, minBytesToKeep);
SAME(record_pool, address, CUpti_ActivityMemoryPool2, address);
SAME(record_pool, time, CUpti_ActivityMemoryPool2, timestamp);
SAME(record_pool, used, CUpti_ActivityMemoryPool2, utilizedSize);
SAME_END(record_pool, CUpti_ActivityMemoryPool2);

#if CUPTI_API_VERSION >= MP_CUPTI_SINCE_JIT
_Static_assert(MP_CUPTI_KIND_JIT == CUPTI_ACTIVITY_KIND_JIT, "the kind");
SAME(record_jit, entry, CUpti_ActivityJit, jitEntryType);
SAME(record_jit, operation, CUpti_ActivityJit, jitOperationType);
SAME(record_jit, device, CUpti_ActivityJit, deviceId);
SAME(record_jit, start, CUpti_ActivityJit, start);
SAME(record_jit, end, CUpti_ActivityJit, end);
SAME(record_jit, correlation, CUpti_ActivityJit, correlationId);
SAME(record_jit, unit, CUpti_ActivityJit, jitOperationCorrelationId);
SAME(record_jit, cache_bytes, CUpti_ActivityJit, cacheSize);
#endif

SAME(record_overhead, overhead_kind, CUpti_ActivityOverhead, overheadKind);
SAME(record_overhead, object_kind, CUpti_ActivityOverhead, objectKind);
SAME(record_overhead, object, CUpti_ActivityOverhead, objectId);
SAME(record_overhead, start, CUpti_ActivityOverhead, start);
SAME(record_overhead, end, CUpti_ActivityOverhead, end);
#if CUPTI_API_VERSION >= MP_CUPTI_SINCE_OVERHEAD_IDS
SAME(record_overhead, correlation, CUpti_ActivityOverhead2, correlationId);
#endif

SAME(record_unified, counter, CUpti_ActivityUnifiedMemoryCounter2, counterKind);
SAME(record_unified, value, CUpti_ActivityUnifiedMemoryCounter2, value);
SAME(record_unified, start, CUpti_ActivityUnifiedMemoryCounter2, start);
SAME(record_unified, end, CUpti_ActivityUnifiedMemoryCounter2, end);
SAME(record_unified, address, CUpti_ActivityUnifiedMemoryCounter2, address);
SAME(record_unified, source, CUpti_ActivityUnifiedMemoryCounter2, srcId);
SAME(record_unified, target, CUpti_ActivityUnifiedMemoryCounter2, dstId);
SAME(record_unified, stream, CUpti_ActivityUnifiedMemoryCounter2, streamId);
SAME(record_unified, flags, CUpti_ActivityUnifiedMemoryCounter2, flags);
SAME_END(record_unified, CUpti_ActivityUnifiedMemoryCounter2);
#if CUPTI_API_VERSION >= MP_CUPTI_SINCE_UNIFIED_PROCESSORS
SAME(record_unified, address, CUpti_ActivityUnifiedMemoryCounter3, address);
SAME(record_unified, flags, CUpti_ActivityUnifiedMemoryCounter3, flags);
#endif

SAME(record_context, context, CUpti_ActivityContext, contextId);
SAME(record_context, device, CUpti_ActivityContext, deviceId);
SAME(record_context, null_stream, CUpti_ActivityContext, nullStreamId);
SAME_END(record_context, CUpti_ActivityContext);
#if CUPTI_API_VERSION >= MP_CUPTI_SINCE_GREEN_CONTEXTS
SAME(record_context_2, parent, CUpti_ActivityContext2, parentContextId);
SAME(record_context_2, is_green, CUpti_ActivityContext2, isGreenContext);
#endif
#if CUPTI_API_VERSION >= MP_CUPTI_SINCE_GREEN_SMS
SAME(record_context_2, multiprocessors, CUpti_ActivityContext2, numMultiprocessors);
#endif

SAME(record_stream, context, CUpti_ActivityStream, contextId);
SAME(record_stream, stream, CUpti_ActivityStream, streamId);
SAME(record_stream, priority, CUpti_ActivityStream, priority);
SAME(record_stream, flag, CUpti_ActivityStream, flag);
SAME(record_stream, correlation, CUpti_ActivityStream, correlationId);

SAME(record_device, memory_bandwidth, CUpti_ActivityDevice4, globalMemoryBandwidth);
SAME(record_device, core_clock, CUpti_ActivityDevice4, coreClockRate);
SAME(record_device, multiprocessors, CUpti_ActivityDevice4, numMultiprocessors);
SAME(record_device, block_threads, CUpti_ActivityDevice4, maxThreadsPerBlock);
SAME(record_device, compute_major, CUpti_ActivityDevice4, computeCapabilityMajor);
SAME(record_device, id, CUpti_ActivityDevice4, id);
SAME(record_device, uuid, CUpti_ActivityDevice4, uuid);
SAME(record_device, name, CUpti_ActivityDevice4, name);
SAME_END(record_device, CUpti_ActivityDevice4);
