/*
 * selftest_overlap.c: programmatic dependent launch: kernels that begin before the end of the one
 * before them, in streams and in graphs.
 */
#include "selftest.h"

#include "hooks.h"

static const CUpti_ActivityKind kernels[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                             CUPTI_ACTIVITY_KIND_INVALID};

/* The nth launch, whatever order the kernels ended in. */
static const record_kernel *launch(int64_t nth)
{
    for (size_t i = 0; i < client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); i++) {
        const record_kernel *kernel = client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i);

        if (kernel->gridId == nth + 1)
            return kernel;
    }
    EXPECT(!"no such launch");
    abort();
}

static uint64_t duration(int64_t nth)
{
    return launch(nth)->end - launch(nth)->start;
}

/* A spin that may begin before the one before it ends: `allowed` is 1 or a lead in ns. */
static void spin_overlapping(CUstream stream, unsigned us, int allowed)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = stream,
                             .attrs = &attribute,
                             .numAttrs = 1};
    void *parameters[] = {&us};

    attribute.value.programmaticStreamSerializationAllowed = allowed;
    OK(cuLaunchKernelEx(&config, gpu.spin, parameters, NULL));
}

static void finish(size_t expected)
{
    OK(cuCtxSynchronize());
    client_flush(0);
    EXPECT_EQ(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), expected);
}

static void a_kernel_overlaps_the_end_of_the_one_before(void)
{
    CUstream stream;

    gpu_start(kernels);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    gpu_spin(stream, 100);
    spin_overlapping(stream, 50, 4096); /* 1 */
    spin_overlapping(stream, 50, 1);    /* 2: the usual lead, up to the next 32 ns */
    spin_overlapping(stream, 50, 0);    /* 3: does not overlap */
    gpu_spin(stream, 50);               /* 4: neither */
    finish(5);
    EXPECT_EQ(launch(0)->end - launch(1)->start, 4096);
    EXPECT_EQ(launch(1)->end - launch(2)->start, 3000 / 32 * 32);
    EXPECT(launch(3)->start > launch(2)->end && launch(4)->start > launch(3)->end);
    EXPECT(duration(1) >= 50000 && duration(1) < 51024);
}

/* It begins no sooner than the one before it, and does not end sooner. */
static void a_kernel_stays_behind_the_one_before(void)
{
    CUstream stream;

    gpu_start(kernels);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    gpu_spin(stream, 100);
    gpu_spin(stream, 100);
    spin_overlapping(stream, 10, 1 << 30);  /* 2 */
    spin_overlapping(stream, 300, 1 << 30); /* 3 */
    finish(4);
    EXPECT_EQ(launch(2)->start, launch(1)->start);
    EXPECT_EQ(launch(2)->end, launch(1)->end);
    EXPECT_EQ(launch(3)->start, launch(2)->start);
    EXPECT(duration(3) >= 300000);
}

