/* What sigkill.py kills: launches one kernel after the other and writes into a file when each had
 * run, so that what the trace lacks of them can be dated without the trace's own clock.
 *
 *     progress FILE [MOST]
 *
 * FILE: a struct progress in the native byte order, of 8 bytes for each of MOST launches (default
 * and most: 1048576) and 8 more; the program ends when it is full. The kernel keeps what was
 * written to it when the process is killed.
 */
#include "common.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAX_LAUNCHES (1L << 20)

/* A pause between launches, so that a second of them is thousands and not hundreds of thousands. */
#define PAUSE_US 50

struct progress {
    _Atomic uint64_t completed; /* launches, and entries of `at` */
    uint64_t at[];              /* ns of CLOCK_MONOTONIC at which each had completed */
};

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry progress() { ret; }\n";

static struct progress *open_progress(const char *path, long max)
{
    size_t bytes = sizeof(struct progress) + (size_t)max * sizeof(uint64_t);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct progress *progress;

    if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
        fail("progress: cannot make %s", path);
    progress = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (progress == MAP_FAILED)
        fail("progress: cannot map %s", path);
    close(file);
    return progress;
}

static CUfunction load_kernel(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;

    CU_CHECK(cuInit(0));
    CU_CHECK(cuDeviceGet(&device, 0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CU_CHECK(cuCtxSetCurrent(context));
    CU_CHECK(cuModuleLoadData(&module, ptx));
    CU_CHECK(cuModuleGetFunction(&kernel, module, "progress"));
    return kernel;
}

int main(int argc, char **argv)
{
    long max = argc == 3 ? strtol(argv[2], NULL, 10) : MAX_LAUNCHES;
    struct progress *progress;
    struct timespec now;
    CUfunction kernel;
    long i;

    if (argc < 2 || argc > 3 || max < 1 || max > MAX_LAUNCHES) {
        fprintf(stderr, "usage: progress FILE [LAUNCHES], 1 to %ld\n", MAX_LAUNCHES);
        return 2;
    }
    progress = open_progress(argv[1], max);
    kernel = load_kernel();
    for (i = 0; i < max; i++) {
        CU_CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        CU_CHECK(cuCtxSynchronize());
        clock_gettime(CLOCK_MONOTONIC, &now);
        progress->at[i] = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        atomic_store_explicit(&progress->completed, (uint64_t)i + 1, memory_order_release);
        usleep(PAUSE_US);
    }
    return 0;
}
