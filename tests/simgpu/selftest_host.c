/*
 * selftest_host.c: host functions of streams and graphs: where and when they run, and what
 * CUPTI 13.1 tells about them.
 */
#include "selftest.h"

#include "hooks.h"

#include <unistd.h>

static const CUpti_ActivityKind kernels[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                             CUPTI_ACTIVITY_KIND_INVALID};

/* What the documentation says of CUpti_ActivityHostLaunch and CUpti_ActivityGraphHostNode, which
 * headers have since 13.1. */
struct host_launch {
    uint32_t kind, stream, context, device, correlation, process, thread;
    uint64_t start, end;
};
struct host_node {
    uint32_t kind, stream, context, device, correlation, graph;
    uint64_t node;
    uint32_t process, thread;
    uint64_t start, end;
};

static struct {
    int calls;
    uint64_t begin, end;
    uint32_t thread;
    CUresult result;
} seen;

/* Takes as many ns as it is told to. */
static void spend(void *ns)
{
    seen.calls++;
    seen.thread = (uint32_t)gettid();
    seen.begin = simgpu_clock_ns();
    simgpu_wait_until_ns(seen.begin + *(const uint64_t *)ns);
    seen.end = simgpu_clock_ns();
}

static void spend_as_callback(CUstream stream, CUresult status, void *ns)
{
    (void)stream;
    seen.result = status;
    spend(ns);
}

static void call_the_driver(void *unused)
{
    (void)unused;
    seen.result = cuCtxSynchronize();
}

static const record_kernel *kernel(size_t nth)
{
    return client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, nth);
}

static void finish(size_t expected)
{
    OK(cuCtxSynchronize());
    client_flush(0);
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), expected);
}

static void a_host_function_has_its_place_in_the_stream(void)
{
    uint64_t ns = 70000, before, after;
    CUstream stream;

    gpu_start(kernels);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    gpu_spin(stream, 100);
    before = simgpu_clock_ns();
    OK(cuLaunchHostFunc(stream, spend, &ns));
    after = simgpu_clock_ns();
    EXPECT(seen.calls == 1 && seen.thread != (uint32_t)gettid());
    EXPECT(after - before < 10000); /* the launching thread does not wait in virtual time */
    gpu_spin(stream, 100);
    finish(2);
    EXPECT(seen.begin > kernel(0)->end && seen.begin < kernel(0)->end + 2000);
    EXPECT_EQ(seen.end - seen.begin, 70000 + 20);
    EXPECT(kernel(1)->start > seen.end && kernel(1)->start < seen.end + 2000);
}

static void host_functions_run_one_at_a_time(void)
{
    uint64_t ns = 50000, end;
    CUstream a, b;

    gpu_start(kernels);
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuStreamAddCallback(a, spend_as_callback, &ns, 0));
    EXPECT_EQ(seen.result, CUDA_SUCCESS);
    end = seen.end;
    OK(cuLaunchHostFunc(b, spend, &ns));
    EXPECT(seen.begin > end && seen.begin < end + 1000);
    finish(0);
    EXPECT(simgpu_clock_ns() >= seen.end);
}

