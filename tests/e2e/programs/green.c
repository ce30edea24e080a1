/* green.c: two green contexts of a device's primary context, with 16 SMs and the rest, each with a
 * stream. Kernels of both have a block for each SM of their context:
 *
 *     decode=N     N iterations of two kernels of 100 us in the small one, and a wait for its
 * stream prefill=US   a kernel of US us in the large one chain        what is launched next in the
 * large one waits for the small one, by an event sync         waits for the primary context, which
 * is current all the time free         frees memory start, stop  cuProfilerStart and cuProfilerStop
 */
#include "common.h"

#include <cudaProfiler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if CUDA_VERSION >= 12050

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry spin(.param .u32 us)\n{\n    ret;\n}\n";

struct part {
    CUgreenCtx context;
    CUstream stream;
    unsigned blocks; /* SMs */
};

enum { SMALL, LARGE, PARTS };

static struct part parts[PARTS];
static CUfunction spin;

static void open_part(struct part *part, CUdevice device, CUdevResource *resource)
{
    CUdevResourceDesc desc;

    part->blocks = resource->sm.smCount;
    CU_CHECK(cuDevResourceGenerateDesc(&desc, resource, 1));
    CU_CHECK(cuGreenCtxCreate(&part->context, desc, device, CU_GREEN_CTX_DEFAULT_STREAM));
    CU_CHECK(cuGreenCtxStreamCreate(&part->stream, part->context, CU_STREAM_NON_BLOCKING, 0));
}

static void split(CUdevice device)
{
    CUdevResource all, small, rest;
    unsigned groups = 1;

    CU_CHECK(cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM));
    CU_CHECK(cuDevSmResourceSplitByCount(&small, &groups, &all, &rest, 0, 16));
    open_part(&parts[SMALL], device, &small);
    open_part(&parts[LARGE], device, &rest);
}

static void launch(const struct part *part, unsigned us)
{
    void *parameters[] = {&us};

    CU_CHECK(
        cuLaunchKernel(spin, part->blocks, 1, 1, 1024, 1, 1, 0, part->stream, parameters, NULL));
}

static void decode(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        launch(&parts[SMALL], 100);
        launch(&parts[SMALL], 100);
        CU_CHECK(cuStreamSynchronize(parts[SMALL].stream));
    }
}

static void chain(void)
{
    static CUevent event;

    if (!event)
        CU_CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU_CHECK(cuEventRecord(event, parts[SMALL].stream));
    CU_CHECK(cuStreamWaitEvent(parts[LARGE].stream, event, 0));
}

static void run(const char *step, CUdeviceptr memory)
{
    const char *value = strchr(step, '=');
    unsigned number = value ? (unsigned)strtoul(value + 1, NULL, 10) : 0;

    if (!strncmp(step, "decode=", 7))
        decode(number);
    else if (!strncmp(step, "prefill=", 8))
        launch(&parts[LARGE], number);
    else if (!strcmp(step, "chain"))
        chain();
    else if (!strcmp(step, "sync"))
        CU_CHECK(cuCtxSynchronize());
    else if (!strcmp(step, "free"))
        CU_CHECK(cuMemFree(memory));
    else if (!strcmp(step, "start"))
        CU_CHECK(cuProfilerStart());
    else if (!strcmp(step, "stop"))
        CU_CHECK(cuProfilerStop());
    else
        fail("green: no step '%s'", step);
}

static void close_part(const struct part *part)
{
    CU_CHECK(cuStreamDestroy(part->stream));
    CU_CHECK(cuGreenCtxDestroy(part->context));
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext primary;
    CUmodule module;
    CUdeviceptr memory;

    CU_CHECK(cuInit(0));
    CU_CHECK(cuDeviceGet(&device, 0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&primary, device));
    CU_CHECK(cuCtxSetCurrent(primary));
    CU_CHECK(cuModuleLoadData(&module, ptx));
    CU_CHECK(cuModuleGetFunction(&spin, module, "spin"));
    CU_CHECK(cuMemAlloc(&memory, 4096));
    split(device);
    for (int i = 1; i < argc; i++)
        run(argv[i], memory);
    close_part(&parts[SMALL]);
    close_part(&parts[LARGE]);
    CU_CHECK(cuDevicePrimaryCtxRelease(device));
    printf("done\n");
    return 0;
}

#else

int main(void)
{
    fail("green: CUDA's headers have no green contexts");
}

#endif
