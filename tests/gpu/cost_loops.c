/* Loops of single calls, in short batches that are timed from outside (cost_loops.h). */
#include "cost_loops.h"

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(call) check((call), #call)
#define GRAPH_NODES 100

/* Less than the thousand or so launches that the driver queues: with more, launches wait. */
#define LAUNCHES 500

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry empty() { ret; }\n";

static struct {
    cudaKernel_t kernel;
    cudaStream_t stream;
    cudaStream_t other;
    cudaEvent_t event;
    cudaGraphExec_t graph;
} cost;

static void check(cudaError_t result, const char *call)
{
    if (result == cudaSuccess)
        return;
    fprintf(stderr, "cost: %s: %s\n", call, cudaGetErrorString(result));
    exit(1);
}

/* ---- Batches ---- */

static void launch_once(cudaStream_t stream)
{
    const dim3 one = {1, 1, 1};

    CHECK(cudaLaunchKernel((const void *)cost.kernel, one, one, NULL, 0, stream));
}

static void run_launch(void)
{
    launch_once(cost.stream);
}

static void run_get_device(void)
{
    int device;

    CHECK(cudaGetDevice(&device));
}

static void run_get_last_error(void)
{
    CHECK(cudaGetLastError());
}

static void run_event_record(void)
{
    CHECK(cudaEventRecord(cost.event, cost.stream));
}

static void run_wait_event(void)
{
    CHECK(cudaStreamWaitEvent(cost.other, cost.event, 0));
}

static void run_synchronize(void)
{
    CHECK(cudaStreamSynchronize(cost.stream));
}

static void run_malloc_free(void)
{
    void *memory;

    CHECK(cudaMallocAsync(&memory, 4096, cost.stream));
    CHECK(cudaFreeAsync(memory, cost.stream));
}

static void run_graph(void)
{
    CHECK(cudaGraphLaunch(cost.graph, cost.stream));
}

static void run_nvtx(void)
{
    nvtxRangePushA("cost");
    nvtxRangePop();
}

/* What PyTorch asks of the runtime around each operator, a few functions of which none launches,
 * copies, waits or allocates; an iteration of an eager model makes about so many. */
#define CHEAP_CALLS 3000

static void run_cheap_calls(void)
{
    enum cudaStreamCaptureStatus capture;
    int device, value, i;

    for (i = 0; i < CHEAP_CALLS / 6; i++) {
        CHECK(cudaGetDevice(&device));
        CHECK(cudaSetDevice(device));
        CHECK(cudaGetLastError());
        CHECK(cudaPeekAtLastError());
        CHECK(cudaStreamIsCapturing(cost.stream, &capture));
        CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, device));
    }
}

static const struct batch {
    const char *name;
    void (*run)(void);
    int count;
    int with_device; /* the time until the device is through is meant */
} batches[] = {
    {"launch", run_launch, LAUNCHES, 0},
    {"cudaGetDevice", run_get_device, 5000, 0},
    {"cudaGetLastError", run_get_last_error, 5000, 0},
    {"3,000 cheap calls", run_cheap_calls, 2, 0},
    {"cudaEventRecord", run_event_record, 200, 0},
    {"cudaStreamWaitEvent", run_wait_event, 200, 0},
    {"cudaStreamSynchronize", run_synchronize, 200, 0},
    {"cudaMallocAsync+Free", run_malloc_free, 200, 0},
    {"graph of 100 kernels", run_graph, 20, 1},
    {"NVTX push+pop", run_nvtx, 5000, 0},
};

#define KINDS ((int)(sizeof(batches) / sizeof(batches[0])))

int cost_count(void)
{
    return KINDS;
}

const char *cost_name(int kind)
{
    return kind >= 0 && kind < KINDS ? batches[kind].name : NULL;
}

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

double cost_batch(int kind)
{
    const struct batch *batch = &batches[kind];
    double begin = now_ns();
    double end;
    int i;

    for (i = 0; i < batch->count; i++)
        batch->run();
    end = now_ns();
    CHECK(cudaStreamSynchronize(cost.stream));
    CHECK(cudaStreamSynchronize(cost.other));
    if (batch->with_device)
        end = now_ns();
    return (end - begin) / batch->count;
}

/* ---- Ranges and preparation ---- */

void cost_begin_range(void)
{
    CHECK(cudaProfilerStart());
}

void cost_end_range(void)
{
    CHECK(cudaProfilerStop());
}

static void make_graph(void)
{
    cudaGraph_t graph;
    int i;

    CHECK(cudaStreamBeginCapture(cost.stream, cudaStreamCaptureModeGlobal));
    for (i = 0; i < GRAPH_NODES; i++)
        launch_once(cost.stream);
    CHECK(cudaStreamEndCapture(cost.stream, &graph));
    CHECK(cudaGraphInstantiate(&cost.graph, graph, 0));
    CHECK(cudaGraphDestroy(graph));
}

void cost_open(void)
{
    cudaLibrary_t library;
    int kind;

    CHECK(cudaFree(NULL));
    CHECK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryGetKernel(&cost.kernel, library, "empty"));
    CHECK(cudaStreamCreateWithFlags(&cost.stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&cost.other, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&cost.event, cudaEventDisableTiming));
    make_graph();
    for (kind = 0; kind < KINDS; kind++)
        cost_batch(kind);
}
