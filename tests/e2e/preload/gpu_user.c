/* gpu_user.c: a plug-in that uses the GPU: the program that loads it is not linked to libcuda. */
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>

void use_gpu(void);

static void need(CUresult result)
{
    if (result != CUDA_SUCCESS)
        _Exit(97);
}

void use_gpu(void)
{
    static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                              ".visible .entry alpha()\n{\n    ret;\n}\n";
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;

    need(cuInit(0));
    need(cuDeviceGet(&device, 0));
    need(cuDevicePrimaryCtxRetain(&context, device));
    need(cuCtxSetCurrent(context));
    need(cuModuleLoadData(&module, ptx));
    need(cuModuleGetFunction(&kernel, module, "alpha"));
    nvtxRangePushA("plug-in");
    need(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    nvtxRangePop();
}
