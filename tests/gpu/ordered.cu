/* Work whose order the stream alone does not tell; half of --us is half of chain_kernel's time:
 *
 *     ordered child|loop|values|legacy|contexts [--us N] [--repeats N]
 *
 *     child     child graphs inside of a child graph, as cuDNN has them: 6 chain_kernel a launch
 *     loop      a WHILE node of 10 passes with 3 chain_kernel each. Needs CUDA 12.4
 *     values    one stream works and writes (cuStreamWriteValue32), another waits for the value
 *     legacy    the legacy default stream works, then a stream of the thread
 *     contexts  a stream of a second context works, then one of the first, by an event
 *
 * One wait an iteration, for what comes last. The loop lies between cudaProfilerStart and Stop.
 * Prints its time by the host's clock, and the zoo's line of truth.
 */
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <dlfcn.h>

#include "../zoo/truth.h"
#include "spin.cuh"

enum { TURNS = 10, BYTES = 1 << 20 };

__global__ void chain_kernel(long long cycles)
{
    spin(cycles);
}

__global__ void other_kernel(long long cycles)
{
    spin(cycles);
}

static struct {
    cudaStream_t stream, side; /* what is awaited, and what works before it */
    long long cycles, few;
    char *memory;
    cudaGraphExec_t graph;
    unsigned *flag, count;
    cudaEvent_t done;
    CUcontext first, second;
} program;

/* The driver has them; the runtime has no such call. */
static void *driver(const char *name)
{
    void *found = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);

    if (!found) {
        fprintf(stderr, "libcuda.so.1 has no %s\n", name);
        exit(1);
    }
    return found;
}

#define DRIVER(name, type, ...)                                                                    \
    do {                                                                                           \
        if (((CUresult(*) type)driver(name))(__VA_ARGS__) != CUDA_SUCCESS) {                       \
            fprintf(stderr, "%s fails\n", name);                                                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void chain(cudaStream_t stream)
{
    chain_kernel<<<1, 1, 0, stream>>>(program.cycles);
}

static void other(cudaStream_t stream)
{
    other_kernel<<<1, 1, 0, stream>>>(program.few);
}

/* ---- Graphs ---- */

static void add_kernel(cudaGraph_t graph, cudaGraphNode_t *node, const cudaGraphNode_t *after,
                       void *function, void **arguments)
{
    cudaKernelNodeParams params = {};

    params.func = function;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(node, graph, after, after ? 1 : 0, &params));
}

static cudaGraph_t capture_small(void)
{
    cudaGraph_t small;

    CHECK(cudaStreamBeginCapture(program.stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(program.memory, 0, BYTES, program.stream));
    for (int i = 0; i < 3; i++)
        chain(program.stream);
    CHECK(cudaMemcpyAsync(program.memory + BYTES, program.memory, BYTES, cudaMemcpyDeviceToDevice,
                          program.stream));
    CHECK(cudaStreamEndCapture(program.stream, &small));
    return small;
}

static cudaGraph_t make_children(void)
{
    cudaGraph_t graph, child, small = capture_small();
    cudaGraphNode_t one, two, three, inner;
    void *arguments[] = {&program.few};

    CHECK(cudaGraphCreate(&child, 0));
    add_kernel(child, &one, NULL, (void *)other_kernel, arguments);
    CHECK(cudaGraphAddChildGraphNode(&two, child, &one, 1, small));
    CHECK(cudaGraphAddChildGraphNode(&three, child, &two, 1, small));
    CHECK(cudaGraphCreate(&graph, 0));
    add_kernel(graph, &one, NULL, (void *)other_kernel, arguments);
    CHECK(cudaGraphAddChildGraphNode(&inner, graph, &one, 1, child));
    return graph;
}

#if CUDART_VERSION >= 12040
__global__ void next_kernel(int *turn, cudaGraphConditionalHandle again)
{
    cudaGraphSetConditional(again, ++*turn % TURNS != 0);
}

static cudaGraph_t make_loop(void)
{
    cudaGraph_t graph, body;
    cudaGraphNode_t node, before;
    cudaGraphConditionalHandle again;
    cudaGraphNodeParams params = {};
    void *of_body[] = {&program.cycles}, *of_next[] = {&program.memory, &again};

    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&again, graph, 1, cudaGraphCondAssignDefault));
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = again;
    params.conditional.type = cudaGraphCondTypeWhile;
    params.conditional.size = 1;
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
#else
    CHECK(cudaGraphAddNode(&node, graph, NULL, 0, &params));
#endif
    body = params.conditional.phGraph_out[0];
    for (int i = 0; i < 3; i++) {
        add_kernel(body, &node, i ? &before : NULL, (void *)chain_kernel, of_body);
        before = node;
    }
    add_kernel(body, &node, &before, (void *)next_kernel, of_next);
    return graph;
}
#else
static cudaGraph_t make_loop(void)
{
    fprintf(stderr, "loop: needs CUDA 12.4\n");
    exit(1);
}
#endif