static void only_kernels_are_overlapped(void)
{
    CUdeviceptr memory;
    CUstream stream, other;
    CUevent event;

    gpu_start(kernels);
    OK(cuMemAlloc(&memory, 1 << 20));
    OK(cuEventCreate(&event, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    gpu_spin(stream, 100); /* 0 */
    OK(cuEventRecord(event, stream));
    spin_overlapping(stream, 50, 4096); /* 1: behind an event */
    gpu_spin(other, 10);                /* 2 */
    OK(cuStreamWaitEvent(other, event, 0));
    spin_overlapping(other, 50, 4096); /* 3: behind a wait */
    OK(cuMemsetD8Async(memory, 0, 1 << 20, stream));
    spin_overlapping(stream, 50, 4096);               /* 4: behind a set */
    gpu_spin(NULL, 100);                              /* 5 */
    gpu_spin(CU_STREAM_PER_THREAD, 10);               /* 6 */
    gpu_spin(NULL, 100);                              /* 7: waits for 6 */
    spin_overlapping(CU_STREAM_PER_THREAD, 10, 4096); /* 8: waits for 7 */
    finish(9);
    EXPECT(launch(1)->start > launch(0)->end && launch(3)->start > launch(0)->end);
    EXPECT(launch(4)->start > launch(1)->end);
    EXPECT(launch(8)->start > launch(7)->end);
}

#ifdef SIMGPU_LACKS_cuGraphAddNode_v2
#define a_captured_overlap_is_an_edge          selftest_skip
#define edges_by_hand_let_their_nodes_overlap  selftest_skip
#define programmatic_edges_are_between_kernels selftest_skip
#else
static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec;

    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    return exec;
}

static void a_captured_overlap_is_an_edge(void)
{
    CUgraphNode from[2], to[2];
    CUgraphEdgeData data[2];
    size_t count = 2;
    CUstream stream;
    CUgraph graph;

    gpu_start(kernels);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    gpu_spin(stream, 100);
    spin_overlapping(stream, 50, 4096);
    gpu_spin(stream, 50);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphGetEdges(graph, from, to, data, &count));
    EXPECT_EQ(count, 2);
    EXPECT_EQ(data[0].type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
    EXPECT_EQ(data[0].from_port, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
    EXPECT(data[0].to_port == 0 && data[1].type == 0 && data[1].from_port == 0);
    OK(cuGraphLaunch(instantiate(graph), stream));
    finish(3);
    EXPECT_EQ(launch(0)->end - launch(1)->start, 4096);
    EXPECT(launch(2)->start > launch(1)->end);
}

static CUgraphNode add_spin(CUgraph graph, const CUgraphNode *dep, unsigned char type, unsigned us)
{
    void *parameters[] = {&us};
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    CUgraphEdgeData data = {.from_port = type, .type = type};
    CUgraphNode node;

    params.kernel.func = gpu.spin;
    params.kernel.gridDimX = params.kernel.gridDimY = params.kernel.gridDimZ = 1;
    params.kernel.blockDimX = params.kernel.blockDimY = params.kernel.blockDimZ = 1;
    params.kernel.kernelParams = parameters;
    OK(cuGraphAddNode(&node, graph, dep, &data, dep != NULL, &params));
    return node;
}

static void edges_by_hand_let_their_nodes_overlap(void)
{
    CUgraphNode first, second;
    CUstream stream;
    CUgraph graph;

    gpu_start(kernels);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuGraphCreate(&graph, 0));
    first = add_spin(graph, NULL, 0, 100);
    second = add_spin(graph, &first, 1, 50);
    add_spin(graph, &second, 0, 10);
    OK(cuGraphLaunch(instantiate(graph), stream));
    finish(3);
    EXPECT_EQ(launch(0)->end - launch(1)->start, 5000 / 32 * 32);
    EXPECT(launch(2)->start > launch(1)->end);
}

static void nothing(void *unused)
{
    (void)unused;
}

static void programmatic_edges_are_between_kernels(void)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_HOST};
    CUgraphEdgeData data = {.from_port = 1, .type = 1};
    CUgraphNode first, second;
    CUgraph graph;

    gpu_start(kernels);
    OK(cuGraphCreate(&graph, 0));
    first = add_spin(graph, NULL, 0, 100);
    params.host.fn = nothing;
    EXPECT_EQ(cuGraphAddNode(&second, graph, &first, &data, 1, &params), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphDestroy(graph));
}
#endif

const struct selftest overlap_tests[] = {
    {"a kernel overlaps the end of the one before", a_kernel_overlaps_the_end_of_the_one_before,
     "SIMGPU_PDL_LEAD_US=3"},
    {"a kernel neither begins nor ends before the one before it",
     a_kernel_stays_behind_the_one_before, NULL},
    {"only kernels are overlapped, and nothing that others wait for", only_kernels_are_overlapped,
     NULL},
    {"a captured overlap is an edge of the graph", a_captured_overlap_is_an_edge, NULL},
    {"edges made by hand let their nodes overlap", edges_by_hand_let_their_nodes_overlap,
     "SIMGPU_PDL_LEAD_US=5"},
    {"programmatic edges are between kernels", programmatic_edges_are_between_kernels, NULL},
    {0}};
