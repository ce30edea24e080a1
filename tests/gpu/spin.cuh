/* What CUDA programs of this folder share: error checks, a clock, and kernels that take as long as
 * they are told, which is a number of SM clock cycles.
 */
#ifndef MP_TESTS_GPU_SPIN_CUH
#define MP_TESTS_GPU_SPIN_CUH

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#define CHECK(call) check((call), #call)

static void check(cudaError_t result, const char *call)
{
    if (result == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(result));
    exit(1);
}

/* us of CLOCK_MONOTONIC */
static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static __device__ void spin(long long cycles)
{
    long long begin = clock64();

    while (clock64() - begin < cycles)
        ;
}

static __global__ void clock_kernel(long long cycles)
{
    spin(cycles);
}

/* How many cycles a us has, once the GPU is awake. */
static double cycles_per_us(void)
{
    const long long cycles = 20 * 1000 * 1000; /* some 10 ms */
    cudaEvent_t begin, end;
    float ms;

    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (int i = 0; i < 10; i++)
        clock_kernel<<<1, 1>>>(cycles);
    CHECK(cudaEventRecord(begin));
    clock_kernel<<<1, 1>>>(cycles);
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    return (double)cycles / (ms * 1e3);
}

/* The number behind `name` on the command line. */
static int option(int argc, char **argv, const char *name, int usual)
{
    for (int i = 1; i + 1 < argc; i++) {
        if (!strcmp(argv[i], name))
            return atoi(argv[i + 1]);
    }
    return usual;
}

#endif
