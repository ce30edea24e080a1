// Work of which CUPTI's records tell less than all.
//
//     missing batch N M    N times M copies each way by cudaMemcpyBatchAsync, which have one record
//     missing children N   N kernels that launch two kernels each, which have no record; without
//                          -DCHILDREN they launch none
//
// Prints how many copies each way, or kernels of the host, there were in the range.
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <vector>

#include "spin.cuh"

static const size_t block_bytes = 32768;

static __device__ unsigned ran;

__global__ void child()
{
    atomicAdd(&ran, 1u);
}

__global__ void parent()
{
#ifdef CHILDREN
    child<<<1, 1, 0, cudaStreamFireAndForget>>>();
    child<<<1, 1, 0, cudaStreamTailLaunch>>>();
#endif
}

static void children(int times)
{
    parent<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaProfilerStart());
    for (int i = 0; i < times; i++) {
        parent<<<1, 1>>>();
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaProfilerStop());
    printf("%d\n", times);
}

#if CUDART_VERSION >= 13000
static void batch(int times, int blocks)
{
    char *device, *host;
    std::vector<void *> to_device(blocks), to_host(blocks);
    std::vector<const void *> from_device(blocks), from_host(blocks);
    std::vector<size_t> sizes(blocks, block_bytes);
    cudaMemcpyAttributes attributes = {};
    size_t first = 0;
    cudaStream_t stream;

    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    CHECK(cudaMalloc((void **)&device, 2 * blocks * block_bytes));
    CHECK(cudaMallocHost((void **)&host, 2 * blocks * block_bytes));
    CHECK(cudaStreamCreate(&stream));
    for (int i = 0; i < blocks; i++) { // every other block, so that none can be joined
        from_device[i] = to_device[i] = device + 2 * i * block_bytes;
        from_host[i] = to_host[i] = host + 2 * i * block_bytes;
    }
    CHECK(cudaProfilerStart());
    for (int i = 0; i < times; i++) {
        CHECK(cudaMemcpyBatchAsync(to_host.data(), from_device.data(), sizes.data(), blocks,
                                   &attributes, &first, 1, stream));
        CHECK(cudaMemcpyBatchAsync(to_device.data(), from_host.data(), sizes.data(), blocks,
                                   &attributes, &first, 1, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaProfilerStop());
    printf("%d\n", times * blocks);
}
#else
static void batch(int, int)
{
    exit(77);
}
#endif

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "children") == 0)
        children(atoi(argv[2]));
    else if (argc == 4 && strcmp(argv[1], "batch") == 0)
        batch(atoi(argv[2]), atoi(argv[3]));
    else
        return 2;
    return 0;
}
