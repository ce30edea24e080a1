/* Programs with a planted fault, and without it: what does its removal bring, and what was foreseen
 * (gains.sh)?
 *
 *     gains --case NAME [--changed] [--iterations N]
 *
 *   sync         the host waits after each of six kernels, though it needs no result; then it does
 *                not
 *   pageable     one of two copies to the GPU comes from pageable memory; then from pinned memory
 *   launches     200 small kernels with some host code before each; then a CUDA graph of them
 *   memset       memory that nobody reads is cleared first; then it is not
 *   allocation   memory is allocated and freed in each iteration; then it is allocated once
 *
 * An iteration is an NVTX range, and ends with a wait for its stream. Prints the median of its time
 * by the host's clock.
 */
#include "spin_driver.h"

#include <cudaProfiler.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <string.h>

#define COPY_BYTES   ((size_t)4 << 20)
#define BUFFER_BYTES ((size_t)128 << 20)

enum { WARMUP = 20, SYNCS = 6, LAUNCHES = 200, MAX_ITERATIONS = 10000 };

static struct {
    CUstream stream;
    CUgraphExec graph;
    CUdeviceptr buffer;
    void *pinned[2], *pageable;
} program;

static int which, is_changed, iterations = 200;

static void work_on_host(uint64_t us)
{
    for (uint64_t begin = clock_now(); clock_now() < begin + us * 1000;)
        ;
}

/* ---- Cases ---- */

static void run_sync(void)
{
    for (int i = 0; i < SYNCS; i++) {
        spin_for(20, program.stream);
        /* The last one would be followed by that of the iteration. */
        if (!is_changed && i + 1 < SYNCS)
            CU_CHECK(cuCtxSynchronize());
        work_on_host(10);
    }
}

static void run_pageable(void)
{
    const void *second = is_changed ? program.pinned[1] : program.pageable;

    CU_CHECK(cuMemcpyHtoDAsync(program.buffer, program.pinned[0], COPY_BYTES, program.stream));
    CU_CHECK(cuMemcpyHtoDAsync(program.buffer + COPY_BYTES, second, COPY_BYTES, program.stream));
    spin_for(50, program.stream);
}

static void enqueue_launches(void)
{
    for (int i = 0; i < LAUNCHES; i++)
        spin_for(1, program.stream);
}

static void run_launches(void)
{
    if (is_changed) {
        CU_CHECK(cuGraphLaunch(program.graph, program.stream));
        return;
    }
    for (int i = 0; i < LAUNCHES; i++) {
        work_on_host(5);
        spin_for(1, program.stream);
    }
}

static void run_memset(void)
{
    if (!is_changed)
        CU_CHECK(cuMemsetD8Async(program.buffer, 0, BUFFER_BYTES, program.stream));
    spin_for(100, program.stream);
}

static void run_allocation(void)
{
    CUdeviceptr memory = program.buffer;

    if (!is_changed)
        CU_CHECK(cuMemAlloc(&memory, BUFFER_BYTES));
    CU_CHECK(cuMemsetD8Async(memory, 0, COPY_BYTES, program.stream));
    spin_for(100, program.stream);
    if (!is_changed)
        CU_CHECK(cuMemFree(memory));
}

static const char *const names[] = {"sync", "pageable", "launches", "memset", "allocation", NULL};
/* In the order of the names. */
static void (*const cases[])(void) = {run_sync, run_pageable, run_launches, run_memset,
                                      run_allocation};

/* ---- Program ---- */

static const struct option_row option_rows[] = {
    {"case", OPTION_CHOICE, &which, 0, 0, names,
     "sync (default), pageable, launches, memset or allocation"},
    {"changed", OPTION_SET, &is_changed, 1, 1, NULL, "without the fault"},
    {"iterations", OPTION_INT, &iterations, 1, MAX_ITERATIONS, NULL, "in the profile (200)"},
    {0}};

static void set_up(void)
{
    set_up_spin();
    CU_CHECK(cuStreamCreate(&program.stream, CU_STREAM_NON_BLOCKING));
    CU_CHECK(cuMemAlloc(&program.buffer, BUFFER_BYTES));
    for (int i = 0; i < 2; i++) {
        CU_CHECK(cuMemHostAlloc(&program.pinned[i], COPY_BYTES, 0));
        memset(program.pinned[i], i, COPY_BYTES);
    }
    program.pageable = malloc(COPY_BYTES);
    if (!program.pageable)
        fail("gains: out of memory");
    memset(program.pageable, 1, COPY_BYTES);
    program.graph = spin_graph(program.stream, enqueue_launches);
}

static uint64_t iterate(void)
{
    uint64_t begin = clock_now();

    nvtxRangePushA("iteration");
    cases[which]();
    CU_CHECK(cuStreamSynchronize(program.stream));
    nvtxRangePop();
    return clock_now() - begin;
}

int main(int argc, char **argv)
{
    static uint64_t ns[MAX_ITERATIONS];

    parse_options(argc, argv, option_rows);
    set_up();
    for (int i = 0; i < WARMUP; i++)
        iterate();
    CU_CHECK(cuProfilerStart());
    for (int i = 0; i < iterations; i++)
        ns[i] = iterate();
    CU_CHECK(cuProfilerStop());
    printf("gains: case %s changed %d iterations %d median_us %.3f\n", names[which], is_changed,
           iterations, (double)median_ns(ns, (size_t)iterations) / 1e3);
    free(program.pageable);
    return 0;
}
