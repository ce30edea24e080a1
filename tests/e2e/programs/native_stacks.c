/* A program whose native stacks are known: recursion, a function pointer, a callback of libc, a
 * thread. Before each call of the driver it prints, as glibc unwinds them, where its callers return
 * to: the module and the address in it. tests/e2e/native_stacks.sh compares.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#ifdef __clang__
#define KEEP __attribute__((noinline)) /* it makes no clones */
#else
#define KEEP __attribute__((noinline, noclone))
#endif

static CUdeviceptr memory;

static void check(CUresult status)
{
    if (status)
        exit((int)status);
}

/* Where this returns to, and all callers. A sanitizer's frames may come before. */
static void tell(void)
{
    void *addresses[64];
    int count = backtrace(addresses, 64);

    printf("call");
    for (int i = 1; i < count; i++) {
        struct link_map *module;
        Dl_info info;

        if (!dladdr1(addresses[i], &info, (void **)&module, RTLD_DL_LINKMAP))
            continue;
        printf(" %lx", (unsigned long)((uintptr_t)addresses[i] - module->l_addr));
    }
    printf("\n");
}

KEEP static void leaf(int depth)
{
    tell();
    check(cuMemsetD8(memory, (unsigned char)depth, 64));
    __asm__ volatile("");
}

KEEP static void recurse(int depth)
{
    if (depth)
        recurse(depth - 1);
    else
        leaf(depth);
    __asm__ volatile("");
}

static int compare(const void *a, const void *b)
{
    leaf(1);
    return *(const int *)a - *(const int *)b;
}

KEEP static void sorted(void)
{
    int numbers[] = {2, 1};

    qsort(numbers, 2, sizeof *numbers, compare);
    __asm__ volatile("");
}

static void *worker(void *context)
{
    check(cuCtxSetCurrent(context));
    recurse(2);
    return NULL;
}

int main(void)
{
    void (*volatile pointer)(int) = leaf;
    pthread_t thread;
    CUcontext context;

    check(cuInit(0));
    check(cuDevicePrimaryCtxRetain(&context, 0));
    check(cuCtxSetCurrent(context));
    check(cuMemAlloc(&memory, 64));
    leaf(0);
    recurse(5);
    pointer(2);
    sorted();
    recurse(300);
    if (pthread_create(&thread, NULL, worker, context) || pthread_join(thread, NULL))
        return 1;
    return 0;
}
