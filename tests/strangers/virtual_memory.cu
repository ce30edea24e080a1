/* Memory that is mapped and unmapped in each iteration by the driver's virtual memory management,
 * as allocators with expandable segments do: cuMemCreate, cuMemMap, cuMemSetAccess, a kernel that
 * writes all of it, cuMemUnmap, cuMemRelease. Iterations have no names.
 */
#include <cuda.h>
#include <cuda_profiler_api.h>

#include "../gpu/spin.cuh"
#include "../zoo/truth.h"

enum { ITERATIONS = 200, PARTS = 4 };

#define DRIVER(call) check_driver((call), #call)

static void check_driver(CUresult result, const char *call)
{
    const char *name = "?";

    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s\n", call, name);
    exit(1);
}

static __global__ void fill_kernel(unsigned *numbers, size_t count, unsigned value)
{
    size_t step = (size_t)gridDim.x * blockDim.x;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        numbers[i] = value;
}

static CUmemAllocationProp properties;
static CUmemAccessDesc access_of_device;
static CUdeviceptr address;
static size_t part_bytes;
static unsigned *seen; /* pinned: the last number of the memory */

static void set_up(void)
{
    const size_t wanted = 8 << 20;
    size_t granularity;

    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = 0;
    access_of_device.location = properties.location;
    access_of_device.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK(cudaFree(NULL));
    DRIVER(cuMemGetAllocationGranularity(&granularity, &properties,
                                         CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    part_bytes = (wanted + granularity - 1) / granularity * granularity;
    DRIVER(cuMemAddressReserve(&address, PARTS * part_bytes, 0, 0, 0));
    CHECK(cudaMallocHost(&seen, sizeof *seen));
}

static void iterate(cudaStream_t stream, unsigned value)
{
    CUmemGenericAllocationHandle parts[PARTS];
    size_t count = PARTS * part_bytes / sizeof(unsigned);
    unsigned *numbers = (unsigned *)address;

    for (int i = 0; i < PARTS; i++) {
        DRIVER(cuMemCreate(&parts[i], part_bytes, &properties, 0));
        DRIVER(cuMemMap(address + i * part_bytes, part_bytes, 0, parts[i], 0));
    }
    DRIVER(cuMemSetAccess(address, PARTS * part_bytes, &access_of_device, 1));
    fill_kernel<<<256, 256, 0, stream>>>(numbers, count, value);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(seen, numbers + count - 1, sizeof *seen, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    DRIVER(cuMemUnmap(address, PARTS * part_bytes));
    for (int i = 0; i < PARTS; i++)
        DRIVER(cuMemRelease(parts[i]));
    if (*seen != value) {
        fprintf(stderr, "%u in the memory, not %u\n", *seen, value);
        exit(1);
    }
}

int main(void)
{
    static double us[ITERATIONS];
    cudaStream_t stream;

    set_up();
    CHECK(cudaStreamCreate(&stream));
    for (unsigned i = 0; i < 20; i++)
        iterate(stream, i);
    CHECK(cudaProfilerStart());
    for (unsigned i = 0; i < ITERATIONS; i++) {
        double begin = now_us();

        iterate(stream, i);
        us[i] = now_us() - begin;
    }
    CHECK(cudaProfilerStop());
    DRIVER(cuMemAddressFree(address, PARTS * part_bytes));
    say_truth("iteration", us, ITERATIONS, ITERATIONS);
    return 0;
}
