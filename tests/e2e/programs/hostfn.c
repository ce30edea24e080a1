/* Gives host functions to streams and graphs, and overlaps kernels, in the order of its arguments.
 * Each host function prints a line `NAME THREAD NS`: what it was given, whether it ran on this
 * thread (own) or another (driver), and what it spent on the software GPU's clock.
 *
 *   stream       a spin, two functions and a callback in one stream, one in another
 *   graph        two graphs of one capture with two functions, launched in turn, then changed
 *   hand         a graph with host nodes made by hand, by cuGraphAddHostNode and cuGraphAddNode
 *   change=N     a host node that is changed N times, and launched
 *   asked        the same functions by cuGetProcAddress and by dlsym
 *   bad          calls that fail, and an invalidated capture; prints their results
 *   overlap      kernels with programmatic stream serialization, launched and in a graph
 *   plain=N      N launches by cuLaunchKernelEx without it
 *   threads      8 threads: 200 functions in a stream of its own, 20 graphs with two, launched 5
 * times closelog     a function of a shared library start stop   cuProfilerStart and cuProfilerStop
 *   exit         a function that calls exit(3)
 *   fork         a function that forks; the child ends by exit(0)
 */
#include <cuda.h>
#include <cudaProfiler.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#define CHECK(call) check((call), #call)

struct job {
    const char *name;
    uint64_t ns;
};

static uint64_t (*clock_ns)(void);
static void (*wait_until_ns)(uint64_t when);
static long own_thread;
static CUstream streams[2];
static CUfunction spin;

static void check(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "%s: %d\n", call, (int)result);
    _Exit(97);
}

static void *find(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);

    if (!found)
        _Exit(98);
    return found;
}

static void do_job(void *data)
{
    const struct job *job = data;

    wait_until_ns(clock_ns() + job->ns);
    printf("%s %s %llu\n", job->name, syscall(SYS_gettid) == own_thread ? "own" : "driver",
           (unsigned long long)job->ns);
}

static void call_back(CUstream stream, CUresult status, void *data)
{
    if (status != CUDA_SUCCESS || stream != streams[0])
        printf("the callback got something else\n");
    do_job(data);
}

static void leave(void *data)
{
    do_job(data);
    exit(3);
}

static void split(void *data)
{
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        do_job(data);
        exit(0);
    }
    waitpid(child, NULL, 0);
}

static void launch(CUstream stream, unsigned us, CUlaunchAttribute *attribute)
{
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = stream,
                             .attrs = attribute,
                             .numAttrs = attribute != NULL};
    void *parameters[] = {&us};

    CHECK(cuLaunchKernelEx(&config, spin, parameters, NULL));
}

static void do_stream(void)
{
    static struct job jobs[] = {{"first", 50000}, {"second", 20000}, {"back", 30000}, {"other", 1}};

    launch(streams[0], 100, NULL);
    CHECK(cuLaunchHostFunc(streams[0], do_job, &jobs[0]));
    CHECK(cuLaunchHostFunc(streams[0], do_job, &jobs[1]));
    CHECK(cuStreamAddCallback(streams[0], call_back, &jobs[2], 0));
    CHECK(cuLaunchHostFunc(streams[1], do_job, &jobs[3]));
    CHECK(cuCtxSynchronize());
}

