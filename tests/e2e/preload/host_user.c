/* host_user.c: a plug-in that is linked to libcuda and calls, by these links, functions that
 * libminiprof_preload.so stands before: prints each call's result and whether its function ran. */
#include <cuda.h>
#include <stdio.h>

void use_gpu(void);

static int runs;

static void run(void *data)
{
    runs += *(const int *)data;
}

static void call_back(CUstream stream, CUresult status, void *data)
{
    (void)stream;
    (void)status;
    run(data);
}

void use_gpu(void)
{
    static int one = 1, ten = 10;
    CUcontext context;
    CUgraph graph;
    void *function = NULL;

    printf("context: %d\n",
           cuInit(0) | cuDevicePrimaryCtxRetain(&context, 0) | cuCtxSetCurrent(context));
    printf("cuLaunchHostFunc: %d\n", cuLaunchHostFunc(NULL, run, &one));
    printf("cuStreamAddCallback: %d\n", cuStreamAddCallback(NULL, call_back, &ten, 0));
    printf("cuStreamSynchronize: %d, ran %d\n", cuStreamSynchronize(NULL), runs);
    printf("cuGraphCreate: %d\n", cuGraphCreate(&graph, 0));
#if CUDA_VERSION >= 12000
    cuGetProcAddress("cuGraphCreate", &function, CUDA_VERSION, 0, NULL);
#else
    cuGetProcAddress("cuGraphCreate", &function, CUDA_VERSION, 0);
#endif
    printf("cuGetProcAddress: %d\n", !function);
}
