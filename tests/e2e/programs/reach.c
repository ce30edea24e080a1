/* Calls functions of the driver in every way in which programs get at them, with a recorder of its
 * own in place of ours (src/base/preload.h). For each way a line:
 *
 *   WAY CALLS-NOTICED RESULT     as `linked 1 0`
 *
 * without libminiprof_preload.so: `WAY - RESULT`. Environment: LD_PRELOAD.
 */
#include "base/preload.h"

#include <cuda.h>
#include <cudaProfiler.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef CUresult start_function(void);
typedef CUresult capture_function(CUstream stream, CUstreamCaptureMode mode);
typedef CUresult graph_function(CUgraph *graph, unsigned flags);
typedef CUresult get_v1(const char *name, void **function, int version, cuuint64_t flags);
typedef CUresult get_v2(const char *name, void **function, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status);

static int noticed[2];
static struct mp_preload *preload;
static void *driver;

static void before(enum mp_preload_call call)
{
    if (call != MP_PRELOAD_CAPTURED)
        noticed[call != MP_PRELOAD_PROFILER]++;
}

static int count(void)
{
    int sum = noticed[0] + 10 * noticed[1];

    noticed[0] = noticed[1] = 0;
    return sum;
}

static void say(const char *way, CUresult result)
{
    if (preload)
        printf("%s %d %d\n", way, count(), (int)result);
    else
        printf("%s - %d\n", way, (int)result);
}

/* A function by its name, by a function pointer of another type: ISO C has no cast for it. */
static void *by_name(void *handle, const char *name)
{
    return dlsym(handle, name);
}

#define CALL(type, pointer, ...)                                                                   \
    (((union {                                                                                     \
         void *address;                                                                            \
         type *call;                                                                               \
     }){pointer})                                                                                  \
         .call(__VA_ARGS__))

static void *ask_v1(void *get, const char *name, int version)
{
    void *found = NULL;

    if (CALL(get_v1, get, name, &found, version, 0) != CUDA_SUCCESS)
        return NULL;
    return found;
}

static void *ask_v2(void *get, const char *name, int version)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    void *found = NULL;

    if (CALL(get_v2, get, name, &found, version, 0, &status) != CUDA_SUCCESS ||
        status != CU_GET_PROC_ADDRESS_SUCCESS)
        return NULL;
    return found;
}

/* As CUDA's runtime does: by dlsym, then by what it answers itself. */
static void runtime_way(void)
{
    void *first = by_name(driver, "cuGetProcAddress_v2");
    void *second = ask_v2(first, "cuGetProcAddress", 12000);
    void *old = ask_v2(first, "cuGetProcAddress", 11030);

    say("runtime", CALL(start_function, ask_v2(second, "cuProfilerStart", 4000)));
    say("runtime-11", CALL(start_function, ask_v1(old, "cuProfilerStart", 4000)));
    say("same", ask_v2(second, "cuProfilerStart", 4000) == ask_v1(old, "cuProfilerStart", 4000)
                    ? CUDA_SUCCESS
                    : CUDA_ERROR_UNKNOWN);
    say("not-watched", ask_v2(second, "cuCtxGetCurrent", 4000) == by_name(driver, "cuCtxGetCurrent")
                           ? CUDA_SUCCESS
                           : CUDA_ERROR_UNKNOWN);
    say("unknown-name", ask_v2(second, "cuProfilerNope", 4000) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS);
}

/* All registers that carry arguments come through. */
static void arguments_way(void)
{
    CUgraph graph = NULL;
    CUstream stream;
    CUgraph captured;

    say("linked-graph", cuGraphCreate(&graph, 0));
    say("graph-is-there", graph ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
    say("dlsym-graph", CALL(graph_function, by_name(driver, "cuGraphCreate"), &graph, 0));
    say("bad-argument", CALL(graph_function, by_name(driver, "cuGraphCreate"), &graph, 77));
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    say("linked-capture", cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    say("end", cuStreamEndCapture(stream, &captured));
    say("dlsym-capture", CALL(capture_function, by_name(driver, "cuStreamBeginCapture_v2"), stream,
                              CU_STREAM_CAPTURE_MODE_RELAXED));
    say("end", cuStreamEndCapture(stream, &captured));
}

static void *ask_often(void *get)
{
    void *found = NULL;

    for (int i = 0; i < 10000; i++) {
        void *again = ask_v2(get, i % 2 ? "cuProfilerStart" : "cuGraphCreate", 12000);
        if (i % 2)
            found = found && found != again ? NULL : again;
    }
    return found;
}

static void threads_way(void)
{
    void *get = by_name(driver, "cuGetProcAddress_v2");
    void *mine = ask_v2(get, "cuProfilerStart", 12000);
    pthread_t threads[8];
    int alike = 0;

    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, ask_often, get);
    for (int i = 0; i < 8; i++) {
        void *found;
        pthread_join(threads[i], &found);
        alike += found == mine;
    }
    say("threads", alike == 8 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
}

int main(void)
{
    CUdevice device;
    CUcontext context;

    driver = dlopen("libcuda.so.1", RTLD_NOW);
    preload = by_name(RTLD_DEFAULT, MP_PRELOAD_SYMBOL);
    if (!driver || cuInit(0) || cuDeviceGet(&device, 0) ||
        cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context))
        return 1;
    say("nobody-asks", cuProfilerStart());
    if (preload)
        atomic_store(&preload->before, before);
    say("linked", cuProfilerStart());
    say("dlsym", CALL(start_function, by_name(driver, "cuProfilerStart")));
    say("default", CALL(start_function, by_name(RTLD_DEFAULT, "cuProfilerStart")));
    say("linked-ask",
        CALL(start_function, ask_v2((void *)cuGetProcAddress, "cuProfilerStart", 4000)));
    runtime_way();
    arguments_way();
    threads_way();
    say("missing", by_name(driver, "cuNope") ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS);
    say("next", by_name(RTLD_NEXT, "cuProfilerStart") ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
    return 0;
}
