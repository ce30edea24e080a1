/* A chain of kernels with programmatic stream serialization (programmatic dependent launch, PDL):
 *
 *     dependent launched|graph [--us N] [--short N] [--kernels N] [--repeats N]
 *
 * Each kernel lets the next one begin at once, waits for the one before (griddepcontrol.wait), and
 * then spins for N us. The grids are small, so that several are resident:
 *
 *     kernel 1   |== spins ==|
 *     kernel 2    |-- waits --|== spins ==|
 *     kernel 3     |-------- waits -------|== spins ==|
 *
 * The chain takes as long as all that spin, one after the other. Half of --us is half of the time,
 * but for about 1 us a kernel. With --short every second kernel is another one, of so many us: its
 * time must not be taken for that of the kernels that it overlaps. `graph` captures the chain once, with programmatic edges, and
 * launches it. The loop lies between cudaProfilerStart and Stop. Prints its time by the host's
 * clock and by events, for a chain, and the zoo's line of truth. Needs compute capability 9.0;
 * graphs need CUDA 12.3.
 */
#include <cuda_profiler_api.h>

#include "../zoo/truth.h"
#include "spin.cuh"

__device__ void link_of_chain(long long cycles, unsigned *ran)
{
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
    spin(cycles);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        ++*ran; /* the kernel before is complete, so this is no race */
}

__global__ void chain_kernel(long long cycles, unsigned *ran)
{
    link_of_chain(cycles, ran);
}

__global__ void short_kernel(long long cycles, unsigned *ran)
{
    link_of_chain(cycles, ran);
}

static cudaStream_t stream;
static long long cycles, short_cycles;
static unsigned *ran;
static double chain_us[1000];

static void launch_chain(int kernels)
{
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};

    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(8);
    config.blockDim = dim3(32);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    for (int i = 0; i < kernels; i++) {
        bool is_short = short_cycles && i % 2;

        CHECK(cudaLaunchKernelEx(&config, is_short ? short_kernel : chain_kernel,
                                 is_short ? short_cycles : cycles, ran));
    }
}

static cudaGraphExec_t capture_chain(int kernels)
{
    cudaGraphExec_t chain;
    cudaGraph_t graph;

    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch_chain(kernels);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&chain, graph, 0));
    return chain;
}

int main(int argc, char **argv)
{
    bool as_graph = argc > 1 && !strcmp(argv[1], "graph");
    int us = option(argc, argv, "--us", 100);
    int kernels = option(argc, argv, "--kernels", 200);
    int repeats = option(argc, argv, "--repeats", 5);
    cudaGraphExec_t chain = NULL;
    cudaEvent_t first, last;
    unsigned counted;
    float ms;

    if (repeats < 1 || repeats > (int)(sizeof chain_us / sizeof *chain_us)) {
        fprintf(stderr, "--repeats: 1 to %zu\n", sizeof chain_us / sizeof *chain_us);
        return 2;
    }
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&first));
    CHECK(cudaEventCreate(&last));
    CHECK(cudaMalloc(&ran, sizeof *ran));
    CHECK(cudaMemset(ran, 0, sizeof *ran));
    cycles = (long long)(us * cycles_per_us());
    short_cycles = (long long)(option(argc, argv, "--short", 0) * cycles_per_us());
    if (as_graph) {
        chain = capture_chain(kernels);
        CHECK(cudaGraphLaunch(chain, stream));
    } else {
        launch_chain(kernels);
    }
    CHECK(cudaStreamSynchronize(stream));

    CHECK(cudaProfilerStart());
    double begin = now_us();
    CHECK(cudaEventRecord(first, stream));
    for (int i = 0; i < repeats; i++) {
        double chain_begin = now_us();

        if (as_graph)
            CHECK(cudaGraphLaunch(chain, stream));
        else
            launch_chain(kernels);
        CHECK(cudaStreamSynchronize(stream));
        chain_us[i] = now_us() - chain_begin;
    }
    CHECK(cudaEventRecord(last, stream));
    CHECK(cudaStreamSynchronize(stream));
    double end = now_us();
    CHECK(cudaProfilerStop());

    CHECK(cudaEventElapsedTime(&ms, first, last));
    CHECK(cudaMemcpy(&counted, ran, sizeof counted, cudaMemcpyDeviceToHost));
    if (counted != (unsigned)(kernels * (repeats + 1))) {
        fprintf(stderr, "%u kernels ran instead of %d\n", counted, kernels * (repeats + 1));
        return 1;
    }
    printf("loop_us %.1f\nevents_us %.1f\nkernels %d\n", end - begin, ms * 1e3, kernels * repeats);
    say_truth("iteration", chain_us, repeats, kernels * repeats);
    return 0;
}
