/*
 * vecadd.c: the smallest program worth profiling: two vectors in, their sum out, checked.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>

static const char vecadd_ptx[] =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".visible .entry vecadd(.param .u64 p_a, .param .u64 p_b, .param .u64 p_c, .param .u32 p_n)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .b32 %r<6>;\n"
    "    .reg .b64 %rd<8>;\n"
    "    .reg .f32 %f<4>;\n"
    "    mov.u32 %r1, %ctaid.x;\n"
    "    mov.u32 %r2, %ntid.x;\n"
    "    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.u32 %r4, %r1, %r2, %r3;\n"
    "    ld.param.u32 %r5, [p_n];\n"
    "    setp.ge.u32 %p, %r4, %r5;\n"
    "    @%p bra DONE;\n"
    "    ld.param.u64 %rd1, [p_a];\n"
    "    ld.param.u64 %rd2, [p_b];\n"
    "    ld.param.u64 %rd3, [p_c];\n"
    "    mul.wide.u32 %rd4, %r4, 4;\n"
    "    add.u64 %rd5, %rd1, %rd4;\n"
    "    add.u64 %rd6, %rd2, %rd4;\n"
    "    add.u64 %rd7, %rd3, %rd4;\n"
    "    ld.global.f32 %f1, [%rd5];\n"
    "    ld.global.f32 %f2, [%rd6];\n"
    "    add.f32 %f3, %f1, %f2;\n"
    "    st.global.f32 [%rd7], %f3;\n"
    "DONE:\n"
    "    ret;\n"
    "}\n";

enum { BLOCK = 256 };

struct vectors {
    float *a, *b, *c;
    CUdeviceptr device_a, device_b, device_c;
    unsigned n;
    size_t bytes;
};

static float *host_vector(const struct vectors *v)
{
    float *vector = malloc(v->bytes);

    if (!vector)
        fail("vecadd: out of memory");
    return vector;
}

static void vectors_init(struct vectors *v, int n)
{
    v->n = (unsigned)n;
    v->bytes = (size_t)v->n * sizeof(float);
    v->a = host_vector(v);
    v->b = host_vector(v);
    v->c = host_vector(v);
    for (unsigned i = 0; i < v->n; i++) {
        v->a[i] = (float)(i % 1000);
        v->b[i] = (float)(2 * (i % 1000));
        v->c[i] = -1.0f;
    }
    CU_CHECK(cuMemAlloc(&v->device_a, v->bytes));
    CU_CHECK(cuMemAlloc(&v->device_b, v->bytes));
    CU_CHECK(cuMemAlloc(&v->device_c, v->bytes));
}

static void vectors_free(struct vectors *v)
{
    CU_CHECK(cuMemFree(v->device_a));
    CU_CHECK(cuMemFree(v->device_b));
    CU_CHECK(cuMemFree(v->device_c));
    free(v->a);
    free(v->b);
    free(v->c);
}

static void add_vectors(struct vectors *v, CUfunction vecadd)
{
    void *arguments[] = {&v->device_a, &v->device_b, &v->device_c, &v->n};

    CU_CHECK(cuMemcpyHtoD(v->device_a, v->a, v->bytes));
    CU_CHECK(cuMemcpyHtoD(v->device_b, v->b, v->bytes));
    CU_CHECK(cuLaunchKernel(vecadd, (v->n + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL,
                            arguments, NULL));
    CU_CHECK(cuMemcpyDtoH(v->c, v->device_c, v->bytes));
}

/* All values are small integers, so the sums are exact. */
static bool is_sum(const struct vectors *v)
{
    for (unsigned i = 0; i < v->n; i++)
        if ((long)v->c[i] != 3L * (long)(i % 1000))
            return false;
    return true;
}

int main(int argc, char **argv)
{
    int n = 1 << 20, repeat = 1;
    const struct option_row rows[] = {
        {"n", OPTION_INT, &n, 1, 1 << 28, NULL, "elements of a vector (1048576)"},
        {"repeat", OPTION_INT, &repeat, 1, 1000000, NULL, "how often (1)"},
        {0}};
    struct vectors v;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction vecadd;
    bool passed;

    parse_options(argc, argv, rows);
    CU_CHECK(cuInit(0));
    CU_CHECK(cuDeviceGet(&device, 0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CU_CHECK(cuCtxSetCurrent(context));
    CU_CHECK(cuModuleLoadData(&module, vecadd_ptx));
    CU_CHECK(cuModuleGetFunction(&vecadd, module, "vecadd"));
    vectors_init(&v, n);
    for (int i = 0; i < repeat; i++)
        add_vectors(&v, vecadd);
    passed = is_sum(&v);
    vectors_free(&v);
    CU_CHECK(cuModuleUnload(module));
    CU_CHECK(cuDevicePrimaryCtxRelease(device));
    puts(passed ? "vecadd: PASSED" : "vecadd: FAILED");
    return passed ? 0 : 1;
}
