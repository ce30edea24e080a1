/*
 * selftest_schedule.c: streams, events, the legacy default stream, captures and graphs: what may
 * overlap and what must wait, seen in the records.
 */
#include "selftest.h"

#include "hooks.h"

static const CUpti_ActivityKind kernels[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                             CUPTI_ACTIVITY_KIND_INVALID};

static const record_kernel *kernel(size_t nth)
{
    return client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, nth);
}

/* The nth launch, whatever order the kernels ended in. */
static const record_kernel *launch(int64_t nth)
{
    for (size_t i = 0; i < client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); i++)
        if (kernel(i)->gridId == nth + 1)
            return kernel(i);
    EXPECT(!"no such launch");
    abort();
}

static bool overlap(const record_kernel *a, const record_kernel *b)
{
    return a->start < b->end && b->start < a->end;
}

static void finish(size_t expected)
{
    OK(cuCtxSynchronize());
    client_flush(0);
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), expected);
}

static void a_stream_is_a_queue(void)
{
    CUstream stream;

    gpu_start(kernels);
    OK(cuStreamCreate(&stream, 0));
    gpu_spin(stream, 100);
    gpu_spin(stream, 50);
    finish(2);
    EXPECT(kernel(1)->start >= kernel(0)->end);
    EXPECT(kernel(0)->end - kernel(0)->start >= 100000);
    EXPECT(kernel(0)->end - kernel(0)->start < 101024);
}

static void streams_overlap(void)
{
    CUstream a, b;

    gpu_start(kernels);
    OK(cuStreamCreate(&a, 0));
    OK(cuStreamCreate(&b, 0));
    gpu_spin(a, 100);
    gpu_spin(b, 50);
    finish(2);
    EXPECT(overlap(launch(0), launch(1)));
    EXPECT(kernel(0) != launch(0)); /* delivered in the order of their ends */
}

#if CUDA_VERSION >= 12000
static CUdeviceptr value_at(uint64_t value)
{
    CUdeviceptr address;

    OK(cuMemAlloc(&address, sizeof(value)));
    memcpy((void *)(uintptr_t)address, &value, sizeof(value));
    return address;
}

static void a_value_orders_two_streams(void)
{
    CUdeviceptr x;
    CUstream a, b;

    gpu_start(kernels);
    x = value_at(0);
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuStreamWaitValue32(b, x, 1, CU_STREAM_WAIT_VALUE_GEQ));
    gpu_spin(b, 50);
    EXPECT_EQ(cuStreamSynchronize(b), CUDA_ERROR_NOT_SUPPORTED); /* for ever */
    gpu_spin(a, 100);
    OK(cuStreamWriteValue32(a, x, 1, 0));
    OK(cuStreamWaitValue32(a, x, 1, CU_STREAM_WAIT_VALUE_EQ)); /* it is there */
    gpu_spin(a, 20);
    finish(3);
    EXPECT(kernel(1)->start >= kernel(0)->end); /* those of `a` and `b`, after the long one */
    EXPECT(kernel(2)->start >= kernel(0)->end);
    EXPECT(overlap(kernel(1), kernel(2)));
}

static void a_value_of_the_host_lets_a_stream_go_on(void)
{
    static const uint64_t seven = 7;
    CUdeviceptr x;
    CUstream a;

    gpu_start(kernels);
    x = value_at(0);
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamWaitValue64(a, x, 6, CU_STREAM_WAIT_VALUE_AND));
    gpu_spin(a, 50);
    OK(cuStreamWriteValue64(a, x, 1, 0)); /* it stands behind the wait */
    EXPECT_EQ(cuStreamQuery(a), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(cuEventRecord(NULL, a), CUDA_ERROR_INVALID_HANDLE);
    memcpy((void *)(uintptr_t)x, &seven, sizeof(seven));
    OK(cuStreamSynchronize(a));
    finish(1);
    EXPECT_EQ(*(uint64_t *)(uintptr_t)x, 1);
}

