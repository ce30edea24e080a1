// Loads the same PTX several times inside a capture range, and says how long each load took.
// usage: jit LOADS
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <string>
#include <time.h>

static long long now()
{
    timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void must(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "jit: %s: error %d\n", what, (int)result);
    exit(1);
}

// A kernel of a thousand additions, whose first one makes it different from all others.
static std::string ptx(int seed)
{
    std::string text = ".version 7.0\n.target sm_50\n.address_size 64\n"
                       ".visible .entry added(.param .u64 out)\n{\n"
                       ".reg .u64 %rd<2>;\n.reg .u32 %r<2>;\n"
                       "ld.param.u64 %rd1, [out];\nld.global.u32 %r1, [%rd1];\n";

    for (int i = 0; i < 1000; i++)
        text += "mad.lo.u32 %r1, %r1, %r1, " + std::to_string(seed + i) + ";\n";
    return text + "st.global.u32 [%rd1], %r1;\nret;\n}\n";
}

int main(int argc, char **argv)
{
    const int loads = argc > 1 ? atoi(argv[1]) : 1;
    const std::string text = ptx((int)(now() / 1000 % 1000000));

    cudaFree(0);
    cudaProfilerStart();
    for (int i = 0; i < loads; i++) {
        CUmodule module;
        long long begin = now();

        must(cuModuleLoadData(&module, text.c_str()), "cuModuleLoadData");
        printf("load %lld %lld\n", begin, now());
        must(cuModuleUnload(module), "cuModuleUnload");
    }
    cudaProfilerStop();
    return 0;
}
