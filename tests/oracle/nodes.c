/* nodes.c: makes nodes by hand, some of which have a graph inside. */
#include "nodes.h"

#include "common.h"

#define DO(call) ((*calls)++, CU_CHECK(call))

static CUgraphNode add_kernel(CUgraph graph, const struct node_deps *deps,
                              const struct node_work *work, unsigned long *calls)
{
    unsigned us = (unsigned)work->us;
    void *params[] = {&us};
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = work->kernel,
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 32,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = params};
    CUgraphNode node;

    DO(cuGraphAddKernelNode(&node, graph, deps->items, deps->count, &kernel));
    return node;
}

static CUgraphNode add_child(CUgraph graph, const struct node_deps *deps, CUgraph child,
                             unsigned long *calls)
{
    CUgraphNode node;

    DO(cuGraphAddChildGraphNode(&node, graph, deps->items, deps->count, child));
    return node;
}

static CUgraphNode add_loop(CUgraph graph, const struct node_deps *deps,
                            const struct node_work *work, unsigned long *calls)
{
#if CUDA_VERSION >= 12040
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    struct node_deps none = {.count = 0};
    CUgraphNode node;

    params.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    params.conditional.size = 1;
    DO(cuGraphConditionalHandleCreate(&params.conditional.handle, graph, NULL,
                                      (unsigned)work->passes, CU_GRAPH_COND_ASSIGN_DEFAULT));
    DO(cuGraphAddNode(&node, graph, deps->items, NULL, deps->count, &params));
    add_child(params.conditional.phGraph_out[0], &none, work->inner, calls);
    return node;
#else
    fail("run_programs: no loops here");
    return add_child(graph, deps, work->inner, calls);
#endif
}

CUgraphNode nodes_add(CUgraph graph, const struct node_deps *deps, const struct node_work *work,
                      unsigned long *calls)
{
    CUgraphNode node;

    if (work->us == NODE_CHILD)
        return add_child(graph, deps, work->inner, calls);
    if (work->us == NODE_LOOP)
        return add_loop(graph, deps, work, calls);
    if (work->us)
        return add_kernel(graph, deps, work, calls);
    DO(cuGraphAddEmptyNode(&node, graph, deps->items, deps->count));
    return node;
}