static void a_batch_of_values_happens_in_order(void)
{
    CUstreamBatchMemOpParams ops[3] = {{.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32},
                                       {.operation = CU_STREAM_MEM_OP_BARRIER},
                                       {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32}};
    CUdeviceptr x, y;
    CUstream a, b;

    gpu_start(kernels);
    x = value_at(UINT64_MAX);
    y = value_at(0);
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    ops[0].waitValue.address = x;
    ops[0].waitValue.value = 0xfffffffe;
    ops[0].waitValue.flags = CU_STREAM_WAIT_VALUE_NOR;
    ops[2].writeValue.address = y;
    ops[2].writeValue.value = 3;
    OK(cuStreamBatchMemOp(b, 3, ops, 0));
    EXPECT_EQ(*(uint64_t *)(uintptr_t)y, 0);
    OK(cuStreamWriteValue32(a, x, 0xfffffffe, 0));
    EXPECT_EQ(*(uint64_t *)(uintptr_t)y, 3);
    EXPECT_EQ(cuStreamBatchMemOp(b, 257, ops, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuStreamWriteValue32(a, 4096, 1, 0), CUDA_ERROR_INVALID_VALUE);
    finish(0);
}
#endif

static const CUpti_ActivityKind serial_kernels[] = {CUPTI_ACTIVITY_KIND_KERNEL,
                                                    CUPTI_ACTIVITY_KIND_INVALID};

static void kind_kernel_serialises(void)
{
    const record_kernel *first, *second;
    CUstream a, b;

    gpu_start(serial_kernels);
    OK(cuStreamCreate(&a, 0));
    OK(cuStreamCreate(&b, 0));
    gpu_spin(a, 100);
    gpu_spin(b, 50);
    finish(0);
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_KERNEL), 2);
    EXPECT(client_size(CUPTI_ACTIVITY_KIND_KERNEL) >= sizeof(*first));
    first = client_find(CUPTI_ACTIVITY_KIND_KERNEL, 0);
    second = client_find(CUPTI_ACTIVITY_KIND_KERNEL, 1);
    EXPECT(first->streamId == 13 && second->streamId == 14);
    EXPECT_EQ(second->start, first->end);
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_KERNEL));
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    gpu_spin(a, 100);
    gpu_spin(b, 50);
    finish(2);
    EXPECT(overlap(launch(2), launch(3)));
}

static void the_legacy_stream_waits_and_is_waited_for(void)
{
    CUstream a, b, free_running;

    gpu_start(kernels);
    OK(cuStreamCreate(&a, 0));
    OK(cuStreamCreate(&b, 0));
    OK(cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
    gpu_spin(a, 100);                    /* 0 */
    gpu_spin(NULL, 100);                 /* 1: waits for 0 */
    gpu_spin(b, 100);                    /* 2: waits for 1 */
    gpu_spin(free_running, 100);         /* 3: waits for nobody */
    gpu_spin(CU_STREAM_PER_THREAD, 100); /* 4: waits for 1, not for 2 */
    finish(5);
    EXPECT(launch(1)->start >= launch(0)->end);
    EXPECT(launch(2)->start >= launch(1)->end);
    EXPECT(overlap(launch(3), launch(0)));
    EXPECT(launch(4)->start >= launch(1)->end && overlap(launch(4), launch(2)));
    EXPECT(launch(1)->streamId == 7 && launch(0)->streamId == 13 && launch(4)->streamId == 16);
}

static void an_event_orders_two_streams(void)
{
    CUstream a, b;
    CUevent event, after;
    float milliseconds;

    gpu_start(kernels);
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(cuEventCreate(&after, 0));
    gpu_spin(a, 100); /* 0 */
    OK(cuEventRecord(event, a));
    gpu_spin(a, 100); /* 1 */
    OK(cuStreamWaitEvent(b, event, 0));
    gpu_spin(b, 20); /* 2: after 0, beside 1 */
    OK(cuEventRecord(after, b));
    EXPECT_EQ(cuEventQuery(after), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuEventElapsedTime(&milliseconds, event, after), CUDA_ERROR_NOT_READY);
    OK(cuEventSynchronize(after));
    OK(cuEventElapsedTime(&milliseconds, event, after));
    EXPECT(milliseconds > 0.02f && milliseconds < 0.03f);
    EXPECT_EQ(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    finish(3);
    EXPECT_EQ(cuStreamQuery(a), CUDA_SUCCESS);
    EXPECT(launch(2)->start >= launch(0)->end && overlap(launch(2), launch(1)));
}

static void copies_share_their_engine(void)
{
    static const CUpti_ActivityKind copies[] = {CUPTI_ACTIVITY_KIND_MEMCPY,
                                                CUPTI_ACTIVITY_KIND_INVALID};
    const record_copy *first, *second, *back;
    CUstream a, b, c;
    CUdeviceptr memory;
    void *host;

    gpu_start(copies);
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&c, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&memory, 3 << 20));
    OK(cuMemHostAlloc(&host, 3 << 20, 0));
    OK(cuMemcpyHtoDAsync(memory, host, 1 << 20, a));
    OK(cuMemcpyHtoDAsync(memory + (1 << 20), host, 1 << 20, b));
    OK(cuMemcpyDtoHAsync((char *)host + (2 << 20), memory, 1 << 20, c));
    OK(cuCtxSynchronize());
    client_flush(0);
    first = client_find(CUPTI_ACTIVITY_KIND_MEMCPY, 0);
    back = client_find(CUPTI_ACTIVITY_KIND_MEMCPY, 1);
    second = client_find(CUPTI_ACTIVITY_KIND_MEMCPY, 2);
    EXPECT(first->streamId == 13 && second->streamId == 14 && back->streamId == 15);
    EXPECT(second->start >= first->end);
    EXPECT(back->start < first->end);
}