static void launch_graph(void)
{
    CHECK(cudaGraphLaunch(program.graph, program.stream));
}

/* ---- Streams ---- */

static void by_values(void)
{
    CUdeviceptr flag = (CUdeviceptr)program.flag;

    program.count++;
    DRIVER("cuStreamWaitValue32_v2", (CUstream, CUdeviceptr, cuuint32_t, unsigned), program.stream,
           flag, program.count, CU_STREAM_WAIT_VALUE_GEQ);
    other(program.stream);
    chain(program.side);
    DRIVER("cuStreamWriteValue32_v2", (CUstream, CUdeviceptr, cuuint32_t, unsigned), program.side,
           flag, program.count, CU_STREAM_WRITE_VALUE_DEFAULT);
}

static void by_default_stream(void)
{
    chain(cudaStreamLegacy);
    other(cudaStreamPerThread);
}

static void by_contexts(void)
{
    DRIVER("cuCtxSetCurrent", (CUcontext), program.second);
    chain(program.side);
    CHECK(cudaEventRecord(program.done, program.side));
    DRIVER("cuCtxSetCurrent", (CUcontext), program.first);
    CHECK(cudaStreamWaitEvent(program.stream, program.done, 0));
    other(program.stream);
}

static void make_contexts(void)
{
    CUdevice device = 0;

    DRIVER("cuCtxGetCurrent", (CUcontext *), &program.first);
    DRIVER("cuCtxCreate_v2", (CUcontext *, unsigned, CUdevice), &program.second, 0, device);
    CHECK(cudaStreamCreateWithFlags(&program.side, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&program.done, cudaEventDisableTiming));
    chain(program.side);
    DRIVER("cuCtxSetCurrent", (CUcontext), program.first);
}

static void make_graph(cudaGraph_t graph)
{
    CHECK(cudaGraphInstantiate(&program.graph, graph, 0));
}

/* What an iteration does; NULL: no such program. */
static void (*set_up(const char *what))(void)
{
    bool is_loop = !strcmp(what, "loop");

    if (is_loop || !strcmp(what, "child")) {
        make_graph(is_loop ? make_loop() : make_children());
        return launch_graph;
    }
    if (!strcmp(what, "values"))
        return by_values;
    if (!strcmp(what, "contexts")) {
        make_contexts();
        return by_contexts;
    }
    program.stream = cudaStreamPerThread;
    return !strcmp(what, "legacy") ? by_default_stream : NULL;
}

int main(int argc, char **argv)
{
    static double us[1000];
    int repeats = option(argc, argv, "--repeats", 100);

    CHECK(cudaStreamCreateWithFlags(&program.stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&program.side, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&program.memory, 2 * BYTES));
    CHECK(cudaMemset(program.memory, 0, 2 * BYTES));
    CHECK(cudaMalloc(&program.flag, sizeof *program.flag));
    CHECK(cudaMemset(program.flag, 0, sizeof *program.flag));
    program.cycles = (long long)(option(argc, argv, "--us", 40) * cycles_per_us());
    program.few = (long long)(10 * cycles_per_us());
    void (*iterate)(void) = argc > 1 ? set_up(argv[1]) : NULL;
    if (!iterate || repeats < 1 || repeats > (int)(sizeof us / sizeof *us)) {
        fprintf(stderr, "usage: ordered child|loop|values|legacy|contexts [--us N] [--repeats N]\n");
        return 2;
    }
    chain(program.stream); /* a kernel that is loaded behind a wait would wait for its end */
    other(program.stream);
    CHECK(cudaDeviceSynchronize());
    iterate();
    CHECK(cudaStreamSynchronize(program.stream));
    CHECK(cudaProfilerStart());
    double begin = now_us();
    for (int i = 0; i < repeats; i++) {
        double from = now_us();

        iterate();
        CHECK(cudaStreamSynchronize(program.stream));
        us[i] = now_us() - from;
    }
    double end = now_us();
    CHECK(cudaProfilerStop());
    printf("loop_us %.1f\n", end - begin);
    say_truth("iteration", us, repeats, 0);
    return 0;
}
