/* Launches kernels of many registers, block sizes and amounts of shared memory, each in a grid of
 * its own size, and prints what the runtime says of each:
 *
 *     GRID CARVEOUT BLOCKS            blocks of the grid; preferred carve-out in percent, -1 the
 *                                     default; blocks that fit on an SM
 *
 * nvcc -arch=native
 */
#include <cstdio>
#include <cstdlib>

#include <cuda_profiler_api.h>

#define CHECK(call) check((call), #call)

static void check(cudaError_t result, const char *call)
{
    if (result == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(result));
    exit(1);
}

/* Keeps COUNT values in registers: each is needed again after the last was read. */
template <int COUNT, int SHARED> __global__ void __launch_bounds__(1024) small(float *values)
{
    __shared__ volatile float shared[SHARED ? SHARED : 1];
    float kept[COUNT];

    if (SHARED)
        shared[threadIdx.x % (SHARED ? SHARED : 1)] = values[0];
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        kept[i] = ((volatile float *)values)[i];
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        ((volatile float *)values)[i] = kept[COUNT - 1 - i];
}

/* The same with room for as many registers as a thread can have. */
template <int COUNT> __global__ void __launch_bounds__(256) large(float *values)
{
    float kept[COUNT];

#pragma unroll
    for (int i = 0; i < COUNT; i++)
        kept[i] = ((volatile float *)values)[i];
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        ((volatile float *)values)[i] = kept[COUNT - 1 - i];
}

typedef void (*kernel_function)(float *);

static const kernel_function kernels[] = {
    small<4, 0>, small<20, 0>, small<30, 0>, small<50, 0>, small<4, 1250>, small<20, 9000>,
    large<60>,   large<75>,    large<90>,    large<110>,   large<150>,     large<200>,
};

static const int blocks[] = {1, 32, 33, 64, 96, 128, 160, 224, 256, 384, 512, 640, 768, 1024};
static const int shared[] = {0, 1, 1000, 4096, 10000, 20000, 33000, 48000, 80000, 100000, 200000};
static const int carveouts[] = {-1, 100, 25};

#define EACH(item, array) (auto item : array)

/* One combination, if it can be launched. */
static void try_launch(kernel_function kernel, int threads, int bytes, int carveout, float *values,
                       unsigned *grid)
{
    int fitting = 0;

    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
        cudaSuccess) {
        cudaGetLastError();
        return;
    }
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout));
    if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fitting, kernel, threads, bytes) !=
            cudaSuccess ||
        !fitting) {
        cudaGetLastError();
        return;
    }
    kernel<<<++*grid, threads, bytes>>>(values);
    if (cudaGetLastError() == cudaSuccess) /* fails with more than __launch_bounds__ has */
        printf("%u %d %d\n", *grid, carveout, fitting);
}

int main()
{
    unsigned grid = 0;
    float *values;

    CHECK(cudaMalloc(&values, 4096));
    CHECK(cudaMemset(values, 0, 4096));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaProfilerStart());
    for EACH(carveout, carveouts)
        for EACH(kernel, kernels)
            for EACH(threads, blocks)
                for EACH(bytes, shared)
                    try_launch(kernel, threads, bytes, carveout, values, &grid);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaProfilerStop());
    return 0;
}
