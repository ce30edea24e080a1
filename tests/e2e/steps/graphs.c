/* Steps that make, clone, change and launch CUDA graphs. See programs/steps.c. Graphs have numbers;
 * the executable graph of one has its number.
 */
#include "steps.h"

#include "common.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GRAPHS = 8 };

static CUgraph graphs[MAX_GRAPHS];
static CUgraphExec execs[MAX_GRAPHS];
static CUgraphNode chain_ends[MAX_GRAPHS]; /* the last node of each chain */

static void begin_capture(const char *value)
{
    (void)value;
    CU_CHECK(cuStreamBeginCapture(steps_stream(), CU_STREAM_CAPTURE_MODE_RELAXED));
}

/* In a mode in which the calls of others end the capture. */
static void begin_strict_capture(const char *value)
{
    (void)value;
    CU_CHECK(cuStreamBeginCapture(steps_stream(), CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static void end_capture(const char *value)
{
    CU_CHECK(cuStreamEndCapture(steps_stream(), &graphs[number(value)]));
}

static CUgraphNode add_kernel(CUgraph graph, const char *name, const CUgraphNode *after,
                              size_t count)
{
    CUDA_KERNEL_NODE_PARAMS node = {.gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 32,
                                    .blockDimY = 1,
                                    .blockDimZ = 1};
    CUgraphNode added;

    node.func = steps_kernel(name);
    CU_CHECK(cuGraphAddKernelNode(&added, graph, after, count, &node));
    return added;
}

/* alpha and beta, an empty node that awaits both, gamma that awaits the empty node. */
static void make_graph(const char *value)
{
    CUgraph *graph = &graphs[number(value)];
    CUgraphNode first[2];
    CUgraphNode empty;

    CU_CHECK(cuGraphCreate(graph, 0));
    first[0] = add_kernel(*graph, "alpha", NULL, 0);
    first[1] = add_kernel(*graph, "beta", NULL, 0);
    CU_CHECK(cuGraphAddEmptyNode(&empty, *graph, first, 2));
    add_kernel(*graph, "gamma", &empty, 1);
}

static void instantiate(const char *value)
{
    long n = number(value);

    CU_CHECK(cuGraphInstantiateWithFlags(&execs[n], graphs[n], 0));
}

static void launch_graph(const char *value)
{
    CU_CHECK(cuGraphLaunch(execs[number(value)], steps_stream()));
}

static void destroy_exec(const char *value)
{
    CU_CHECK(cuGraphExecDestroy(execs[number(value)]));
}

static void destroy_graph(const char *value)
{
    CU_CHECK(cuGraphDestroy(graphs[number(value)]));
}

/* Instantiates, launches and destroys so often. */
static void churn_graph(const char *value)
{
    CUgraphExec exec;

    for (long i = number(value); i > 0; i--) {
        CU_CHECK(cuGraphInstantiateWithFlags(&exec, graphs[0], 0));
        CU_CHECK(cuGraphLaunch(exec, steps_stream()));
        CU_CHECK(cuStreamSynchronize(steps_stream()));
        CU_CHECK(cuGraphExecDestroy(exec));
    }
}

/* Asks the driver for the edges: what the recorder does too. */
static void count_edges(const char *value)
{
    size_t count = 0;

#ifdef cuGraphGetEdges /* it stands for cuGraphGetEdges_v2 */
    CU_CHECK(cuGraphGetEdges(graphs[number(value)], NULL, NULL, NULL, &count));
#else
    CU_CHECK(cuGraphGetEdges(graphs[number(value)], NULL, NULL, &count));
#endif
    printf("edges: %zu\n", count);
}

/* An empty graph, and a kernel in one: N:NAME. */
static void create_graph(const char *value)
{
    CU_CHECK(cuGraphCreate(&graphs[number(value)], 0));
    chain_ends[number(value)] = NULL;
}

static void add_node(const char *value)
{
    add_kernel(graphs[value[0] - '0'], value + 2, NULL, 0);
}

/* PARENT:CHILD */
static void add_child(const char *value)
{
    CUgraphNode added;

    CU_CHECK(
        cuGraphAddChildGraphNode(&added, graphs[value[0] - '0'], NULL, 0, graphs[value[2] - '0']));
}

/* ---- A chain of nodes: each awaits the one before it in its graph ---- */

static size_t chain_length(long graph)
{
    return chain_ends[graph] != NULL;
}

/* N:NAME, a kernel. */
static void chain_kernel(const char *value)
{
    long n = value[0] - '0';

    chain_ends[n] = add_kernel(graphs[n], value + 2, &chain_ends[n], chain_length(n));
}

/* PARENT:CHILD */
static void chain_child(const char *value)
{
    long n = value[0] - '0';
    CUgraphNode added;

    CU_CHECK(cuGraphAddChildGraphNode(&added, graphs[n], &chain_ends[n], chain_length(n),
                                      graphs[value[2] - '0']));
    chain_ends[n] = added;
}

/* N:BODY:PASSES. The body becomes graph BODY; nodes may be added to it. */
static void chain_loop(const char *value)
{
#if CUDA_VERSION >= 12040
    long n = value[0] - '0', body = value[2] - '0';
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    CUgraphNode added;

    params.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    params.conditional.size = 1;
    CU_CHECK(cuGraphConditionalHandleCreate(&params.conditional.handle, graphs[n], NULL,
                                            (unsigned)number(value + 4),
                                            CU_GRAPH_COND_ASSIGN_DEFAULT));
    CU_CHECK(cuGraphAddNode(&added, graphs[n], &chain_ends[n], NULL, chain_length(n), &params));
    chain_ends[n] = added;
    graphs[body] = params.conditional.phGraph_out[0];
    chain_ends[body] = NULL;
#else
    fail("steps: no conditional nodes for %s", value);
#endif
}

/* FROM:TO */
static void clone_graph(const char *value)
{
    CU_CHECK(cuGraphClone(&graphs[value[2] - '0'], graphs[value[0] - '0']));
}

/* With the flag that lets the device launch it. */
static void instantiate_for_device(const char *value)
{
    long n = number(value);

    CU_CHECK(cuGraphInstantiateWithFlags(&execs[n], graphs[n], 4));
}

/* The same, by the other function. */
static void instantiate_with_params(const char *value)
{
    long n = number(value);
#if CUDA_VERSION >= 12000
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {.flags = 4};

    CU_CHECK(cuGraphInstantiateWithParams(&execs[n], graphs[n], &params));
#else
    CU_CHECK(cuGraphInstantiateWithFlags(&execs[n], graphs[n], 4));
#endif
}

/* A function that cuda.h does not declare here. */
static void *driver_function(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);

    if (!function)
        fail("steps: no %s", name);
    return function;
}

/* As programs of CUDA 11 do. */
static void instantiate_old(const char *value)
{
    CUresult (*function)(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);
    void *found = driver_function("cuGraphInstantiate_v2");
    long n = number(value);

    memcpy(&function, &found, sizeof(function));
    CU_CHECK(function(&execs[n], graphs[n], NULL, NULL, 0));
}

static void on_executable(const char *name, const char *value)
{
    CUresult (*function)(CUgraphExec, CUstream);
    void *found = driver_function(name);

    memcpy(&function, &found, sizeof(function));
    CU_CHECK(function(execs[number(value)], steps_stream()));
}

static void launch_per_thread(const char *value)
{
    on_executable("cuGraphLaunch_ptsz", value);
}

static void upload(const char *value)
{
    on_executable("cuGraphUpload", value);
}

static void upload_per_thread(const char *value)
{
    on_executable("cuGraphUpload_ptsz", value);
}

/* TO:FROM: the executable graph TO does from now on what graph FROM says. */
static void update_executable(const char *value)
{
#if CUDA_VERSION >= 12000
    CUgraphExecUpdateResultInfo info;

    CU_CHECK(cuGraphExecUpdate(execs[value[0] - '0'], graphs[value[2] - '0'], &info));
#else
    fail("steps: no cuGraphExecUpdate_v2 for %s", value);
#endif
}

const struct step_row graph_steps[] = {
    {"capture", begin_capture},
    {"capture-strictly", begin_strict_capture},
    {"end-capture", end_capture},
    {"make-graph", make_graph},
    {"instantiate", instantiate},
    {"launch", launch_graph},
    {"destroy-exec", destroy_exec},
    {"destroy-graph", destroy_graph},
    {"churn", churn_graph},
    {"count-edges", count_edges},
    {"create-graph", create_graph},
    {"node", add_node},
    {"child", add_child},
    {"chain", chain_kernel},
    {"chain-child", chain_child},
    {"chain-while", chain_loop},
    {"clone-graph", clone_graph},
    {"instantiate-for-device", instantiate_for_device},
    {"instantiate-with-params", instantiate_with_params},
    {"instantiate-old", instantiate_old},
    {"launch-ptsz", launch_per_thread},
    {"upload", upload},
    {"upload-ptsz", upload_per_thread},
    {"update-exec", update_executable},
};
const size_t graph_step_count = sizeof(graph_steps) / sizeof(graph_steps[0]);
