// Work that still runs on the GPU where a capture range or the program ends. The kernel `server`
// answers requests until the host sends 0, as inference servers of one persistent kernel do.
//
//     running serve    the range begins and ends while the kernel runs
//     running queue    at the range's end 100 kernels of 2 ms have been launched; then they are
//                      waited for
//     running leave    the program ends while a kernel runs and another one waits behind it
//     running soak N   for N seconds ranges of 2,001 kernels, each of which ends before its last
//                      kernel does; between them the GPU is idle for 0.2 s
//     running capture  NVTX ranges "step" that begin or end while this thread, or another one,
//                      captures a stream in global mode: many calls of any thread, cudaProfilerStop
//                      among them, then break the capture
//
// `serve` and `queue` print one line: what it took from Stop to its return in ms, and whether the
// GPU still had work then. `soak` prints how many kernels it has launched, and at how many Stops
// the GPU had no work.
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

#include "spin.cuh"

static __device__ unsigned long long now()
{
    unsigned long long ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__global__ void busy(unsigned us)
{
    unsigned long long until = now() + us * 1000ull;

    while (now() < until)
        continue;
}

/* Ends by itself after 20 s, so that a failed test ends too. */
__global__ void server(volatile int *request, volatile int *reply)
{
    unsigned long long until = now() + 20000000000ull;

    for (int got; (got = *request) != 0 && now() < until;) {
        *reply = got;
        __threadfence_system();
    }
}

static double ms_now()
{
    return now_us() / 1e3;
}

static void stop(cudaStream_t stream)
{
    double begin = ms_now();

    CHECK(cudaProfilerStop());
    begin = ms_now() - begin;
    printf("%.3f %s\n", begin, cudaStreamQuery(stream) == cudaErrorNotReady ? "busy" : "idle");
    fflush(stdout);
}

static void serve(cudaStream_t stream)
{
    volatile int *mail;

    CHECK(cudaHostAlloc((void **)&mail, 8, cudaHostAllocMapped));
    mail[0] = 1;
    mail[1] = 0;
    server<<<1, 1, 0, stream>>>(mail, mail + 1);
    CHECK(cudaProfilerStart());
    for (int i = 2; i < 100; i++) {
        double give_up = ms_now() + 5000;

        mail[0] = i;
        while (mail[1] != i && ms_now() < give_up)
            continue;
    }
    stop(stream);
    mail[0] = 0;
    CHECK(cudaStreamSynchronize(stream));
}

static void queue(cudaStream_t stream)
{
    CHECK(cudaProfilerStart());
    for (int i = 0; i < 100; i++)
        busy<<<1, 1, 0, stream>>>(2000);
    stop(stream);
    CHECK(cudaStreamSynchronize(stream));
}

static void leave(cudaStream_t stream)
{
    CHECK(cudaProfilerStart());
    for (int i = 0; i < 4; i++)
        busy<<<1, 1, 0, stream>>>(10);
    CHECK(cudaStreamSynchronize(stream));
    busy<<<1, 1, 0, stream>>>(15000000);
    busy<<<1, 1, 0, stream>>>(10);
    CHECK(cudaProfilerStop());
}

static void soak(cudaStream_t stream, double seconds)
{
    double until = ms_now() + seconds * 1e3;
    struct timespec pause = {0, 200000000};
    unsigned long kernels = 0, idle = 0;

    while (ms_now() < until) {
        CHECK(cudaProfilerStart());
        for (int i = 0; i < 2000; i++)
            busy<<<1, 1, 0, stream>>>(5);
        busy<<<1, 1, 0, stream>>>(50000);
        CHECK(cudaProfilerStop());
        kernels += 2001;
        idle += cudaStreamQuery(stream) == cudaSuccess;
        CHECK(cudaStreamSynchronize(stream));
        nanosleep(&pause, NULL);
    }
    printf("%lu %lu\n", kernels, idle);
}

static void launch_captured(cudaStream_t stream)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;

    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

static void begin_captured(cudaStream_t stream)
{
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    busy<<<1, 1, 0, stream>>>(10);
}

static volatile int turn; /* of the other thread: 1: it captures, 2: it may end that */

static void *capture_meanwhile(void *argument)
{
    cudaStream_t stream;

    (void)argument;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    begin_captured(stream);
    turn = 1;
    while (turn != 2)
        continue;
    launch_captured(stream);
    return NULL;
}

static void capture(cudaStream_t stream)
{
    pthread_t other;

    nvtxRangePushA("step");
    begin_captured(stream);
    nvtxRangePop();
    launch_captured(stream);
    begin_captured(stream);
    nvtxRangePushA("step");
    launch_captured(stream);
    nvtxRangePop();
    pthread_create(&other, NULL, capture_meanwhile, NULL);
    while (turn != 1)
        continue;
    nvtxRangePushA("step");
    busy<<<1, 1, 0, stream>>>(10);
    nvtxRangePop();
    turn = 2;
    pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    cudaStream_t stream;

    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    busy<<<1, 1, 0, stream>>>(1);
    CHECK(cudaStreamSynchronize(stream));
    if (strcmp(mode, "serve") == 0)
        serve(stream);
    else if (strcmp(mode, "queue") == 0)
        queue(stream);
    else if (strcmp(mode, "leave") == 0)
        leave(stream);
    else if (strcmp(mode, "capture") == 0)
        capture(stream);
    else if (strcmp(mode, "soak") == 0 && argc > 2)
        soak(stream, atof(argv[2]));
    else
        return 2;
    return 0;
}
