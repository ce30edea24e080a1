/*
 * graph_node.c: nodes of host functions, nodes of any type that are made by hand, edges that let
 * their nodes overlap, and what nodes can be given later.
 */
#include "simgpu.h"

#include <stdlib.h>
#include <string.h>

/* What a new node depends on. */
struct awaited {
    const CUgraphNode *nodes;
    const uint64_t *leads; /* NULL: none */
    size_t count;
};

static CUresult add_node(CUgraphNode *out, CUgraph graph, const struct awaited *awaited,
                         struct sg_op *op)
{
    struct sg_nodes deps = {.count = 0};
    CUresult result = out && graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

    for (size_t i = 0; i < awaited->count && !result; i++)
        result = sg_nodesAdd(&deps, awaited->nodes[i]);
    if (!result)
        result = sg_graphAdd(graph, &deps, awaited->leads, op, out);
    free(deps.items);
    return result;
}

SG_FUNCTION(cuGraphAddHostNode,
            (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
             size_t numDependencies, const CUDA_HOST_NODE_PARAMS *nodeParams),
            phGraphNode, hGraph, dependencies, numDependencies, nodeParams)
{
    struct awaited awaited = {dependencies, NULL, numDependencies};
    struct sg_op op = {.type = SG_OP_HOST};

    if (!nodeParams || !nodeParams->fn)
        return CUDA_ERROR_INVALID_VALUE;
    op.host = (struct sg_host){.function = nodeParams->fn, .data = nodeParams->userData};
    return add_node(phGraphNode, hGraph, &awaited, &op);
}

static bool is_host(const struct CUgraphNode_st *node)
{
    return node && node->op.type == SG_OP_HOST;
}

SG_FUNCTION(cuGraphHostNodeGetParams, (CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams), hNode,
            nodeParams)
{
    if (!is_host(hNode) || !nodeParams)
        return CUDA_ERROR_INVALID_VALUE;
    nodeParams->fn = hNode->op.host.function;
    nodeParams->userData = hNode->op.host.data;
    return CUDA_SUCCESS;
}

static CUresult set_host(CUgraphNode node, CUhostFn function, void *data)
{
    if (!is_host(node) || !function)
        return CUDA_ERROR_INVALID_VALUE;
    node->op.host = (struct sg_host){.function = function, .data = data};
    return CUDA_SUCCESS;
}

/* What stands for a graph's node in an executable graph. */
static CUgraphNode node_in(CUgraphExec exec, const struct CUgraphNode_st *node)
{
    for (size_t i = 0; exec && node && i < exec->graph->nodes.count; i++)
        if (exec->graph->nodes.items[i]->model == node)
            return exec->graph->nodes.items[i];
    return NULL;
}

SG_FUNCTION(cuGraphHostNodeSetParams, (CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams),
            hNode, nodeParams)
{
    return nodeParams ? set_host(hNode, nodeParams->fn, nodeParams->userData)
                      : CUDA_ERROR_INVALID_VALUE;
}

SG_FUNCTION(cuGraphExecHostNodeSetParams,
            (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams),
            hGraphExec, hNode, nodeParams)
{
    return nodeParams ? set_host(node_in(hGraphExec, hNode), nodeParams->fn, nodeParams->userData)
                      : CUDA_ERROR_INVALID_VALUE;
}

#ifndef SIMGPU_LACKS_cuGraphGetEdges_v2
CUgraphEdgeData sg_edgeData(uint64_t lead)
{
    CUgraphEdgeData data = {0};

    if (lead) {
        data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
        data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    }
    return data;
}
#endif

#ifndef SIMGPU_LACKS_cuGraphAddNode_v2
/* A handle is how often the body of its node runs. */
SG_FUNCTION(cuGraphConditionalHandleCreate,
            (CUgraphConditionalHandle * pHandle_out, CUgraph hGraph, CUcontext ctx,
             unsigned int defaultLaunchValue, unsigned int flags),
            pHandle_out, hGraph, ctx, defaultLaunchValue, flags)
{
    (void)ctx;
    if (!pHandle_out || !hGraph || flags != CU_GRAPH_COND_ASSIGN_DEFAULT)
        return CUDA_ERROR_INVALID_VALUE;
    *pHandle_out = defaultLaunchValue;
    return CUDA_SUCCESS;
}