static void do_graph(void)
{
    static struct job jobs[] = {{"one", 50000}, {"two", 20000}, {"three", 70000}};
    CUDA_HOST_NODE_PARAMS params, changed = {.fn = do_job, .userData = &jobs[2]};
    CUgraphExec execs[2];
    CUgraphNode nodes[4];
    size_t count = 4;
    CUgraph graph;

    CHECK(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(streams[0], 10, NULL);
    CHECK(cuLaunchHostFunc(streams[0], do_job, &jobs[0]));
    launch(streams[0], 10, NULL);
    CHECK(cuLaunchHostFunc(streams[0], do_job, &jobs[1]));
    CHECK(cuStreamEndCapture(streams[0], &graph));
    CHECK(cuGraphGetNodes(graph, nodes, &count));
    CHECK(cuGraphHostNodeGetParams(nodes[1], &params));
    printf("%s\n", params.fn == do_job && params.userData == &jobs[0] ? "own params" : "others");
    CHECK(cuGraphInstantiateWithFlags(&execs[0], graph, 0));
    CHECK(cuGraphInstantiateWithFlags(&execs[1], graph, 0));
    CHECK(cuGraphLaunch(execs[0], streams[0]));
    CHECK(cuGraphLaunch(execs[1], streams[1]));
    CHECK(cuGraphExecHostNodeSetParams(execs[0], nodes[1], &changed));
    CHECK(cuGraphLaunch(execs[0], streams[1]));
    CHECK(cuCtxSynchronize());
    CHECK(cuGraphExecDestroy(execs[0]));
    CHECK(cuGraphExecDestroy(execs[1]));
    CHECK(cuGraphDestroy(graph));
}

/* cuGraphAddNode, if CUDA has it: since 12.2. */
static CUgraphNode add_any(CUgraph graph, CUgraphNode first, struct job *job)
{
    CUgraphNode node;
#if CUDA_VERSION >= 12020
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_HOST};

    any.host.fn = do_job;
    any.host.userData = job;
#if CUDA_VERSION >= 13000
    CHECK(cuGraphAddNode(&node, graph, &first, NULL, 1, &any));
#else
    CHECK(cuGraphAddNode(&node, graph, &first, 1, &any));
#endif
    printf("%s\n", any.host.fn == do_job && any.host.userData == job ? "unchanged" : "changed");
#else
    CUDA_HOST_NODE_PARAMS any = {.fn = do_job, .userData = job};

    CHECK(cuGraphAddHostNode(&node, graph, &first, 1, &any));
    printf("%s\n", any.fn == do_job && any.userData == job ? "unchanged" : "changed");
#endif
    return node;
}

static void do_hand(void)
{
    static struct job jobs[] = {{"added", 50000}, {"any", 20000}, {"set", 1000}};
    CUDA_HOST_NODE_PARAMS params = {.fn = do_job, .userData = &jobs[0]}, read;
    CUgraphNode first, second;
    CUgraphExec exec;
    CUgraph graph;

    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddHostNode(&first, graph, NULL, 0, &params));
    second = add_any(graph, first, &jobs[1]);
    CHECK(cuGraphHostNodeGetParams(second, &read));
    printf("%s\n", read.fn == do_job && read.userData == &jobs[1] ? "own params" : "others");
    params.userData = &jobs[2];
    CHECK(cuGraphHostNodeSetParams(first, &params));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, streams[0]));
    CHECK(cuGraphHostNodeGetParams(first, &read));
    CHECK(cuGraphHostNodeSetParams(first, &read)); /* what was read can be written back */
    CHECK(cuCtxSynchronize());
}

/* A graph whose host node is made, and changed so often, and which is launched. */
static void do_change(long times)
{
    static struct job job = {"changed", 1000};
    CUDA_HOST_NODE_PARAMS params = {.fn = do_job, .userData = &job};
    CUgraphExec exec;
    CUgraphNode node;
    CUgraph graph;

    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddHostNode(&node, graph, NULL, 0, &params));
    while (times--)
        CHECK(cuGraphHostNodeSetParams(node, &params));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, streams[0]));
    CHECK(cuCtxSynchronize());
}

typedef CUresult host_launch(CUstream stream, CUhostFn function, void *data);

static void do_asked(void)
{
    static struct job jobs[] = {{"asked", 50000}, {"dlsym", 20000}};
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY);
    union {
        void *address;
        host_launch *call;
    } found;

#if CUDA_VERSION >= 12000
    CHECK(cuGetProcAddress("cuLaunchHostFunc", &found.address, CUDA_VERSION, 0, NULL));
#else
    CHECK(cuGetProcAddress("cuLaunchHostFunc", &found.address, CUDA_VERSION, 0));
#endif
    CHECK(found.call(streams[0], do_job, &jobs[0]));
    found.address = dlsym(driver, "cuLaunchHostFunc");
    CHECK(found.call(streams[0], do_job, &jobs[1]));
    CHECK(cuCtxSynchronize());
    dlclose(driver);
}

