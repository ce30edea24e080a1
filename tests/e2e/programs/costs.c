/* costs.c: loops of iterations with one cost that hides in calls, or without it:
 *
 *     costs graph|update|pool|map|load|lock [mended]
 *
 *     graph    captures, instantiates and destroys a graph in each iteration
 *     update   captures a graph and updates the executable one
 *     pool     allocates from a pool that gives its memory back at each wait
 *     map      makes, maps and unmaps virtual memory
 *     load     loads a module in iterations 10 and 15
 *     lock     another thread loads a module in iterations 8, 12 and 16
 *
 * Each iteration is an NVTX range "it" with a few kernels and a wait.
 */
#include "common.h"

#include <cudaProfiler.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>

enum { ITERATIONS = 24, KERNELS = 8, BYTES = 1 << 22, MAX_THREADS = 3 };

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry work()\n{\n    ret;\n}\n";

static bool mended;
static CUcontext context;
static CUfunction kernel;
static CUstream stream;
static CUgraphExec executable;
static CUmemoryPool pool;
static CUdeviceptr mapped;
static CUmemGenericAllocationHandle memory;

static void launch_kernels(void)
{
    for (int i = 0; i < KERNELS; i++)
        CU_CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

/* ---- Graphs ---- */

static CUgraph capture(void)
{
    CUgraph graph;

    CU_CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    launch_kernels();
    CU_CHECK(cuStreamEndCapture(stream, &graph));
    return graph;
}

static void make_graph(void)
{
    CUgraph graph = capture();

    CU_CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    CU_CHECK(cuGraphDestroy(graph));
}

static void graph_step(int iteration)
{
    (void)iteration;
    if (!mended)
        make_graph();
    CU_CHECK(cuGraphLaunch(executable, stream));
    CU_CHECK(cuStreamSynchronize(stream));
    if (!mended)
        CU_CHECK(cuGraphExecDestroy(executable));
}

static void graph_begin(void)
{
    if (mended)
        make_graph();
}

static void update_step(int iteration)
{
    (void)iteration;
#if CUDA_VERSION >= 12000
    if (!mended) {
        CUgraphExecUpdateResultInfo info;
        CUgraph graph = capture();

        CU_CHECK(cuGraphExecUpdate(executable, graph, &info));
        CU_CHECK(cuGraphDestroy(graph));
    }
#endif
    CU_CHECK(cuGraphLaunch(executable, stream));
    CU_CHECK(cuStreamSynchronize(stream));
}

/* ---- Memory ---- */

static void pool_begin(void)
{
    cuuint64_t all = UINT64_MAX;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};

    CU_CHECK(cuMemPoolCreate(&pool, &props));
    if (mended)
        CU_CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
}

static void pool_step(int iteration)
{
    CUdeviceptr buffer;

    (void)iteration;
    CU_CHECK(cuMemAllocFromPoolAsync(&buffer, BYTES, pool, stream));
    launch_kernels();
    CU_CHECK(cuMemFreeAsync(buffer, stream));
    CU_CHECK(cuStreamSynchronize(stream));
}

static void map(void)
{
    CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemAccessDesc access = {.location = props.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

    CU_CHECK(cuMemAddressReserve(&mapped, BYTES, 0, 0, 0));
    CU_CHECK(cuMemCreate(&memory, BYTES, &props, 0));
    CU_CHECK(cuMemMap(mapped, BYTES, 0, memory, 0));
    CU_CHECK(cuMemSetAccess(mapped, BYTES, &access, 1));
}

static void map_begin(void)
{
    if (mended)
        map();
}

static void map_step(int iteration)
{
    (void)iteration;
    if (!mended)
        map();
    launch_kernels();
    CU_CHECK(cuStreamSynchronize(stream));
    if (mended)
        return;
    CU_CHECK(cuMemUnmap(mapped, BYTES));
    CU_CHECK(cuMemRelease(memory));
    CU_CHECK(cuMemAddressFree(mapped, BYTES));
}

/* ---- Modules ---- */

static void load(void)
{
    CUmodule module;

    CU_CHECK(cuModuleLoadData(&module, ptx));
}

static void load_begin(void)
{
    if (mended)
        load();
}

static void load_step(int iteration)
{
    if (!mended && (iteration == 10 || iteration == 15))
        load();
    launch_kernels();
    CU_CHECK(cuStreamSynchronize(stream));
}

/* The software GPU gives a thread the time of the first one when it begins, and the first one that
 * of a thread that has ended. So a loader stays until the loop is over. */
static pthread_t loaders[MAX_THREADS];
static int loader_count;
static sem_t loaded, over;

static void *load_aside(void *argument)
{
    CU_CHECK(cuCtxSetCurrent(context));
    load();
    sem_post(&loaded);
    sem_wait(&over);
    return argument;
}

static void lock_begin(void)
{
    sem_init(&loaded, 0, 0);
    sem_init(&over, 0, 0);
    load_begin();
}

static void lock_step(int iteration)
{
    if (!mended && (iteration == 8 || iteration == 12 || iteration == 16)) {
        pthread_create(&loaders[loader_count++], NULL, load_aside, NULL);
        sem_wait(&loaded);
    }
    launch_kernels();
    CU_CHECK(cuStreamSynchronize(stream));
}

static void lock_end(void)
{
    for (int i = 0; i < loader_count; i++)
        sem_post(&over);
    for (int i = 0; i < loader_count; i++)
        pthread_join(loaders[i], NULL);
}

/* ---- The loop ---- */

static const struct cost {
    const char *name;
    void (*begin)(void); /* before the loop; NULL: nothing */
    void (*step)(int iteration);
    void (*end)(void);
} costs[] = {
    {"graph", graph_begin, graph_step, NULL}, {"update", make_graph, update_step, NULL},
    {"pool", pool_begin, pool_step, NULL},    {"map", map_begin, map_step, NULL},
    {"load", load_begin, load_step, NULL},    {"lock", lock_begin, lock_step, lock_end},
};

static void run(const struct cost *cost)
{
    if (cost->begin)
        cost->begin();
    CU_CHECK(cuProfilerStart());
    for (int i = 0; i < ITERATIONS; i++) {
        nvtxRangePushA("it");
        cost->step(i);
        nvtxRangePop();
    }
    CU_CHECK(cuProfilerStop());
    if (cost->end)
        cost->end();
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUmodule module;

    mended = argc > 2 && !strcmp(argv[2], "mended");
    CU_CHECK(cuInit(0));
    CU_CHECK(cuDeviceGet(&device, 0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CU_CHECK(cuCtxSetCurrent(context));
    CU_CHECK(cuModuleLoadData(&module, ptx));
    CU_CHECK(cuModuleGetFunction(&kernel, module, "work"));
    CU_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    launch_kernels();
    CU_CHECK(cuStreamSynchronize(stream));
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        if (argc > 1 && !strcmp(argv[1], costs[i].name)) {
            run(&costs[i]);
            return 0;
        }
    }
    fail("costs: what?");
}