static bool is_conditional(const CUgraphNodeParams *params)
{
    return params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && params->conditional.size == 1;
}

static CUresult make_body(CUgraphNode node, CUgraphNodeParams *params)
{
    bool loop = params->conditional.type == CU_GRAPH_COND_TYPE_WHILE;

    node->child = sg_graphNew();
    if (!node->child)
        return CUDA_ERROR_OUT_OF_MEMORY;
    node->conditional = true;
    node->passes = loop ? (unsigned)params->conditional.handle : params->conditional.handle != 0;
    params->conditional.phGraph_out = &node->child;
    return CUDA_SUCCESS;
}

static CUresult build(struct sg_op *op, const CUgraphNodeParams *params)
{
    const CUDA_KERNEL_NODE_PARAMS_v3 *kernel = &params->kernel;

    if (params->type == CU_GRAPH_NODE_TYPE_HOST) {
        op->type = SG_OP_HOST;
        op->host = (struct sg_host){.function = params->host.fn, .data = params->host.userData};
        return params->host.fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    if (params->type == CU_GRAPH_NODE_TYPE_EMPTY || is_conditional(params))
        return CUDA_SUCCESS;
    if (params->type != CU_GRAPH_NODE_TYPE_KERNEL)
        return CUDA_ERROR_NOT_SUPPORTED;
    op->launch =
        (struct sg_launch){.function = kernel->func,
                           .grid = {kernel->gridDimX, kernel->gridDimY, kernel->gridDimZ},
                           .block = {kernel->blockDimX, kernel->blockDimY, kernel->blockDimZ},
                           .shared = kernel->sharedMemBytes};
    return sg_kernelBuild(op, kernel->kernelParams, kernel->extra);
}

/* Programmatic edges lead from kernels to kernels. */
static CUresult read_leads(uint64_t *leads, const CUgraphNode *deps, const CUgraphEdgeData *data,
                           size_t count, const struct sg_op *op)
{
    for (size_t i = 0; data && i < count; i++) {
        if (!data[i].type)
            continue;
        if (op->type != SG_OP_KERNEL || deps[i]->op.type != SG_OP_KERNEL)
            return CUDA_ERROR_INVALID_VALUE;
        leads[i] = sg_usualLead();
    }
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuGraphAddNode_v2,
            (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
             const CUgraphEdgeData *dependencyData, size_t numDependencies,
             CUgraphNodeParams *nodeParams),
            phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams)
{
    uint64_t *leads = calloc(numDependencies + 1, sizeof(*leads));
    struct awaited awaited = {dependencies, leads, numDependencies};
    struct sg_op op = {.type = SG_OP_EMPTY};
    CUresult result = leads ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

    if (!result)
        result = nodeParams ? build(&op, nodeParams) : CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = read_leads(leads, dependencies, dependencyData, numDependencies, &op);
    if (!result)
        result = add_node(phGraphNode, hGraph, &awaited, &op);
    if (result)
        sg_opFree(&op);
    else if (is_conditional(nodeParams))
        result = make_body(*phGraphNode, nodeParams);
    free(leads);
    return result;
}

SG_FUNCTION(cuGraphNodeSetParams, (CUgraphNode hNode, CUgraphNodeParams *nodeParams), hNode,
            nodeParams)
{
    if (!nodeParams || nodeParams->type != CU_GRAPH_NODE_TYPE_HOST)
        return nodeParams ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    return set_host(hNode, nodeParams->host.fn, nodeParams->host.userData);
}

SG_FUNCTION(cuGraphExecNodeSetParams,
            (CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams *nodeParams), hGraphExec,
            hNode, nodeParams)
{
    if (!nodeParams || nodeParams->type != CU_GRAPH_NODE_TYPE_HOST)
        return nodeParams ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    return set_host(node_in(hGraphExec, hNode), nodeParams->host.fn, nodeParams->host.userData);
}
#endif
