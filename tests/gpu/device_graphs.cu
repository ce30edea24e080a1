/* What a device launches by itself: device_graphs CASE prints how many kernels ran, by their own
 * count.
 *
 *     launch     a graph that a kernel of another graph launches (fire and forget), 5 times
 *     while      a graph whose while node runs its body 5 times
 *     if         a graph whose if node runs its body once
 *     kernel     a kernel that launches a kernel (dynamic parallelism), 5 times
 *
 * nvcc -rdc=true -lcudadevrt; graphs on the device need compute capability 7.0 and CUDA 12.4.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum { TIMES = 5 };

static __device__ unsigned ran;

#define CHECK(call) check((call), #call)

static void check(cudaError_t result, const char *call)
{
    if (result == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(result));
    exit(1);
}

__global__ void inner_kernel(void)
{
    atomicAdd(&ran, 1);
}

__global__ void launching_kernel(cudaGraphExec_t graph)
{
    cudaGraphLaunch(graph, cudaStreamGraphFireAndForget);
}

__global__ void body_kernel(cudaGraphConditionalHandle condition, unsigned times)
{
    unsigned now = atomicAdd(&ran, 1) + 1;

    cudaGraphSetConditional(condition, now < times);
}

__global__ void parent_kernel(void)
{
    inner_kernel<<<1, 1>>>();
}

static cudaStream_t stream;

static cudaGraph_t capture_inner(void)
{
    cudaGraph_t graph;

    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    inner_kernel<<<1, 1, 0, stream>>>();
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static void run_launch(void)
{
    cudaGraphExec_t inner, outer;
    cudaGraph_t graph;

    CHECK(cudaGraphInstantiate(&inner, capture_inner(), cudaGraphInstantiateFlagDeviceLaunch));
    CHECK(cudaGraphUpload(inner, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launching_kernel<<<1, 1, 0, stream>>>(inner);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&outer, graph, 0));
    for (int i = 0; i < TIMES; i++) {
        CHECK(cudaGraphLaunch(outer, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
}

static void run_conditional(cudaGraphConditionalNodeType type, unsigned times)
{
    cudaGraphConditionalHandle condition;
    cudaGraphNodeParams params = {};
    cudaGraphExec_t executable;
    cudaGraphNode_t node;
    cudaGraph_t graph, body;

    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&condition, graph, 1, cudaGraphCondAssignDefault));
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = condition;
    params.conditional.type = type;
    params.conditional.size = 1;
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
#else
    CHECK(cudaGraphAddNode(&node, graph, nullptr, 0, &params));
#endif
    body = params.conditional.phGraph_out[0];
    CHECK(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0,
                                        cudaStreamCaptureModeGlobal));
    body_kernel<<<1, 1, 0, stream>>>(condition, times);
    CHECK(cudaStreamEndCapture(stream, nullptr));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
}

static void run_kernel(void)
{
    for (int i = 0; i < TIMES; i++)
        parent_kernel<<<1, 1, 0, stream>>>();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    unsigned count;

    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (!strcmp(what, "launch"))
        run_launch();
    else if (!strcmp(what, "while"))
        run_conditional(cudaGraphCondTypeWhile, TIMES);
    else if (!strcmp(what, "if"))
        run_conditional(cudaGraphCondTypeIf, 1);
    else if (!strcmp(what, "kernel"))
        run_kernel();
    else
        return 2;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpyFromSymbol(&count, ran, sizeof(count)));
    printf("%u\n", count);
    return 0;
}