static CUgraphExec capture_fork(CUstream main_stream, CUstream side)
{
    CUevent fork_event, join_event;
    CUgraph graph;
    CUgraphExec exec;
    size_t nodes = 0, edges = 0;

    OK(cuEventCreate(&fork_event, 0));
    OK(cuEventCreate(&join_event, 0));
    OK(cuStreamBeginCapture(main_stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    gpu_spin(main_stream, 10); /* node 1 */
    OK(cuEventRecord(fork_event, main_stream));
    OK(cuStreamWaitEvent(side, fork_event, 0));
    gpu_spin(main_stream, 20); /* node 2 */
    gpu_spin(side, 30);        /* node 3 */
    OK(cuEventRecord(join_event, side));
    OK(cuStreamWaitEvent(main_stream, join_event, 0));
    gpu_spin(main_stream, 10); /* node 4 */
    OK(cuStreamEndCapture(main_stream, &graph));
    OK(cuGraphGetNodes(graph, NULL, &nodes));
#ifdef cuGraphGetEdges /* the version with edge data */
    OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &edges));
#else
    OK(cuGraphGetEdges(graph, NULL, NULL, &edges));
#endif
    EXPECT(nodes == 4 && edges == 4);
    /* cuGraphInstantiate since CUDA 12, other arguments before */
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    return exec;
}

/* The id as CUPTI tells it, or what the records say where it does not. */
static uint32_t exec_id(CUgraphExec exec, uint32_t recorded)
{
#ifndef SIMGPU_LACKS_cuptiGetGraphExecId
    OK(cuptiGetGraphExecId(exec, &recorded));
#endif
    EXPECT(exec && recorded);
    return recorded;
}

