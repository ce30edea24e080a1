/* A polling loop: the host asks again and again whether an event has happened, in the first half of
 * an iteration, and whether a stream has ended, in the second; it never blocks. Iterations have no
 * names.
 */
#include <cuda_profiler_api.h>

#include "../gpu/spin.cuh"
#include "truth.h"

enum { ITERATIONS = 200, KERNELS = 3 };

static __global__ void first_kernel(long long cycles)
{
    spin(cycles);
}

static __global__ void second_kernel(long long cycles)
{
    spin(cycles);
}

static bool still_running(cudaError_t result)
{
    if (result != cudaErrorNotReady)
        CHECK(result);
    return result == cudaErrorNotReady;
}

static void iterate(cudaStream_t stream, cudaEvent_t event, long long cycles)
{
    for (int i = 0; i < KERNELS; i++)
        first_kernel<<<4, 128, 0, stream>>>(cycles);
    CHECK(cudaEventRecord(event, stream));
    while (still_running(cudaEventQuery(event)))
        ;
    second_kernel<<<4, 128, 0, stream>>>(cycles);
    CHECK(cudaGetLastError());
    while (still_running(cudaStreamQuery(stream)))
        ;
}

int main(void)
{
    static double us[ITERATIONS];
    long long cycles = (long long)(30 * cycles_per_us());
    cudaStream_t stream;
    cudaEvent_t event;

    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int i = 0; i < 20; i++)
        iterate(stream, event, cycles);
    CHECK(cudaProfilerStart());
    for (int i = 0; i < ITERATIONS; i++) {
        double begin = now_us();

        iterate(stream, event, cycles);
        us[i] = now_us() - begin;
    }
    CHECK(cudaProfilerStop());
    say_truth("iteration", us, ITERATIONS, ITERATIONS * (KERNELS + 1));
    return 0;
}