static void host_functions_are_checked(void)
{
    CUstream stream;
    CUgraph graph;
    CUgraphNode node;

    gpu_start(kernels);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT_EQ(cuLaunchHostFunc(stream, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuStreamAddCallback(stream, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuStreamAddCallback(stream, spend_as_callback, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuLaunchHostFunc(stream, call_the_driver, NULL));
    EXPECT_EQ(seen.result, CUDA_ERROR_NOT_PERMITTED);
    OK(cuGraphCreate(&graph, 0));
    EXPECT_EQ(cuGraphAddHostNode(&node, graph, NULL, 0, &(CUDA_HOST_NODE_PARAMS){.fn = NULL}),
              CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphDestroy(graph));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT_EQ(cuStreamAddCallback(stream, spend_as_callback, NULL, 0),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(cuLaunchHostFunc(stream, spend, NULL), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(seen.calls, 0);
}

/* A spin, a host function, a spin. */
static CUgraph capture(CUstream stream, uint64_t *ns)
{
    CUgraph graph;

    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    gpu_spin(stream, 100);
    OK(cuLaunchHostFunc(stream, spend, ns));
    gpu_spin(stream, 100);
    OK(cuStreamEndCapture(stream, &graph));
    return graph;
}

static void a_host_node_runs_at_each_launch(void)
{
    uint64_t ns = 30000, more = 80000;
    CUDA_HOST_NODE_PARAMS params = {.fn = spend, .userData = &more}, read;
    CUgraphNode nodes[3];
    CUgraphNodeType type;
    size_t count = 3;
    CUgraphExec exec;
    CUstream stream;
    CUgraph graph;

    gpu_start(kernels);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    graph = capture(stream, &ns);
    OK(cuGraphGetNodes(graph, nodes, &count));
    OK(cuGraphNodeGetType(nodes[1], &type));
    EXPECT(count == 3 && type == CU_GRAPH_NODE_TYPE_HOST);
    OK(cuGraphHostNodeGetParams(nodes[1], &read));
    EXPECT(read.fn == spend && read.userData == &ns);
    EXPECT_EQ(cuGraphHostNodeGetParams(nodes[0], &read), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    EXPECT(seen.calls == 1 && seen.end - seen.begin == 30000 + 20);
    OK(cuGraphExecHostNodeSetParams(exec, nodes[1], &params));
    EXPECT_EQ(cuGraphExecHostNodeSetParams(exec, nodes[0], &params), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphLaunch(exec, stream));
    finish(4);
    EXPECT(seen.calls == 2 && seen.end - seen.begin == 80000 + 20);
    EXPECT(seen.begin > kernel(2)->end && kernel(3)->start > seen.end);
    OK(cuGraphHostNodeGetParams(nodes[1], &read));
    EXPECT(read.userData == &ns);
    OK(cuGraphHostNodeSetParams(nodes[1], &params));
    OK(cuGraphHostNodeGetParams(nodes[1], &read));
    EXPECT(read.userData == &more);
}

static void cupti_tells_of_host_functions(void)
{
    static const CUpti_ActivityKind kinds[] = {
        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, (CUpti_ActivityKind)SIMGPU_KIND_GRAPH_HOST_NODE,
        (CUpti_ActivityKind)SIMGPU_KIND_HOST_LAUNCH, CUPTI_ACTIVITY_KIND_INVALID};
    const struct host_launch *launch;
    const struct host_node *node;
    uint64_t ns = 40000;
    CUgraphExec exec;
    CUstream stream;

    gpu_start(kinds);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(stream, spend, &ns));
    OK(cuCtxSynchronize());
    client_flush(0);
    launch = client_find((CUpti_ActivityKind)SIMGPU_KIND_HOST_LAUNCH, 0);
    EXPECT_EQ(client_size((CUpti_ActivityKind)SIMGPU_KIND_HOST_LAUNCH), sizeof(*launch));
    EXPECT(launch->stream == 13 && launch->context == 1 && launch->device == 0);
    EXPECT(launch->correlation && launch->process == (uint32_t)getpid());
    EXPECT_EQ(launch->thread, seen.thread);
    EXPECT(launch->start + 20 == seen.begin && launch->end == seen.end);
    OK(cuGraphInstantiateWithFlags(&exec, capture(stream, &ns), 0));
    OK(cuGraphLaunch(exec, stream));
    finish(2);
    node = client_find((CUpti_ActivityKind)SIMGPU_KIND_GRAPH_HOST_NODE, 0);
    EXPECT_EQ(client_size((CUpti_ActivityKind)SIMGPU_KIND_GRAPH_HOST_NODE), sizeof(*node));
    EXPECT_EQ(node->correlation, kernel(0)->correlationId);
    EXPECT(node->graph == kernel(0)->graphId && node->node == kernel(0)->graphNodeId + 1);
    EXPECT(node->stream == 13 && node->context == 1 && node->thread == seen.thread);
    EXPECT(node->start + 20 == seen.begin && node->end == seen.end);
}

static void older_cupti_refuses_host_functions(void)
{
    static const CUpti_ActivityKind nothing[] = {CUPTI_ACTIVITY_KIND_INVALID};

    gpu_start(nothing);
    EXPECT(cuptiActivityEnable((CUpti_ActivityKind)SIMGPU_KIND_HOST_LAUNCH) != CUPTI_SUCCESS);
    EXPECT(cuptiActivityEnable((CUpti_ActivityKind)SIMGPU_KIND_GRAPH_HOST_NODE) != CUPTI_SUCCESS);
}

const struct selftest host_tests[] = {
    {"a host function has its place in the stream", a_host_function_has_its_place_in_the_stream,
     NULL},
    {"host functions run one at a time", host_functions_run_one_at_a_time, NULL},
    {"host functions are checked, and may not call the driver", host_functions_are_checked, NULL},
    {"a host node runs at each launch and can be changed", a_host_node_runs_at_each_launch, NULL},
    {"CUPTI 13.1 tells of host functions", cupti_tells_of_host_functions,
     "SIMGPU_CUPTI_VERSION=130100"},
    {"CUPTI before 13.1 refuses host functions", older_cupti_refuses_host_functions,
     "SIMGPU_CUPTI_VERSION=130001"},
    {0}};