static void graph_nodes_follow_their_edges(void)
{
    CUstream main_stream, side;
    CUgraphExec exec;
    uint64_t id;

    gpu_start(kernels);
    OK(cuStreamCreate(&main_stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
    exec = capture_fork(main_stream, side);
    OK(cuGraphLaunch(exec, main_stream));
    OK(cuGraphLaunch(exec, main_stream));
    finish(8);
    id = exec_id(exec, launch(0)->graphId);
    for (int64_t i = 0; i < 8; i++) {
        EXPECT_EQ(launch(i)->graphId, id);
        EXPECT_EQ(launch(i)->graphNodeId, id << 32 | (uint64_t)(i % 4 + 1));
        EXPECT_EQ(launch(i)->correlationId, launch(i / 4 * 4)->correlationId);
        EXPECT_EQ(launch(i)->streamId, 13);
    }
    EXPECT(launch(0)->correlationId != launch(4)->correlationId);
    EXPECT(launch(1)->start >= launch(0)->end && launch(2)->start >= launch(0)->end);
    EXPECT(overlap(launch(1), launch(2)));
    EXPECT(launch(3)->start >= launch(2)->end && launch(3)->start >= launch(1)->end);
    EXPECT(launch(4)->start >= launch(3)->end);
    OK(cuGraphExecDestroy(exec));
}

static void graph_trace_replaces_the_nodes(void)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
                                               CUPTI_ACTIVITY_KIND_INVALID};
    const record_graph *trace;
    CUstream main_stream, side;
    CUgraphExec exec;

    gpu_start(kinds);
    OK(cuStreamCreate(&main_stream, 0));
    OK(cuStreamCreate(&side, 0));
    exec = capture_fork(main_stream, side);
    OK(cuGraphLaunch(exec, main_stream));
    gpu_spin(main_stream, 5);
    finish(1);
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 1);
    trace = client_find(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 0);
    EXPECT(client_size(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) >= sizeof(*trace));
    EXPECT(trace->correlationId && trace->graphId == exec_id(exec, trace->graphId));
    EXPECT(trace->deviceId == 0 && trace->contextId == 1 && trace->streamId == 13);
#ifndef SIMGPU_LACKS_CUpti_ActivityGraphTrace2
    EXPECT(trace->endDeviceId == 0 && trace->endContextId == 1);
#endif
    EXPECT(trace->end - trace->start >= 50000 && kernel(0)->start >= trace->end);
}

/* A spin, then the child's two at once, in a graph that is a child itself. */
static void child_graphs_run_where_their_node_is(void)
{
    CUDA_KERNEL_NODE_PARAMS node = {.func = NULL,
                                    .gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 1,
                                    .blockDimY = 1,
                                    .blockDimZ = 1};
    unsigned us = 10;
    void *parameters[] = {&us};
    CUgraphNode first, inside, last;
    CUgraph graph, child;
    CUgraphExec exec;
    CUstream stream;

    gpu_start(kernels);
    node.func = gpu.spin;
    node.kernelParams = parameters;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuGraphCreate(&child, 0));
    OK(cuGraphAddKernelNode(&inside, child, NULL, 0, &node));
    OK(cuGraphAddKernelNode(&inside, child, NULL, 0, &node));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode(&first, graph, NULL, 0, &node));
    OK(cuGraphAddChildGraphNode(&inside, graph, &first, 1, child));
    OK(cuGraphAddKernelNode(&last, graph, &inside, 1, &node));
    OK(cuGraphDestroy(child));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    finish(4);
    EXPECT(launch(1)->start >= launch(0)->end && launch(2)->start >= launch(0)->end);
    EXPECT(overlap(launch(1), launch(2)));
    EXPECT(launch(3)->start >= launch(2)->end && launch(3)->start >= launch(1)->end);
    /* Numbered anew; 4 is the child's node. */
    EXPECT_EQ(launch(0)->graphNodeId & UINT32_MAX, 1);
    EXPECT_EQ(launch(1)->graphNodeId & UINT32_MAX, 2);
    EXPECT_EQ(launch(3)->graphNodeId & UINT32_MAX, 5);
}

static void the_device_launches_what_was_made_for_it(void)
{
#if CUPTI_API_VERSION >= 26
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
                                               CUPTI_ACTIVITY_KIND_INVALID};
    const CUpti_ActivityDeviceGraphTrace *record;
    const record_graph *trace;
    CUgraphExec exec;
    CUstream stream;
    CUgraph graph;

    OK(cuptiActivityEnableDeviceGraph(1));
    EXPECT(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE) != CUPTI_SUCCESS);
    gpu_start(kinds);
    EXPECT(cuptiActivityEnableDeviceGraph(0) != CUPTI_SUCCESS);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    gpu_spin(stream, 10);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 4));
    OK(cuGraphLaunch(exec, stream));
    finish(0);
    trace = client_find(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 0);
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE), 2);
    EXPECT_EQ(client_size(CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE), sizeof(*record));
    record = client_find(CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE, 0);
    EXPECT(record->start > trace->end && record->end > record->start);
    EXPECT(record->graphId == trace->graphId && record->launcherGraphId == trace->graphId);
    EXPECT_EQ(record->deviceLaunchMode, CUPTI_DEVICE_GRAPH_LAUNCH_MODE_TAIL);
    EXPECT(record->deviceId == 0 && record->contextId == 1 && record->streamId == 13);
