/* A CUDA graph with a conditional WHILE node, whose body runs as often as the device says: of each
 * launch 122 kernels run, although graph and body have 15 nodes. One launch and one synchronisation an
 * iteration, which have no names. Needs CUDA 12.4.
 */
#include <cuda_profiler_api.h>

#include "../gpu/spin.cuh"
#include "../zoo/truth.h"

enum { ITERATIONS = 200, TURNS = 10, BODY = 11, KERNELS = 1 + TURNS * (BODY + 1) + 1 };

static __global__ void begin_kernel(int *turn)
{
    *turn = 0;
}

static __global__ void body_kernel(long long cycles)
{
    spin(cycles);
}

static __global__ void next_kernel(int *turn, cudaGraphConditionalHandle again)
{
    cudaGraphSetConditional(again, ++*turn < TURNS);
}

static __global__ void end_kernel(int *turns, const int *turn)
{
    *turns += *turn;
}

/* The WHILE node after what `graph` has so far; `again` is its condition. Returns its body. */
static cudaGraph_t add_while(cudaGraph_t graph, cudaGraphNode_t after,
                             cudaGraphConditionalHandle again, cudaGraphNode_t *node)
{
    cudaGraphNodeParams params = {};

    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = again;
    params.conditional.type = cudaGraphCondTypeWhile;
    params.conditional.size = 1;
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphAddNode(node, graph, &after, NULL, 1, &params));
#else
    CHECK(cudaGraphAddNode(node, graph, &after, 1, &params));
#endif
    return params.conditional.phGraph_out[0];
}

/* A kernel of one thread. `after`: the node that it waits for, or NULL. */
static void add_kernel(cudaGraph_t graph, cudaGraphNode_t *node, const cudaGraphNode_t *after,
                       void *function, void **arguments)
{
    cudaKernelNodeParams params = {};

    params.func = function;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(node, graph, after, after ? 1 : 0, &params));
}

static cudaGraphExec_t make_graph(int *turn, int *turns, long long cycles)
{
    cudaGraph_t graph, body;
    cudaGraphNode_t begin, loop, end, node, before;
    cudaGraphConditionalHandle again;
    cudaGraphExec_t made;
    void *of_begin[] = {&turn}, *of_body[] = {&cycles}, *of_next[] = {&turn, &again},
         *of_end[] = {&turns, &turn};

    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&again, graph, 1, cudaGraphCondAssignDefault));
    add_kernel(graph, &begin, NULL, (void *)begin_kernel, of_begin);
    body = add_while(graph, begin, again, &loop);
    for (int i = 0; i < BODY; i++) {
        add_kernel(body, &node, i ? &before : NULL, (void *)body_kernel, of_body);
        before = node;
    }
    add_kernel(body, &node, &before, (void *)next_kernel, of_next);
    add_kernel(graph, &end, &loop, (void *)end_kernel, of_end);
    CHECK(cudaGraphInstantiate(&made, graph, 0));
    return made;
}

static void iterate(cudaGraphExec_t graph, cudaStream_t stream)
{
    CHECK(cudaGraphLaunch(graph, stream));
    CHECK(cudaStreamSynchronize(stream));
}

int main(void)
{
    static double us[ITERATIONS];
    const int warmup = 20;
    int *numbers, turns; /* numbers: the turn, and all turns that were made */
    cudaGraphExec_t graph;
    cudaStream_t stream;

    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&numbers, 2 * sizeof *numbers));
    CHECK(cudaMemset(numbers, 0, 2 * sizeof *numbers));
    graph = make_graph(numbers, numbers + 1, (long long)(4 * cycles_per_us()));
    for (int i = 0; i < warmup; i++)
        iterate(graph, stream);
    CHECK(cudaProfilerStart());
    for (int i = 0; i < ITERATIONS; i++) {
        double begin = now_us();

        iterate(graph, stream);
        us[i] = now_us() - begin;
    }
    CHECK(cudaProfilerStop());
    CHECK(cudaMemcpy(&turns, numbers + 1, sizeof turns, cudaMemcpyDeviceToHost));
    if (turns != TURNS * (warmup + ITERATIONS)) {
        fprintf(stderr, "%d turns, not %d\n", turns, TURNS * (warmup + ITERATIONS));
        return 1;
    }
    say_truth("iteration", us, ITERATIONS, ITERATIONS * KERNELS);
    return 0;
}
