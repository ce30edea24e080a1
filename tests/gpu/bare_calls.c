/* What the bare side of `miniprof run --pairs` costs: the same loops alone and under its preloaded
 * library (bare_cost.sh).
 *
 *     bare_calls steps      P50 of a step, ns: a graph of 25 kernels, an NVTX range of 10 us,
 *                           two streams that wait for each other's events
 *     bare_calls calls      ns a call: cuGraphLaunch of an empty graph, cuStreamSynchronize of an
 *                           idle stream, nvtxRangePush and Pop
 *
 * Prints a line PHASE|KIND|NUMBER for each. The steps lie between cuProfilerStart and Stop.
 */
#include "spin_driver.h"

#include <cudaProfiler.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 2000, WARMUP = 100, NODES = 25, CALLS = 1000000, BATCH = 1000 };

static struct {
    CUstream stream, side;
    CUevent done, side_done;
    CUgraphExec graph, empty;
} program;

/* ---- Steps ---- */

static void enqueue_nodes(void)
{
    for (int i = 0; i < NODES; i++)
        spin_for(2, program.stream);
}

static void graph_step(void)
{
    CU_CHECK(cuGraphLaunch(program.graph, program.stream));
    CU_CHECK(cuStreamSynchronize(program.stream));
}

static void range_step(void)
{
    uint64_t begin;

    nvtxRangePushA("step");
    for (begin = clock_now(); clock_now() < begin + 10000;)
        ;
    nvtxRangePop();
}

static void event_step(void)
{
    for (int i = 0; i < 4; i++) {
        spin_for(5, program.stream);
        CU_CHECK(cuEventRecord(program.done, program.stream));
        CU_CHECK(cuStreamWaitEvent(program.side, program.done, 0));
        spin_for(5, program.side);
        CU_CHECK(cuEventRecord(program.side_done, program.side));
        CU_CHECK(cuStreamWaitEvent(program.stream, program.side_done, 0));
    }
    CU_CHECK(cuEventSynchronize(program.side_done));
    CU_CHECK(cuStreamSynchronize(program.stream));
}

static void time_steps(const char *kind, void (*step)(void))
{
    static uint64_t ns[STEPS];

    for (int i = 0; i < WARMUP; i++)
        step();
    CU_CHECK(cuProfilerStart());
    for (int i = 0; i < STEPS; i++) {
        uint64_t begin = clock_now();

        step();
        ns[i] = clock_now() - begin;
    }
    CU_CHECK(cuProfilerStop());
    printf("step|%s|%llu\n", kind, (unsigned long long)median_ns(ns, STEPS));
}

/* ---- Calls ---- */

static void launch_empty(void)
{
    CU_CHECK(cuGraphLaunch(program.empty, program.stream));
}

static void synchronize_idle(void)
{
    CU_CHECK(cuStreamSynchronize(program.stream));
}

static void push_and_pop(void)
{
    nvtxRangePushA("range");
    nvtxRangePop();
}

/* The median of batches, between which the stream is empty: the driver queues a thousand launches
 * or so, and a program that makes more of them waits.
 */
static void time_calls(const char *kind, void (*call)(void))
{
    static uint64_t ns[CALLS / BATCH];

    for (int i = 0; i < CALLS / BATCH; i++) {
        uint64_t begin = clock_now();

        for (int j = 0; j < BATCH; j++)
            call();
        ns[i] = clock_now() - begin;
        CU_CHECK(cuStreamSynchronize(program.stream));
    }
    printf("call|%s|%.1f\n", kind, (double)median_ns(ns, CALLS / BATCH) / BATCH);
}

static CUgraphExec make_empty_graph(void)
{
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec made;

    CU_CHECK(cuGraphCreate(&graph, 0));
    CU_CHECK(cuGraphAddEmptyNode(&node, graph, NULL, 0));
    CU_CHECK(cuGraphInstantiateWithFlags(&made, graph, 0));
    CU_CHECK(cuGraphDestroy(graph));
    return made;
}

int main(int argc, char **argv)
{
    bool steps = argc == 2 && strcmp(argv[1], "steps") == 0;

    if (!steps && (argc != 2 || strcmp(argv[1], "calls") != 0))
        fail("usage: bare_calls steps|calls");
    set_up_spin();
    CU_CHECK(cuStreamCreate(&program.stream, CU_STREAM_NON_BLOCKING));
    CU_CHECK(cuStreamCreate(&program.side, CU_STREAM_NON_BLOCKING));
    CU_CHECK(cuEventCreate(&program.done, CU_EVENT_DISABLE_TIMING));
    CU_CHECK(cuEventCreate(&program.side_done, CU_EVENT_DISABLE_TIMING));
    if (steps) {
        program.graph = spin_graph(program.stream, enqueue_nodes);
        time_steps("graph of 25 kernels", graph_step);
        time_steps("NVTX range of 10 us", range_step);
        time_steps("two streams and events", event_step);
    } else {
        program.empty = make_empty_graph();
        time_calls("cuGraphLaunch", launch_empty);
        time_calls("cuStreamSynchronize", synchronize_idle);
        time_calls("NVTX push and pop", push_and_pop);
    }
    return 0;
}
