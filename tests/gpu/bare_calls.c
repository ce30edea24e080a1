/* What the bare side of `miniprof run --pairs` costs: the same loops alone and under its preloaded
 * library (bare_cost.sh).
 *
 *     bare_calls steps      P50 of a step, ns: a graph of 25 kernels, an NVTX range of 10 us,
 *                           two streams that wait for each other's events
 *     bare_calls calls      ns a call: cuGraphLaunch of an empty graph, cuStreamSynchronize of an
 *                           idle stream, nvtxRangePush and Pop; and how much of it lies before the
 *                           driver's own function
 *
 * Prints a line PHASE|KIND|NUMBER for each. The steps lie between cuProfilerStart and Stop.
 */
#include "spin_driver.h"

#include <cudaProfiler.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <string.h>

#include "base/elf_symbols.h"

enum { STEPS = 2000, WARMUP = 100, NODES = 25, BATCHES = 1000, BATCH = 1000 };

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

/* The functions as the driver has them, which no preloaded library stands before. */
static struct {
    CUresult (*launch)(CUgraphExec, CUstream);
    CUresult (*wait)(CUstream);
} straight;

/* The driver's own definition: its hash table, not the loader, whom the library may have asked. */
static int find_straight(struct dl_phdr_info *object, size_t bytes, void *unused)
{
    struct elf_name launch = elf_name("cuGraphLaunch"), wait = elf_name("cuStreamSynchronize");
    struct elf_symbols symbols;

    (void)bytes, (void)unused;
    if (!strstr(object->dlpi_name, "libcuda.so") || !elf_symbols_open_shown(&symbols, object))
        return 0;
    const ElfW(Sym) *
        found[] = {elf_symbols_find(&symbols, &launch), elf_symbols_find(&symbols, &wait)};
    if (!found[0] || !found[1])
        return 0;
    *(void **)&straight.launch = (void *)(object->dlpi_addr + found[0]->st_value);
    *(void **)&straight.wait = (void *)(object->dlpi_addr + found[1]->st_value);
    return 1;
}

static void launch_empty(void)
{
    CU_CHECK(cuGraphLaunch(program.empty, program.stream));
}

static void launch_straight(void)
{
    CU_CHECK(straight.launch(program.empty, program.stream));
}

static void synchronize_idle(void)
{
    CU_CHECK(cuStreamSynchronize(program.stream));
}

static void synchronize_straight(void)
{
    CU_CHECK(straight.wait(program.stream));
}

static void push_and_pop(void)
{
    nvtxRangePushA("range");
    nvtxRangePop();
}

/* One batch: the driver queues a thousand launches or so, and a program that makes more waits. */
static uint64_t time_batch(void (*call)(void))
{
    uint64_t begin = clock_now();

    for (int i = 0; i < BATCH; i++)
        call();
    uint64_t ns = clock_now() - begin;
    CU_CHECK(cuStreamSynchronize(program.stream));
    return ns;
}

/* ns a call, and how much more than the same call without what stands before it (NULL: nothing is
 * called). Batches in turn, in one process: calls differ by more from process to process.
 */
static void time_calls(const char *kind, void (*call)(void), void (*without)(void))
{
    static uint64_t with[BATCHES], other[BATCHES];

    for (int i = 0; i < BATCHES; i++) {
        with[i] = time_batch(call);
        other[i] = without ? time_batch(without) : 0;
    }
    double ns = (double)median_ns(with, BATCHES) / BATCH;
    double base = (double)median_ns(other, BATCHES) / BATCH;
    printf("call|%s|%.1f\nmark|%s|%.1f\n", kind, ns, kind, ns - base);
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
        if (!dl_iterate_phdr(find_straight, NULL))
            fail("libcuda.so has no cuGraphLaunch");
        time_calls("cuGraphLaunch", launch_empty, launch_straight);
        time_calls("cuStreamSynchronize", synchronize_idle, synchronize_straight);
        time_calls("NVTX push and pop", push_and_pop, NULL);
    }
    return 0;
}
