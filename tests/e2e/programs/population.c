/* Programs whose iterations are known, with threads and streams of their own.
 *
 *     population server THREADS REQUESTS
 *         Each thread answers so many requests in its own stream: a copy in, a kernel of 200 us,
 *         one of 60 us, a copy back, a wait. Every second thread does that with a CUDA graph. The
 *         host works for 20 us on each answer.
 *
 *     population array LOOPS
 *         As an array library does: each time a copy of 1 MB from pageable memory, a kernel of 20
 *         us in the same stream, and a reduction of 20 us in another one, which is in an NVTX range
 *         of domain CCCL; then a wait for both streams. No range of its own.
 */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

#define NUMBERS 1024

static void (*wait_until_ns)(uint64_t when);
static uint64_t (*clock_ns)(void);
static CUcontext context;
static CUfunction spin;
static int requests;

static void launch(CUstream stream, unsigned us)
{
    void *parameters[] = {&us};

    CU_CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

/* ---- A server ---- */

struct worker {
    pthread_t thread;
    bool as_graph;
    CUstream stream;
    CUdeviceptr device;
    void *host;
};

static void enqueue(const struct worker *worker)
{
    CU_CHECK(cuMemcpyHtoDAsync(worker->device, worker->host, NUMBERS, worker->stream));
    launch(worker->stream, 200);
    launch(worker->stream, 60);
    CU_CHECK(cuMemcpyDtoHAsync(worker->host, worker->device, NUMBERS, worker->stream));
}

static CUgraphExec capture(const struct worker *worker)
{
    CUgraph graph;
    CUgraphExec exec;

    CU_CHECK(cuStreamBeginCapture(worker->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    enqueue(worker);
    CU_CHECK(cuStreamEndCapture(worker->stream, &graph));
    CU_CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static void *serve(void *argument)
{
    struct worker *worker = argument;
    CUgraphExec exec = NULL;

    CU_CHECK(cuCtxSetCurrent(context));
    CU_CHECK(cuStreamCreate(&worker->stream, CU_STREAM_NON_BLOCKING));
    CU_CHECK(cuMemAllocHost(&worker->host, NUMBERS));
    CU_CHECK(cuMemAlloc(&worker->device, NUMBERS));
    if (worker->as_graph)
        exec = capture(worker);
    for (int i = 0; i < requests; i++) {
        if (exec)
            CU_CHECK(cuGraphLaunch(exec, worker->stream));
        else
            enqueue(worker);
        CU_CHECK(cuStreamSynchronize(worker->stream));
        wait_until_ns(clock_ns() + 20000);
    }
    return NULL;
}

static void run_server(int threads)
{
    struct worker *workers = calloc((size_t)threads, sizeof *workers);

    for (int i = 0; workers && i < threads; i++) {
        workers[i].as_graph = i % 2;
        if (pthread_create(&workers[i].thread, NULL, serve, &workers[i]))
            fail("no thread");
    }
    for (int i = 0; workers && i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    free(workers);
}

/* ---- An array library ---- */

static void mark_reduction(nvtxDomainHandle_t domain, bool begins)
{
    const nvtxEventAttributes_t attributes = {
        .version = NVTX_VERSION,
        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
        .messageType = NVTX_MESSAGE_TYPE_ASCII,
        .message = {.ascii = "cub::DeviceReduce::Sum"},
    };

    if (begins)
        nvtxDomainRangePushEx(domain, &attributes);
    else
        nvtxDomainRangePop(domain);
}

static void run_array(int loops)
{
    static char numbers[1 << 20];
    nvtxDomainHandle_t domain = nvtxDomainCreateA("CCCL");
    CUstream streams[2];
    CUdeviceptr device;

    CU_CHECK(cuStreamCreate(&streams[0], CU_STREAM_NON_BLOCKING));
    CU_CHECK(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
    CU_CHECK(cuMemAlloc(&device, sizeof numbers));
    for (int i = 0; i < loops; i++) {
        CU_CHECK(cuMemcpyHtoDAsync(device, numbers, sizeof numbers, streams[0]));
        launch(streams[0], 20);
        mark_reduction(domain, true);
        launch(streams[1], 20);
        mark_reduction(domain, false);
        CU_CHECK(cuStreamSynchronize(streams[0]));
        CU_CHECK(cuStreamSynchronize(streams[1]));
    }
}

/* ---- Both ---- */

static void *find(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);

    if (!found)
        fail("only on the software GPU: no %s", name);
    return found;
}

static void set_up(void)
{
    static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                              ".visible .entry spin(.param .u32 us)\n{\n    ret;\n}\n";
    CUmodule module;
    CUdevice device;
    void *found[] = {find("simgpu_wait_until_ns"), find("simgpu_clock_ns")};

    memcpy(&wait_until_ns, &found[0], sizeof wait_until_ns);
    memcpy(&clock_ns, &found[1], sizeof clock_ns);
    CU_CHECK(cuInit(0));
    CU_CHECK(cuDeviceGet(&device, 0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CU_CHECK(cuCtxSetCurrent(context));
    CU_CHECK(cuModuleLoadData(&module, ptx));
    CU_CHECK(cuModuleGetFunction(&spin, module, "spin"));
}

int main(int argc, char **argv)
{
    bool server = argc == 4 && !strcmp(argv[1], "server");
    int count;

    if (!server && (argc != 3 || strcmp(argv[1], "array") != 0)) {
        fputs("usage: population server THREADS REQUESTS | array LOOPS\n", stderr);
        return 2;
    }
    set_up();
    count = (int)strtol(argv[2], NULL, 10);
    requests = server ? (int)strtol(argv[3], NULL, 10) : 0;
    if (server)
        run_server(count);
    else
        run_array(count);
    return 0;
}
