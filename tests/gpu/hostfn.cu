/* Host functions, kernels that overlap, and gaps that compute or sleep, with what happened as lines:
 *
 *     function WHAT BEGIN END     a host function ran, in ns of CLOCK_MONOTONIC
 *     gap WHAT NS                 what the host did between two synchronisations
 *     launch WHAT NS              a launch by cudaLaunchKernelExC took so long, the median of many
 *
 * nvcc -arch=native -std=c++14
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call) check((call), #call)

static void check(cudaError_t result, const char *call)
{
    if (result == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(result));
    exit(1);
}

static uint64_t now(clockid_t clock = CLOCK_MONOTONIC)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void sleep_us(long us)
{
    struct timespec time = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&time, nullptr);
}

/* Spins; lets the next kernel begin at once. */
__global__ void spin(unsigned us)
{
    long long end = clock64() + 1500ll * us;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
    while (clock64() < end)
        continue;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static void CUDART_CB host(void *what)
{
    uint64_t begin = now();

    sleep_us(1000);
    printf("function %s %llu %llu\n", (const char *)what, (unsigned long long)begin,
           (unsigned long long)now());
}

static void CUDART_CB call_back(cudaStream_t stream, cudaError_t status, void *what)
{
    (void)stream;
    (void)status;
    host(what);
}

static void launch(cudaStream_t stream, unsigned us, bool overlaps)
{
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    void *parameters[] = {&us};

    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = overlaps ? 1 : 0;
    CHECK(cudaLaunchKernelExC(&config, (const void *)spin, parameters));
}

static cudaGraphExec_t capture(cudaStream_t stream, bool overlaps)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;

    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch(stream, 20, false);
    if (!overlaps)
        CHECK(cudaLaunchHostFunc(stream, host, (void *)"graph"));
    for (int i = 0; i < 3; i++)
        launch(stream, 20, overlaps);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

static void time_launches(cudaStream_t stream, const char *what, bool overlaps)
{
    std::vector<uint64_t> times;

    for (int i = 0; i < 5000; i++) {
        uint64_t begin = now();

        launch(stream, 0, overlaps);
        times.push_back(now() - begin);
        if (i % 100 == 0)
            CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    printf("launch %s %llu\n", what, (unsigned long long)times[times.size() / 2]);
}

int main()
{
    cudaGraphExec_t exec, overlapping;
    cudaStream_t stream;

    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    launch(stream, 100, false);
    CHECK(cudaLaunchHostFunc(stream, host, (void *)"stream"));
    CHECK(cudaStreamAddCallback(stream, call_back, (void *)"callback", 0));
    CHECK(cudaStreamSynchronize(stream));
    exec = capture(stream, false);
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));

    for (int i = 0; i < 100; i++)
        launch(stream, 50, i > 0);
    CHECK(cudaStreamSynchronize(stream));
    overlapping = capture(stream, true);
    CHECK(cudaGraphLaunch(overlapping, stream));
    CHECK(cudaStreamSynchronize(stream));

    sleep_us(20000);
    CHECK(cudaStreamSynchronize(stream));
    printf("gap sleep 20000000\n");
    for (uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + 20000000;
         now(CLOCK_THREAD_CPUTIME_ID) < end;)
        continue;
    CHECK(cudaStreamSynchronize(stream));
    printf("gap compute 20000000\n");

    time_launches(stream, "with", true);
    time_launches(stream, "without", false);
    return 0;
}