#else
    selftest_skip();
#endif
}

static void capture_refuses_what_cuda_refuses(void)
{
    CUstream stream, side;
    CUevent event;
    CUgraph graph;
    CUstreamCaptureStatus status;

    gpu_start(kernels);
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamCreate(&side, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuStreamIsCapturing(stream, &status));
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuEventRecord(event, stream));
    EXPECT_EQ(cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
    OK(cuStreamWaitEvent(side, event, 0));
    gpu_spin(side, 10);
    EXPECT_EQ(cuStreamEndCapture(side, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    OK(cuStreamIsCapturing(side, &status));
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
    finish(0);
}

static void waiting_moves_the_host_to_the_end_of_the_work(void)
{
    uint64_t before, after;

    gpu_start(kernels);
    OK(cuptiGetTimestamp(&before));
    OK(cuptiGetTimestamp(&after));
    EXPECT_EQ(after - before, 20);
    gpu_spin(NULL, 1000);
    OK(cuptiGetTimestamp(&after));
    EXPECT(after - before < 100000);
    OK(cuStreamSynchronize(NULL));
    OK(cuptiGetTimestamp(&after));
    EXPECT(after - before > 1000000 && after - before < 1100000);
    finish(1);
    EXPECT(kernel(0)->end < after);
}

/* 1 ms of the virtual clock after the kernel's end, or when they are forced, and then whole. */
static void records_come_late(void)
{
    gpu_start(kernels);
    gpu_spin(NULL, 100);
    OK(cuCtxSynchronize());
    simgpu_wait_until_ns(simgpu_clock_ns() + 800000);
    client_flush(0);
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
    simgpu_wait_until_ns(simgpu_clock_ns() + 200000);
    client_flush(0);
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
    gpu_spin(NULL, 100);
    OK(cuCtxSynchronize());
    client_flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 2);
    EXPECT(kernel(1)->end > kernel(1)->start);
}

const struct selftest schedule_tests[] = {
    {"a stream is a queue", a_stream_is_a_queue, NULL},
    {"two streams overlap, records come in the order of ends", streams_overlap, NULL},
    {"KIND_KERNEL makes kernels of two streams take turns", kind_kernel_serialises, NULL},
    {"the legacy default stream waits and is waited for", the_legacy_stream_waits_and_is_waited_for,
     NULL},
    {"an event orders two streams", an_event_orders_two_streams, NULL},
#if CUDA_VERSION >= 12000
    {"a value in memory orders two streams", a_value_orders_two_streams, NULL},
    {"a value of the host lets a stream go on", a_value_of_the_host_lets_a_stream_go_on, NULL},
    {"a batch of values happens in order", a_batch_of_values_happens_in_order, NULL},
#endif
    {"copies of one direction share an engine", copies_share_their_engine, NULL},
    {"graph nodes follow their edges and name their graph", graph_nodes_follow_their_edges, NULL},
    {"graph-level tracing replaces the nodes", graph_trace_replaces_the_nodes, NULL},
    {"child graphs run where their node is", child_graphs_run_where_their_node_is, NULL},
    {"the device launches what was made for it", the_device_launches_what_was_made_for_it,
     "SIMGPU_DEVICE_LAUNCHES=2"},
    {"a capture refuses what CUDA refuses", capture_refuses_what_cuda_refuses, NULL},
    {"waiting moves the host to the end of the work", waiting_moves_the_host_to_the_end_of_the_work,
     NULL},
    {"records of the device come late when ordered", records_come_late, "SIMGPU_LATE_MS=1"},
    {0}};
