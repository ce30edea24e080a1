/*
 * graph_query.c: making graphs by hand and looking into them.
 */
#include "simgpu.h"

#include <stdlib.h>
#include <string.h>

SG_FUNCTION(cuGraphCreate, (CUgraph * phGraph, unsigned int flags), phGraph, flags)
{
    if (!phGraph || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *phGraph = sg_graphNew();
    return *phGraph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

SG_FUNCTION(cuGraphDestroy, (CUgraph hGraph), hGraph)
{
    CUpti_GraphData data = {.graph = hGraph};

    if (!hGraph)
        return CUDA_ERROR_INVALID_VALUE;
    sg_resource(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, sg_context(), NULL, &data);
    sg_graphFree(hGraph);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuGraphAddEmptyNode,
            (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
             size_t numDependencies),
            phGraphNode, hGraph, dependencies, numDependencies)
{
    struct sg_op op = {.type = SG_OP_EMPTY};
    struct sg_nodes deps = {.count = 0};
    CUresult result = CUDA_SUCCESS;

    if (!phGraphNode || !hGraph)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < numDependencies && !result; i++)
        result = sg_nodesAdd(&deps, dependencies[i]);
    if (!result)
        result = sg_graphAdd(hGraph, &deps, NULL, &op, phGraphNode);
    free(deps.items);
    return result;
}

SG_FUNCTION(cuGraphAddChildGraphNode,
            (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
             size_t numDependencies, CUgraph childGraph),
            phGraphNode, hGraph, dependencies, numDependencies, childGraph)
{
    CUgraph child = phGraphNode && hGraph && childGraph ? sg_graphClone(childGraph, false) : NULL;
    struct sg_nodes deps = {.count = 0};
    CUresult result = child ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

    for (size_t i = 0; i < numDependencies && !result; i++)
        result = sg_nodesAdd(&deps, dependencies[i]);
    if (!result)
        result =
            sg_graphAdd(hGraph, &deps, NULL, &(struct sg_op){.type = SG_OP_EMPTY}, phGraphNode);
    if (!result)
        (*phGraphNode)->child = child;
    else if (child)
        sg_graphFree(child);
    free(deps.items);
    return result;
}

/* Fills at most *count of `items` and says how many there are. */
static CUresult list_nodes(CUgraph graph, CUgraphNode *items, size_t *count, bool roots_only)
{
    size_t found = 0;

    if (!graph || !count)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        if (roots_only && graph->nodes.items[i]->dep_count)
            continue;
        if (items && found < *count)
            items[found] = graph->nodes.items[i];
        found++;
    }
    if (!items || found < *count)
        *count = found;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuGraphGetNodes, (CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes), hGraph, nodes,
            numNodes)
{
    return list_nodes(hGraph, nodes, numNodes, false);
}

SG_FUNCTION(cuGraphGetRootNodes, (CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes),
            hGraph, rootNodes, numRootNodes)
{
    return list_nodes(hGraph, rootNodes, numRootNodes, true);
}

/* Where the edges of a graph are put; each may be NULL. */
struct edges_out {
    CUgraphNode *from, *to;
    void *data; /* CUgraphEdgeData */
};

static void put_edge(const struct edges_out *out, size_t at, CUgraphNode node, size_t dep)
{
    out->from[at] = node->deps[dep];
    out->to[at] = node;
#ifndef SIMGPU_LACKS_cuGraphGetEdges_v2
    if (out->data)
        ((CUgraphEdgeData *)out->data)[at] = sg_edgeData(node->leads[dep]);
#endif
}

/* Fills at most *count of them and says how many there are. */
static CUresult list_edges(CUgraph graph, const struct edges_out *out, size_t *count)
{
    long error = env_number("SIMGPU_GRAPH_EDGES_ERROR", 0);
    size_t found = 0;

    if (error)
        return (CUresult)error;
    if (!graph || !count || !out->from != !out->to)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        CUgraphNode node = graph->nodes.items[i];

        for (size_t d = 0; d < node->dep_count; d++, found++)
            if (out->from && found < *count)
                put_edge(out, found, node, d);
    }
    if (!out->from || found < *count)
        *count = found;
    return CUDA_SUCCESS;
}

#ifndef SIMGPU_LACKS_cuGraphGetEdges_v2
SG_FUNCTION(cuGraphGetEdges_v2,
            (CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edgeData,
             size_t *numEdges),
            hGraph, from, to, edgeData, numEdges)
{
    return list_edges(hGraph, &(struct edges_out){from, to, edgeData}, numEdges);
}
#endif

/* It cannot tell what edges say beside their ends. */
#ifndef cuGraphGetEdges
SG_FUNCTION(cuGraphGetEdges, (CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges),
            hGraph, from, to, numEdges)
{
    return list_edges(hGraph, &(struct edges_out){from, to, NULL}, numEdges);
}
#endif

SG_FUNCTION(cuGraphNodeGetType, (CUgraphNode hNode, CUgraphNodeType *type), hNode, type)
{
    if (!hNode || !type)
        return CUDA_ERROR_INVALID_VALUE;
    *type = sg_nodeType(hNode);
    return CUDA_SUCCESS;
}

uint32_t simgpu_graph_id(CUgraph graph)
{
    return graph ? graph->id : 0;
}

uint64_t simgpu_graph_node_id(CUgraphNode node)
{
    if (!node || node->gone)
        return 0;
    return sg_nodeId(node) + (node->remade ? 1000 : 0);
}

uint32_t simgpu_graph_exec_id(CUgraphExec exec)
{
    return exec ? exec->graph->id : 0;
}