static void do_bad(void)
{
    static struct job job = {"never", 1};
    CUgraph graph;

    printf("%d", cuLaunchHostFunc(streams[0], NULL, NULL));
    printf(" %d", cuStreamAddCallback(streams[0], NULL, NULL, 0));
    printf(" %d", cuStreamAddCallback(streams[0], call_back, &job, 1));
    printf(" %d", cuGraphAddHostNode(NULL, NULL, NULL, 0, NULL));
    CHECK(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
    printf(" %d", cuStreamAddCallback(streams[0], call_back, &job, 0));
    printf(" %d", cuLaunchHostFunc(streams[0], do_job, &job));
    printf(" %d\n", cuStreamEndCapture(streams[0], &graph));
}

static void do_overlap(void)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    CUgraphExec exec;
    CUgraph graph;

    attribute.value.programmaticStreamSerializationAllowed = 1;
    for (int captured = 0; captured < 2; captured++) {
        if (captured)
            CHECK(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
        launch(streams[0], 100, NULL);
        launch(streams[0], 100, &attribute);
        launch(streams[0], 100, &attribute);
        launch(streams[0], 100, NULL);
    }
    CHECK(cuStreamEndCapture(streams[0], &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, streams[0]));
    CHECK(cuCtxSynchronize());
}

static _Atomic int ran;

static void count(void *unused)
{
    (void)unused;
    ran++;
}

static void run_graph(CUstream stream)
{
    CUgraphExec exec;
    CUgraph graph;

    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(cuLaunchHostFunc(stream, count, NULL));
    CHECK(cuLaunchHostFunc(stream, count, NULL));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 5; i++)
        CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

static void *work(void *context)
{
    CUstream stream;

    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 200; i++)
        CHECK(cuLaunchHostFunc(stream, count, NULL));
    for (int i = 0; i < 20; i++)
        run_graph(stream);
    return NULL;
}

static void do_threads(void)
{
    pthread_t threads[8];
    CUcontext context;

    CHECK(cuCtxGetCurrent(&context));
    for (int i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, work, context) != 0)
            _Exit(96);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    printf("%d functions\n", ran);
}

static void do_one(const char *what)
{
    static struct job last = {"last", 10000};

    if (strcmp(what, "stream") == 0)
        do_stream();
    else if (strcmp(what, "graph") == 0)
        do_graph();
    else if (strcmp(what, "hand") == 0)
        do_hand();
    else if (strcmp(what, "asked") == 0)
        do_asked();
    else if (strcmp(what, "bad") == 0)
        do_bad();
    else if (strcmp(what, "overlap") == 0)
        do_overlap();
    else if (strcmp(what, "threads") == 0)
        do_threads();
    else if (strcmp(what, "closelog") == 0)
        CHECK(cuLaunchHostFunc(streams[0], (CUhostFn)find("closelog"), NULL));
    else if (strcmp(what, "start") == 0)
        CHECK(cuProfilerStart());
    else if (strcmp(what, "stop") == 0)
        CHECK(cuProfilerStop());
    else if (strcmp(what, "exit") == 0)
        CHECK(cuLaunchHostFunc(streams[0], leave, &last));
    else if (strcmp(what, "fork") == 0)
        CHECK(cuLaunchHostFunc(streams[0], split, &last));
    else if (strncmp(what, "change=", 7) == 0)
        do_change(strtol(what + 7, NULL, 10));
    else if (strncmp(what, "plain=", 6) == 0)
        for (long i = strtol(what + 6, NULL, 10); i > 0; i--)
            launch(streams[0], 1, NULL);
    else
        _Exit(99);
}

int main(int argc, char **argv)
{
    static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                              ".visible .entry spin(.param .u32 us)\n{\n    ret;\n}\n";
    CUcontext context;
    CUdevice device;
    CUmodule module;

    own_thread = syscall(SYS_gettid);
    CHECK(cuInit(0));
    *(void **)&clock_ns = find("simgpu_clock_ns");
    *(void **)&wait_until_ns = find("simgpu_wait_until_ns");
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&spin, module, "spin"));
    for (int i = 0; i < 2; i++)
        CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    for (int i = 1; i < argc; i++)
        do_one(argv[i]);
    CHECK(cuCtxSynchronize());
    printf("done\n");
    return 0;
}
