/* Stream-ordered allocation: each iteration takes its memory from the stream's pool, works in it,
 * and gives it back. Iterations have no names.
 */
#include <cuda_profiler_api.h>

#include "../gpu/spin.cuh"
#include "truth.h"

enum { ITERATIONS = 200, BUFFERS = 4, NUMBERS = 1 << 16 };

static __global__ void add_one(int *numbers)
{
    numbers[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

static void iterate(cudaStream_t stream, int *host)
{
    const size_t bytes = NUMBERS * sizeof(int);
    int *buffers[BUFFERS];

    for (int i = 0; i < BUFFERS; i++) {
        CHECK(cudaMallocAsync(&buffers[i], bytes, stream));
        CHECK(i ? cudaMemcpyAsync(buffers[i], buffers[i - 1], bytes, cudaMemcpyDefault, stream)
                : cudaMemsetAsync(buffers[i], 0, bytes, stream));
        add_one<<<NUMBERS / 256, 256, 0, stream>>>(buffers[i]);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaMemcpyAsync(host, buffers[BUFFERS - 1], bytes, cudaMemcpyDefault, stream));
    for (int i = 0; i < BUFFERS; i++)
        CHECK(cudaFreeAsync(buffers[i], stream));
    CHECK(cudaStreamSynchronize(stream));
}

int main(void)
{
    static double us[ITERATIONS];
    cudaStream_t stream;
    int *host;

    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocHost(&host, NUMBERS * sizeof(int)));
    for (int i = 0; i < 20; i++)
        iterate(stream, host);
    CHECK(cudaProfilerStart());
    for (int i = 0; i < ITERATIONS; i++) {
        double begin = now_us();

        iterate(stream, host);
        us[i] = now_us() - begin;
    }
    CHECK(cudaProfilerStop());
    if (host[0] != BUFFERS || host[NUMBERS - 1] != BUFFERS) {
        fprintf(stderr, "a wrong result\n");
        return 1;
    }
    say_truth("iteration", us, ITERATIONS, ITERATIONS * BUFFERS);
    return 0;
}
