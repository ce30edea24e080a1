/* Managed memory that migrates in each iteration: the host writes a number into each page, a kernel
 * adds one to it and so faults, the host looks at the result and so faults too. Iterations have no
 * names.
 */
#include <cuda_profiler_api.h>

#include "../gpu/spin.cuh"
#include "../zoo/truth.h"

enum { ITERATIONS = 150, PAGES = 512, STRIDE = 4096 / sizeof(int) };

static __global__ void page_kernel(int *numbers)
{
    int page = blockIdx.x * blockDim.x + threadIdx.x;

    if (page < PAGES)
        numbers[page * STRIDE]++;
}

static void iterate(int *numbers, cudaStream_t stream, int value)
{
    for (int page = 0; page < PAGES; page++)
        numbers[page * STRIDE] = value + page;
    page_kernel<<<PAGES / 64, 64, 0, stream>>>(numbers);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream));
    for (int page = 0; page < PAGES; page++) {
        if (numbers[page * STRIDE] != value + page + 1) {
            fprintf(stderr, "page %d: %d, not %d\n", page, numbers[page * STRIDE],
                    value + page + 1);
            exit(1);
        }
    }
}

int main(void)
{
    static double us[ITERATIONS];
    int *numbers, managed;
    cudaStream_t stream;

    CHECK(cudaDeviceGetAttribute(&managed, cudaDevAttrConcurrentManagedAccess, 0));
    if (!managed) {
        printf("skipped: the GPU's page faults do not migrate memory\n");
        return 77;
    }
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocManaged(&numbers, PAGES * STRIDE * sizeof *numbers));
    for (int i = 0; i < 10; i++)
        iterate(numbers, stream, i);
    CHECK(cudaProfilerStart());
    for (int i = 0; i < ITERATIONS; i++) {
        double begin = now_us();

        iterate(numbers, stream, i);
        us[i] = now_us() - begin;
    }
    CHECK(cudaProfilerStop());
    CHECK(cudaFree(numbers));
    say_truth("iteration", us, ITERATIONS, ITERATIONS);
    return 0;
}
