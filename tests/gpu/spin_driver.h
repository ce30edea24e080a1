/* What programs of this folder share that speak to the driver: a context, and a kernel that waits
 * for as many us as it is asked for. The software GPU knows a kernel of that name.
 */
#ifndef MP_TESTS_GPU_SPIN_DRIVER_H
#define MP_TESTS_GPU_SPIN_DRIVER_H

#include "common.h"

#include <stdlib.h>

static const char spin_ptx[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry spin(.param .u32 us)\n{\n"
    "    .reg .u32 %r;\n    .reg .u64 %rd<4>;\n    .reg .pred %p;\n"
    "    mov.u64 %rd1, %globaltimer;\n    ld.param.u32 %r, [us];\n"
    "    mul.wide.u32 %rd2, %r, 1000;\n    add.u64 %rd1, %rd1, %rd2;\n"
    "again:\n    mov.u64 %rd3, %globaltimer;\n    setp.lt.u64 %p, %rd3, %rd1;\n"
    "    @%p bra again;\n    ret;\n}\n";

static CUfunction spin_kernel;

/* The primary context of device 0, and the kernel. They last until the process ends. */
static void set_up_spin(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;

    CU_CHECK(cuInit(0));
    CU_CHECK(cuDeviceGet(&device, 0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CU_CHECK(cuCtxSetCurrent(context));
    CU_CHECK(cuModuleLoadData(&module, spin_ptx));
    CU_CHECK(cuModuleGetFunction(&spin_kernel, module, "spin"));
}

/* One block, so that it leaves room for others. */
static void spin_for(unsigned us, CUstream stream)
{
    void *arguments[] = {&us};

    CU_CHECK(cuLaunchKernel(spin_kernel, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL));
}

/* The instance of what `enqueue` puts into the stream. */
static CUgraphExec spin_graph(CUstream stream, void (*enqueue)(void))
{
    CUgraph graph;
    CUgraphExec made;

    CU_CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    enqueue();
    CU_CHECK(cuStreamEndCapture(stream, &graph));
    CU_CHECK(cuGraphInstantiateWithFlags(&made, graph, 0));
    CU_CHECK(cuGraphDestroy(graph));
    return made;
}

static int compare_ns(const void *left, const void *right)
{
    uint64_t one = *(const uint64_t *)left, other = *(const uint64_t *)right;

    return (one > other) - (one < other);
}

/* Sorts them; at least one. */
static uint64_t median_ns(uint64_t *ns, size_t count)
{
    qsort(ns, count, sizeof *ns, compare_ns);
    return ns[(count - 1) / 2];
}

#endif
